package compare

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

// openOf opens a result that is as it is in that store.
func openOf(t *testing.T, m *memory, side string) *Result {
	t.Helper()
	r, err := Open(t.Context(), m, Target{"tiny", "s1", side, side})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A cell that differs in PlumeByMile alone is found, told apart from one that
// differs in both tables, and listed.
func TestByMileAlone(t *testing.T) {
	a, b := newDraft().store(t), newDraft().store(t)
	b.byMile[1].ConcentrationMgL += 0.5
	b.byMile[4].Grid = 9
	b.rows[0].ConcentrationMgL += 0.1
	b.byMile[0].ConcentrationMgL += 0.1
	report, err := Results(t.Context(), openOf(t, a, "A"), openOf(t, b, "B"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "different: ConcentrationMgL of PlumeByTime (1), ConcentrationMgL of PlumeByMile (2), Grid of PlumeByMile (1)"; report.verdict() != want {
		t.Errorf("%s, want %s", report.verdict(), want)
	}
	if want := (Rows{Both: 6, BothBeyond: 2}); report.ByMile != want || report.Rows.BothBeyond != 1 {
		t.Errorf("rows %+v, by mile %+v", report.Rows, report.ByMile)
	}
	w := report.Worst
	if len(w) != 2 || !slices.Equal(w[0].Tables, []string{byMileTable}) || w[0].Time.Hour() != 1 || !slices.Equal(w[1].Tables, []string{byTimeTable, byMileTable}) {
		t.Errorf("worst %+v", w)
	}
	if p := report.Places[0]; p.Beyond != 1 || p.Both != 3 {
		t.Errorf("places count by PlumeByTime: %+v", p)
	}
}

// A row that one result lacks in PlumeByMile, and a place, in either order.
func TestByMileOnlyOne(t *testing.T) {
	for _, upstream := range []bool{false, true} {
		a, b := newDraft(), newDraft()
		a.Rows = append(a.Rows, plume.Row{River: "Main", RiverMile: 9, Branch: 1, Grid: 5, Time: a.Rows[4].Time, ConcentrationMgL: 3})
		b.Rows = append(b.Rows, plume.Row{River: "Side", RiverMile: 10.2, Branch: 2, Grid: 5, Time: a.Rows[4].Time, ConcentrationMgL: 4},
			plume.Row{River: "Main", RiverMile: 10.2, Branch: 1, Grid: 5, Time: a.Rows[4].Time, ConcentrationMgL: 0.0015})
		x, y := a.store(t), b.store(t)
		if upstream {
			slices.Reverse(y.byMile)
		}
		file := &scratch{}
		report, err := Results(t.Context(), openOf(t, x, "A"), openOf(t, y, "B"), Options{Scratch: func() (Scratch, error) { return file, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if want := (Rows{Both: 6, OnlyA: 1, OnlyB: 2, OnlyABeyond: 1, OnlyBBeyond: 1}); report.ByMile != want || report.Rows != want {
			t.Errorf("upstream %t: rows %+v, by mile %+v, want %+v", upstream, report.Rows, report.ByMile, want)
		}
		if w := report.Worst; len(w) < 2 || *w[0].B != 4 || w[0].A != nil || len(w[0].Tables) != 2 || *w[1].A != 3 || w[1].B != nil {
			t.Errorf("upstream %t: worst %+v", upstream, w)
		}
		if file.writes == 0 || !file.closed {
			t.Errorf("upstream %t: scratch written %d times, closed %t", upstream, file.writes, file.closed)
		}
	}
}

// Whatever order the places have, the report is the same; those in the same
// order need no file.
func TestByMileOrder(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		a, b := randomDraft(r), randomDraft(r)
		want := compared(t, a, b, Options{})
		m := b.store(t)
		m.byMile = shuffledPlaces(r, m.byMile)
		left := a.open(t, "a")
		got, err := Results(t.Context(), left, openOf(t, m, "B"), Options{Scratch: func() (Scratch, error) { return &scratch{}, nil }})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got.ByMile != want.ByMile || got.ByMile != got.Rows || got.verdict() != want.verdict() {
			t.Errorf("seed %d: by mile %+v, by time %+v, want %+v\n%s", seed, got.ByMile, got.Rows, want.ByMile, got.verdict())
		}
		if len(got.Worst) != len(want.Worst) || slices.ContainsFunc(got.Worst, func(c Cell) bool { return len(c.Tables) != 2 }) {
			t.Errorf("seed %d: worst %+v", seed, got.Worst)
		}
		for i := range got.Worst {
			if !got.Worst[i].same(&want.Worst[i]) {
				t.Errorf("seed %d: worst %d is %+v, want %+v", seed, i, got.Worst[i], want.Worst[i])
			}
		}
	}
	report, err := Results(t.Context(), newDraft().open(t, "a"), newDraft().open(t, "b"), Options{}) // no Scratch to open
	if err != nil || !report.Same {
		t.Errorf("%v", err)
	}
}

// shuffledPlaces has the places in any order; the branches of one river mile
// stand one behind the other or mixed.
func shuffledPlaces(r *rand.Rand, rows []plume.Row) []plume.Row {
	var groups [][]plume.Row
	for i, row := range rows {
		if i == 0 || row.River != rows[i-1].River || row.RiverMile != rows[i-1].RiverMile {
			groups = append(groups, nil)
		}
		last := &groups[len(groups)-1]
		*last = append(*last, row)
	}
	r.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	for _, g := range groups {
		if r.IntN(2) == 0 {
			slices.SortStableFunc(g, func(x, y plume.Row) int { return x.Time.Compare(y.Time) })
		}
	}
	return slices.Concat(groups...)
}

// A file that cannot be opened, written or read is told, and is none of a bug.
func TestByMileNoRoom(t *testing.T) {
	noFile := reason.New(reason.StorageUnavailable, "no temporary file")
	for name, open := range map[string]func() (Scratch, error){
		"no file":  func() (Scratch, error) { return nil, noFile },
		"no room":  func() (Scratch, error) { return fullScratch{}, nil },
		"no bytes": func() (Scratch, error) { return &emptyScratch{}, nil },
	} {
		b := newDraft().store(t)
		b.byMile = append(slices.Clone(b.byMile[3:]), b.byMile[:3]...)
		_, err := Results(t.Context(), newDraft().open(t, "a"), openOf(t, b, "B"), Options{Scratch: open})
		if reason.Of(err) != reason.StorageUnavailable || !strings.Contains(err.Error(), "temporary file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type fullScratch struct{ failing }

func (fullScratch) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }
func (fullScratch) Close() error                      { return nil }

type emptyScratch struct{ scratch }

func (*emptyScratch) ReadAt([]byte, int64) (int, error) { return 0, errors.New("no bytes") }
