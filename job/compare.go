package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rsmsjob/internal/compare"
	"rsmsjob/internal/config"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
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

// comparisonFlags are those that say how results are compared.
func comparisonFlags(flags *pflag.FlagSet) {
	flags.String("abs", "", "mg/L that concentrations may differ by (default the larger tolerance of the two results)")
	flags.String("rel", "", "part of the larger concentration that they may differ by besides (default 0.001)")
	flags.StringArray("within", nil, "tolerance of a field, FIELD=ABS or FIELD=ABS:REL; may be repeated")
	flags.String("html", "", "write the comparison to this file as a page")
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
	var targets [2]target
	need := config.Need{}
	for i, text := range args {
		var err error
		if targets[i], err = parseTarget(text); err != nil {
			return err
		}
		need.Store = need.Store || targets[i].dir == ""
	}
	options, err := comparisonOptions(c.Flags())
	if err != nil {
		return err
	}
	if err := a.configure(c, need); err != nil {
		return err
	}
	var results [2]*compare.Result
	for i, t := range targets {
		s, err := a.storeOf(t)
		if err != nil {
			return err
		}
		defer s.Close()
		if results[i], err = a.openResult(c.Context(), s, t); err != nil {
			return err
		}
	}
	report, err := compare.Results(c.Context(), results[0], results[1], options)
	if err != nil {
		return err
	}
	asJSON, err := c.Flags().GetBool("json")
	if err != nil {
		return err
	}
	if err := writePage(c.Flags(), report); err != nil {
		return err
	}
	if asJSON {
		err = a.printJSON(report)
	} else {
		err = report.Text(a.stdout)
	}
	if err == nil && !report.Same {
		err = errDiffer
	}
	return err
}

// writePage writes the page of --html, if that is wanted.
func writePage(flags *pflag.FlagSet, report *compare.Report) error {
	name, err := flags.GetString("html")
	if err != nil || name == "" {
		return err
	}
	var page bytes.Buffer
	if err := report.HTML(&page); err != nil {
		return err
	}
	if err := os.WriteFile(name, page.Bytes(), 0o644); err != nil {
		return usage("--html: the file cannot be written: %w", err)
	}
	return nil
}

// target is a result that a user names.
type target struct {
	label           string // as it was named
	dir             string // the folder store, "" for the store of the settings
	basin, scenario string
	job             string // "" for any
}

// storeMark stands between a folder store and what is in it. One colon would
// not do: C:ohio/42 is a path on Windows.
const storeMark = "::"

// parseTarget reads how a user names a result. Ids begin with a letter or a
// digit and have no colon, and a path here is absolute or begins with a dot, so
// nothing can be taken for something else.
func parseTarget(text string) (target, error) {
	if i := strings.LastIndex(text, storeMark); i >= 0 {
		if i == 0 {
			return target{}, usage("%s: there is no folder in front of %s", text, storeMark)
		}
		return parseIDs(text, text[:i], text[i+len(storeMark):])
	}
	if filepath.IsAbs(text) || text != "" && (text[0] == '.' || os.IsPathSeparator(text[0])) {
		return resultFolder(text)
	}
	return parseIDs(text, "", text)
}

// parseIDs reads BASIN/SCENARIO[@JOB].
func parseIDs(text, dir, ids string) (target, error) {
	t := target{label: text, dir: dir}
	ids, job, named := strings.Cut(ids, "@")
	basin, scenario, ok := strings.Cut(ids, "/")
	if !ok || strings.Contains(scenario, "/") || named && job == "" {
		return t, usage("%q names no result: BASIN/SCENARIO, or DIR%sBASIN/SCENARIO for one in a folder store, with @JOB behind it where it "+
			"must be of that job; the path of a result's folder is absolute or begins with ./", text, storeMark)
	}
	if _, err := scenarioMessage(basin, scenario); err != nil {
		return t, usage("%q: %w", text, err)
	}
	t.basin, t.scenario, t.job = basin, scenario, job
	return t, nil
}

// resultFolder reads the path of a result in a folder store.
func resultFolder(text string) (target, error) {
	full, err := filepath.Abs(text)
	if err != nil {
		return target{}, usage("%q: %w", text, err)
	}
	basin, scenario := filepath.Dir(full), filepath.Base(full)
	results := filepath.Dir(basin)
	if filepath.Base(results) != "rsms-results" {
		return target{}, usage("%q is not the folder of a result: DIR/rsms-results/BASIN/SCENARIO of a folder store DIR, which has the rows of the plume beside it", text)
	}
	t, err := parseIDs(text, filepath.Dir(results), filepath.Base(basin)+"/"+scenario)
	return t, err
}

// resultStore is a store whose results can be compared.
type resultStore interface {
	store
	compare.Store
}

// openResults opens the store that the settings name.
func (a *app) openResults() (resultStore, error) {
	if a.config.StoreDir != "" {
		return a.openFolder()
	}
	return a.openAzure()
}

// storeOf opens the store of a target.
func (a *app) storeOf(t target) (resultStore, error) {
	if t.dir == "" {
		return a.openResults()
	}
	dir, err := filepath.Abs(t.dir)
	if err != nil {
		return nil, usage("%q: %w", t.label, err)
	}
	folder, err := storage.OpenFolder(dir)
	if err != nil {
		return nil, usage("%q: %w", t.label, err)
	}
	return folder, nil
}

// openResult opens the result of a target.
func (a *app) openResult(ctx context.Context, s resultStore, t target) (r *compare.Result, err error) {
	err = a.first(ctx, s, "", func(ctx context.Context) (err error) {
		r, err = compare.Open(ctx, s, t.basin, t.scenario, t.label)
		return err
	})
	if err == nil && t.job != "" && t.job != r.Marker.JobID {
		return nil, reason.New(reason.ScenarioNotFound, "%s: the result that is there is of job %s; a store keeps the last result of a scenario only",
			t.label, r.Marker.JobID)
	}
	return r, err
}
