package compare

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rsmsjob/internal/plume"
)

// A result is the same as itself, in whatever order a store keeps the rows of
// one time, under tolerances of nothing.
func TestSameAsItself(t *testing.T) {
	exact := Options{Abs: ptr(0.0), Rel: ptr(0.0), Fields: map[string]Tolerance{}}
	for name := range Fields() {
		exact.Fields[name] = Tolerance{}
	}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		a := randomDraft(r)
		b := *a
		b.Rows = slices.Clone(a.Rows)
		slices.SortStableFunc(b.Rows, func(x, y plume.Row) int { return x.Time.Compare(y.Time) })
		for i := 0; i < len(b.Rows); { // another order within each time
			j := i
			for j < len(b.Rows) && b.Rows[j].Time.Equal(b.Rows[i].Time) {
				j++
			}
			slices.Reverse(b.Rows[i:j])
			i = j
		}
		report := compared(t, a, &b, exact)
		if !report.Same || len(report.Worst) > 0 || report.Rows.Both != len(a.Rows) || report.ByMile.Both != len(a.Rows) {
			t.Fatalf("seed %d: %s", seed, report.verdict())
		}
		for _, f := range report.Fields {
			if f.Different > 0 || f.OnlyOne > 0 {
				t.Fatalf("seed %d: %+v", seed, f)
			}
		}
	}
}

// What A has against B, B has against A; and every report is JSON.
func TestSymmetric(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		a, b := randomDraft(r), randomDraft(r)
		ab, ba := compared(t, a, b, Options{}), compared(t, b, a, Options{})
		if _, err := json.Marshal(ab); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		sortReport(ab)
		sortReport(ba)
		mirror(ba)
		if diff := cmp.Diff(ab, ba, cmpopts.IgnoreUnexported(Place{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// sortReport brings what has no order of its own into one.
func sortReport(r *Report) {
	slices.Sort(r.Unmatched)
	slices.SortFunc(r.Fields, func(f, g *Field) int { return strings.Compare(f.Document+f.Name, g.Document+g.Name) })
	slices.SortFunc(r.Intakes, func(x, y Intake) int { return strings.Compare(x.Name, y.Name) })
}

// mirror turns a report of B and A into one of A and B.
func mirror(r *Report) {
	r.A, r.B = r.B, r.A
	r.A.Label, r.B.Label = r.B.Label, r.A.Label
	for i := range r.Marker {
		e := &r.Marker[i]
		e.A, e.B = e.B, e.A
	}
	swapSides := strings.NewReplacer("in A", "in B", "in B", "in A")
	for i := range r.Unmatched {
		r.Unmatched[i] = swapSides.Replace(r.Unmatched[i])
	}
	slices.Sort(r.Unmatched)
	for i, text := range r.Warnings { // "from X mg/L on in A and from Y mg/L on in B"
		words := strings.Fields(text)
		if len(words) > 12 && words[0] == "rows" {
			words[4], words[11] = words[11], words[4]
		}
		r.Warnings[i] = strings.Join(words, " ")
	}
	for _, n := range []*Rows{&r.Rows, &r.ByMile} {
		n.OnlyA, n.OnlyB, n.OnlyABeyond, n.OnlyBBeyond = n.OnlyB, n.OnlyA, n.OnlyBBeyond, n.OnlyABeyond
	}
	for i := range r.Worst {
		c := &r.Worst[i]
		c.A, c.B = c.B, c.A
	}
	for _, p := range r.Places {
		p.OnlyA, p.OnlyB, p.PeakA, p.PeakB = p.OnlyB, p.OnlyA, p.PeakB, p.PeakA
		negate(p.FirstShift, p.PeakShift, p.LastShift)
	}
	for i := range r.Intakes {
		in := &r.Intakes[i]
		in.PeakA, in.PeakB, in.ReachedInA, in.ReachedInB = in.PeakB, in.PeakA, in.ReachedInB, in.ReachedInA
		negate(in.Leading, in.PeakShift, in.Trailing)
	}
}

func negate(list ...*float64) {
	for _, x := range list {
		if x != nil && *x != 0 {
			*x = -*x
		}
	}
}
