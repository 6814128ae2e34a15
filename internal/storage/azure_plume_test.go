package storage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

// plumeSetting is a store behind a proxy, and the same store without it.
type plumeSetting struct {
	*faultproxy.Proxy
	store, direct *storage.Azure
	layout        storage.Layout
}

func newPlumeSetting(t testing.TB, concurrency int) *plumeSetting {
	t.Helper()
	direct, layout := openAzure(t)
	layout.PublishConcurrency = concurrency
	p := faultproxy.New(t, azurite.Connection(t))
	p.KeepBodies(4 << 20)
	return &plumeSetting{p, azurite.Open(t, p.Connection(), layout), direct, layout}
}

// service is the emulator without our store.
func (s *plumeSetting) service(t testing.TB) *aztables.ServiceClient {
	t.Helper()
	c, err := aztables.NewServiceClientFromConnectionString("DefaultEndpointsProtocol=http;"+azurite.Connection(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// plumeRow is a row that differs from others in grid and branch, at an hour.
func plumeRow(hour, branch int) plume.Row {
	return plume.Row{River: "Ohio River", RiverMile: 12.5, Branch: branch, Grid: hour*1000 + branch, JobID: "job-1",
		Time:         time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(hour) * time.Hour),
		ElapsedHours: float64(hour), ConcentrationMgL: 1 / float64(hour+branch)}
}

// plumeHours is branches rows at each of the hours.
func plumeHours(branches int, hours ...int) (rows []plume.Row) {
	for _, hour := range hours {
		for branch := range branches {
			rows = append(rows, plumeRow(hour, 1+branch))
		}
	}
	return rows
}

// putByTime writes rows as those of ohio/42, to the end.
func putByTime(t testing.TB, ctx context.Context, s *storage.Azure, rows []plume.Row) {
	t.Helper()
	w, err := s.PlumeByTime(ctx, "ohio", "42")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := w.Commit(); n != len(rows) || err != nil {
		t.Fatalf("Commit: %d, %v, want %d", n, err, len(rows))
	}
}

// checkByTime sees that a scenario has exactly the rows.
func checkByTime(t testing.TB, s *storage.Azure, basin, scenario string, rows []plume.Row) {
	t.Helper()
	want := map[string]plume.Row{}
	for _, row := range rows {
		partition, key := row.ByTimeKeys(basin, scenario)
		want[partition+" "+key] = row
	}
	last := ""
	for e, err := range s.ReadPlumeByTime(context.WithoutCancel(t.Context()), basin, scenario) {
		if err != nil {
			t.Fatal(err)
		}
		key := e.PartitionKey + " " + e.RowKey
		if row, ok := want[key]; !ok || row != e.Row {
			t.Errorf("%s/%s has %+v, want %+v, %t", basin, scenario, e, row, ok)
		}
		if key <= last {
			t.Errorf("%s comes after %s", key, last)
		}
		last = key
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("%s/%s lacks %d of %d rows", basin, scenario, len(want), len(rows))
	}
}

// operation is one operation of a transaction as it was sent.
type operation struct {
	verb, table, partition, row string
	entity                      map[string]any
}

// operations takes a transaction apart.
func operations(t testing.TB, body []byte) (ops []operation) {
	t.Helper()
	first := regexp.MustCompile(`^(PUT|PATCH|MERGE|POST|DELETE) \S+/(\w+)\(PartitionKey='([^']*)',RowKey='([^']*)'\)\S* HTTP/1.1$`)
	for line := range strings.SplitSeq(string(body), "\r\n") {
		if m := first.FindStringSubmatch(line); m != nil {
			for i := range m {
				m[i], _ = url.PathUnescape(m[i])
			}
			ops = append(ops, operation{verb: m[1], table: m[2], partition: m[3], row: m[4]})
		} else if strings.HasPrefix(line, "{") {
			if err := json.Unmarshal([]byte(line), &ops[len(ops)-1].entity); err != nil {
				t.Fatal(err)
			}
		}
	}
	return ops
}

// What the service refuses and the emulator lets pass: more than 100 operations
// or 4 MiB, two partitions, or a key twice in one transaction. Rows are put in
// whole and never merged.
func TestPlumeTransactions(t *testing.T) {
	s := newPlumeSetting(t, 3)
	var flying, most atomic.Int32
	s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.TableTransaction}, Action: faultproxy.Sequence(
		faultproxy.Call(func() {
			n := flying.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
		}),
		faultproxy.CallAfter(func() { flying.Add(-1) }))})
	id, river := strings.Repeat("i", 63), "R"+strings.Repeat(" ", 126)+"R"
	random := rand.New(rand.NewPCG(1, 2))
	rows := plumeHours(120, 1, 2)
	for range 40 { // partitions come and go, some come back
		rows = append(rows, plumeRow(3+random.IntN(20), 1+random.IntN(999)))
	}
	seen := map[int]bool{}
	rows = slices.DeleteFunc(rows, func(r plume.Row) bool {
		twice := seen[r.Grid]
		seen[r.Grid] = true
		return twice
	})
	first, last := len(rows), 40
	for range 2 { // the second run deletes those of the first
		for _, open := range []func(context.Context, string, string) (storage.RowWriter, error){s.store.PlumeByTime, s.store.PlumeByMile} {
			w, err := open(t.Context(), id, id)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				row.River, row.JobID = river, strings.Repeat("j", 64)
				if err := w.Write(row); err != nil {
					t.Fatal(err)
				}
			}
			if n, err := w.Commit(); n != len(rows) || err != nil {
				t.Fatalf("Commit: %d, %v", n, err)
			}
		}
		byTime, byMile, err := s.direct.CountRows(t.Context(), id, id)
		if byTime != len(rows) || byMile != len(rows) || err != nil {
			t.Errorf("%d and %d rows, %v, want %d", byTime, byMile, err, len(rows))
		}
		rows = rows[len(rows)-last:]
	}
	put, deleted := 0, 0
	for _, r := range s.Requests() {
		if r.Operation != faultproxy.TableTransaction {
			continue
		}
		ops := operations(t, r.Body)
		keys := map[string]bool{}
		for _, op := range ops {
			keys[op.row] = true
			switch {
			case op.partition != ops[0].partition || op.table != ops[0].table:
				t.Errorf("%s and %s in one transaction", op.partition, ops[0].partition)
			case op.verb == http.MethodDelete:
				deleted++
			case op.verb != http.MethodPut || op.entity["PartitionKey"] != op.partition || op.entity["RowKey"] != op.row:
				t.Errorf("operation %+v", op)
			default:
				put++
			}
		}
		if len(ops) < 1 || len(ops) > 100 || len(keys) != len(ops) || len(r.Body) > 100*4096 {
			t.Errorf("a transaction of %d operations on %d rows with %d bytes", len(ops), len(keys), len(r.Body))
		}
		if strings.Contains(strings.ToLower(string(r.Body)), "if-match: w/") {
			t.Error("a row is put under a condition")
		}
	}
	if put != 2*(first+last) || deleted < 2*(first-last) {
		t.Errorf("%d rows were put and %d deleted, want %d and at least %d", put, deleted, 2*(first+last), 2*(first-last))
	}
	if most.Load() > 3 || most.Load() < 2 {
		t.Errorf("%d transactions at once, want 2 or 3", most.Load())
	}
}

// C81: every double says that it is one, and comes back bit by bit.
func TestPlumeDoubles(t *testing.T) {
	s := newPlumeSetting(t, 4)
	random := rand.New(rand.NewPCG(3, 4))
	values := []float64{3, 0, math.Copysign(0, -1), 1e21, 5e-324, math.MaxFloat64, 0.1, 1e-7, 123456789012345680, 1 << 53}
	for len(values) < 400 {
		if x := math.Abs(math.Float64frombits(random.Uint64())); !math.IsNaN(x) && !math.IsInf(x, 0) {
			values = append(values, x)
		}
	}
	var rows []plume.Row
	for i, x := range values {
		row := plumeRow(0, 1+i)
		row.ConcentrationMgL, row.ElapsedHours, row.RiverMile = x, -x, math.Mod(x, 9999)
		row.Grid = math.MaxInt32 - i
		rows = append(rows, row)
	}
	putByTime(t, t.Context(), s.store, rows)
	got := map[int]plume.Row{}
	for e, err := range s.direct.ReadPlumeByTime(t.Context(), "ohio", "42") {
		if err != nil {
			t.Fatal(err)
		}
		got[e.Branch] = e.Row
	}
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a == 0 && b == 0 }
	for _, want := range rows {
		g := got[want.Branch]
		if !same(g.ConcentrationMgL, want.ConcentrationMgL) || !same(g.ElapsedHours, want.ElapsedHours) ||
			!same(g.RiverMile, want.RiverMile) || g.Grid != want.Grid || !g.Time.Equal(want.Time) {
			t.Errorf("%+v has become %+v", want, g)
		}
		if math.Signbit(g.ConcentrationMgL) {
			t.Errorf("a negative zero is kept: %+v", g)
		}
	}
	types := map[string]string{"RiverMile": "Edm.Double", "ElapsedHours": "Edm.Double", "ConcentrationMgL": "Edm.Double", "TimeUtc": "Edm.DateTime"}
	for _, r := range s.Requests() {
		if r.Operation != faultproxy.TableTransaction {
			continue
		}
		if bytes.Contains(r.Body, []byte(":-0,")) {
			t.Error("a negative zero is sent")
		}
		for _, op := range operations(t, r.Body) {
			for column, edm := range types {
				if op.entity[column+"@odata.type"] != edm {
					t.Errorf("%s is sent as %v of type %v", column, op.entity[column], op.entity[column+"@odata.type"])
				}
			}
			if len(op.entity) != 10+len(types) {
				t.Errorf("columns %v", op.entity)
			}
		}
	}
}

// A run that was killed leaves rows; the next one removes them and touches
// nothing of other scenarios.
func TestPlumeAfterKilledRun(t *testing.T) {
	s := newPlumeSetting(t, 4)
	others := [][2]string{{"ohio", "4"}, {"ohio", "420"}, {"ohio", "42.x"}, {"ohio", "42-a"}, {"ohio2", "42"}, {"ohi", "42"}, {"ohio", "41"}, {"ohio", "43"}}
	for _, ids := range others {
		w, err := s.direct.PlumeByTime(t.Context(), ids[0], ids[1])
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(plumeRow(3, 1)), w.Write(plumeRow(9, 2))); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, kill := context.WithCancelCause(t.Context())
	killed := errors.New("killed")
	hit := s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.TableTransaction}, Skip: 5, Times: 1,
		Action: faultproxy.Call(func() { kill(killed) })})
	w, err := s.store.PlumeByTime(ctx, "ohio", "42")
	if err != nil {
		t.Fatal(err)
	}
	for hour := 0; err == nil; hour++ {
		for _, row := range plumeHours(120, hour) {
			if err = w.Write(row); err != nil {
				break
			}
		}
	}
	<-hit.Hit()
	if !errors.Is(err, killed) {
		t.Errorf("Write: %v, want the cause", err)
	}
	if _, err := w.Commit(); !errors.Is(err, killed) {
		t.Errorf("Commit: %v, want the cause", err)
	}
	// What was on its way when the run was killed reaches the emulator all the
	// same; the next run begins after that.
	for slices.ContainsFunc(s.Requests(), func(r faultproxy.Request) bool { return r.Executed == 0 }) {
		runtime.Gosched() // the proxy is in this process
	}
	left, _, err := s.direct.CountRows(t.Context(), "ohio", "42")
	if left < 100 || err != nil {
		t.Fatalf("%d rows, %v; the killed run has left none", left, err)
	}
	for _, rows := range [][]plume.Row{
		append(plumeHours(110, 1, 7), plumeHours(3, 0, 5)...),                                 // in no order, fewer and others
		append(plumeHours(2, 1), append(plumeHours(1, 3), plumeRow(1, 7), plumeRow(3, 9))...), // partitions twice
		nil,
	} {
		putByTime(t, t.Context(), s.direct, rows)
		checkByTime(t, s.direct, "ohio", "42", rows)
	}
	for _, ids := range others {
		checkByTime(t, s.direct, ids[0], ids[1], []plume.Row{plumeRow(3, 1), plumeRow(9, 2)})
	}
}

// The first run of a scenario asks once whether it has rows, and no more.
func TestPlumeFirstRunCleansNothing(t *testing.T) {
	s := newPlumeSetting(t, 4)
	putByTime(t, t.Context(), s.store, plumeHours(120, 1, 2, 3))
	got := map[faultproxy.Operation]int{}
	for _, r := range s.Requests() {
		got[r.Operation]++
	}
	if got[faultproxy.EntityQuery] != 1 || got[faultproxy.TableTransaction] != 6 || len(got) != 2 {
		t.Errorf("requests %v", got)
	}
}

// A partition that is opened again while it is cleaned keeps its new rows.
func TestPlumePartitionOpenedAgain(t *testing.T) {
	s := newPlumeSetting(t, 8)
	putByTime(t, t.Context(), s.direct, plumeHours(5, 1, 2, 3))
	slow := s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.EntityQuery},
		When:   func(r *http.Request) bool { return strings.Contains(r.URL.Query().Get("$filter"), "PartitionKey eq") },
		Action: faultproxy.Delay(200 * time.Millisecond)})
	rows := []plume.Row{plumeRow(1, 1), plumeRow(2, 1), plumeRow(1, 8), plumeRow(2, 9), plumeRow(1, 10)}
	putByTime(t, t.Context(), s.store, rows)
	checkByTime(t, s.direct, "ohio", "42", rows)
	if slow.Hits() != 2 {
		t.Errorf("%d cleanings, want one for each partition", slow.Hits())
	}
}

// A row that no run has written is a fault and ends the reading.
func TestReadPlumeOfOthers(t *testing.T) {
	for _, test := range []struct{ entity, field string }{
		{`"River":"Ohio"`, "Branch"},
		{`"River":"Ohio","RiverMile":"x"`, "RiverMile"},
		{`"River":"Ohio","RiverMile":1,"Branch":1,"Grid":1.5`, "Grid"},
		{`"River":"Ohio","RiverMile":1,"Branch":1,"Grid":1,"TimeUtc":"today"`, ""},
	} {
		s := newPlumeSetting(t, 1)
		entity := `{"PartitionKey":"ohio|42|20260102T030000Z","RowKey":"Ohio|0001.0000|001",` + test.entity + `}`
		if _, err := s.service(t).NewClient(s.layout.PlumeByTime).AddEntity(t.Context(), []byte(entity), nil); err != nil {
			t.Fatal(err)
		}
		n := 0
		for e, err := range s.direct.ReadPlumeByTime(t.Context(), "ohio", "42") {
			n++
			if faults := reason.Faults(err); len(faults) != 1 || faults[0].Field != test.field {
				t.Errorf("%s: %+v, %v", test.entity, e, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d answers, want 1", test.entity, n)
		}
	}
}
