package bltm

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
)

func TestUnit(t *testing.T) {
	for _, c := range []struct {
		number string
		want   float64
	}{
		{"1.250", 1e-3}, {"-1.25E-03", 1e-5}, {"1.234567890e+00", 1e-9}, {".5", 0.1}, {"5.", 1}, {"12", 1}, {"1.5D2", 10},
		{"1.5-101", 1e-102}, {"+2.5+3", 100}, {"0.000", 1e-3}, {"0", 1}, {"0.000000000e+00", 0}, {"0.0D0", 0}, {"1.5/", 0.1},
	} {
		if got := unit(c.number); math.Abs(got-c.want) > 1e-12*c.want {
			t.Errorf("%s: %g, want %g", c.number, got, c.want)
		}
	}
}

// H18: a file cut behind any byte is a fault, or all that is missing are blanks.
func TestCutAnywhereH18(t *testing.T) {
	_, con, out := exampleFiles(t)
	h, _ := example()
	for name, c := range map[string]struct {
		text []byte
		read func(string) error
	}{
		"BLTM.CON":  {con, func(s string) error { return CheckConcentrations(parts(s), h) }},
		"BLTM.OUT":  {out, func(s string) error { _, err := ReadReport(parts(s), "BLTM.OUT"); return err }},
		"PLUME.TIM": {exampleTimes(t), timesError},
		"PLUME.PLT": {exampleProfiles(t), profilesError},
	} {
		text := string(c.text)
		for n := range len(text) {
			if faults := reason.Faults(c.read(text[:n])); len(faults) == 0 || faults[0].File != name {
				t.Errorf("%s cut to %d bytes: %v", name, n, faults)
			}
		}
		faults := reason.Faults(c.read(text[:len(text)-1]))
		if want := strings.Count(text, "\n"); len(faults) != 1 || faults[0].Line != want || !strings.Contains(faults[0].Problem, "expected a line end") {
			t.Errorf("%s without its last line end: %v", name, faults)
		}
		for _, whole := range []string{text + "\x1a", text + "\x1a\x1a\x1a", text + "\x1a\r\n", strings.ReplaceAll(text, "\n", "\r\n") + "\x1a"} {
			if err := c.read(whole); err != nil {
				t.Errorf("%s with a mark of the end: %v", name, err)
			}
		}
		if err := c.read(text + "\x1a\n9 9 9 9\n"); err == nil {
			t.Errorf("%s with a line behind the mark", name)
		}
	}
}

func TestConcentrationsAt(t *testing.T) {
	_, con, _ := exampleFiles(t)
	h, _ := example()
	all := newConReader(bytes.NewReader(con), h)
	want := map[int][]float64{}
	for all.next() {
		want[all.step] = append(want[all.step], all.c[0])
	}
	for step := range 13 {
		got, err := ConcentrationsAt(parts(string(con)), h, step)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want[step]) {
			t.Errorf("step %d: %v, %v; want %v", step, got, err, want[step])
		}
	}
	bad := bytes.Replace(con, []byte("\n3 1 2 "), []byte("\n3 1 2 x"), 1)
	if _, err := ConcentrationsAt(parts(string(bad)), h, 3); len(reason.Faults(err)) != 1 || reason.Faults(err)[0].Line != 26 {
		t.Errorf("fault %v", err)
	}
}
