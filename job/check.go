package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/workdir"
)

func (a *app) checkCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "check",
		Short: "see whether a job could run here",
		Long: "check sees whether a job could run with these settings: credentials, queues, tables,\n" +
			"containers, rights, engines, disk and clock, or the folder of a folder store. It takes no\n" +
			"message and leaves nothing behind. It prints a line each and exits with 0 when all are ok.",
	}
	settings(c.Flags())
	asJSON := c.Flags().Bool("json", false, "print one JSON document, with the settings that count")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.onStore(c, func(ctx context.Context, s store) error { return a.check(ctx, s, *asJSON) })
	}
	return c
}

// checked is one thing that was looked at. Detail says what is there or, where
// it is not ok, what to do. A warning is ok as well: jobs run without the thing.
type checked struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Warning bool   `json:"warning,omitempty"`
	Detail  string `json:"detail"`
	err     error  // nil where it is ok
}

func (a *app) check(ctx context.Context, s store, asJSON bool) error {
	list := a.checks(ctx, s)
	failed := firstFailure(list)
	var err error
	if asJSON {
		err = a.printJSON(map[string]any{"ok": failed == nil, "checks": list, "settings": a.config.Settings()})
	} else {
		err = a.printChecks(list)
	}
	if failed != nil {
		return failed
	}
	return err
}

func (a *app) printChecks(list []checked) error {
	t := newTable(a.stdout)
	for _, c := range list {
		state := "ok"
		if c.Warning {
			state = "warn"
		}
		if !c.OK {
			state = "FAIL"
		}
		t.row(state, c.Name, oneLine(c.Detail))
	}
	return t.flush()
}

// firstFailure is the first failed check as an error with its reason, nil where
// all are ok.
func firstFailure(list []checked) error {
	failed := 0
	var first *checked
	for i := range list {
		if !list[i].OK {
			failed++
			if first == nil {
				first = &list[i]
			}
		}
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("%d of %d checks failed, the first is %s: %w", failed, len(list), first.Name, first.err)
}

// checklist gathers checks.
type checklist struct {
	list []checked
	gone error // why the store is not asked any more
}

// add makes one check. look returns what is there.
func (l *checklist) add(name string, look func() (string, error)) {
	detail, err := look()
	if err != nil {
		detail = advice(err)
	}
	l.list = append(l.list, checked{Name: name, OK: err == nil, Detail: detail, err: err})
}

// ask makes one check that asks the store.
func (l *checklist) ask(name string, look func() (string, error)) {
	if l.gone != nil {
		l.list = append(l.list, checked{Name: name, Detail: "not tried: there was no answer from the storage", err: l.gone})
		return
	}
	l.add(name, look)
}

// askLess is ask for what a job can do without: a failure is a warning.
func (l *checklist) askLess(name string, look func() (string, error)) {
	if l.gone != nil {
		return
	}
	detail, err := look()
	if err != nil {
		detail = advice(err)
	}
	l.list = append(l.list, checked{Name: name, OK: true, Warning: err != nil, Detail: detail})
}

// advice is what an error says to do.
func advice(err error) string {
	if u, ok := errors.AsType[*usageError](err); ok && u.text != "" {
		return u.text
	}
	if e, ok := errors.AsType[*reason.Error](err); ok && e.Detail != "" {
		return e.Detail
	}
	return err.Error()
}

// checks makes all checks, also behind one that fails.
func (a *app) checks(ctx context.Context, s store) []checked {
	l := &checklist{}
	azure, ok := s.(*storage.Azure)
	if ok {
		a.checkAzure(ctx, l, azure)
	} else {
		l.add("folder", func() (string, error) { return a.config.StoreDir, mayWriteFolder(a.config.StoreDir) })
	}
	a.checkGroups(ctx, l)
	l.add("engines", a.checkEngines)
	l.add("disk", a.checkDisk)
	if ok {
		l.ask("clock", func() (string, error) {
			skew, err := azure.Clock(ctx)
			if err != nil {
				return "", err
			}
			return clockDetail(skew)
		})
	}
	return l.list
}

// checkAzure looks at queues, tables, containers and the rights on them.
func (a *app) checkAzure(ctx context.Context, l *checklist, azure *storage.Azure) {
	queue := azure.Queue(a.config.QueueName)
	l.add("storage", func() (string, error) {
		err := a.patience().Start(ctx, func(ctx context.Context) error {
			_, err := queue.Length(ctx)
			if storage.Missing(err) {
				return nil // that is an answer
			}
			return err
		})
		if reason.Of(err) == reason.StorageUnavailable {
			err = &pipeline.NoStart{Err: &reason.Error{Code: reason.StorageUnavailable, Err: err,
				Detail: reason.Detail(err) + "; is the account right, and can it be reached from here?"}}
			l.gone = err
		}
		return a.account() + " answers", err
	})
	l.ask("queue", queueLength(ctx, queue, "RSMS_WORKER_QUEUE_NAME"))
	l.ask("poison queue", queueLength(ctx, azure.Queue(a.config.PoisonQueue()), "RSMS_WORKER_POISON_QUEUE_NAME"))
	if a.config.DoneQueueName != "" {
		l.ask("done queue", queueLength(ctx, azure.Queue(a.config.DoneQueueName), "RSMS_DONE_QUEUE_NAME"))
	}
	l.ask("message rights", func() (string, error) { return "messages can be renewed", mayUpdate(ctx, queue) })
	l.ask("tables and containers", func() (string, error) {
		return "all are there and can be read", a.namedStore(azure.Ready(ctx))
	})
	l.ask("write rights", func() (string, error) { return "results can be written", a.namedStore(azure.MayWrite(ctx)) })
	if a.config.StepCache {
		l.askLess("step cache", func() (string, error) {
			return "container " + a.config.CacheContainer + " can be used", named(azure.StepCache().MayUse(ctx), "RSMS_CACHE_BLOB_CONTAINER")
		})
	}
}

// account names the account and how it is opened.
func (a *app) account() string {
	if c := a.config.Connection; c != nil {
		return "account " + c.Account + ", by connection string,"
	}
	return "account " + a.config.AccountName + ", by identity,"
}

func queueLength(ctx context.Context, queue *storage.Queue, variable string) func() (string, error) {
	return func() (string, error) {
		n, err := queue.Length(ctx)
		return fmt.Sprintf("%s, about %d messages", queue.Name(), n), named(err, variable)
	}
}

// named turns what is missing into a mistake of the setting that names it, ""
// for one that is not known. The answer of the service is left out: the queue,
// table or container is not there, and that is all it says.
func named(err error, variable string) error {
	if !storage.Missing(err) {
		return err
	}
	detail := reason.Detail(err)
	if variable != "" {
		detail = variable + ": " + detail
	}
	return &usageError{err, detail}
}

// namedStore is named for what may be any of the tables and containers, or
// several of them.
func (a *app) namedStore(err error) error {
	c, missing := a.config, storage.WhatIsMissing(err)
	var variables []string
	for _, v := range []struct{ variable, what string }{
		{"RSMS_RIVERBASIN_BLOB_CONTAINER", "container " + c.BasinContainer}, {"RSMS_RESULTS_BLOB_CONTAINER", "container " + c.ResultsContainer},
		{"RSMS_SCENARIOS_TABLE", "table " + c.ScenariosTable}, {"RSMS_RUNS_TABLE", "table " + c.RunsTable},
		{"RSMS_PLUME_BY_TIME_TABLE", "table " + c.PlumeByTimeTable}, {"RSMS_PLUME_BY_MILE_TABLE", "table " + c.PlumeByMileTable},
	} {
		if slices.ContainsFunc(missing, func(what string) bool { return strings.HasSuffix(what, v.what) }) {
			variables = append(variables, v.variable)
		}
	}
	return named(err, strings.Join(variables, ", "))
}

// mayUpdate sees that messages can be renewed, which not every role allows that
// can receive them (C47). It tries it on a message that nobody has: rights are
// looked at first, so that any answer but a denial proves them.
func mayUpdate(ctx context.Context, queue *storage.Queue) error {
	_, err := queue.Update(ctx, "00000000-0000-0000-0000-000000000000", "AgAAAAMAAAAAAAAAAAAAAAAAAAA=", "", 0)
	if errors.Is(err, storage.ErrNotFound) || reason.Of(err) == reason.Internal {
		return nil
	}
	if reason.Of(err) == reason.StorageDenied {
		return &reason.Error{Code: reason.StorageDenied, Err: err,
			Detail: reason.Detail(err) + "; an identity needs the role Storage Queue Data Contributor for it"}
	}
	return named(err, "RSMS_WORKER_QUEUE_NAME")
}

// mayWriteFolder sees that files can be made in a folder store.
func mayWriteFolder(dir string) error {
	f, err := os.CreateTemp(dir, ".tmp-check-")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		return &reason.Error{Code: reason.StorageDenied, Err: err, Detail: "no file can be made in the folder of RSMS_STORE_DIR; is it yours to write?"}
	}
	return nil
}

func (a *app) checkEngines() (string, error) {
	self, err := selfPath()
	if err != nil {
		return "", err
	}
	set, err := a.engines(self)
	if err != nil {
		return "", err
	}
	detail := set.Name + ", sha256 " + set.Hash
	if set.Foreign {
		detail += ": " + strings.Join(slices.Sorted(maps.Keys(set.Files)), ", ")
	}
	return detail, nil
}

// leastFree is the free space that a run should find, bytes.
const leastFree = 200 << 20

func (a *app) checkDisk() (string, error) {
	if err := a.checkWorkDir(); err != nil {
		return "", &usageError{err: &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "no folder can be made in RSMS_WORK_DIR (--work-dir)"}}
	}
	dir := a.config.WorkDir
	if dir == "" {
		dir = os.TempDir()
	}
	free, err := workdir.Free(dir)
	if err != nil {
		return "", &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "it is not known how much is free in " + dir}
	}
	return diskDetail(dir, free)
}

func diskDetail(dir string, free uint64) (string, error) {
	if free < leastFree {
		return "", reason.New(reason.StorageUnavailable, "%d MB are free in %s, %d are wanted; make room, or set RSMS_WORK_DIR", free>>20, dir, uint64(leastFree)>>20)
	}
	return fmt.Sprintf("%d MB are free in %s", free>>20, dir), nil
}

// mostSkew is how far the clock may be off: leases and signatures go by it.
const mostSkew = time.Minute

// clockDetail judges how far the clock is ahead of that of the storage.
func clockDetail(skew time.Duration) (string, error) {
	way := "ahead of"
	if skew < 0 {
		way = "behind"
	}
	off := fmt.Sprintf("%.0f s %s that of the storage", math.Abs(skew.Seconds()), way)
	if skew.Abs() > mostSkew {
		return "", reason.New(reason.StorageDenied, "the clock of this machine is %s; set it: leases and signatures go by it", off)
	}
	return off, nil
}
