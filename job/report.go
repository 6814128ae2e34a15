package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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
	var facts report.Facts
	err := a.first(ctx, s, "", func(ctx context.Context) (err error) {
		facts, err = pipeline.ReadFacts(ctx, s, basin, scenario, a.config.Tolerance)
		return err
	})
	if err != nil {
		return err
	}
	if forms.contact != "" {
		facts.Contact = forms.contact
	}
	r, err := a.readRows(ctx, s, facts, forms)
	if err != nil {
		return err
	}
	if forms.text {
		if err := r.Text(a.stdout); err != nil {
			return err
		}
	}
	if forms.csv {
		if err := a.reportFiles(forms.dir, []reportFile{{"intakes.csv", r.IntakesCSV}, {"curves.csv", r.CurvesCSV}}); err != nil {
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

// readRows reads the plume once, into the report and, where it is wanted, into the map.
func (a *app) readRows(ctx context.Context, s store, facts report.Facts, forms reportForms) (*report.Report, error) {
	b := report.New(facts)
	rows := func(each func(plume.Row) error) error {
		for e, err := range s.ReadPlumeByTime(ctx, facts.Basin, facts.IDs.Scenario) {
			if err != nil {
				return err
			}
			if err := each(e.Row); err != nil {
				return err
			}
		}
		return nil
	}
	if !forms.geojson {
		err := rows(func(row plume.Row) error { b.Row(row); return nil })
		return b.Report(), err
	}
	err := a.reportFiles(forms.dir, []reportFile{{"plume.geojson", func(w io.Writer) error {
		m, err := report.NewMap(w, facts.Places)
		if err != nil {
			return err
		}
		err = rows(func(row plume.Row) error { b.Row(row); return m.Row(row) })
		if err != nil {
			return err
		}
		_, lost, err := m.Close()
		if lost > 0 {
			a.log.Warn("rows of places without a position are not in plume.geojson", "rows", lost)
		}
		return err
	}}})
	return b.Report(), err
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
		if err := writeReportFile(path, f.write); err != nil {
			if reason.Of(err) != reason.Internal {
				return err
			}
			return fmt.Errorf("write %s: %w", path, err)
		}
		if _, err := fmt.Fprintln(a.stderr, path); err != nil {
			return fmt.Errorf("print the answer: %w", err)
		}
	}
	return nil
}

func writeReportFile(path string, write func(w io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".report-*")
	if err != nil {
		return usage("folder --out: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	b := bufio.NewWriter(f)
	err = write(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
