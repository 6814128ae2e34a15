package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"rsmsjob/internal/config"
	"rsmsjob/internal/examples"
	"rsmsjob/internal/message"
	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/storage"
)

func (a *app) demoCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "demo [DIR]",
		Short: "run a shipped example and compare it with what was measured",
		Long: "demo writes the example basins into the folder store DIR (default ./rsms-demo), runs one\n" +
			"scenario there and prints what the job predicts beside what was measured in the river.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.demo(c, args) },
	}
	settings(c.Flags())
	c.Flags().String("basin", examples.DefaultBasin, "example basin")
	c.Flags().String("scenario", "", "scenario of the basin (default its first, or "+examples.DefaultScenario+")")
	c.Flags().Bool("json", false, "print the answer as one JSON document")
	return c
}

func (a *app) demo(c *cobra.Command, args []string) error {
	if err := a.configure(c, config.Need{}); err != nil {
		return err
	}
	asJSON, err := c.Flags().GetBool("json")
	if err != nil {
		return err
	}
	a.logStart("demo")
	example, err := chooseExample(c)
	if err != nil {
		return err
	}
	dir := "rsms-demo"
	if len(args) == 1 {
		dir = args[0]
	}
	store, kept, err := openDemo(dir)
	if err != nil {
		return err
	}
	for _, name := range kept {
		a.log.Warn(name+" differs from the shipped one and was kept; remove it to have that again", "dir", dir)
	}
	defer store.Close()
	m := &message.Message{Type: message.TypeRun, Version: message.Version, Basin: example.Basin, Scenario: example.ID, Force: true}
	started := time.Now()
	answer, err := a.handle(c.Context(), store, m)
	if err != nil {
		return err
	}
	observed, err := examples.Observations(example)
	if err != nil {
		return err
	}
	places := match(answer.Intakes, observed)
	if asJSON {
		a.told(a.printJSON(map[string]any{"dir": dir, "answer": answerDocument(answer), "places": places}))
	} else {
		a.told(a.printDemo(dir, example, answer, places, time.Since(started)))
	}
	return nil
}

// chooseExample checks --basin and --scenario against what is shipped.
func chooseExample(c *cobra.Command) (examples.Scenario, error) {
	basin, err := c.Flags().GetString("basin")
	if err != nil {
		return examples.Scenario{}, err
	}
	id, err := c.Flags().GetString("scenario")
	if err != nil {
		return examples.Scenario{}, err
	}
	if id == "" && basin == examples.DefaultBasin {
		id = examples.DefaultScenario
	}
	all, err := examples.Scenarios()
	if err != nil {
		return examples.Scenario{}, err
	}
	known := ""
	for _, s := range all {
		if s.Basin == basin && (s.ID == id || id == "") {
			return s, nil
		}
		known += "\n  --basin " + s.Basin + " --scenario " + s.ID
	}
	return examples.Scenario{}, usage("there is no such example; there are:%s", known)
}

// openDemo writes the examples into dir and opens it as a store. kept are the
// files there that differ from the shipped ones.
func openDemo(dir string) (store *storage.Folder, kept []string, err error) {
	full, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(full, 0o755)
	}
	if err == nil {
		kept, err = examples.Write(full)
	}
	if err != nil {
		return nil, nil, usage("demo folder %s: the examples cannot be written there: %w", dir, err)
	}
	store, err = storage.OpenFolder(full)
	if err != nil {
		return nil, nil, usage("demo folder %s: %w", dir, err)
	}
	return store, kept, nil
}

// placeDocument is prediction beside measurement at one place; hours from the
// release.
type placeDocument struct {
	Name      string  `json:"name"`
	RiverMile float64 `json:"river_mile"`
	Predicted shape   `json:"predicted"`
	Observed  *shape  `json:"observed"`
}

type shape struct {
	ArrivalHours float64 `json:"arrival_h"` // 10 % of the peak
	PeakHours    float64 `json:"peak_h"`
	PeakMgL      float64 `json:"peak_mg_l"`
	EndHours     float64 `json:"end_h"` // 10 % of the peak
}

func match(intakes []plume.Intake, observed []examples.Observation) []placeDocument {
	var list []placeDocument
	for _, in := range intakes {
		p := placeDocument{Name: in.Name, RiverMile: in.RiverMile,
			Predicted: shape{in.Shape.LeadHours, in.Shape.PeakHours, in.Shape.PeakMgL, in.Shape.TrailHours}}
		for _, o := range observed {
			if o.Name == in.Name {
				p.Observed = &shape{o.LeadHours, o.PeakHours, o.PeakMgL, o.TrailHours}
			}
		}
		list = append(list, p)
	}
	return list
}

func (a *app) printDemo(dir string, example examples.Scenario, answer *pipeline.Answer, places []placeDocument, took time.Duration) error {
	fmt.Fprintf(a.stdout, "%s %s: predicted and measured, hours from the release\n\n", example.Basin, example.ID)
	t := newTable(a.stdout)
	t.row("", "", "arrival h", "", "peak h", "", "peak mg/L", "", "end h", "")
	t.row("place", "mile", "predicted", "measured", "predicted", "measured", "predicted", "measured", "predicted", "measured")
	for _, p := range places {
		o := shape{}
		if p.Observed != nil {
			o = *p.Observed
		}
		t.row(p.Name, fmt.Sprintf("%.2f", p.RiverMile), hours(p.Predicted.ArrivalHours), hours(o.ArrivalHours),
			hours(p.Predicted.PeakHours), hours(o.PeakHours), grams(p.Predicted.PeakMgL), grams(o.PeakMgL),
			hours(p.Predicted.EndHours), hours(o.EndHours))
	}
	if err := t.flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\narrival and end: 10 %% of the place's own peak. The mass ledger is closed to %.1e.\n"+
		"%d plume rows in %.1f s; everything is in %s:\n"+
		"  rsms-results/%[5]s/%[6]s/report.html   the answer as a page: open it in a browser\n"+
		"  rsms-results/%[5]s/%[6]s/   JSON answers, result.json last\n"+
		"  tables/PlumeByTime, PlumeByMile   plume rows\n"+
		"  riverbasin/%[5]s/README.md   where every number of the example comes from\n",
		answer.Balance.RelativeError, answer.Marker.Rows.ByTime, took.Seconds(), dir, example.Basin, example.ID)
	return err
}

// hours is a time after the release, "-" where it is not known.
func hours(h float64) string {
	if h == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", h)
}

// grams is a concentration, "-" where it is not known.
func grams(c float64) string {
	if c == 0 {
		return "-"
	}
	return fmt.Sprintf("%.5f", c)
}
