package main

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rsmsjob/internal/config"
	"rsmsjob/internal/engine"
	"rsmsjob/internal/message"
	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/process"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

func (a *app) runCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "run --store DIR --message JSON|@FILE|-",
		Short: "run one message given by hand",
		Long: "run computes the scenario that a message names and publishes the result in the store.\n\n" +
			"A message is JSON, or base64 of JSON:\n" +
			`  {"riverbasin_id":"antietam","scenario_id":"1970-03-24"}` + "\n" +
			"rsms-job schema prints its JSON Schema. Settings count in this order: flag, variable,\n" +
			"--env-file, default.",
		RunE: func(c *cobra.Command, _ []string) error { return a.run(c) },
	}
	settings(c.Flags())
	c.Flags().Bool("json", false, "print the answer as one JSON document")
	return c
}

func (a *app) run(c *cobra.Command) error {
	if err := a.configure(c, "RSMS_STORE_DIR", "RSMS_MESSAGE"); err != nil {
		return err
	}
	asJSON, err := c.Flags().GetBool("json")
	if err != nil {
		return err
	}
	a.logStart()
	text, err := a.messageText()
	if err != nil {
		return err
	}
	m, err := message.Decode(text)
	if err != nil {
		return err
	}
	if m.Type != message.TypeRun {
		return reason.New(reason.UnsupportedCommand, "a %s message cannot be run by hand", m.Type)
	}
	dir, err := filepath.Abs(a.config.StoreDir)
	if err != nil {
		return usage("RSMS_STORE_DIR (--store): %w", err)
	}
	store, err := storage.OpenFolder(dir)
	if err != nil {
		return usage("RSMS_STORE_DIR (--store): %w", err)
	}
	defer store.Close()
	answer, err := a.handle(c.Context(), store, m)
	if err != nil {
		return err
	}
	if asJSON {
		a.told(a.printJSON(answerDocument(answer)))
	} else {
		a.told(a.printAnswer(m, answer))
	}
	return nil
}

// told notes that an answer could not be printed. The result stands all the
// same, so this is no failure of the run.
func (a *app) told(err error) {
	if err != nil {
		a.log.Warn("the answer could not be printed; the result is in the store", "error", err)
	}
}

// logStart says what runs, with which settings.
func (a *app) logStart() {
	a.log.Info("start", append([]any{"version", version, "commit", commit}, a.config.Effective()...)...)
}

// maxMessage bounds a message that is read from a file or standard input: what
// a queue can hold, in bytes.
const maxMessage = 64 << 10

// messageText is the message as it was given: itself, a file, standard input.
func (a *app) messageText() ([]byte, error) {
	given := a.config.Message
	var from io.Reader
	switch {
	case given == "-":
		from = a.stdin
	case strings.HasPrefix(given, "@"):
		f, err := os.Open(given[1:])
		if err != nil {
			return nil, usage("--message %s: the file cannot be read: %w", given, err)
		}
		defer f.Close()
		from = f
	default:
		return []byte(given), nil
	}
	text, err := io.ReadAll(io.LimitReader(from, maxMessage+1))
	if err != nil {
		return nil, usage("--message %s: it cannot be read: %w", given, err)
	}
	if len(text) > maxMessage {
		return nil, reason.New(reason.InvalidMessage, "the message is longer than %d bytes", maxMessage)
	}
	return text, nil
}

// handle runs a message on a folder store.
func (a *app) handle(ctx context.Context, store *storage.Folder, m *message.Message) (*pipeline.Answer, error) {
	if err := a.checkWorkDir(); err != nil {
		return nil, err
	}
	self, err := selfPath()
	if err != nil {
		return nil, err
	}
	limit := a.config.JobTimeout()
	if m.Timeout > 0 {
		limit = min(limit, m.Timeout)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		reason.New(reason.TimedOut, "the time limit of the job, %.0f s, was reached", limit.Seconds()))
	defer cancel()
	jobID := m.Identity("")
	progress := a.newProgress()
	defer progress.end()
	job := &pipeline.Job{Inputs: store, Runs: store, Results: store, Engines: func() (*engine.Set, error) { return a.engines(self) },
		EngineEnv: process.MinimalEnv(config.Environment, a.foreignEnv()...), Supervisor: []string{self, superviseName},
		StepTimeout: a.config.StepTimeout(), Grace: a.config.Grace() / 2,
		WorkDir: a.config.WorkDir, KeepWorkDir: a.config.KeepWorkDir, Lease: a.config.Lease(), Owner: rand.Text(),
		Tolerance: a.config.Tolerance, Commit: commit,
		Log: a.log.With("job_id", jobID, "riverbasin_id", m.Basin, "scenario_id", m.Scenario), Progress: progress.show}
	started := time.Now()
	answer, err := job.Run(ctx, m, jobID)
	progress.end()
	if err == nil {
		job.Log.Info("done", "seconds", time.Since(started).Seconds(), "already_current", answer.Current,
			"rows_by_time", answer.Marker.Rows.ByTime, "rows_by_mile", answer.Marker.Rows.ByMile)
	}
	return answer, err
}

// foreignEnv names what engines that are not our own may need of the environment:
// the settings of Wine, and where shared libraries are.
func (a *app) foreignEnv() []string {
	if a.config.ExeDir == "" && a.config.EngineRunner == "" {
		return nil
	}
	return []string{"WINEPREFIX", "WINEARCH", "WINEDEBUG", "LD_LIBRARY_PATH"}
}

// checkWorkDir sees that run folders can be made, before the scenario is taken.
func (a *app) checkWorkDir() error {
	dir, err := os.MkdirTemp(a.config.WorkDir, "rsms-check-")
	if err == nil {
		err = os.Remove(dir)
	}
	if err != nil {
		return usage("RSMS_WORK_DIR (--work-dir): no folder can be made in it: %w", err)
	}
	return nil
}

// selfPath is the path of this program.
func selfPath() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", &reason.Error{Code: reason.Internal, Err: err, Detail: "the program does not know its own path"}
	}
	return self, nil
}

// engines returns the set of engines that the settings name; self is the path
// of this program.
func (a *app) engines(self string) (*engine.Set, error) {
	if a.config.ExeDir != "" {
		return engine.Find(a.config.ExeDir, a.config.EngineRunner)
	}
	return engine.Bundled(self, a.config.EngineRunner)
}
