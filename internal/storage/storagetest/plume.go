package storagetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// table is one of the plume tables with its keys, by the contract's words.
type table struct {
	name string
	open func(s Store, ctx context.Context) (storage.RowWriter, error)
	read func(s Store, ctx context.Context) iter.Seq2[storage.PlumeEntity, error]
	keys func(r plume.Row) (partition, row string)
}

func tables() []table {
	at := func(r plume.Row) string { return r.Time.UTC().Format("20060102T150405Z") }
	mile := func(r plume.Row) string { return fmt.Sprintf("%s|%09.4f", r.River, r.RiverMile) }
	return []table{
		{"ByTime",
			func(s Store, ctx context.Context) (storage.RowWriter, error) { return s.PlumeByTime(ctx, "ohio", "42") },
			func(s Store, ctx context.Context) iter.Seq2[storage.PlumeEntity, error] {
				return s.ReadPlumeByTime(ctx, "ohio", "42")
			},
			func(r plume.Row) (string, string) {
				return "ohio|42|" + at(r), fmt.Sprintf("%s|%03d", mile(r), r.Branch)
			}},
		{"ByMile",
			func(s Store, ctx context.Context) (storage.RowWriter, error) { return s.PlumeByMile(ctx, "ohio", "42") },
			func(s Store, ctx context.Context) iter.Seq2[storage.PlumeEntity, error] {
				return s.ReadPlumeByMile(ctx, "ohio", "42")
			},
			func(r plume.Row) (string, string) {
				return "ohio|42|" + mile(r), fmt.Sprintf("%s|%03d", at(r), r.Branch)
			}},
	}
}

func put(t testing.TB, tab table, s Store, rows []plume.Row) {
	t.Helper()
	w, err := tab.open(s, context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			t.Fatalf("write %+v: %v", row, err)
		}
	}
	if n, err := w.Commit(); err != nil || n != len(rows) {
		t.Fatalf("Commit: %d, %v, want %d", n, err, len(rows))
	}
}

// get returns the entities of a table in key order.
func get(t testing.TB, tab table, s Store) []storage.PlumeEntity {
	t.Helper()
	var all []storage.PlumeEntity
	for e, err := range tab.read(s, context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	slices.SortFunc(all, byKeys)
	return all
}

func byKeys(a, b storage.PlumeEntity) int {
	return cmp.Or(strings.Compare(a.PartitionKey, b.PartitionKey), strings.Compare(a.RowKey, b.RowKey))
}

// want returns the entities that the rows must give, in key order.
func want(tab table, rows []plume.Row) []storage.PlumeEntity {
	var all []storage.PlumeEntity
	for _, row := range rows {
		e := storage.PlumeEntity{Row: row}
		e.PartitionKey, e.RowKey = tab.keys(row)
		e.Time = e.Time.UTC()
		all = append(all, e)
	}
	slices.SortFunc(all, byKeys)
	return all
}

func start() time.Time { return time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC) }

// makeRows returns n rows with different keys in both tables.
func makeRows(n int) []plume.Row {
	r := rand.New(rand.NewPCG(1, 2))
	rivers := []string{"Ohio River", "Beaver_Creek", "St. Mary-s"}
	rows := make([]plume.Row, n)
	for i := range rows {
		rows[i] = plume.Row{
			River: rivers[i%3], RiverMile: float64(r.IntN(100_000_000)) / 10_000,
			Branch: 1 + r.IntN(999), Grid: 1 + i, Time: start().Add(time.Duration(i) * time.Hour),
			ElapsedHours: float64(i) * 0.1, ConcentrationMgL: math.Exp(20 * r.NormFloat64()), JobID: "job-1",
		}
	}
	return rows
}

func testPlumeRoundTrip(t *testing.T, b Backend) {
	rows := makeRows(100)
	edge := plume.Row{River: "x", Branch: 1, Grid: 1, Time: start(), JobID: "j"}
	for _, change := range []func(*plume.Row){ // C81: whole numbers, tiny and huge ones
		func(r *plume.Row) {},
		func(r *plume.Row) { r.RiverMile, r.ElapsedHours, r.ConcentrationMgL = 3, 3, 3 },
		func(r *plume.Row) { r.RiverMile, r.ConcentrationMgL = 981, 1e21 },
		func(r *plume.Row) { r.RiverMile, r.ConcentrationMgL, r.ElapsedHours = 9999.9999, 5e-324, -1.5 },
		func(r *plume.Row) { r.RiverMile, r.Grid, r.Branch = 0.5, math.MaxInt32, 999 },
		func(r *plume.Row) { r.RiverMile, r.Time = 7, start().In(time.FixedZone("", -5*3600)) },
	} {
		row := edge
		change(&row)
		rows = append(rows, row)
	}
	for _, tab := range tables() {
		t.Run(tab.name, func(t *testing.T) {
			for e, err := range tab.read(b.Open(t), t.Context()) {
				if !errors.Is(err, storage.ErrNotFound) {
					t.Errorf("before the first run: %v, %v, want ErrNotFound", e, err)
				}
			}
			put(t, tab, b.Open(t), rows)
			got, want := get(t, tab, b.Open(t)), want(tab, rows)
			if len(got) != len(want) {
				t.Fatalf("%d rows, want %d", len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("row %d is\n%+v, want\n%+v", i, got[i], want[i])
				}
			}
		})
	}
	// The sign of a zero is nothing that a key may show.
	edge.RiverMile = math.Copysign(0, -1)
	put(t, tables()[0], b.Open(t), []plume.Row{edge})
	if got := get(t, tables()[0], b.Open(t))[0]; got.RowKey != "x|0000.0000|001" || math.Signbit(got.RiverMile) {
		t.Errorf("negative zero is kept as %+v", got)
	}
}

// C86, C87, C89: keys have no character that a service or a path gives a
// meaning, different places have different keys, and text order is mile order.
func testPlumeKeyOrder(t *testing.T, b Backend) {
	rows := makeRows(250)
	for i := range rows {
		rows[i].River, rows[i].Time = "Ohio River", start()
	}
	tab := tables()[0]
	put(t, tab, b.Open(t), rows)
	got := get(t, tab, b.Open(t))
	for i, e := range got {
		if strings.ContainsAny(e.PartitionKey+e.RowKey, "/\\#?%'\"\t\n\r") || len(e.PartitionKey+e.RowKey) > 1000 {
			t.Errorf("key %q %q", e.PartitionKey, e.RowKey)
		}
		for _, c := range e.PartitionKey + e.RowKey {
			if c < ' ' || c > '~' {
				t.Errorf("key %q %q has %q", e.PartitionKey, e.RowKey, c)
			}
		}
		if i > 0 && (got[i-1].RiverMile > e.RiverMile || byKeys(got[i-1], e) == 0) {
			t.Errorf("mile %v, key %q stands before mile %v, key %q", got[i-1].RiverMile, got[i-1].RowKey, e.RiverMile, e.RowKey)
		}
	}
}

// A re-run leaves exactly the new rows: fewer, others, none.
func testPlumeRerun(t *testing.T, b Backend) {
	rows := makeRows(40)
	for _, tab := range tables() {
		for _, run := range [][]plume.Row{rows, rows[20:25], rows[:10], nil, rows[:1]} {
			put(t, tab, b.Open(t), run)
			if got, want := get(t, tab, b.Open(t)), want(tab, run); !slices.Equal(got, want) {
				t.Errorf("%s: %d rows after a run of %d, or others", tab.name, len(got), len(want))
			}
		}
	}
}

func testPlumeAbort(t *testing.T, b Backend) {
	rows := makeRows(30)
	for _, tab := range tables() {
		s := b.Open(t)
		put(t, tab, s, rows[:10])
		w, err := tab.open(s, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.Abort()
		w.Abort()
		if err := w.Write(rows[0]); err == nil {
			t.Errorf("%s: Write after Abort is taken", tab.name)
		}
		if _, err := w.Commit(); err == nil {
			t.Errorf("%s: Commit after Abort is taken", tab.name)
		}
		if got := get(t, tab, s); !slices.Equal(got, want(tab, rows[:10])) {
			t.Errorf("%s: %d rows after Abort, want the 10 of before", tab.name, len(got))
		}
		// What was written and aborted is no matter of the next run, whether the
		// store has dropped it or not.
		if w, err = tab.open(s, t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[5:25] {
			row.JobID = "aborted"
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		w.Abort()
		if _, err := w.Commit(); err == nil {
			t.Errorf("%s: Commit after Abort is taken", tab.name)
		}
		// A row that was on its way then may land behind the next run, but not
		// behind every one.
		var got []storage.PlumeEntity
		for range 5 {
			put(t, tab, s, rows[:20])
			if got = get(t, tab, s); slices.Equal(got, want(tab, rows[:20])) {
				break
			}
		}
		if !slices.Equal(got, want(tab, rows[:20])) {
			t.Errorf("%s: %d rows after runs that followed an aborted one, or others, want 20", tab.name, len(got))
		}
	}
}

// A table has one row of two with the same keys, so that the second is refused.
func testPlumeSameKeys(t *testing.T, b Backend) {
	rows := makeRows(3)
	for i := range rows { // one partition of both tables
		rows[i].River, rows[i].RiverMile, rows[i].Time, rows[i].Branch = "Ohio River", 7.25, start(), 1+i
	}
	for _, tab := range tables() {
		s := b.Open(t)
		w, err := tab.open(s, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		again := rows[1]
		again.Grid++
		if err := w.Write(again); len(reason.Faults(err)) != 1 {
			t.Errorf("%s: second row with the same keys: %v, want a fault", tab.name, err)
		}
		if n, err := w.Commit(); n != len(rows) || err != nil {
			t.Errorf("%s: Commit: %d, %v, want %d", tab.name, n, err, len(rows))
		}
		if got := get(t, tab, s); !slices.Equal(got, want(tab, rows)) {
			t.Errorf("%s: %+v", tab.name, got)
		}
	}
}

func testPlumeRefusedRows(t *testing.T, b Backend) {
	good := makeRows(1)[0]
	tests := map[string]func(*plume.Row){
		"no river":               func(r *plume.Row) { r.River = "" },
		"river with a bar":       func(r *plume.Row) { r.River = "a|b" },
		"C86 river with a slash": func(r *plume.Row) { r.River = "a/b" },
		"C87 river with percent": func(r *plume.Row) { r.River = "a%b" },
		"C89 river not in ASCII": func(r *plume.Row) { r.River = "Río" },
		"river with a comma":     func(r *plume.Row) { r.River = "a,b" },
		"river with a line feed": func(r *plume.Row) { r.River = "a\nb" },
		"blank river":            func(r *plume.Row) { r.River = " " },
		"negative mile":          func(r *plume.Row) { r.RiverMile = -1 },
		"mile too high":          func(r *plume.Row) { r.RiverMile = 9999.99996 },
		"mile not a number":      func(r *plume.Row) { r.RiverMile = math.NaN() },
		"mile infinite":          func(r *plume.Row) { r.RiverMile = math.Inf(1) },
		"branch 0":               func(r *plume.Row) { r.Branch = 0 },
		"branch 1000":            func(r *plume.Row) { r.Branch = 1000 },
		"grid 0":                 func(r *plume.Row) { r.Grid = 0 },
		"grid too high":          func(r *plume.Row) { r.Grid = math.MaxInt32 + 1 },
		"no time":                func(r *plume.Row) { r.Time = time.Time{} },
		"time too late":          func(r *plume.Row) { r.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"elapsed not a number":   func(r *plume.Row) { r.ElapsedHours = math.NaN() },
		"concentration infinite": func(r *plume.Row) { r.ConcentrationMgL = math.Inf(1) },
		"concentration negative": func(r *plume.Row) { r.ConcentrationMgL = -1e-9 },
		"no job":                 func(r *plume.Row) { r.JobID = "" },
		"job with a dot":         func(r *plume.Row) { r.JobID = "a.b" },
	}
	for _, tab := range tables() {
		s := b.Open(t)
		w, err := tab.open(s, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, spoil := range tests {
			row := good
			spoil(&row)
			if err := w.Write(row); len(reason.Faults(err)) != 1 {
				t.Errorf("%s, %s: %v, want a fault", tab.name, name, err)
			}
		}
		if err := w.Write(good); err != nil {
			t.Error(err)
		}
		if n, err := w.Commit(); n != 1 || err != nil {
			t.Errorf("%s: %d rows, %v, want the good one", tab.name, n, err)
		}
		if got := get(t, tab, s); !slices.Equal(got, want(tab, []plume.Row{good})) {
			t.Errorf("%s: %+v", tab.name, got)
		}
	}
}

// C82: more rows than any buffer, page of an answer (1,000) or, by mile,
// transaction (100) holds, in the order in which a run writes them: time by
// time, place by place.
func testPlumeManyRows(t *testing.T, b Backend) {
	const places = 10
	rows := makeRows(1050)
	for i := range rows {
		rows[i].River, rows[i].RiverMile, rows[i].Branch = "Ohio River", float64(i%places)/8, 1+i%places
		rows[i].Time = start().Add(time.Duration(i/places) * time.Hour)
	}
	for _, tab := range tables() {
		slices.SortStableFunc(rows, func(x, y plume.Row) int {
			a, _ := tab.keys(x)
			b, _ := tab.keys(y)
			return strings.Compare(a, b)
		})
		put(t, tab, b.Open(t), rows)
		if got := get(t, tab, b.Open(t)); !slices.Equal(got, want(tab, rows)) {
			t.Errorf("%s: %d rows, or others, want %d", tab.name, len(got), len(rows))
		}
	}
	if byTime, byMile, err := b.Open(t).CountRows(t.Context(), "ohio", "42"); byTime != len(rows) || byMile != len(rows) || err != nil {
		t.Errorf("CountRows: %d, %d, %v, want %d", byTime, byMile, err, len(rows))
	}
}
