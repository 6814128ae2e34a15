package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"rsmsjob/internal/config"
	"rsmsjob/internal/launch"
	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/stepcache"
	"rsmsjob/internal/storage"
)

// app is what all commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	config   *config.Config
	log      *slog.Logger
	ofJob    *slog.Logger     // names the queue job whose error is reported; nil where there is none
	terminal *terminal        // standard error, where it is one
	runLog   runLog           // what the log says, for the store
	progress *progress        // of the run
	place    pipeline.Place   // where jobs run, nil is here
	groups   *launch.Groups   // nil for any other command than launch
	compares bool             // the exit code is the answer: RSMS_EXIT_ZERO hides nothing of it
	cache    *stepcache.Cache // of the job that ran last; nil for none
}

func (a *app) command() *cobra.Command {
	run := a.runCommand()
	root := &cobra.Command{
		Use:   "rsms-job",
		Short: "run a river-spill model from one message",
		Long: "rsms-job takes one message that names a spill, computes how it goes down the river,\n" +
			"and writes the plume. Without a subcommand it does what run does.",
		Args:              cobra.NoArgs,
		RunE:              run.RunE,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w; see %s -h", err, c.CommandPath())
	})
	root.Flags().AddFlagSet(run.Flags())
	root.AddCommand(run, a.demoCommand(), a.engineCommand(), a.schemaCommand(), a.versionCommand(),
		a.enqueueCommand(), a.statusCommand(), a.reportCommand(), a.cancelCommand(), a.poisonCommand(), a.checkCommand(), a.initCommand(), a.launchCommand(), a.compareCommand())
	for _, c := range append(root.Commands(), root) {
		if c.Args == nil {
			c.Args = cobra.NoArgs
		}
		check := c.Args
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usage("%w; see rsms-job -h", err)
			}
			return nil
		}
	}
	return root
}

// settings adds a flag for every setting but the secrets to a command. The help
// text names the variable behind each. Settings that one command alone reads
// are flags of that one.
func settings(flags *pflag.FlagSet, command ...string) {
	file := "read settings from a .env file or a local.settings.json"
	for _, v := range config.Variables() {
		if v.Only != "" && !slices.Contains(command, v.Only) {
			continue
		}
		text := v.Help + " [" + v.Env + "]"
		if v.Secret {
			file += "; by file or variable only: " + text
			continue
		}
		if v.Default != "" {
			text += " (default " + v.Default + ")"
		}
		flags.String(v.Flag, "", text)
		flags.Lookup(v.Flag).DefValue = ""
		if v.Bool {
			flags.Lookup(v.Flag).NoOptDefVal = "true"
		}
	}
	flags.String("env-file", "", file)
}

// configure reads flags, environment and settings file, and starts the log.
// What the command needs must be set.
func (a *app) configure(c *cobra.Command, need config.Need) error {
	byFlag := map[string]string{}
	for _, v := range config.Variables() {
		if f := c.Flags().Lookup(v.Flag); f != nil && f.Changed {
			byFlag[v.Env] = f.Value.String()
		}
	}
	sources := []config.Lookup{func(name string) (string, bool) { v, ok := byFlag[name]; return v, ok }, config.Environment}
	if path, _ := c.Flags().GetString("env-file"); path != "" {
		file, err := config.File(path)
		if err != nil {
			return &usageError{err: err}
		}
		sources = append(sources, file)
	}
	cfg, err := config.Load(need, sources...)
	if err != nil {
		return &usageError{err: err}
	}
	a.config = cfg
	a.log = a.logger(cfg)
	return nil
}

// onStore reads the settings, opens the store that they name and calls do.
func (a *app) onStore(c *cobra.Command, do func(ctx context.Context, s store) error) error {
	if err := a.configure(c, config.Need{Store: true}); err != nil {
		return err
	}
	s, err := a.openStore()
	if err != nil {
		return err
	}
	defer s.Close()
	return do(c.Context(), s)
}

// onQueue does the same for a command that needs queues, which a folder has not.
func (a *app) onQueue(c *cobra.Command, do func(ctx context.Context, azure *storage.Azure) error) error {
	if err := a.configure(c, config.Need{Queue: true}); err != nil {
		return err
	}
	return a.onAzure(c.Context(), do)
}

// onAzure opens the account of the settings, which have been read, and calls do.
func (a *app) onAzure(ctx context.Context, do func(ctx context.Context, azure *storage.Azure) error) error {
	azure, err := a.openAzure()
	if err != nil {
		return err
	}
	defer azure.Close()
	return do(ctx, azure)
}

// logger writes to standard error: coloured text on a terminal, JSON lines
// elsewhere, unless the format is given; and to the log of the run.
func (a *app) logger(c *config.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		panic(err) // config has checked it
	}
	w := a.stderr
	if isTerminal(a.stderr) {
		a.terminal = &terminal{w: a.stderr}
		w = a.terminal
	}
	var shown slog.Handler = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})
	if c.LogFormat == "text" || c.LogFormat == "auto" && a.terminal != nil {
		shown = tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: a.terminal == nil})
	}
	return slog.New(slog.NewMultiHandler(shown, slog.NewJSONHandler(&a.runLog, &slog.HandlerOptions{Level: level})))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// printJSON prints one JSON document.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}
