package bltm

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/river"
)

// example is two branches that meet and go on as one.
func example() (*Header, map[int][]Boundary) {
	grids := func(miles ...float64) (g []Grid) {
		for i, m := range miles {
			g = append(g, Grid{Distance: m, Print: i == len(miles)-1, Initial: []float64{0, 0.1}})
		}
		return g
	}
	h := &Header{Title: "two into one", InteriorJunctions: 1, Steps: 12, StartStep: 6, PrintEvery: 5, Units: river.English,
		StepHours: 0.25, SmallFlow: 0.001, DQV: 0.01,
		Constituents: []Constituent{{"SPILL", 0}, {"OXYGEN", 0.01}},
		Branches: []Branch{
			{DQQ: 0.2, Up: 2, Down: 1, ParcelsPerSubreach: 1, Grids: grids(0, 0.5, 1)},
			{DQQ: 0.2, Up: 3, Down: 1, ParcelsPerSubreach: 2, Grids: grids(0, 0.25)},
			{DQQ: 0.1, Up: 1, Down: 4, ParcelsPerSubreach: 1, Grids: grids(1, 1.75, 2.5)},
		}}
	return h, map[int][]Boundary{
		1: {{1, 1, []float64{10, 0}}, {2, 1, []float64{0, 5}}},
		3: {{1, 1, []float64{0, 0}}},
		5: {{3, 2, []float64{7, 0}}},
	}
}

func exampleFlows() []byte {
	return flowText(12, 3, func(step, b int) flowState {
		switch b {
		case 0:
			return flowState{[]float64{60, 60, 60}, []float64{40, 42, 0}, []float64{0, 0, 0}}
		case 1:
			return flowState{[]float64{40, 40}, []float64{30, 0}, []float64{0, 0}}
		}
		return flowState{[]float64{100, 105, 105}, []float64{70, 71, 0}, []float64{0, 5, 0}}
	})
}

func TestInputRoundTrip(t *testing.T) {
	h, changes := example()
	text := inputText(t, h, changes)
	in, err := NewInput(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(in.Header(), h) {
		t.Errorf("read %+v\nwant %+v", in.Header(), h)
	}
	for step := 1; in.Next(); step++ {
		got := append([]Boundary(nil), in.Boundaries()...)
		if len(got) != len(changes[step]) || len(got) > 0 && !reflect.DeepEqual(got, changes[step]) {
			t.Errorf("step %d: read %v, want %v", step, got, changes[step])
		}
	}
	if in.Err() != nil || in.step != h.Steps {
		t.Errorf("ended behind step %d: %v", in.step, in.Err())
	}
}

// TestInputAccepts: H08 line ends and byte order mark, H09 numbers.
func TestInputAccepts(t *testing.T) {
	h, changes := example()
	text := string(inputText(t, h, changes))
	for name, s := range map[string]string{
		"CRLF":           strings.ReplaceAll(text, "\n", "\r\n"),
		"mark":           "\ufeff" + text,
		"blank ends":     text + "\n  \n",
		"D exponent":     strings.Replace(text, "0.25 0.001 0.01", "2.5D-1 1.-3 .1-1", 1),
		"commas":         strings.Replace(text, "0.25 0.001 0.01", "0.25,0.001 , 0.01", 1),
		"repeat":         strings.Replace(text, "1 1 10 0", "2*1 10 0", 1),
		"no newline end": strings.TrimSuffix(text, "\n"),
	} {
		if s == text {
			t.Fatalf("%s: the text is as before", name)
		}
		in, err := NewInput(parts(s))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for in.Next() {
		}
		if in.Err() != nil || in.step != h.Steps || !reflect.DeepEqual(in.Header(), h) {
			t.Errorf("%s: step %d, %v", name, in.step, in.Err())
		}
	}
}

func TestManyGridsKeepTheirNumbers(t *testing.T) {
	h := channel(900, 300, 5e5, 0)
	text := inputText(t, h, nil)
	if !bytes.Contains(text, []byte("\nGRID   999 499 0")) || !bytes.Contains(text, []byte("\nGRID   1000 499.5 0")) {
		t.Error("labels of grids 999 and 1000")
	}
	in, err := NewInput(bytes.NewReader(text))
	if err != nil || len(in.header.Branches[0].Grids) != 1001 {
		t.Fatal(err)
	}
	for in.Next() {
	}
	if in.Err() != nil || in.step != 1200 {
		t.Errorf("step %d: %v", in.step, in.Err())
	}
}

// malformed lists what may be wrong with BLTM.IN: the text to replace, by what,
// and where the fault must be. H10: stars are never 0.
var malformedInputs = []struct {
	name, old, new string
	line, column   int
	field, problem string
}{
	{"no header", "HEADER 1", "HEADER 7", 2, 1, "label", "expected record HEADER 1"},
	{"header label", "HEADER 2", "HEDAER 2", 3, 1, "label", "expected record HEADER 2"},
	{"const label", "CONST  1", "CONST  3", 4, 1, "label", "expected record CONST 1"},
	{"branch order", "BRANCH 1", "BRANCH 2", 6, 1, "label", "expected record BRANCH 1"},
	{"grid order", "GRID   2", "GRID   3", 8, 1, "label", "expected record GRID 2"},
	{"time order", "TIME   2", "TIME   3", 20, 1, "label", "expected record TIME 2"},
	{"no branches", "HEADER 1  3", "HEADER 1  0", 2, 11, "number of branches", "below 1"},
	{"too many branches", "HEADER 1  3", "HEADER 1  9999999", 2, 11, "number of branches", "above 1000000"},
	{"missing branch", "HEADER 1  3", "HEADER 1  4", 17, 1, "label", "expected record BRANCH 4"},
	{"more branches", "HEADER 1  3 1", "HEADER 1  2 0", 13, 1, "label", "expected record TIME 1"},
	{"no steps", "3 1 12", "3 1 0", 2, 15, "number of steps", "below 1"},
	{"no constituents", "12 2 6", "12 0 6", 2, 18, "number of constituents", "below 1"},
	{"units", "6 5 1\n", "6 5 2\n", 2, 24, "units", "above 1"},
	{"print every", "6 5 1\n", "6 0 1\n", 2, 22, "steps between printed steps", "below 1"},
	{"too few items", "6 5 1\n", "6 5\n", 2, 0, "units", ""},
	{"too many items", "6 5 1\n", "6 5 1 9\n", 2, 0, "", "more items"},
	{"not a number", "0.25 0.001 0.01", "0.25 abc 0.01", 3, 16, "small-flow limit", ""},
	{"stars H10", "0.25 0.001 0.01", "0.25 ***** 0.01", 3, 16, "small-flow limit", ""},
	{"NaN", "0.25 0.001 0.01", "NaN 0.001 0.01", 3, 11, "step in hours", ""},
	{"zero step", "0.25 0.001 0.01", "0 0.001 0.01", 3, 11, "step in hours", "not above 0"},
	{"negative limit", "0.25 0.001 0.01", "0.25 -1 0.01", 3, 16, "small-flow limit", "negative"},
	{"step beyond any", "0.25 0.001 0.01", "1e19 0.001 0.01", 3, 11, "step in hours", "beyond 1e+18"},
	{"negative decay", "OXYGEN 0.01", "OXYGEN -0.01", 5, 18, "decay per hour", "negative"},
	{"one grid", "BRANCH 1  3", "BRANCH 1  1", 6, 11, "number of grids", "below 2"},
	{"negative factor", "3 0.2 2 1 1", "3 -0.2 2 1 1", 6, 13, "dispersion factor", "negative"},
	{"junction 0", "3 0.2 2 1 1", "3 0.2 0 1 1", 6, 17, "upstream junction", "below 1"},
	{"same junctions", "3 0.2 2 1 1", "3 0.2 1 1 1", 6, 19, "downstream junction", "the same"},
	{"no parcels", "3 0.2 2 1 1", "3 0.2 2 1 0", 6, 21, "parcels per subreach", "below 1"},
	{"fraction", "3 0.2 2 1 1", "3 0.2 2.5 1 1", 6, 17, "upstream junction", ""},
	{"distance not rising", "GRID   2  0.5", "GRID   2  0", 8, 11, "distance", "not above"},
	{"print flag", "GRID   2  0.5 0", "GRID   2  0.5 2", 8, 15, "print flag", "above 1"},
	{"negative initial", "GRID   2  0.5 0 0", "GRID   2  0.5 0 -1", 8, 17, "initial concentration", "negative"},
	{"no outflow", "3 0.1 1 4 1", "3 0.1 5 4 1", 0, 0, "", "no branch leaves interior junction 1"},
	{"boundary label", "BC        2 1", "BD        2 1", 19, 1, "label", "expected a record BC"},
	{"fewer boundaries", "TIME   1  2", "TIME   1  3", 20, 1, "label", "expected a record BC"},
	{"more boundaries", "TIME   1  2", "TIME   1  1", 19, 1, "label", "expected record TIME 2"},
	{"unknown branch", "BC        2 1", "BC        4 1", 19, 11, "branch", "above 3"},
	{"unknown grid", "BC        2 1", "BC        2 3", 19, 13, "grid", "above 2"},
	{"last grid", "BC        2 1", "BC        2 2", 19, 13, "grid", "no lateral inflow"},
	{"fed head", "BC        3 2", "BC        3 1", 25, 13, "grid", "begins at an interior junction"},
	{"negative concentration", "BC        2 1 0 5", "BC        2 1 0 -5", 19, 17, "concentration", "negative"},
	{"concentrations", "BC        2 1 0 5", "BC        2 1 0", 19, 0, "concentration", ""},
	{"more records", "TIME   12 0\n", "TIME   12 0\nTIME   13 0\n", 33, 1, "", "more records"},
}

func readAll(text string) error {
	in, err := NewInput(parts(text))
	if err != nil {
		return err
	}
	for in.Next() {
	}
	return in.Err()
}

func TestMalformedInput(t *testing.T) {
	h, changes := example()
	text := string(inputText(t, h, changes))
	for _, c := range malformedInputs {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(text, c.old, c.new, 1)
			if bad == text {
				t.Fatalf("%q is not in the input:\n%s", c.old, text)
			}
			faults := reason.Faults(readAll(bad))
			if len(faults) == 0 {
				t.Fatal("no fault")
			}
			f := faults[0]
			if f.File != "BLTM.IN" || f.Line != c.line || c.column > 0 && f.Column != c.column ||
				f.Field != c.field || !strings.Contains(f.Problem, c.problem) {
				t.Errorf("fault %+v", f)
			}
		})
	}
}

// TestTruncatedInput (H18): cut anywhere between records it is a fault that
// says what was expected.
func TestTruncatedInput(t *testing.T) {
	h, changes := example()
	lines := strings.SplitAfter(string(inputText(t, h, changes)), "\n")
	for n := range lines {
		if n == len(lines)-1 { // behind the last newline stands nothing
			continue
		}
		faults := reason.Faults(readAll(strings.Join(lines[:n], "")))
		if len(faults) != 1 || faults[0].Line != n+1 || !strings.Contains(faults[0].Problem, "the file ends, expected") {
			t.Errorf("cut to %d lines: %v", n, faults)
		}
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	h, changes := example()
	text := string(inputText(t, h, changes))
	text = strings.NewReplacer("OXYGEN 0.01", "OXYGEN -1", "GRID   2  0.5 0", "GRID   2  x 0", "0.25 0.001", "0 0.001").Replace(text)
	if faults := reason.Faults(readAll(text)); len(faults) != 3 {
		t.Errorf("%d faults: %v", len(faults), faults)
	}
	many := strings.ReplaceAll(string(inputText(t, channel(900, 1, 50000, 0), nil)), " 0 0\n", " 0 -1\n")
	if n := len(reason.Faults(readAll(many))); n != maxFaults {
		t.Errorf("%d faults kept of 101", n)
	}
}

func TestLoopIsRefused(t *testing.T) {
	h, _ := example()
	h.InteriorJunctions = 2
	h.Branches[0].Up, h.Branches[0].Down = 1, 2
	h.Branches[1].Up, h.Branches[1].Down = 3, 1
	h.Branches[2].Up, h.Branches[2].Down = 2, 1
	err := WriteInput(io.Discard, h, func(int) []Boundary { return nil })
	faults := reason.Faults(err)
	if len(faults) != 1 || faults[0].Line != 6 || !strings.Contains(faults[0].Problem, "loop") {
		t.Errorf("faults %v", faults)
	}
}

func TestWriteInputRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Header, map[int][]Boundary){
		"two-line title": func(h *Header, _ map[int][]Boundary) { h.Title = "a\nb" },
		"no name":        func(h *Header, _ map[int][]Boundary) { h.Constituents[0].Name = "" },
		"comma":          func(h *Header, _ map[int][]Boundary) { h.Constituents[0].Name = "a," },
		"marked title":   func(h *Header, _ map[int][]Boundary) { h.Title = "\ufeffa" },
		"two words":      func(h *Header, _ map[int][]Boundary) { h.Constituents[0].Name = "a b" },
		"step":           func(h *Header, _ map[int][]Boundary) { h.StepHours = 0 },
		"initial":        func(h *Header, _ map[int][]Boundary) { h.Branches[0].Grids[0].Initial = nil },
		"boundary":       func(_ *Header, c map[int][]Boundary) { c[2] = []Boundary{{9, 1, []float64{0, 0}}} },
		"concentrations": func(_ *Header, c map[int][]Boundary) { c[2] = []Boundary{{1, 1, []float64{0}}} },
	} {
		h, changes := example()
		spoil(h, changes)
		err := WriteInput(io.Discard, h, func(step int) []Boundary { return changes[step] })
		if len(reason.Faults(err)) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	h, _ := example()
	full := errors.New("disk full")
	if err := WriteInput(failing{full}, h, func(int) []Boundary { return nil }); !errors.Is(err, full) {
		t.Errorf("write error: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Close() error              { return nil }

func FuzzInput(f *testing.F) {
	h, changes := example()
	text := inputText(f, h, changes)
	f.Add(text)
	for _, c := range malformedInputs {
		f.Add([]byte(strings.Replace(string(text), c.old, c.new, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := NewInput(bytes.NewReader(text))
		if err != nil {
			if len(reason.Faults(err)) == 0 {
				t.Fatalf("an error without a fault: %v", err)
			}
			return
		}
		steps := map[int][]Boundary{}
		for in.Next() && in.step < 100 {
			for _, bc := range in.Boundaries() {
				bc.C = append([]float64(nil), bc.C...)
				steps[in.step] = append(steps[in.step], bc)
			}
		}
		if in.Err() != nil || in.step < in.header.Steps {
			return
		}
		var again bytes.Buffer
		if err := WriteInput(&again, in.Header(), func(step int) []Boundary { return steps[step] }); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		back, err := NewInput(bytes.NewReader(again.Bytes()))
		if err != nil || !reflect.DeepEqual(back.Header(), in.Header()) {
			t.Fatalf("reading back: %v", err)
		}
	})
}

// A label fills ten columns where its number has three digits; what follows at
// once in column 11 is the first number.
func TestNumbersGluedToTheLabel(t *testing.T) {
	h := &Header{Title: "t", Steps: 1, PrintEvery: 1, StepHours: 1, SmallFlow: 1e-3,
		Constituents: []Constituent{{Name: "A"}}, Branches: []Branch{{DQQ: 0.1, Up: 1, Down: 2, ParcelsPerSubreach: 1}}}
	for g := range 120 {
		h.Branches[0].Grids = append(h.Branches[0].Grids, Grid{Distance: float64(g) / 2, Initial: []float64{0}})
	}
	var b strings.Builder
	if err := WriteInput(&b, h, func(int) []Boundary { return nil }); err != nil {
		t.Fatal(err)
	}
	glued := regexp.MustCompile(`(?m)^(GRID +\d\d\d) +`).ReplaceAllString(b.String(), "$1")
	if glued == b.String() || !strings.Contains(glued, "GRID   10049.5") {
		t.Fatalf("nothing is glued:\n%s", glued)
	}
	in, err := NewInput(strings.NewReader(glued))
	if err != nil {
		t.Fatal(err)
	}
	if got := in.Header().Branches[0].Grids[99].Distance; got != 49.5 {
		t.Errorf("grid 100 at %g", got)
	}
}
