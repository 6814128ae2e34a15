package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rsmsjob/internal/config"
	"rsmsjob/internal/examples"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

func (a *app) initCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "init",
		Short: "create queues, tables and containers, and load basins into them",
		Long: "init creates the queues, tables and containers of the settings where they are not there, in\n" +
			"a new account or the emulator, or the folders of a folder store. It can be repeated.\n" +
			"--from loads the basins and scenarios of a folder store: files are replaced, columns of\n" +
			"scenario rows are merged, but for those that a job writes.",
		RunE: func(c *cobra.Command, _ []string) error { return a.init(c) },
	}
	settings(c.Flags())
	c.Flags().Bool("examples", false, "load the shipped examples")
	c.Flags().String("from", "", "load the basins and scenarios of the folder store `DIR`")
	return c
}

func (a *app) init(c *cobra.Command) error {
	withExamples, err := c.Flags().GetBool("examples")
	if err != nil {
		return err
	}
	from, err := c.Flags().GetString("from")
	if err != nil {
		return err
	}
	if err := a.configure(c, config.Need{Store: true}); err != nil {
		return err
	}
	if a.config.StoreDir != "" {
		return a.initFolder(withExamples, from)
	}
	var sources []source
	if from != "" {
		s, err := folderSource(from)
		if err != nil {
			return err
		}
		sources = append(sources, s)
	}
	if withExamples {
		files, err := examples.Store()
		if err != nil {
			return err
		}
		sources = append(sources, source{files, "the examples"})
	}
	azure, err := a.openAzure()
	if err != nil {
		return err
	}
	defer azure.Close()
	if err := a.createAll(c.Context(), azure); err != nil {
		return err
	}
	for _, s := range sources {
		if err := a.load(c.Context(), azure, s); err != nil {
			return err
		}
	}
	return nil
}

// createAll makes everything that the settings name.
func (a *app) createAll(ctx context.Context, azure *storage.Azure) error {
	queues := []string{a.config.QueueName, a.config.PoisonQueue()}
	if a.config.DoneQueueName != "" {
		queues = append(queues, a.config.DoneQueueName)
	}
	for _, name := range queues {
		if err := a.first(ctx, azure, azure.Queue(name).Create); err != nil {
			return err
		}
		a.ready("queue", name)
	}
	if err := a.first(ctx, azure, azure.Create); err != nil {
		return err
	}
	for _, name := range []string{a.config.BasinContainer, a.config.ResultsContainer} {
		a.ready("container", name)
	}
	for _, name := range []string{a.config.ScenariosTable, a.config.RunsTable, a.config.PlumeByTimeTable, a.config.PlumeByMileTable} {
		a.ready("table", name)
	}
	return nil
}

// ready prints that a thing is there.
func (a *app) ready(kind, name string) {
	_, err := fmt.Fprintf(a.stdout, "%-9s  %s\n", kind, name)
	a.told(err)
}

// source is what basins and scenarios are loaded from, laid out as a folder
// store.
type source struct {
	files fs.FS
	name  string
}

const (
	basinFiles   = "riverbasin/*/*"
	scenarioRows = "tables/Scenarios/*/*.json"
)

func folderSource(dir string) (source, error) {
	files := os.DirFS(dir)
	found := 0
	for _, pattern := range []string{basinFiles, scenarioRows} {
		names, err := fs.Glob(files, pattern)
		if err != nil {
			return source{}, err
		}
		found += len(names)
	}
	if found == 0 {
		return source{}, usage("--from %s: there is nothing to load; %s and %s are looked for", dir, basinFiles, scenarioRows)
	}
	return source{files, dir}, nil
}

// load writes basins and scenarios to the account. A file that the store made
// for itself, with a dot in front, is none.
func (a *app) load(ctx context.Context, azure *storage.Azure, from source) error {
	names, err := fs.Glob(from.files, basinFiles)
	if err != nil {
		return err
	}
	for _, name := range names {
		basin, file := path.Base(path.Dir(name)), path.Base(name)
		info, err := fs.Stat(from.files, name)
		if err == nil && (info.IsDir() || file[0] == '.') {
			continue
		}
		data, err := fs.ReadFile(from.files, name)
		if err != nil {
			return usage("load %s of %s: %w", name, from.name, err)
		}
		if err := azure.PutBasin(ctx, basin, file, data); err != nil {
			return loadError(name, from, err)
		}
		a.ready("file", basin+"/"+file)
	}
	if names, err = fs.Glob(from.files, scenarioRows); err != nil {
		return err
	}
	for _, name := range names {
		basin, scenario := path.Base(path.Dir(name)), strings.TrimSuffix(path.Base(name), ".json")
		if scenario == "" || scenario[0] == '.' {
			continue
		}
		data, err := fs.ReadFile(from.files, name)
		if err != nil {
			return usage("load %s of %s: %w", name, from.name, err)
		}
		columns, err := scenarioColumns(data)
		if err == nil {
			err = azure.PutScenario(ctx, basin, scenario, columns)
		}
		if err != nil {
			return loadError(name, from, err)
		}
		a.ready("scenario", basin+"/"+scenario)
	}
	return nil
}

// loadError names what could not be loaded. What no store can keep is a fault
// of the file.
func loadError(name string, from source, err error) error {
	if len(reason.Faults(err)) > 0 {
		return usage("load %s of %s: %w", name, from.name, err)
	}
	return fmt.Errorf("load %s of %s: %w", name, from.name, err)
}

// spillTime is the one column of a scenario that is a time.
const spillTime = "SpillTime"

// jobColumns are those of a scenario row that tell of jobs, which do not come
// along.
func jobColumns() []string {
	return []string{"Status", "StatusDetail", "Progress", "Step", "JobId", "Attempt", "StartedAt", "FinishedAt", "Reason", "EngineVersion"}
}

// scenarioColumns reads the columns of a scenario file for a table, where a
// time has a type of its own.
func scenarioColumns(data []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	dec.UseNumber()
	var columns map[string]any
	if err := dec.Decode(&columns); err != nil || columns == nil {
		return nil, &reason.Fault{Problem: "not a JSON object", Hint: "a scenario is one object of columns: rsms-job schema scenario"}
	}
	if dec.More() {
		return nil, &reason.Fault{Problem: "more than one JSON document"}
	}
	for _, name := range jobColumns() {
		delete(columns, name)
	}
	if text, ok := columns[spillTime].(string); ok {
		if at, err := time.Parse(time.RFC3339, strings.TrimSpace(text)); err == nil {
			columns[spillTime] = at
		}
	}
	return columns, nil
}

// initFolder makes the folders of a folder store.
func (a *app) initFolder(withExamples bool, from string) error {
	if from != "" {
		return usage("--from loads into an account; RSMS_STORE_DIR (--store) names a folder: copy the files there")
	}
	dir, err := filepath.Abs(a.config.StoreDir)
	if err != nil {
		return usage("RSMS_STORE_DIR (--store): %w", err)
	}
	for _, name := range []string{"riverbasin", "rsms-results", "tables/Scenarios", "tables/Runs"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755); err != nil {
			return usage("RSMS_STORE_DIR (--store): the store cannot be made: %w", err)
		}
		a.ready("folder", name)
	}
	if !withExamples {
		return nil
	}
	kept, err := examples.Write(dir)
	if err != nil {
		return usage("RSMS_STORE_DIR (--store): the examples cannot be written there: %w", err)
	}
	for _, name := range kept {
		a.log.Warn(name+" differs from the shipped one and was kept; remove it to have that again", "dir", dir)
	}
	all, err := examples.Scenarios()
	if err != nil {
		return err
	}
	for _, s := range all {
		a.ready("scenario", s.Basin+"/"+s.ID)
	}
	return nil
}
