package daflow_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/reason"
)

func small(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/small.FLOW.IN")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadInputAccepts(t *testing.T) {
	text := small(t)
	tests := []struct {
		name, from, to string
	}{
		{"as it is", "", ""},
		{"H08 carriage returns", "\n", "\r\n"},
		{"H08 byte order mark", " Small network", "\ufeff Small network"},
		{"H09 exponent D", "0.500E-03   10.0 0.260\n  2  1.500     0 7.5000", "0.500D-03   10.0 0.260\n  2  1.500     0 7.5000"},
		{"H09 exponent without a letter", "0.500E-03   10.0 0.260\n  2  1.500     0 7.5000", "0.500-3 10.0 0.260\n  2  1.500     0 7.5000"},
		{"repeated and separated by commas", "  2  1.500     0 7.5000      5.00     0.700     0.000", "2,1.500,0,7.5000,5,0.70,1*0 "},
		{"lines behind the last step", "Q=    12.000     *\n", "Q=    12.000     *\n\nnotes\n"},
		{"no end of the last line", "Q=    12.000     *\n", "Q=    12.000"},
		{"a value without its blanks", " Q=    12.000     *\n", " Q=12.           *\n"},
	}
	want, err := daflow.ReadInput(strings.NewReader(text), "FLOW.IN")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		changed := strings.ReplaceAll(text, tt.from, tt.to)
		if tt.from == "" {
			changed = text
		} else if changed == text {
			t.Errorf("%s: nothing replaced", tt.name)
		}
		got, err := daflow.ReadInput(strings.NewReader(changed), "FLOW.IN")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if !equal(got, want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, want)
		}
	}
}

func TestReadInputWarnsOfMissingPoint(t *testing.T) {
	text := strings.Replace(small(t), "50.00 *", "   50 *", 1)
	in, err := daflow.ReadInput(strings.NewReader(text), "FLOW.IN")
	if err != nil || in.Peak != 50 || len(in.Warnings) != 1 ||
		!strings.HasPrefix(in.Warnings[0], "line 9 column 21 peak discharge has no decimal point") {
		t.Errorf("%v, %+v", err, in)
	}
}

// Everything that can be wrong with FLOW.IN, with the place and the words.
func TestReadInputFaults(t *testing.T) {
	text := small(t)
	tests := []struct {
		name, from, to string
		want           string // of the first fault, without the file name
	}{
		{"not enough branches", "3 *\n 3 No", "0 *\n 3 No", "line 2 column 21 branches: out of range, must be 1 to 99999"},
		{"too many branches", "         3 *\n 3 No", "    100000 *\n 3 No", "line 2 column 21 branches: out of range, must be 1 to 99999"},
		{"blank branches", "          3 *\n 3 No", "\n 3 No", "line 2 column 21 branches: out of range, must be 1 to 99999"},
		{"negative junctions", " 1 * Junctions", "-1 * Junctions", "line 3 column 21 interior junctions: out of range, must be 0 to 99999"},
		{"no steps", " 3 * Modeled", " 0 * Modeled", "line 4 column 21 time steps: out of range, must be 1 to 1000000"},
		{"negative start", " 8 time steps", "-8 time steps", "line 5 column 21 steps from midnight: out of range, must be 0 to 1000000"},
		{"no output interval", " 1 Time Steps", " 0 Time Steps", "line 6 column 21 steps per output: out of range, must be 1 to 1000000"},
		{"unknown units", "Englis         0", "Englis         2", "line 7 column 21 units: out of range, must be 0 to 1"},
		{"text as units", "Englis         0", "Englis    metric", `line 7 column 21 units: not a whole number (found "metric")`},
		{"no step length", "0.500 Hours", "0.000 Hours", "line 8 column 21 step length: out of range, must be above 0 and at most 8760 hours"},
		{"negative peak", "50.00 *", "-5.00 *", "line 9 column 21 peak discharge: out of range, must be above 0"},
		{"H10 peak of stars", "50.00 *", "***** *", `line 9 column 21 peak discharge: the number did not fit its columns when it was written (found "*****")`},
		{"peak NaN", "50.00 *", "  NaN *", `line 9 column 21 peak discharge: not a finite number (found "NaN")`},
		{"one grid", "has  2 xsects", "has  1 xsects", "line 20 column 14 grids: out of range, must be 2 to 99999"},
		{"H10 grids of stars", "has  2 xsects", "has*** xsects", `line 20 column 14 grids: the number did not fit its columns when it was written (found "***")`},
		{"share above one", "routes 0.60", "routes 1.60", "line 15 column 33 share: out of range, must be 0 to 1"},
		{"share of text", "routes 0.60", "routes half", `line 15 column 33 share: not a number (found "half")`},
		{"junction 0", "JNCT  1 To JNCT  3", "JNCT  1 To JNCT  0", "line 15 column 65 downstream junction: out of range, must be 1 to 99999"},
		{"blank junction", "JNCT  2 To", "JNCT    To", "line 10 column 54 upstream junction: out of range, must be 1 to 99999"},
		{"up is down", "JNCT  2 To JNCT  1", "JNCT  1 To JNCT  1", "line 10 column 65 downstream junction: branch 1 starts and ends at junction 1"},
		{"nothing arrives", "JNCT  2 To JNCT  1", "JNCT  2 To JNCT  5", "line 15 column 54 upstream junction: no branch ends at interior junction 1"},
		{"nothing leaves", "JNCT  1 To JNCT", "JNCT  7 To JNCT", "line 10 column 65 downstream junction: no branch leaves interior junction 1"},
		{"junction unused", "1 * Junctions", "2 * Junctions", "line 10 column 54 upstream junction: no branch ends at interior junction 2"},
		{"junction missing", "1 * Junctions", "5 * Junctions", "line 10 column 54 upstream junction: no branch ends at interior junction 2"},
		{"junction not interior", "JNCT  1 To JNCT  4", "JNCT  3 To JNCT  4", "line 15 column 33 share: the shares that leave junction 1 add up to 0.6 instead of 1"},
		{"shares", "routes 0.40", "routes 0.30", "line 15 column 33 share: the shares that leave junction 1 add up to 0.9 instead of 1"},
		{"wrong grid number", "  2  2.000     1", "  3  2.000     1", "line 13 column 3 grid: out of order, expected grid 2"},
		{"grid line cut short", "  2  2.000     1 10.000      5.00", "  2  2.000     1 10.000  / 5.00", "line 13 column 79 A1: the line ends before this item"},
		{"distance falls", "  2  2.000     1", "  2 -2.000     1", "line 13 column 5 distance: branch 1 grid 2: must rise from grid to grid"},
		{"distance stands", "  3  4.000     0", "  3  2.000     0", "line 14 column 6 distance: branch 1 grid 3: must rise from grid to grid"},
		{"print flag", "  2  2.000     1", "  2  2.000     x", `line 13 column 16 print flag: not a whole number (found "x")`},
		{"H03 negative initial flow", "1 10.000", "1 -10.00", "line 13 column 18 initial flow: branch 1 grid 2: negative flow; the engine routes flow in one direction only"},
		{"initial flow of text", "1 10.000", "1    Ice", `line 13 column 21 initial flow: not a number (found "Ice")`},
		{"A1", "4.0000      5.00", "4.0000      0.00", "line 22 column 30 A1: branch 3 grid 1: must be above 0"},
		{"A2 zero", "0.700     0.000", "0.000     0.000", "line 18 column 39 A2: branch 2 grid 2: must be above 0 and at most 1.5"},
		{"A2 large", "0.700     0.000", "1.501     0.000", "line 18 column 39 A2: branch 2 grid 2: must be above 0 and at most 1.5"},
		{"A0", "0.700     0.000", "0.700    -0.001", "line 18 column 48 A0: branch 2 grid 2: must not be negative"},
		{"slope", "0.700     0.000     0.500E-03", "0.700     0.000     0.000E-03", "line 18 column 59 slope: branch 2 grid 2: must be above 0"},
		{"W1", "4.0000      5.00     0.660     0.000     0.500E-03   10.0", "4.0000      5.00     0.660     0.000     0.500E-03   -1.0", "line 22 column 71 W1: branch 3 grid 1: must be above 0"},
		{"W2", "4.0000      5.00     0.660     0.000     0.500E-03   10.0 0.260", "4.0000      5.00     0.660     0.000     0.500E-03   10.0 1.260", "line 22 column 76 W2: branch 3 grid 1: must be 0 to 1"},
		{"slope NaN", "0.700     0.000     0.500E-03", "0.700     0.000     NaN", `line 18 column 59 slope: not a finite number (found "NaN")`},
		{"too many changes", "NBC=  1", "NBC=  9", "line 28 column 19 number of changes: out of range, must be 0 to 8"},
		{"negative changes", "NBC=  1", "NBC= -1", "line 28 column 19 number of changes: out of range, must be 0 to 8"},
		{"unknown branch", "Branch     2 Grid  2", "Branch     4 Grid  2", "line 26 column 11 branch: step 1: there is no branch 4"},
		{"unknown grid", "Branch     2 Grid  2", "Branch     2 Grid  4", "line 26 column 19 grid: step 1: branch 2 has no grid 4"},
		{"lateral at the last grid", "Branch     2 Grid  2", "Branch     2 Grid  3", "line 26 column 19 grid: step 1: grid 3 is the last of branch 2 and takes no lateral flow; give it at the grid above"},
		{"inflow below a junction", "Branch     2 Grid  2", "Branch     2 Grid  1", "line 26 column 19 grid: step 1: the inflow of branch 2 comes from junction 1 and cannot be given"},
		{"H03 negative inflow", "Q=    12.000", "Q=   -12.000", "line 29 column 25 flow: step 3: negative inflow of branch 1; the engine routes flow in one direction only"},
		{"H10 inflow of stars", "Q=    12.000     *", "Q=************** *", `line 29 column 25 flow: the number did not fit its columns when it was written (found "**************")`},
		{"H02 inflow of text", "Q=    12.000     *", "Q=    Ice        *", `line 29 column 25 flow: not a number (found "Ice")`},
		{"inflow NaN", "Q=    12.000     *", "Q=    NaN        *", `line 29 column 25 flow: not a finite number (found "NaN")`},
		{"blank in a number", "Q=    12.000     *", "Q=    12. 00     *", `line 29 column 25 flow: a blank inside a number (found "12. 00")`},
		{"inflow beyond all", "Q=    12.000     *", "Q=     1.0E10     *", "line 29 column 25 flow: step 3: out of range"},
		{"blank line as a step", "for Time    2 NBC=  0  *\n", "\n", "line 27: a blank line in place of step 2 of 3"},
	}
	for _, tt := range tests {
		changed := strings.Replace(text, tt.from, tt.to, 1)
		if strings.HasPrefix(tt.name, "nothing leaves") {
			changed = strings.ReplaceAll(text, tt.from, tt.to)
		}
		if changed == text {
			t.Errorf("%s: nothing replaced", tt.name)
		}
		_, err := daflow.ReadInput(strings.NewReader(changed), "FLOW.IN")
		faults := reason.Faults(err)
		if len(faults) == 0 {
			t.Errorf("%s: no fault, error %v", tt.name, err)
			continue
		}
		if got, want := faults[0].Error(), "FLOW.IN "+tt.want; got != want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, want)
		}
	}
}

// H18: a file cut short is a fault that says what should come.
func TestReadInputCutH18(t *testing.T) {
	text := small(t)
	lines := strings.SplitAfter(text, "\n")
	wants := map[int]string{
		0: "FLOW.IN line 1: the file ends before the title", 1: "FLOW.IN line 2: the file ends before the number of branches",
		7: "FLOW.IN line 8: the file ends before the step length", 9: "FLOW.IN line 10: the file ends before branch 1 of 3",
		10: "FLOW.IN line 11: the file ends before the titles of the grids of branch 1",
		12: "FLOW.IN line 13: the file ends before grid 2 of 3 of branch 1",
		24: "FLOW.IN line 25: the file ends before boundary value 1 of 2 of step 1",
		26: "FLOW.IN line 27: the file ends before the boundary values of step 2 of 3",
	}
	for n := range len(lines) - 2 {
		_, err := daflow.ReadInput(strings.NewReader(strings.Join(lines[:n], "")), "FLOW.IN")
		if err == nil {
			t.Errorf("%d lines: no error", n)
		} else if want, ok := wants[n]; ok && err.Error() != want {
			t.Errorf("%d lines: %v, want %s", n, err, want)
		}
	}
}

func TestReadInputReadsAllFaults(t *testing.T) {
	text := strings.NewReplacer("0.700", "*****", "10.000     *", "ten        *", "12.000", "-12.00").Replace(small(t))
	_, err := daflow.ReadInput(strings.NewReader(text), "FLOW.IN")
	if faults := reason.Faults(err); len(faults) != 2 || faults[0].Line != 18 || faults[1].Line != 25 {
		t.Errorf("faults %v", err)
	}
	many := strings.ReplaceAll(small(t), "0.260\n", "x\n") + strings.Repeat("x\n", 100)
	if _, err := daflow.ReadInput(strings.NewReader(many), "FLOW.IN"); len(reason.Faults(err)) != 5 {
		t.Errorf("faults %v", err)
	}
}

func TestLoopIsNamed(t *testing.T) {
	in := readSmall(t)
	b := in.Network.Branches
	// 1: outside > 1. 2: 1 > 2. 3: 2 > 1. 4: 2 > outside.
	in.Network.InteriorJunctions = 2
	fourth := reachOf(2, 9, 2, 1, 1, channel)
	b[1].Up, b[1].Down, b[1].Share = 1, 2, 1
	b[2].Up, b[2].Down, b[2].Share = 2, 1, .5
	b[0].Up = 8
	fourth.Share = .5
	in.Network.Branches = append(b, fourth)
	err := in.Validate()
	want := "line 15 upstream junction: branches 2 > 3 > 2 form a loop"
	other := "line 20 upstream junction: branches 3 > 2 > 3 form a loop"
	if err == nil || err.Error() != want && err.Error() != other {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := daflow.Run(in, daflow.Outputs{}); err == nil {
		t.Error("runs with a loop")
	}
}

func readSmall(t testing.TB) *daflow.Input {
	t.Helper()
	in, err := daflow.ReadInput(strings.NewReader(small(t)), "FLOW.IN")
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Validate works on what was made by hand, without lines.
func TestValidateByHand(t *testing.T) {
	tests := []struct {
		change func(in *daflow.Input)
		want   string
	}{
		{func(in *daflow.Input) {}, ""},
		{func(in *daflow.Input) { in.Boundaries = in.Boundaries[:2] }, "boundary values: given for 2 steps, wanted 3"},
		{func(in *daflow.Input) { in.Network.Title = "a\nb" }, "title: must be one line of at most 80 bytes"},
		{func(in *daflow.Input) { in.Network.Branches = nil }, "branches: out of range, must be 1 to 99999"},
		{func(in *daflow.Input) {
			in.Network.Branches[0].Grids[0].Line = 0
			in.Network.Branches[0].Grids[0].A1 = -1
		},
			"A1: branch 1 grid 1: must be above 0"},
		{func(in *daflow.Input) { at(in, 2, 9, 1, 1) }, "branch: step 2: there is no branch 9"},
	}
	for _, tt := range tests {
		in := readSmall(t)
		tt.change(in)
		err := in.Validate()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

func FuzzReadInput(f *testing.F) {
	f.Add([]byte(small(f)))
	text, err := os.ReadFile("testdata/example3.FLOW.IN")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(strings.Replace(small(f), "10.000", "*****", 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := daflow.ReadInput(bytes.NewReader(data), "FLOW.IN")
		if err != nil {
			if len(reason.Faults(err)) == 0 {
				t.Fatalf("error without a fault: %v", err)
			}
			return
		}
		var out bytes.Buffer
		if err := daflow.WriteInput(&out, in); err != nil {
			t.Fatal(err)
		}
		again, err := daflow.ReadInput(&out, "FLOW.IN")
		if err != nil {
			t.Fatalf("what was written does not read: %v\n%s", err, out.Bytes())
		}
		if len(again.Network.Branches) != len(in.Network.Branches) || again.Steps != in.Steps {
			t.Fatal("what was written reads differently")
		}
		if in.Steps > 50 || cells(in) > 2000 {
			return
		}
		balance, err := daflow.Run(in, daflow.Outputs{})
		if err != nil || !(balance.Relative < 1e-6) {
			t.Fatalf("balance %+v, error %v", balance, err)
		}
	})
}

func cells(in *daflow.Input) int {
	n := 0
	for _, g := range in.GridCounts() {
		n += g
	}
	return n * in.Steps
}

var errDisk = errors.New("disk full")

type full struct{ room int }

func (w *full) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestRunReturnsErrorsOfWriters(t *testing.T) {
	in := readExample3(t)
	for _, room := range []int{0, 100, 300000} {
		if _, err := daflow.Run(in, daflow.Outputs{Flow: &full{room}}); !errors.Is(err, errDisk) && room < 300000 {
			t.Errorf("flow with room %d: error %v", room, err)
		}
		if _, err := daflow.Run(in, daflow.Outputs{Report: &full{room}}); !errors.Is(err, errDisk) && room < 300000 {
			t.Errorf("report with room %d: error %v", room, err)
		}
		if err := daflow.WriteInput(&full{room}, in); !errors.Is(err, errDisk) && room < 300000 {
			t.Errorf("input with room %d: error %v", room, err)
		}
	}
}
