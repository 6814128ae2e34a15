package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/report"
)

// reportForms is which forms of a report are wanted; none means the page.
type reportForms struct {
	text, csv, geojson bool
	dir                string
	contact            string
}

func (a *app) reportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "report BASIN SCENARIO",
		Short: "write a result as a page, as a message to forward, or as tables",
		Long: "report reads the published result of a scenario and writes report.html, which opens in any\n" +
			"browser and needs no network, with its pictures beside it. Each of --text, --csv and --geojson\n" +
			"asks for that instead; they can be combined. Times are UTC and in the zone of the basin.",
		Args: cobra.ExactArgs(2),
	}
	settings(c.Flags())
	var forms reportForms
	c.Flags().StringVarP(&forms.dir, "out", "o", "rsms-report", "write files into this folder")
	c.Flags().BoolVar(&forms.text, "text", false, "print a short plain message that can be forwarded by mail")
	c.Flags().BoolVar(&forms.csv, "csv", false, "write intakes.csv and curves.csv")
	c.Flags().BoolVar(&forms.geojson, "geojson", false, "write plume.geojson: a point per place and time, where the index has positions")
	c.Flags().StringVar(&forms.contact, "contact", "", "whom readers may ask (default: contact of basin.json)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := scenarioMessage(args[0], args[1]); err != nil {
			return err
		}
		return a.onStore(c, func(ctx context.Context, s store) error { return a.writeReport(ctx, s, args[0], args[1], forms) })
	}
	return c
}

func (a *app) writeReport(ctx context.Context, s store, basin, scenario string, forms reportForms) error {
	var reading *pipeline.Reading
	err := a.first(ctx, s, "", func(ctx context.Context) (err error) {
		reading, err = pipeline.OpenResult(ctx, s, basin, scenario, a.config.Tolerance)
		return err
	})
	if err != nil {
		return err
	}
	for _, w := range reading.Since {
		a.log.Warn(w)
	}
	if forms.contact != "" {
		reading.Facts.Contact = forms.contact
	}
	r, err := a.readRows(ctx, reading, forms)
	if err != nil {
		return err
	}
	if forms.text {
		if err := r.Text(a.stdout); err != nil {
			return err
		}
	}
	if forms.csv {
		if err := a.reportFiles(forms.dir, []reportFile{{"intakes.csv", r.IntakesCSV}}); err != nil {
			return err
		}
	}
	if forms.text || forms.csv || forms.geojson {
		return nil
	}
	files := []reportFile{{"report.html", r.HTML}}
	for _, name := range report.Pictures() {
		files = append(files, reportFile{name, func(w io.Writer) error { return r.Picture(w, name) }})
	}
	return a.reportFiles(forms.dir, files)
}

// readRows reads the plume once, into the report and into the files of rows that are
// wanted.
func (a *app) readRows(ctx context.Context, reading *pipeline.Reading, forms reportForms) (*report.Report, error) {
	var files []rowFile
	if forms.csv {
		files = append(files, rowFile{"curves.csv", func(w io.Writer) (func(plume.Row) error, func() error, error) {
			c, err := report.NewCurves(w, reading.Facts)
			if err != nil {
				return nil, nil, err
			}
			return c.Row, c.Close, nil
		}})
	}
	if forms.geojson {
		files = append(files, rowFile{"plume.geojson", func(w io.Writer) (func(plume.Row) error, func() error, error) {
			m, err := report.NewMap(w, reading.Facts.Places)
			if err != nil {
				return nil, nil, err
			}
			return m.Row, func() error { return a.closeMap(m) }, nil
		}})
	}
	b := report.New(reading.Facts)
	if err := a.eachRow(ctx, reading, forms.dir, files, func(row plume.Row) error { b.Row(row); return nil }); err != nil {
		return nil, err
	}
	return b.Report(), nil
}

func (a *app) closeMap(m *report.Map) error {
	lost, err := m.Close()
	if lost > 0 {
		a.log.Warn("rows of places without a position are not in plume.geojson", "rows", lost)
	}
	return err
}

// rowFile is a file of a report that is written while the rows pass.
type rowFile struct {
	name  string
	begin func(w io.Writer) (row func(plume.Row) error, end func() error, err error)
}

// eachRow hands the rows to a function and into files, which are there when the rows
// were those of the result.
func (a *app) eachRow(ctx context.Context, reading *pipeline.Reading, dir string, files []rowFile, to func(plume.Row) error) error {
	if len(files) == 0 {
		return reading.Rows(ctx, to)
	}
	return a.reportFiles(dir, []reportFile{{files[0].name, func(w io.Writer) error {
		into, end, err := files[0].begin(w)
		if err != nil {
			return err
		}
		err = a.eachRow(ctx, reading, dir, files[1:], func(row plume.Row) error {
			if err := to(row); err != nil {
				return err
			}
			return into(row)
		})
		if err != nil {
			return err
		}
		return end()
	}}})
}

// reportFile is one file of a report.
type reportFile struct {
	name  string
	write func(w io.Writer) error
}

// reportFiles writes files that are whole or not there, and says where they are.
func (a *app) reportFiles(dir string, files []reportFile) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usage("folder --out %s: %w", dir, err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		err := writeWhole(path, f.write)
		_, file := errors.AsType[*fs.PathError](err)
		_, name := errors.AsType[*os.LinkError](err)
		if (file || name) && reason.Of(err) == reason.Internal {
			return usage("--out: %s cannot be written: %w", path, err)
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(a.stderr, path); err != nil {
			return fmt.Errorf("print the answer: %w", err)
		}
	}
	return nil
}
