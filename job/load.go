package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

const (
	basinFiles   = "riverbasin/*/*"
	scenarioRows = "tables/Scenarios/*/*.json"
)

// cargo is one file of a folder store that is to be loaded into an account: a
// file of a basin, or a scenario, which has columns.
type cargo struct {
	files   fs.FS
	path    string // among the files
	basin   string
	name    string         // of the file, or id of the scenario
	columns map[string]any // nil for a file
}

// folderCargo reads all that there is to load in a folder.
func folderCargo(dir string) ([]cargo, error) {
	all, err := readCargo(os.DirFS(dir))
	if err != nil {
		return nil, usage("--from %s: nothing was loaded, since not all of it can be:\n%w", dir, err)
	}
	if len(all) == 0 {
		return nil, usage("--from %s: there is nothing to load; %s and %s are looked for", dir, basinFiles, scenarioRows)
	}
	return all, nil
}

// readCargo reads the basins and scenarios of a folder store. The error names
// all that cannot be loaded. A file that the store made for itself, with a dot in
// front, is none.
func readCargo(files fs.FS) ([]cargo, error) {
	var all []cargo
	var wrong []error
	for _, pattern := range []string{basinFiles, scenarioRows} {
		names, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if path.Base(name)[0] == '.' {
				continue
			}
			one, err := readOne(files, name, pattern == scenarioRows)
			switch {
			case err != nil:
				wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
			case one != nil:
				all = append(all, *one)
			}
		}
	}
	return all, errors.Join(wrong...)
}

// readOne reads one file; nil for a folder among the files of a basin.
func readOne(files fs.FS, name string, isScenario bool) (*cargo, error) {
	one := &cargo{files: files, path: name, basin: path.Base(path.Dir(name)), name: path.Base(name)}
	ids := &message.Message{Type: message.TypeRun, Version: message.Version, Basin: one.basin, Scenario: "any"}
	info, err := fs.Stat(files, name)
	switch {
	case err != nil:
		return nil, unreadable(err)
	case isScenario:
		one.name = strings.TrimSuffix(one.name, ".json")
		ids.Scenario = one.name
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, unreadable(err)
		}
		if one.columns, err = scenarioColumns(data); err != nil {
			return nil, err
		}
	case info.IsDir():
		return nil, nil
	default:
		// It is read when it is loaded: flow series can be large.
		f, err := files.Open(name)
		if err != nil {
			return nil, unreadable(err)
		}
		f.Close()
	}
	if _, err := ids.Encode(); err != nil {
		return nil, fmt.Errorf("its folder is the basin and its name the scenario: %s", reason.Detail(err))
	}
	return one, nil
}

func unreadable(err error) error { return fmt.Errorf("it cannot be read: %w", err) }

// load writes basins and scenarios to the account. What the store cannot keep
// does not stop the rest; a store that does not answer, or refuses, does. Each
// that is there is printed, so the error need only name the others.
func (a *app) load(ctx context.Context, azure *storage.Azure, all []cargo) error {
	var wrong []error
	for i, one := range all {
		err := a.loadOne(ctx, azure, one)
		if err != nil && len(reason.Faults(err)) == 0 {
			return fmt.Errorf("%d of %d are not loaded, from %s on; try it again: %w", len(all)-i+len(wrong), len(all), one.path,
				errors.Join(append(wrong, err)...))
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", one.path, err))
		}
	}
	if len(wrong) > 0 {
		return usage("%d of %d could not be loaded, the others are:\n%w", len(wrong), len(all), errors.Join(wrong...))
	}
	return nil
}

func (a *app) loadOne(ctx context.Context, azure *storage.Azure, one cargo) error {
	if one.columns == nil {
		data, err := fs.ReadFile(one.files, one.path)
		if err != nil {
			return &reason.Fault{Problem: "it cannot be read any more"}
		}
		if err := azure.PutBasin(ctx, one.basin, one.name, data); err != nil {
			return err
		}
		a.ready("file", one.basin+"/"+one.name)
		return nil
	}
	if err := azure.PutScenario(ctx, one.basin, one.name, one.columns); err != nil {
		return err
	}
	a.ready("scenario", one.basin+"/"+one.name)
	return nil
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
	var wrong reason.List
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		switch columns[name].(type) {
		case map[string]any, []any:
			wrong.Add(&reason.Fault{Field: name, Problem: "a value that no column can hold", Hint: "text, a number, true or false is wanted"})
		}
	}
	if text, ok := columns[spillTime].(string); ok {
		if at, err := time.Parse(time.RFC3339, strings.TrimSpace(text)); err == nil {
			columns[spillTime] = at
		}
	}
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return columns, nil
}
