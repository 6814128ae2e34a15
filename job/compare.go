package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rsmsjob/internal/compare"
	"rsmsjob/internal/config"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/workdir"
)

// errDiffer is the end of a comparison that was made and printed: the results
// are not the same.
var errDiffer = errors.New("the results differ")

func (a *app) compareCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "say how two results differ",
		Long: "compare says how two results differ, cell by cell and in what was concluded from them, and\n" +
			"exits with 0 when they are the same within the tolerances, with 1 when they are not.\n\n" +
			"A result is one of:\n" +
			"  BASIN/SCENARIO            in the store of the settings\n" +
			"  DIR::BASIN/SCENARIO       in the folder store DIR\n" +
			"  DIR/rsms-results/BASIN/SCENARIO   the same; absolute, or with ./ or ../ in front\n" +
			"  JOB, DIR::JOB             the one result of that job in a folder store\n" +
			"@JOB behind it wants the result to be of that job: a store keeps the last result of a scenario\n" +
			"only.\n\n" +
			"A row that one result lacks has any concentration below the tolerance of its run. --within\n" +
			"sets the tolerance of one field: FIELD=ABS or FIELD=ABS:REL; the fields are those that are\n" +
			"printed. Fields without a tolerance are reported and not judged.",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return a.compare(c, args) },
	}
	settings(c.Flags())
	comparisonFlags(c.Flags())
	c.Flags().Bool("json", false, "print one JSON document")
	return c
}

// sides are what the two results are called.
var sides = [2]string{"A", "B"}

// comparisonFlags are those that say how results are compared.
func comparisonFlags(flags *pflag.FlagSet) {
	flags.String("abs", "", "mg/L that concentrations may differ by (default the larger tolerance of the two results)")
	flags.String("rel", "", "part of the larger concentration that they may differ by besides (default 0.001)")
	flags.StringArray("within", nil, "tolerance of a field, FIELD=ABS or FIELD=ABS:REL; may be repeated")
	flags.String("html", "", "write the comparison to this file as a page; a file that is no such page is left as it is")
}

// comparisonOptions reads comparisonFlags.
func comparisonOptions(flags *pflag.FlagSet) (compare.Options, error) {
	o := compare.Options{Fields: map[string]compare.Tolerance{}}
	for name, bound := range map[string]**float64{"abs": &o.Abs, "rel": &o.Rel} {
		if f := flags.Lookup(name); f.Changed {
			x, err := compare.ParseBound(f.Value.String())
			if err != nil {
				return o, usage("--%s: %w", name, err)
			}
			*bound = &x
		}
	}
	pairs, err := flags.GetStringArray("within")
	if err != nil {
		return o, err
	}
	for _, pair := range pairs {
		field, t, err := compare.ParseTolerance(pair)
		if err != nil {
			return o, usage("--within: %w", err)
		}
		o.Fields[field] = t
	}
	return o, nil
}

func (a *app) compare(c *cobra.Command, args []string) error {
	a.compares = true
	var report *compare.Report
	err := a.orDocument(c, func() (err error) {
		report, err = a.comparison(c, args)
		return err
	})
	if err != nil {
		return err
	}
	asJSON, err := c.Flags().GetBool("json")
	if err != nil {
		return err
	}
	if asJSON {
		err = a.printJSON(report)
	} else {
		err = report.Text(a.stdout)
	}
	return verdict(report.Same, err)
}

// verdict is the end of a comparison, printed is why the answer was not. Exit 1
// says that the results differ, and nothing else, also where nobody reads on.
func verdict(same bool, printed error) error {
	switch {
	case printed != nil && !unread(printed):
		return &reason.Error{Code: reason.StorageUnavailable, Err: printed, Detail: "the answer cannot be written; is there room where standard output goes?"}
	case !same:
		return errDiffer
	}
	return printed
}

// comparison compares the results that the arguments name and writes the page.
func (a *app) comparison(c *cobra.Command, args []string) (*compare.Report, error) {
	var targets [2]target
	need := config.Need{}
	for i, text := range args {
		var err error
		if targets[i], err = parseTarget(text); err != nil {
			return nil, err
		}
		targets[i].side = sides[i]
		need.Store = need.Store || targets[i].dir == ""
	}
	options, err := comparisonOptions(c.Flags())
	if err != nil {
		return nil, err
	}
	page, err := pageFlag(c.Flags())
	if err != nil {
		return nil, err
	}
	if err := a.configure(c, need); err != nil {
		return nil, err
	}
	options.Scratch = a.scratch
	var results [2]*compare.Result
	for i, t := range targets {
		s, err := a.storeOf(t)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		if results[i], err = a.openResult(c.Context(), s, t); err != nil {
			return nil, err
		}
	}
	report, err := compare.Results(c.Context(), results[0], results[1], options)
	if err != nil {
		return nil, err
	}
	return report, page.write(report)
}

// failureDocument is what --json prints where there is nothing to answer. Its
// members are those of no answer.
type failureDocument struct {
	Error failureNote `json:"error"`
}

// failureNote says how the command ends. Reason is empty where it was called
// wrongly.
type failureNote struct {
	Exit    int         `json:"exit"`
	Reason  reason.Code `json:"reason,omitempty"`
	Message string      `json:"message"`
}

// orDocument calls do, which finds the answer of a command that tells by exit 1
// what it found. Where it finds none, --json prints a document that says so:
// an error of ours has the same exit code.
func (a *app) orDocument(c *cobra.Command, do func() error) error {
	asJSON, err := c.Flags().GetBool("json")
	if err != nil {
		return err
	}
	if !asJSON {
		return do()
	}
	note := failureNote{Exit: exitInternal, Reason: reason.Internal, Message: "a bug; the log has the stack"}
	failed := true // so it is where do panics
	defer func() {
		if failed {
			a.printJSON(failureDocument{note}) // the end is told in the log as well
		}
	}()
	if err = do(); err == nil {
		failed = false
		return nil
	}
	note = failureNote{Exit: a.code(err), Reason: reason.Of(err), Message: err.Error()}
	if note.Exit == exitUsage {
		note.Reason = ""
	}
	return err
}

// scratch opens a file for a comparison in a run folder: where this process is
// killed, the next run removes it.
func (a *app) scratch() (compare.Scratch, error) {
	folder, err := workdir.Make(a.config.WorkDir)
	if err != nil {
		return nil, noScratch(err)
	}
	file, err := os.Create(filepath.Join(folder.Path, "rows"))
	if err != nil {
		folder.Remove() // the error before counts
		return nil, noScratch(err)
	}
	return &scratchFile{file, folder}, nil
}

func noScratch(err error) error {
	return &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "no temporary file could be made in RSMS_WORK_DIR for the comparison"}
}

// scratchFile is a file with a folder of its own.
type scratchFile struct {
	*os.File
	folder *workdir.Folder
}

func (s *scratchFile) Close() error { return errors.Join(s.File.Close(), s.folder.Remove()) }
