package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"rsmsjob/internal/config"
	"rsmsjob/internal/engine"
	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/message"
	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/process"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

func (a *app) runCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "run",
		Short: "run one message: from the queue, or given by hand",
		Long: "run takes one message from the queue, computes the scenario that it names, publishes the\n" +
			"result, deletes the message and exits; an empty queue is no error. With --message the message\n" +
			"is given by hand and no queue is touched; with --store the store is a folder.\n\n" +
			"A message is JSON, or base64 of JSON:\n" +
			`  {"riverbasin_id":"antietam","scenario_id":"1970-03-24"}` + "\n" +
			"rsms-job schema prints its JSON Schema. Settings count in this order: flag, variable,\n" +
			"--env-file, default.",
		RunE: func(c *cobra.Command, _ []string) error { return a.run(c) },
	}
	settings(c.Flags())
	c.Flags().Bool("json", false, "print the answer as one JSON document")
	shadowFlags(c.Flags())
	return c
}

func (a *app) run(c *cobra.Command) error {
	if beside, err := wantsShadow(c.Flags()); err != nil {
		return err
	} else if beside {
		return a.shadow(c)
	}
	if err := a.configure(c, config.Need{Run: true}); err != nil {
		return err
	}
	return a.runHere(c)
}

// runHere runs the message that the settings give, or one from the queue.
func (a *app) runHere(c *cobra.Command) error {
	if a.config.Message == "" {
		a.logStart("queue")
		return a.runQueue(c)
	}
	a.logStart("by hand")
	return a.runByHand(c)
}

// runByHand runs a message that is given by hand.
func (a *app) runByHand(c *cobra.Command) error {
	text, err := a.messageText()
	if err != nil {
		return err
	}
	m, err := message.Decode(text)
	if err != nil {
		return err
	}
	s, err := a.openStore()
	if err != nil {
		return err
	}
	defer s.Close()
	if m.Type == message.TypeProbe {
		id := m.Identity("")
		return a.probe(c.Context(), a.log.With("job_id", id, "run", rand.Text(), "attempt", 1), s, m, id)
	}
	if err := a.answers(c.Context(), s); err != nil {
		return err
	}
	if err := a.patience().Start(c.Context(), a.groupsReady); err != nil {
		return err
	}
	answer, err := a.handle(c.Context(), s, m)
	if err != nil {
		return err
	}
	return a.tellAnswer(c, m, answer)
}

// tellAnswer prints the answer of a run.
func (a *app) tellAnswer(c *cobra.Command, m *message.Message, answer *pipeline.Answer) error {
	asJSON, err := c.Flags().GetBool("json")
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

// logStart says what runs, what made it run, where and with which settings.
func (a *app) logStart(trigger string) {
	list := append([]any{"version", version, "commit", commit, "trigger", trigger}, config.Platform()...)
	a.log.Info("start", append(list, a.config.Effective()...)...)
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

// handle runs a message that was given by hand, or by launch, which holds it
// meanwhile and has told of its delivery.
func (a *app) handle(ctx context.Context, s store, m *message.Message) (*pipeline.Answer, error) {
	held := &message.Delivery{}
	if a.config.Delivery != "" {
		var err error
		if held, err = message.ParseDelivery(a.config.Delivery); err != nil {
			return nil, usage("RSMS_DELIVERY (--delivery): %w", err)
		}
	}
	name := rand.Text()
	make, err := a.jobs(s, name)
	if err != nil {
		return nil, err
	}
	limit := a.config.JobTimeout()
	if m.Timeout > 0 && a.place == nil {
		limit = min(limit, m.Timeout)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, pipeline.Overtime(limit))
	defer cancel()
	jobID := m.Identity("")
	log := a.log.With("job_id", jobID, "run", name, "attempt", max(held.Attempt, 1), "riverbasin_id", m.Basin, "scenario_id", m.Scenario)
	if held.MessageID != "" {
		log = log.With("message_id", held.MessageID)
	}
	defer a.progress.end()
	job := make(log)
	job.Message, job.Since, job.Attempt, job.Attempts = held.MessageID, held.InsertedAt, held.Attempt, held.Attempts
	answer, err := job.Run(ctx, m, jobID)
	a.progress.end()
	a.trimCache(ctx)
	if errors.Is(err, runs.ErrNotTold) && answer != nil {
		a.log.Error("the done-notice could not be sent; the next run of the scenario will", "error", err)
		return answer, nil
	}
	return answer, err
}

// jobs returns what makes a job on the store that logs to a given log. run is
// the name of this process.
func (a *app) jobs(s store, run string) (func(log *slog.Logger) *pipeline.Job, error) {
	if err := a.checkWorkDir(); err != nil {
		return nil, err
	}
	self, err := selfPath()
	if err != nil {
		return nil, err
	}
	a.progress = a.newProgress()
	notify := a.notifier(s)
	return func(log *slog.Logger) *pipeline.Job {
		a.progress.log = log
		job := &pipeline.Job{Inputs: s, Runs: s, Results: s, Place: a.place, Engines: func() (*engine.Set, error) { return a.engines(self) },
			EngineEnv: process.MinimalEnv(config.Environment, a.foreignEnv()...), Supervisor: []string{self, superviseName},
			StepTimeout: a.config.StepTimeout(), Grace: a.config.Grace() / 2,
			WorkDir: a.config.WorkDir, KeepWorkDir: a.config.KeepWorkDir, Lease: a.config.Lease(), Owner: run,
			Tolerance: a.config.Tolerance, Commit: commit, Ensemble: a.ensemble(), Notify: notify,
			StepCache: a.stepCache(s, log), Log: log, RunLog: a.runLog.text, Progress: a.progress.show}
		if azure, ok := s.(*storage.Azure); ok {
			job.Traffic = azure.Traffic
		}
		return job
	}, nil
}

// ensemble is the ensemble that the settings ask for.
func (a *app) ensemble() ensemble.Options {
	c := a.config
	return ensemble.Options{Runs: c.Ensemble, Seed: int64(c.EnsembleSeed), Dispersion: c.VaryDispersion, Flow: c.VaryFlow, Release: c.VaryRelease}
}

// foreignEnv names what engines that are not our own may need of the environment:
// the settings of Wine, and where shared libraries are.
func (a *app) foreignEnv() []string {
	if a.config.ExeDir == "" && a.config.EngineRunner == "" {
		return nil
	}
	return []string{"WINEPREFIX", "WINEARCH", "WINEDEBUG", "WINEDLLOVERRIDES", "LD_LIBRARY_PATH"}
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
		return engine.Find(a.config.ExeDir, a.config.EngineRunner, config.Environment)
	}
	return engine.Bundled(self, a.config.EngineRunner)
}
