package plume_test

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/river"
)

var update = flag.Bool("update", false, "write the golden files")

var ids = plume.IDs{Basin: "ohio", Scenario: "42", JobID: "job-1"}

// bytesOf are those of the blob as it is published.
func bytesOf(value any) ([]byte, error) {
	var b bytes.Buffer
	err := publish.JSON("x.json", value).Write(&b)
	return b.Bytes(), err
}

// The golden files are the public form: key order, null where there is no
// plume, no blank, no line end.
func TestDocuments(t *testing.T) {
	for name, value := range map[string]any{
		"edge_timeseries.json": edgeDocument(t),
		"mass_balance.json":    balanceDocument(),
		"intakes.json":         intakeDocument(),
		"intakes_none.json":    plume.IntakeDocument{IDs: ids, Intakes: []plume.Intake{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := bytesOf(value)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name)
			if *update {
				if os.Getenv("CI") != "" {
					t.Fatal("-update is refused in CI")
				}
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func edgeDocument(t *testing.T) plume.EdgeDocument {
	x := basin(t, 1, [][3]int{{2, 1, 2}, {1, 3, 2}}, "1,1,Big Creek,5", "1,2,Big Creek,3.25", "2,1,Ohio,10", "2,2,Ohio,11")
	e := plume.NewEdges(x, x.Places, 2, []float64{1, 1, 1, 1}, 0.001)
	e.Profile(spill, []float64{0, 0, 0, 0}, []float64{0, 0})
	e.Profile(spill.Add(time.Hour), []float64{4.5, 0.25, 0, 0}, []float64{600, 0})
	e.Profile(spill.Add(2*time.Hour), []float64{0, 1e-3, 2, 1e-9}, []float64{1.5, 598.25})
	return plume.EdgeDocument{IDs: ids, ToleranceMgL: 0.001, Series: e.Series()}
}

func balanceDocument() plume.BalanceDocument {
	d := plume.BalanceDocument{IDs: ids}
	d.Add(spill, plume.Ledger{})
	last := plume.Ledger{InjectedKg: 1000, InRiverKg: 600, OutflowKg: 250, DecayedKg: 100, WithdrawnKg: 49.5}
	d.Add(spill.Add(time.Hour), last)
	d.Finish(last)
	return d
}

func intakeDocument() plume.IntakeDocument {
	threshold := 2.0
	at := func(name string, mile float64) river.Place { return river.Place{Name: name, River: "Ohio", Mile: mile} }
	return plume.IntakeDocument{IDs: ids, Intakes: []plume.Intake{
		plume.IntakeOf(at("Smith & Søn <1>", 10), curve(0, 4, 0), spill, 1, &threshold),
		plume.IntakeOf(at("not reached", 11), curve(0, 0, 0.5), spill, 1, &threshold),
		plume.IntakeOf(at("", 12.5), curve(0, 0, 4), spill, 1, nil),
	}}
}

func TestDocumentsHoldNumbersOnly(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		edges := edgeDocument(t)
		*edges.Series[0].PeakMgL[1] = bad
		balance := balanceDocument()
		balance.Final.RelativeError = bad
		intakes := intakeDocument()
		intakes.Intakes[0].PeakMgL = bad
		for _, d := range []any{edges, balance, intakes} {
			if text, err := bytesOf(d); reason.Of(err) != reason.EngineOutputInvalid || len(text) != 0 {
				t.Errorf("%T with %v: %q, %v", d, bad, text, err)
			}
		}
	}
}
