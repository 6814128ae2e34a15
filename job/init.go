package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"rsmsjob/internal/config"
	"rsmsjob/internal/examples"
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
	}
	settings(c.Flags())
	withExamples := c.Flags().Bool("examples", false, "load the shipped examples")
	from := c.Flags().String("from", "", "load the basins and scenarios of the folder store `DIR`")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.init(c, *withExamples, *from) }
	return c
}

func (a *app) init(c *cobra.Command, withExamples bool, from string) error {
	if err := a.configure(c, config.Need{Store: true}); err != nil {
		return err
	}
	if a.config.StoreDir != "" {
		return a.initFolder(withExamples, from)
	}
	// What is to be loaded is read before anything is made, so that whatever is
	// wrong there is said while nothing is done.
	var all []cargo
	if from != "" {
		list, err := folderCargo(from)
		if err != nil {
			return err
		}
		all = list
	}
	if withExamples {
		files, err := examples.Store()
		if err != nil {
			return err
		}
		list, err := readCargo(files)
		if err != nil {
			return err
		}
		all = append(all, list...)
	}
	return a.onAzure(c.Context(), func(ctx context.Context, azure *storage.Azure) error {
		if err := a.createAll(ctx, azure); err != nil {
			return err
		}
		return a.load(ctx, azure, all)
	})
}

// createAll makes everything that the settings name.
func (a *app) createAll(ctx context.Context, azure *storage.Azure) error {
	for _, q := range []struct{ variable, name string }{{"RSMS_WORKER_QUEUE_NAME", a.config.QueueName},
		{"RSMS_WORKER_POISON_QUEUE_NAME", a.config.PoisonQueue()}, {"RSMS_DONE_QUEUE_NAME", a.config.DoneQueueName}} {
		if q.name == "" {
			continue
		}
		if err := a.first(ctx, azure, q.variable, azure.Queue(q.name).Create); err != nil {
			return err
		}
		a.ready("queue", q.name)
	}
	if err := a.first(ctx, azure, "", azure.Create); err != nil {
		return err
	}
	for _, name := range []string{a.config.BasinContainer, a.config.ResultsContainer, a.config.CacheContainer} {
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
