package bltm

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"rsmsjob/internal/daflow"
)

// TestExample3 carries a release through the flood of Example 3 of the flow
// engine: three branches that are dry at the start.
func TestExample3(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "daflow", "testdata", "example3.FLOW.IN"))
	if err != nil {
		t.Fatal(err)
	}
	flow, err := daflow.ReadInput(bytes.NewReader(text), "FLOW.IN")
	if err != nil {
		t.Fatal(err)
	}
	var flows bytes.Buffer
	if _, err := daflow.Run(flow, daflow.Outputs{Flow: &flows, Report: io.Discard}); err != nil {
		t.Fatal(err)
	}
	n := &flow.Network
	h := &Header{Title: n.Title, InteriorJunctions: n.InteriorJunctions, Steps: flow.Steps, StartStep: flow.StartStep,
		PrintEvery: 1, Units: n.Units, StepHours: flow.StepHours, SmallFlow: flow.SmallFlow(), Constituents: []Constituent{{"SPILL", 0}}}
	changes := map[int][]Boundary{}
	for b, from := range n.Branches {
		to := Branch{DQQ: 0.3, Up: from.Up, Down: from.Down, ParcelsPerSubreach: 1}
		for _, g := range from.Grids {
			to.Grids = append(to.Grids, Grid{Distance: g.Distance, Initial: []float64{1}})
		}
		h.Branches = append(h.Branches, to)
		for g := range from.Grids[:len(from.Grids)-1] {
			if g > 0 || !n.Interior(from.Up) {
				changes[1] = append(changes[1], Boundary{b + 1, g + 1, []float64{1}})
			}
		}
	}
	var con, out bytes.Buffer
	ledgers, err := Run(bytes.NewReader(inputText(t, h, changes)), bytes.NewReader(flows.Bytes()), &con, &out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := ReadReport(&out, "BLTM.OUT")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v, warnings %q", ledgers[0], report.Warnings)
	if l := ledgers[0]; l.Injected == 0 || abs(l.Relative) > 1e-9 {
		t.Errorf("ledger %+v", l)
	}
	for _, w := range report.Warnings {
		if bytes.Contains([]byte(w), []byte("flow file")) {
			t.Errorf("warning %q", w)
		}
	}
	r := newConReader(&con, h)
	wet := 0
	for r.next() {
		if r.c[0] > 0 {
			wet++
			if abs(r.c[0]-1) > 1e-9 {
				t.Fatalf("step %d branch %d grid %d: %v, every water has 1", r.step, r.branch, r.grid, r.c[0])
			}
		}
	}
	if r.err != nil || wet < 100 {
		t.Errorf("%d wet records, %v", wet, r.err)
	}
}
