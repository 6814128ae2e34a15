package bltm

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
)

var update = flag.Bool("update", false, "write the golden files")

// exampleFiles runs the example and returns its files.
func exampleFiles(t testing.TB) (in, con, out []byte) {
	t.Helper()
	h, changes := example()
	in = inputText(t, h, changes)
	var c, o bytes.Buffer
	if _, err := Run(bytes.NewReader(in), bytes.NewReader(exampleFlows()), &c, &o, Options{}); err != nil {
		t.Fatal(err)
	}
	return in, c.Bytes(), o.Bytes()
}

func opener(text []byte, opened *int) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		*opened++
		return io.NopCloser(bytes.NewReader(text)), nil
	}
}

func exampleTimes(t testing.TB) []byte {
	t.Helper()
	in, con, _ := exampleFiles(t)
	var out bytes.Buffer
	opened := 0
	if err := CTPLT(parts("3 3\n1 2\n2 1\n"), bytes.NewReader(in), opener(con, &opened), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func exampleProfiles(t testing.TB) []byte {
	t.Helper()
	in, con, _ := exampleFiles(t)
	var out bytes.Buffer
	if err := CXPLT(parts("0\n5\n12\n"), bytes.NewReader(in), bytes.NewReader(con), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestGolden(t *testing.T) {
	in, con, out := exampleFiles(t)
	for name, got := range map[string][]byte{"BLTM.IN": in, "BLTM.FLW": exampleFlows(), "BLTM.CON": con, "BLTM.OUT": out,
		"PLUME.TIM": exampleTimes(t), "PLUME.PLT": exampleProfiles(t)} {
		path := filepath.Join("testdata", name)
		if *update {
			if os.Getenv("CI") != "" {
				t.Fatal("golden files are not written in CI")
			}
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		compareLines(t, name, string(got), string(want))
	}
}

// compareLines compares numbers to the 7 digits that do not depend on how a
// machine fuses multiplications.
func compareLines(t *testing.T, name, got, want string) {
	t.Helper()
	a, b := strings.Fields(got), strings.Fields(want)
	if strings.Count(got, "\n") != strings.Count(want, "\n") || len(a) != len(b) {
		t.Errorf("%s: %d words, golden %d", name, len(a), len(b))
		return
	}
	for i := range a {
		if a[i] != b[i] && !near(a[i], b[i]) {
			t.Errorf("%s: word %d is %s, golden %s", name, i, a[i], b[i])
			return
		}
	}
}

func near(a, b string) bool {
	x, errX := parse(a)
	y, errY := parse(b)
	return errX == nil && errY == nil && abs(x-y) <= 1e-7*(abs(x)+abs(y))+1e-11
}

// TestOutputsAgree: the files cut by place and by time say what BLTM.CON says,
// and the report what Run returned.
func TestOutputsAgree(t *testing.T) {
	h, _ := example()
	in, con, out := exampleFiles(t)
	c := map[[3]int][2]float64{}
	all := newConReader(bytes.NewReader(con), h)
	for all.next() {
		c[[3]int{all.step, all.branch, all.grid}] = [2]float64(all.c)
	}
	if all.err != nil || len(c) != 13*8 {
		t.Fatalf("%d records, %v", len(c), all.err)
	}

	var places []Place
	times := NewTimesReader(bytes.NewReader(exampleTimes(t)), "PLUME.TIM", 3, 2)
	for times.NextPlace() {
		p := times.Place()
		places = append(places, p)
		n := 0
		for times.Next() {
			v := times.Point()
			if v.Step != n || v.Hour != float64(6+n)*0.25 || [2]float64(v.C) != c[[3]int{n, p.Branch, p.Grid}] {
				t.Errorf("place %+v: point %+v", p, v)
			}
			n++
		}
		if n != 13 {
			t.Errorf("place %+v: %d points", p, n)
		}
	}
	if want := []Place{{3, 3, 2.5, 13}, {1, 2, 0.5, 13}, {2, 1, 0, 13}}; times.Err() != nil || !reflect.DeepEqual(places, want) {
		t.Errorf("places %v, %v", places, times.Err())
	}

	profiles := NewProfilesReader(bytes.NewReader(exampleProfiles(t)), "PLUME.PLT", 3, 2)
	var steps []Time
	for profiles.NextTime() {
		steps = append(steps, profiles.Time())
		for profiles.Next() {
			v := profiles.Cell()
			if v.Distance != h.Branches[v.Branch-1].Grids[v.Grid-1].Distance ||
				[2]float64(v.C) != c[[3]int{profiles.Time().Step, v.Branch, v.Grid}] {
				t.Errorf("time %+v: cell %+v", profiles.Time(), v)
			}
		}
	}
	if want := []Time{{0, 1.5, 8}, {5, 2.75, 8}, {12, 4.5, 8}}; profiles.Err() != nil || !reflect.DeepEqual(steps, want) {
		t.Errorf("times %v, %v", steps, profiles.Err())
	}

	ledgers, err := Run(bytes.NewReader(in), bytes.NewReader(exampleFlows()), io.Discard, io.Discard, Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := ReadReport(bytes.NewReader(out), "BLTM.OUT")
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Ledgers) != 4*2 || len(report.Masses) != 4*3*2 || len(report.Parcels) != 4*3 || report.Steps != 12 {
		t.Errorf("report: %d ledgers, %d masses, %d parcels", len(report.Ledgers), len(report.Masses), len(report.Parcels))
	}
	for k, l := range ledgers {
		got := report.Ledgers[len(report.Ledgers)-2+k]
		l.Name = ""
		if got.Step != 12 || got.Hour != 4.5 || got.Constituent != k+1 || got.Ledger != l {
			t.Errorf("report %+v, run %+v", got, l)
		}
		var kg float64
		for _, m := range report.Masses {
			if m.Step == 12 && m.Constituent == k+1 {
				kg += m.Mass
			}
		}
		if abs(kg-l.InRiver) > 1e-9*l.InRiver {
			t.Errorf("branches hold %v kg, ledger %v", kg, l.InRiver)
		}
	}
}

func TestCTPLTPassesAreBounded(t *testing.T) {
	in, con, _ := exampleFiles(t)
	all := "1 1\n1 2\n1 3\n2 1\n2 2\n3 1\n3 2\n3 3\n"
	var one, many bytes.Buffer
	once, often := 0, 0
	if err := ctplt(parts(all), bytes.NewReader(in), opener(con, &once), &one, passBytes); err != nil {
		t.Fatal(err)
	}
	// 13 steps of 2 constituents: three places fit.
	if err := ctplt(parts(all), bytes.NewReader(in), opener(con, &often), &many, 3*13*2*8); err != nil {
		t.Fatal(err)
	}
	if once != 1 || often != 3 || !bytes.Equal(one.Bytes(), many.Bytes()) {
		t.Errorf("opened %d and %d times, equal %v", once, often, bytes.Equal(one.Bytes(), many.Bytes()))
	}
}

func TestMalformedFiles(t *testing.T) {
	in, con, out := exampleFiles(t)
	tim, plt := exampleTimes(t), exampleProfiles(t)
	readCON := func(s string) error {
		h, _ := example()
		r := newConReader(parts(s), h)
		for r.next() {
		}
		return r.err
	}
	ct := func(s string) error {
		n := 0
		return CTPLT(parts(s), bytes.NewReader(in), opener(con, &n), io.Discard)
	}
	cx := func(s string) error {
		return CXPLT(parts(s), bytes.NewReader(in), bytes.NewReader(con), io.Discard)
	}
	outRead := func(s string) error { _, err := ReadReport(parts(s), "BLTM.OUT"); return err }
	for _, c := range []struct {
		name     string
		read     func(string) error
		text     []byte
		old, new string
		line     int
		problem  string
	}{
		{"con order", readCON, con, "\n0 1 2 ", "\n0 1 3 ", 2, "out of order, expected step 0 branch 1 grid 2"},
		{"con NaN", readCON, con, "\n0 1 2 0.000000000e+00", "\n0 1 2 NaN", 2, ""},
		{"con negative", readCON, con, "\n0 1 2 0.000000000e+00", "\n0 1 2 -1", 2, "negative"},
		{"con stars H10", readCON, con, "\n0 1 2 0.000000000e+00", "\n0 1 2 *****", 2, ""},
		{"con short", readCON, con, "\n0 1 2 0.000000000e+00", "\n0 1 2", 2, ""},
		{"con long", readCON, con, "\n0 1 2 0.000000000e+00", "\n0 1 2 0 0", 2, "more items"},
		{"con behind", readCON, append(bytes.Clone(con), "13 1 1 0 0\n"...), "\n0 1 2 0.0", "\n0 1 2 0", 105, "more records"},
		{"places empty", ct, []byte(" \n"), " ", "", 0, "no places"},
		{"places branch", ct, []byte("1 1\n2 1\n"), "2 1", "4 1", 2, "above 3"},
		{"places grid", ct, []byte("1 1\n2 1\n"), "2 1", "2 3", 2, "above 2"},
		{"places twice", ct, []byte("1 1\n2 1\n"), "2 1", "1 1", 2, "twice"},
		{"places garbage", ct, []byte("1 1\n2 1\n"), "2 1", "x", 2, ""},
		{"times empty", cx, []byte(" \n"), " ", "", 0, "no times"},
		{"times order", cx, []byte("1\n2\n"), "2", "1", 2, "not above"},
		{"times beyond", cx, []byte("1\n2\n"), "2", "13", 2, "above 12"},
		{"out label", outRead, out, "LEDGER", "LODGER", 9, "unknown label"},
		{"out garbage", outRead, out, "MASS      0 1 1 ", "MASS      0 1 1 x", 11, ""},
		{"out end", outRead, out, "END       12", "END       11", 0, "no ledger of the last step"},
		{"tim label", timesError, tim, "LOCATION 1", "LOCATTON 1", 15, "expected block LOCATION number 2 of 3"},
		{"tim missing place", timesError, tim, "LOCATION 3 3 2.5 13", "LOCATION 3 3 2.5 27", 15, ""},
		{"tim step", timesError, tim, "\n1 1.75 ", "\n0 1.75 ", 3, "out of order, expected step 1"},
		{"tim negative", timesError, tim, "\n1 1.75 0.0", "\n1 1.75 -1", 3, "negative"},
		{"plt label", profilesError, plt, "TIME 5", "TMIE 5", 10, "expected block TIME number 2 of 3"},
		{"plt order", profilesError, plt, "\n1 3 1 ", "\n1 2 1 ", 4, "not behind"},
		{"plt time", profilesError, plt, "TIME 5", "TIME 0", 10, "not above"},
		{"plt infinite", profilesError, plt, "\n1 3 1 ", "\n1 3 1 Inf ", 4, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(string(c.text), c.old, c.new, 1)
			if bad == string(c.text) {
				t.Fatalf("%q is not in\n%s", c.old, bad)
			}
			faults := reason.Faults(c.read(bad))
			if len(faults) == 0 {
				t.Fatal("no fault")
			}
			if f := faults[0]; f.File == "" || c.line > 0 && (f.Line != c.line || f.Column == 0) || !strings.Contains(f.Problem, c.problem) {
				t.Errorf("fault %+v", f)
			}
		})
	}
}

func timesError(s string) error {
	r := NewTimesReader(parts(s), "PLUME.TIM", 3, 2)
	for r.NextPlace() {
		for r.Next() {
		}
	}
	return r.Err()
}

func profilesError(s string) error {
	r := NewProfilesReader(parts(s), "PLUME.PLT", 3, 2)
	for r.NextTime() {
		for r.Next() {
		}
	}
	return r.Err()
}

// TestCutFiles (H18): each output cut behind any of its lines is a fault that
// names the line that is missing.
func TestCutFiles(t *testing.T) {
	_, con, out := exampleFiles(t)
	for name, c := range map[string]struct {
		text []byte
		read func(string) error
	}{
		"BLTM.CON": {con, func(s string) error {
			h, _ := example()
			r := newConReader(parts(s), h)
			for r.next() {
			}
			return r.err
		}},
		"BLTM.OUT":  {out, func(s string) error { _, err := ReadReport(parts(s), "BLTM.OUT"); return err }},
		"PLUME.TIM": {exampleTimes(t), timesError},
		"PLUME.PLT": {exampleProfiles(t), profilesError},
	} {
		if err := c.read(string(c.text)); err != nil {
			t.Errorf("%s whole: %v", name, err)
		}
		if err := c.read(string(c.text) + "\r\n \n"); err != nil {
			t.Errorf("%s with blank lines behind it: %v", name, err)
		}
		lines := strings.SplitAfter(strings.TrimSuffix(string(c.text), "\n"), "\n")
		for n := range lines {
			faults := reason.Faults(c.read(strings.Join(lines[:n], "")))
			if len(faults) != 1 || faults[0].Line != n+1 || !strings.Contains(faults[0].Problem, "the file ends, expected") {
				t.Errorf("%s cut to %d lines: %v", name, n, faults)
			}
		}
	}
}

func TestUnreadBlockIsAFault(t *testing.T) {
	r := NewTimesReader(bytes.NewReader(exampleTimes(t)), "PLUME.TIM", 3, 2)
	if !r.NextPlace() || !r.Next() || r.NextPlace() || r.Err() == nil {
		t.Error("a series may be left half read")
	}
}

func TestRunErrors(t *testing.T) {
	h, changes := example()
	in := string(inputText(t, h, changes))
	flows := string(exampleFlows())
	full := errors.New("disk full")
	run := func(in, flows string, con, out io.Writer) error {
		_, err := Run(parts(in), parts(flows), con, out, Options{})
		return err
	}
	if err := run(in, flows, failing{full}, io.Discard); !errors.Is(err, full) {
		t.Errorf("con: %v", err)
	}
	if err := run(in, flows, io.Discard, failing{full}); !errors.Is(err, full) {
		t.Errorf("out: %v", err)
	}
	if _, err := Run(failing{full}, parts(flows), io.Discard, io.Discard, Options{}); !errors.Is(err, full) {
		t.Errorf("in: %v", err)
	}
	if _, err := Run(parts(in), failing{full}, io.Discard, io.Discard, Options{}); !errors.Is(err, full) {
		t.Errorf("flows: %v", err)
	}
	for name, c := range map[string][2]string{
		"flows cut":        {in, flows[:len(flows)/2]},
		"flows beyond":     {in, flows + "   13    1    1       0.60000E+02\n"},
		"flows beyond any": {in, strings.Replace(flows, "0.60000E+02", "0.60000E+13", 1)},
		"flows H09":        {in, strings.Replace(flows, "0.60000E+02", "  *********", 1)},
		"input cut":        {in[:len(in)-12], flows},
		"input beyond":     {in + "TIME 13 0\n", flows},
	} {
		if faults := reason.Faults(run(c[0], c[1], io.Discard, io.Discard)); len(faults) == 0 || faults[0].File == "" {
			t.Errorf("%s: %v", name, faults)
		}
	}
	failed := errors.New("gone")
	err := CTPLT(parts("1 1"), parts(in), func() (io.ReadCloser, error) { return nil, failed }, io.Discard)
	if !errors.Is(err, failed) {
		t.Errorf("open: %v", err)
	}
	err = CTPLT(parts("1 1"), parts(in), func() (io.ReadCloser, error) { return failing{full}, nil }, io.Discard)
	if !errors.Is(err, full) {
		t.Errorf("con of CTPLT: %v", err)
	}
}

func TestWarnings(t *testing.T) {
	h, changes := example()
	changes[6] = []Boundary{{1, 2, []float64{3, 0}}} // no lateral inflow there
	flows := strings.Replace(string(exampleFlows()), "    6    2    1       0.40000E+02       0.30000E+02",
		"    6    2    1       0.40000E+02       0.60000E+02", 1)
	var out bytes.Buffer
	if _, err := Run(bytes.NewReader(inputText(t, h, changes)), parts(flows), io.Discard, &out, Options{}); err != nil {
		t.Fatal(err)
	}
	report, err := ReadReport(&out, "BLTM.OUT")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"6 1 2 no water enters here that could carry the concentration",
		"6 2 2 the stored water leaves another outflow than the flow file says",
		"6 3 3 the stored water leaves another outflow than the flow file says"}
	if !reflect.DeepEqual(report.Warnings, want) {
		t.Errorf("warnings %q", report.Warnings)
	}
}

func TestProgress(t *testing.T) {
	h, changes := example()
	var steps []int
	_, err := Run(bytes.NewReader(inputText(t, h, changes)), bytes.NewReader(exampleFlows()), io.Discard, io.Discard,
		Options{Progress: func(s, _ int) { steps = append(steps, s) }})
	if err != nil || len(steps) != 12 || steps[0] != 1 || steps[11] != 12 {
		t.Errorf("steps %v, %v", steps, err)
	}
}
