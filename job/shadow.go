package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rsmsjob/internal/compare"
	"rsmsjob/internal/config"
	"rsmsjob/internal/message"
	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/workdir"
)

// bundledEngines is what --shadow calls our own engines.
const bundledEngines = "bundled"

// shadowFlags are those of run that have a message run beside production.
func shadowFlags(flags *pflag.FlagSet) {
	flags.String("shadow", "", "run the message with other engines beside production and compare: "+bundledEngines+", or a folder of executables. "+
		"Nothing is written to the store; exits with 1 when the results differ")
	flags.String("shadow-runner", "", "put before every engine command line of --shadow, whichever engines they are, e.g. wine")
	flags.String("shadow-dir", "", "keep the result of --shadow in this folder store, which is no other's (default a temporary one)")
	comparisonFlags(flags)
}

// wantsShadow reports whether the flags ask for a shadow run. Flags that say
// how one is made mean nothing without it.
func wantsShadow(flags *pflag.FlagSet) (bool, error) {
	if flags.Changed("shadow") {
		return true, nil
	}
	for _, name := range []string{"shadow-runner", "shadow-dir", "abs", "rel", "within", "html"} {
		if flags.Changed(name) {
			return false, usage("--%s means nothing without --shadow", name)
		}
	}
	return false, nil
}

// shadow is what a shadow run was asked for, and came to.
type shadow struct {
	engines, runner string
	dir             string // of its store, absolute
	label           string // of its result
	options         compare.Options
	page            pageFile
	message         *message.Message
	kept            bool // dir was given

	answer *pipeline.Answer
	report *compare.Report // nil where there was nothing to compare with
	why    string          // there is no report
}

// shadowDocument is the answer of run --shadow as JSON. Comparison is nil where
// there was nothing to compare with, and NotCompared says why.
type shadowDocument struct {
	Shadow      document        `json:"shadow"`
	StoreDir    string          `json:"shadow_dir,omitempty"`
	Comparison  *compare.Report `json:"comparison"`
	NotCompared string          `json:"not_compared,omitempty"`
}

// shadow runs a message that is given by hand with a second set of engines. The
// store of the settings is only read: result, record and log go to a store of
// their own.
func (a *app) shadow(c *cobra.Command) error {
	a.compares = true
	s := &shadow{}
	err := a.orDocument(c, func() error { return a.runShadow(c, s) })
	if err != nil {
		return err
	}
	return a.tellShadow(c, s)
}

// runShadow makes the answer of a shadow run.
func (a *app) runShadow(c *cobra.Command, s *shadow) error {
	if err := s.read(c.Flags()); err != nil {
		return err
	}
	s.options.Scratch = a.scratch
	if err := a.configure(c, config.Need{Store: true, Message: true}); err != nil {
		return err
	}
	a.logStart("shadow")
	text, err := a.messageText()
	if err != nil {
		return err
	}
	m, err := message.Decode(text)
	if err != nil {
		return err
	}
	if m.Type != message.TypeRun {
		return usage("--shadow: the message is no %s", message.TypeRun)
	}
	production, err := a.openResults()
	if err != nil {
		return err
	}
	defer production.Close()
	if err := a.answers(c.Context(), production); err != nil {
		return err
	}
	s.message = m
	return a.besides(c.Context(), production, s)
}

// read reads the flags.
func (s *shadow) read(flags *pflag.FlagSet) (err error) {
	for name, to := range map[string]*string{"shadow": &s.engines, "shadow-runner": &s.runner, "shadow-dir": &s.dir} {
		if *to, err = flags.GetString(name); err != nil {
			return err
		}
	}
	if s.engines == "" {
		return usage("--shadow: the engines are not named: %s, or a folder of executables", bundledEngines)
	}
	if s.dir == "" && flags.Changed("shadow-dir") {
		return usage("--shadow-dir: the folder is not named; leave the flag out for a temporary one")
	}
	s.kept = s.dir != ""
	if s.options, err = comparisonOptions(flags); err != nil {
		return err
	}
	s.page, err = pageFlag(flags)
	return err
}

// besides runs the message in a store of its own and compares.
func (a *app) besides(ctx context.Context, production resultStore, s *shadow) error {
	end, err := a.shadowStore(s)
	if err != nil {
		return err
	}
	defer end()
	folder, err := storage.OpenFolder(s.dir)
	if err != nil {
		return usage("--shadow-dir: %w", err)
	}
	defer folder.Close()
	if err := a.runBesides(ctx, production, folder, s); err != nil {
		return err
	}
	if err := compareShadow(ctx, production, folder, s); err != nil || s.report == nil {
		return err
	}
	return s.page.write(s.report)
}

// shadowStore makes the store of a shadow run; end removes it where it is not
// to be kept.
func (a *app) shadowStore(s *shadow) (end func(), err error) {
	if !s.kept {
		if err := a.checkWorkDir(); err != nil {
			return nil, err
		}
		// A run folder: where this process is killed, the next run removes it.
		f, err := workdir.Make(a.config.WorkDir)
		if err != nil {
			return nil, &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "no folder could be made in RSMS_WORK_DIR for the shadow result"}
		}
		s.dir, s.label = f.Path, "shadow"
		return func() {
			if err := f.Remove(); err != nil {
				a.log.Warn("the folder of the shadow result was left behind", "error", err)
			}
		}, nil
	}
	s.label = s.dir + storeMark + s.message.Basin + "/" + s.message.Scenario
	if s.dir, err = filepath.Abs(s.dir); err == nil {
		err = outsideStores(s.dir)
	}
	if err == nil {
		err = os.MkdirAll(s.dir, 0o755)
	}
	if err != nil {
		return nil, usage("--shadow-dir: %w", err)
	}
	return func() {}, nil
}

// outsideStores refuses a folder, which need not be there, that is a store that
// jobs run in, or lies in one, whatever way leads there.
func outsideStores(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
			continue
		}
		if err != nil {
			return err
		}
		for above := real; ; above = filepath.Dir(above) {
			for _, name := range []string{"riverbasin", filepath.Join("tables", "Scenarios")} {
				if _, err := os.Stat(filepath.Join(above, name)); err == nil {
					return fmt.Errorf("%s has %s, so it is a store that jobs run in; name a folder outside of it", above, filepath.ToSlash(name))
				}
			}
			if above == filepath.Dir(above) {
				return nil
			}
		}
	}
}

// runBesides runs the message, reading from production and writing to folder.
func (a *app) runBesides(ctx context.Context, production pipeline.Inputs, folder *storage.Folder, s *shadow) (err error) {
	own := a.config
	defer func() { a.config = own }()
	other := *own
	other.ExeDir, other.EngineRunner = s.engines, s.runner
	if s.engines == bundledEngines {
		other.ExeDir = ""
	}
	other.Delivery, other.DoneQueueName = "", "" // nobody waits for this job
	other.Ensemble = 0                           // engines are compared, not bands
	a.config = &other
	s.answer, err = a.handle(ctx, &besideStore{folder, production}, s.message)
	return err
}

// compareShadow compares the shadow result with that of production, or says why
// it does not.
func compareShadow(ctx context.Context, production, folder compare.Store, s *shadow) error {
	basin, scenario := s.message.Basin, s.message.Scenario
	real, err := compare.Open(ctx, production, compare.Target{Basin: basin, Scenario: scenario, Side: sides[0], Label: basin + "/" + scenario})
	if reason.Of(err) == reason.ScenarioNotFound {
		s.why = "production has no result of this scenario; run it there first"
		return nil
	}
	if err != nil {
		return err
	}
	mine, err := compare.Open(ctx, folder, compare.Target{Basin: basin, Scenario: scenario, Side: sides[1], Label: s.label})
	if err != nil {
		return err
	}
	if in := compare.InputsOf(real, mine); in.Known && !in.Same() {
		s.why = fmt.Sprintf("the result of production is of other inputs than there are now (%s); run it there again first", strings.Join(in.Differ, ", "))
		return nil
	}
	s.report, err = compare.Results(ctx, real, mine, s.options)
	return err
}

// tellShadow prints what a shadow run came to.
func (a *app) tellShadow(c *cobra.Command, s *shadow) error {
	asJSON, err := c.Flags().GetBool("json")
	if err != nil {
		return err
	}
	doc := shadowDocument{Shadow: answerDocument(s.answer), Comparison: s.report, NotCompared: s.why}
	where := ""
	if s.kept {
		doc.StoreDir, where = s.dir, ", in "+s.dir
	}
	switch {
	case asJSON:
		err = a.printJSON(doc)
	default:
		fmt.Fprintf(a.stdout, "%s %s: shadow run with %s%s\n", s.message.Basin, s.message.Scenario, s.answer.Marker.Engine, where)
		if s.report == nil {
			_, err = fmt.Fprintf(a.stdout, "not compared: %s\n", s.why)
		} else {
			err = s.report.Text(a.stdout)
		}
	}
	return verdict(s.report == nil || s.report.Same, err)
}

// besideStore has the inputs of one store, and keeps results and records in a
// folder that nobody else writes. Nothing it does can write to the first.
type besideStore struct {
	*storage.Folder
	inputs pipeline.Inputs
}

func (b *besideStore) BasinExists(ctx context.Context, basin string) (bool, error) {
	return b.inputs.BasinExists(ctx, basin)
}

func (b *besideStore) Basin(ctx context.Context, basin, name string) ([]byte, error) {
	return b.inputs.Basin(ctx, basin, name)
}

func (b *besideStore) Scenario(ctx context.Context, basin, scenario string) (map[string]any, error) {
	return b.inputs.Scenario(ctx, basin, scenario)
}

// MergeScenario tells nobody: the scenario row is that of production.
func (b *besideStore) MergeScenario(context.Context, string, string, map[string]any) error {
	return nil
}
