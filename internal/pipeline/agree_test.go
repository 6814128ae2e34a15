package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

// computed lays a run on the uniform river out and runs the bundled engines in a
// new folder.
func computed(tb testing.TB, r layout, scenario string) (plan *engine.Plan, dir string) {
	tb.Helper()
	store := tb.TempDir()
	writeRiver(tb, store, r)
	put(tb, store, "tables/Scenarios/channel/s1.json", scenario)
	j := jobOn(tb, store)
	set, err := j.Engines()
	if err != nil {
		tb.Fatal(err)
	}
	in, err := j.load(context.Background(), messageOf("channel", "s1", true), set)
	if err != nil {
		tb.Fatal(err)
	}
	if plan, _, err = j.plan(in); err != nil {
		tb.Fatal(err)
	}
	dir = tb.TempDir()
	if err := plan.WriteInputs(dir); err != nil {
		tb.Fatal(err)
	}
	for _, name := range engine.Names() {
		if err := (&engine.Bundle{Dir: dir}).Run(name); err != nil {
			tb.Fatal(err)
		}
	}
	return plan, dir
}

// shortRiver is 12 km with an output every 30 minutes of 3 hours.
func shortRiver(tb testing.TB) (plan *engine.Plan, dir string) {
	tb.Helper()
	return computed(tb, layout{branches: 1, grids: 7, subreachKm: 2, firstMile: 20, mileSense: -1},
		`{"SpillMile":19.3,"SpillTime":"2026-01-02T03:00:00Z","SpillMassKg":50,"SimulationHours":3,"OutputIntervalMinutes":30,"ThresholdMgL":1}`)
}

// published checks a run folder and returns all that would be published of it.
func published(plan *engine.Plan, dir string) (string, error) {
	ctx := context.Background()
	r, err := check(ctx, plan, dir, func(float64) {})
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	emit := func(row plume.Row) error { return out.Encode(row) }
	result := r.result(ctx, plume.IDs{JobID: "j"}, plan, dir)
	for _, rows := range []func(func(plume.Row) error) error{result.ByTime, result.ByMile} {
		if err := rows(emit); err != nil {
			return "", err
		}
	}
	for _, b := range result.Blobs {
		if err := b.Write(&text); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}

func readFile(tb testing.TB, dir, name string) string {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

func writeFile(tb testing.TB, dir, name, text string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// nearEnd is where an output is cut behind every byte; before, every 5th will do,
// as package bltm cuts everywhere.
const nearEnd = 60

func nextCut(n, size int) int {
	if n+5 < size-nearEnd {
		return n + 5
	}
	return n + 1
}

// H18: an output that is cut behind any of its bytes is refused, or nothing that
// is published depends on what is gone.
func TestCutOutputsH18(t *testing.T) {
	plan, dir := shortRiver(t)
	want, err := published(plan, dir)
	if err != nil || len(want) < 1000 {
		t.Fatalf("%d bytes published, %v", len(want), err)
	}
	for _, name := range []string{"PLUME.TIM", "PLUME.PLT", "BLTM.OUT"} {
		whole := readFile(t, dir, name)
		for n := 0; n < len(whole); n = nextCut(n, len(whole)) {
			writeFile(t, dir, name, whole[:n])
			got, err := published(plan, dir)
			refused := reason.Of(err) == reason.EngineOutputInvalid && strings.Contains(reason.Detail(err), name)
			if !refused && (err != nil || got != want) {
				t.Errorf("%s cut to %d of %d bytes: %v", name, n, len(whole), err)
			}
		}
		writeFile(t, dir, name, whole)
	}
	// What the next engine reads stops that engine and, where it is of another
	// set, is found before.
	for name, next := range map[string]string{"BLTM.FLW": "bltm", "BLTM.CON": "ctplt"} {
		whole := readFile(t, dir, name)
		for n := 0; n < len(whole); n = nextCut(n, len(whole)) {
			writeFile(t, dir, name, whole[:n])
			if err := plan.Check(context.Background(), dir, name); reason.Of(err) != reason.EngineOutputInvalid {
				t.Errorf("%s cut to %d of %d bytes: %v", name, n, len(whole), err)
			}
			if n%67 == 0 || n > len(whole)-nearEnd {
				if err := (&engine.Bundle{Dir: dir}).Run(next); err == nil {
					t.Errorf("%s reads %s cut to %d of %d bytes", next, name, n, len(whole))
				}
			}
		}
		writeFile(t, dir, name, whole)
		if err := (&engine.Bundle{Dir: dir}).Run(next); err != nil {
			t.Fatal(err)
		}
	}
}

// Other programs end their lines and files in other ways, and print fewer
// digits.
func TestForeignOutputsAreAccepted(t *testing.T) {
	plan, dir := shortRiver(t)
	names := []string{"PLUME.TIM", "PLUME.PLT", "BLTM.CON", "BLTM.OUT", "BLTM.FLW"}
	for _, tt := range []struct {
		name    string
		rewrite func(file, text string) string
	}{
		{"CR LF and the mark of the end", func(_, text string) string { return strings.ReplaceAll(text, "\n", "\r\n") + "\x1a" }},
		{"mark of the end", func(_, text string) string { return text + "\x1a" }},
		{"blank lines", func(_, text string) string { return text + "\n\n" }},
		{"few digits in one file", func(file, text string) string {
			if file != "PLUME.TIM" {
				return text
			}
			return eachConcentration(text, func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) })
		}},
		{"other digits in each", func(file, text string) string {
			switch file {
			case "PLUME.TIM":
				return eachConcentration(text, func(v float64) string { return strings.Replace(fmt.Sprintf("%.4E", v), "E", "D", 1) })
			case "PLUME.PLT":
				return eachConcentration(text, func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) })
			}
			return text
		}},
		{"single precision in one of them", func(file, text string) string {
			if file != "PLUME.PLT" {
				return text
			}
			return eachConcentration(text, func(v float64) string { return fmt.Sprintf("%.12e", float32(v)) })
		}},
		{"rounding below 0", func(_, text string) string { return strings.ReplaceAll(text, " 0.000000000e+00", " -1.3e-16") }},
	} {
		whole := map[string]string{}
		for _, name := range names {
			whole[name] = readFile(t, dir, name)
			writeFile(t, dir, name, tt.rewrite(name, whole[name]))
			if err := plan.Check(context.Background(), dir, name); err != nil {
				t.Errorf("%s: %s: %v", tt.name, name, err)
			}
		}
		if _, err := published(plan, dir); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for name, text := range whole {
			writeFile(t, dir, name, text)
		}
	}
}

// exponential is a concentration as the bundled engines write it.
var exponential = regexp.MustCompile(`\d\.\d{9}e[+-]\d\d`)

func eachConcentration(text string, write func(float64) string) string {
	return exponential.ReplaceAllStringFunc(text, func(s string) string {
		v, _ := strconv.ParseFloat(s, 64)
		return write(v)
	})
}

// The plume files must agree with each other, with BLTM.CON and with what is
// possible.
func TestPlumeFilesAgree(t *testing.T) {
	plan, dir := shortRiver(t)
	times := func(factor float64) func(string) string {
		return func(text string) string {
			return eachConcentration(text, func(v float64) string { return fmt.Sprintf("%.9e", v*factor) })
		}
	}
	lines := func(change func(lines []string)) func(string) string {
		return func(text string) string {
			l := strings.SplitAfter(text, "\n")
			change(l)
			return strings.Join(l, "")
		}
	}
	// The place of the index furthest upstream with a plume at 1 h, step 4, and
	// its neighbour: lines of PLUME.PLT and of PLUME.TIM.
	swap := func(i, j int) func(string) string {
		return lines(func(l []string) {
			a, b := exponential.FindString(l[i]), exponential.FindString(l[j])
			if a == b {
				t.Fatalf("%q and %q do not differ", l[i], l[j])
			}
			l[i], l[j] = strings.Replace(l[i], a, b, 1), strings.Replace(l[j], b, a, 1)
		})
	}
	set := func(i int, value string) func(string) string {
		return lines(func(l []string) { l[i] = exponential.ReplaceAllString(l[i], value) })
	}
	plt, tim := strings.Split(readFile(t, dir, "PLUME.PLT"), "\n"), strings.Split(readFile(t, dir, "PLUME.TIM"), "\n")
	block := indexOf(t, plt, "TIME 4 ")
	curve := indexOf(t, tim, "LOCATION 1 4 ")
	for _, tt := range []struct {
		name     string
		plt, tim func(string) string
		want     string
	}{
		{"factor in PLUME.PLT", times(3), nil, `^PLUME.PLT line \d+: branch 1 grid \d \(mile [\d.]+\) at step 2 \(2026-01-02T03:30:00Z\): [\d.e-]+ mg/L, but PLUME.TIM has [\d.e-]+ mg/L there; both must hold the same`},
		{"factor in PLUME.TIM", nil, times(1.001), `^PLUME.PLT line \d+: branch 1 .* but PLUME.TIM has`},
		{"factor in both", times(3), times(3), `^PLUME.PLT: branch 1 .* at step \d+ .*, but BLTM.CON has [\d.e-]+ mg/L there`},
		{"no plume in both", times(0), times(0), `^PLUME.PLT: branch 1 .* 0 mg/L, but BLTM.CON has`},
		{"places swapped", swap(block+2, block+3), nil, `^PLUME.PLT line \d+: branch 1 grid \d .* at step 4 \(2026-01-02T04:00:00Z\)`},
		{"times swapped", nil, swap(curve+7, curve+9), `^PLUME.PLT line \d+: branch 1 grid 4 .* at step (6|8) `},
		{"beyond a number of BLTM", nil, set(curve+6, "1e300"), `^PLUME.TIM line \d+ column \d+ concentration: beyond 1e\+18`},
		{"impossible", nil, set(curve+6, "1e9"), `^PLUME.TIM: branch 1 grid 4 \(mile [\d.]+\) at step 5 \(2026-01-02T04:15:00Z\): 1e\+09 mg/L, and no water of this run can hold more than [\d.e+]+ mg/L`},
		{"impossible in PLUME.PLT", set(block+3, "1e9"), nil, `^PLUME.PLT: branch 1 grid \d \(mile [\d.]+\) at step 4 .*: 1e\+09 mg/L`},
		{"negative", set(block+3, "-1e-6"), nil, `^PLUME.PLT line \d+ column \d+ concentration: negative`},
		{"step twice", nil, lines(func(l []string) { l[curve+4] = strings.Replace(l[curve+4], "3 ", "4 ", 1) }),
			`^PLUME.TIM line \d+ column 1 step: out of order, expected step 3`},
	} {
		whole := map[string]string{}
		for name, rewrite := range map[string]func(string) string{"PLUME.PLT": tt.plt, "PLUME.TIM": tt.tim} {
			whole[name] = readFile(t, dir, name)
			if rewrite != nil {
				writeFile(t, dir, name, rewrite(whole[name]))
			}
		}
		_, err := published(plan, dir)
		if detail := reason.Detail(err); reason.Of(err) != reason.EngineOutputInvalid || !regexp.MustCompile(tt.want).MatchString(detail) {
			t.Errorf("%s: %v: %s", tt.name, reason.Of(err), detail)
		}
		for name, text := range whole {
			writeFile(t, dir, name, text)
		}
	}
	// The last engine may tidy up what was cut.
	if err := os.Remove(filepath.Join(dir, "BLTM.CON")); err != nil {
		t.Fatal(err)
	}
	if _, err := published(plan, dir); err != nil {
		t.Error(err)
	}
}

func indexOf(t *testing.T, lines []string, prefix string) int {
	t.Helper()
	for i, l := range lines {
		if strings.HasPrefix(l, prefix) {
			return i
		}
	}
	t.Fatalf("no line %s", prefix)
	return 0
}

// A spill into a bed that is all but dry stands in next to no water: more than
// any substance weighs, and yet what the engines must say.
func TestHighestPossibleConcentration(t *testing.T) {
	plan, _ := shortRiver(t)
	a := newAgreement(plan)
	litres := 2 * 40 / 100000. * 1000 * 900 // twice the small-flow limit over a step
	if want := 50e6 / litres; a.most < want || a.most > want*1.00001 {
		t.Errorf("%g mg/L, want %g", a.most, want)
	}
	c := make([]float64, len(plan.Places))
	c[0] = 50e6 / litres
	if err := a.byTime(0, c); err != nil {
		t.Error(err)
	}
}

// BenchmarkCheck is the check of all outputs of a run of 500 steps, per grid and
// step: with plume files of one precision, and with two of them, which are read
// once more.
func BenchmarkCheck(b *testing.B) {
	for _, bb := range []struct {
		name     string
		branches int
		rounded  bool
	}{{"1000", 10, false}, {"1000-rounded", 10, true}, {"10000", 100, false}} {
		b.Run(bb.name, func(b *testing.B) {
			plan, dir := computed(b, layout{branches: bb.branches, grids: 100, subreachKm: 0.5, mileSense: 0.3}, benchScenario)
			if bb.rounded {
				writeFile(b, dir, timesFile, eachConcentration(readFile(b, dir, timesFile), func(v float64) string { return fmt.Sprintf("%.4e", v) }))
			}
			for b.Loop() {
				if _, err := check(context.Background(), plan, dir, func(float64) {}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(100*bb.branches*500), "ns/cell")
			b.ReportMetric(peakMB(), "job-MB")
		})
	}
}
