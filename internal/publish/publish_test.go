package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

var ids = plume.IDs{Basin: "ohio", Scenario: "42", JobID: "job-1"}

var started = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// clock is a little over an hour later, in another zone.
func clock() time.Time {
	return started.Add(time.Hour + 1500*time.Millisecond).In(time.FixedZone("", 3600))
}

func always() error { return nil }

// rows streams n rows of the named river.
func rows(river string, n int) Rows {
	return func(emit func(plume.Row) error) error {
		for i := range n {
			if err := emit(plume.Row{River: river, Grid: i + 1}); err != nil {
				return err
			}
		}
		return nil
	}
}

// text is a blob written in pieces.
func text(name string, pieces ...string) Blob {
	return Blob{Name: name, Write: func(w io.Writer) error {
		for _, p := range pieces {
			if _, err := io.WriteString(w, p); err != nil {
				return err
			}
		}
		return nil
	}}
}

func result() *Result {
	return &Result{ByTime: rows("by time", 2), ByMile: rows("by mile", 3),
		Blobs: []Blob{text("edges.json", "ab", "", "c"), text("run/job-1/log"), JSON("intakes.json", []string{"<&>"})},
		Marker: Marker{IDs: ids, RunKey: "key", Attempt: 2, Engine: "bundled", Commit: "c0ffee", StartedAt: started,
			Rows: RowCounts{9, 9}, Blobs: []BlobInfo{{Name: "of another time"}}}}
}

// earlier is a store that holds an earlier result.
func earlier() *memory {
	m := newMemory()
	m.blobs = map[string][]byte{MarkerName: []byte("{}"), "edges.json": []byte("old"), "report.html": []byte("old"),
		"run/job-0/log": []byte("old"), "runs.json": []byte("old")}
	m.tables["PlumeByTime"] = []plume.Row{{River: "old"}}
	return m
}

func TestPublishOrder(t *testing.T) {
	store := earlier()
	m, err := Publish(t.Context(), store, always, clock, result())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"look at result.json", "remove result.json",
		"open PlumeByTime of ohio/42", "row of PlumeByTime", "row of PlumeByTime", "commit PlumeByTime",
		"open PlumeByMile of ohio/42", "row of PlumeByMile", "row of PlumeByMile", "row of PlumeByMile", "commit PlumeByMile",
		"list", "remove report.html", "remove runs.json",
		"open edges.json of ohio/42", "write to edges.json", "write to edges.json", "write to edges.json", "commit edges.json",
		"open run/job-1/log of ohio/42", "commit run/job-1/log",
		"open intakes.json of ohio/42", "write to intakes.json", "commit intakes.json",
		"create result.json"}
	if diff := cmp.Diff(want, store.log); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	names := slices.Sorted(maps.Keys(store.blobs))
	if want := []string{"edges.json", "intakes.json", MarkerName, "run/job-0/log", "run/job-1/log"}; !slices.Equal(names, want) {
		t.Errorf("blobs %q, want %q", names, want)
	}
	if len(store.tables["PlumeByTime"]) != 2 || len(store.tables["PlumeByMile"]) != 3 || store.open != 0 {
		t.Errorf("%d and %d rows, %d writers left open", len(store.tables["PlumeByTime"]), len(store.tables["PlumeByMile"]), store.open)
	}

	read, err := ReadMarker(bytes.NewReader(store.blobs[MarkerName]))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, read); diff != "" {
		t.Errorf("the marker as returned and as read: -returned +read\n%s", diff)
	}
}

// The marker is public: its form, and that it tells the truth of every blob.
func TestPublishMarker(t *testing.T) {
	store := newMemory()
	m, err := Publish(t.Context(), store, always, clock, result())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"riverbasin_id":"ohio","scenario_id":"42","job_id":"job-1","run_key":"key","attempt":2,"engine":"bundled",` +
		`"commit":"c0ffee","started_at":"2026-01-02T03:00:00Z","finished_at":"2026-01-02T04:00:01Z",` +
		`"rows":{"plume_by_time":2,"plume_by_mile":3},"blobs":[` +
		`{"name":"edges.json","size":3,"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},` + // FIPS 180-4, "abc"
		`{"name":"run/job-1/log","size":0,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},` +
		`{"name":"intakes.json","size":7,"sha256":"8b682e90761f3885c673db0ee9a914d635165e4109b0a41ccc2029fdcd89aec5"}]}`
	got := string(store.blobs[MarkerName])
	for _, b := range m.Blobs {
		sum := sha256.Sum256(store.blobs[b.Name])
		if b.SHA256 != hex.EncodeToString(sum[:]) || b.Size != int64(len(store.blobs[b.Name])) {
			t.Errorf("%+v of %q", b, store.blobs[b.Name])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if m.FinishedAt != started.Add(time.Hour+time.Second) {
		t.Errorf("finished at %v", m.FinishedAt)
	}

	// Without blobs it has a list all the same.
	r := result()
	r.Blobs = nil
	if _, err := Publish(t.Context(), store, always, clock, r); err != nil {
		t.Fatal(err)
	}
	if got := string(store.blobs[MarkerName]); !strings.HasSuffix(got, `"blobs":[]}`) {
		t.Errorf("marker %s", got)
	}
}

// checkStopped checks that nothing was written after n operations, that there
// is no open writer and no marker, but for the old one where it was only looked at.
func checkStopped(t *testing.T, store *memory, n int) {
	t.Helper()
	if len(store.log) > n {
		t.Errorf("after the end: %q", store.log[n:])
	}
	if data, there := store.blobs[MarkerName]; there && (len(store.log) > 1 || string(data) != "{}") {
		t.Errorf("there is a marker after %q", store.log)
	}
	if store.open != 0 {
		t.Errorf("%d writers left open after %q", store.open, store.log)
	}
}

// The ownership is lost at each point in turn: as soon as held says so,
// nothing more is written. Before the first write the old marker stays.
func TestPublishLostHold(t *testing.T) {
	lost := reason.New(reason.LeaseLost, "lost")
	asked := 0
	if _, err := Publish(t.Context(), earlier(), func() error { asked++; return nil }, clock, result()); err != nil {
		t.Fatal(err)
	}
	for k := range asked {
		store := earlier()
		n, ops := 0, 0
		_, err := Publish(t.Context(), store, func() error {
			if n++; n > k {
				ops = len(store.log)
				return lost
			}
			return nil
		}, clock, result())
		if !errors.Is(err, lost) {
			t.Errorf("lost at question %d: %v", k, err)
		}
		if n != k+1 {
			t.Errorf("lost at question %d: went on to ask %d times", k, n-k-1)
		}
		if k < 2 {
			if len(store.log) != k || store.blobs[MarkerName] == nil {
				t.Errorf("lost before the first write: %q", store.log)
			}
			continue
		}
		checkStopped(t, store, ops)
	}
}

// No write is further than one step from a question: when the hold is lost
// during any operation, only the writer at hand may get its rest, and none is
// committed, opened or removed any more.
func TestPublishLostHoldDuringAnOperation(t *testing.T) {
	whole := earlier()
	if _, err := Publish(t.Context(), whole, always, clock, result()); err != nil {
		t.Fatal(err)
	}
	lost := reason.New(reason.LeaseLost, "lost")
	for i, last := range whole.log[:len(whole.log)-1] {
		store := earlier()
		held := func() error {
			if len(store.log) > i {
				return lost
			}
			return nil
		}
		if _, err := Publish(t.Context(), store, held, clock, result()); !errors.Is(err, lost) {
			t.Errorf("lost during %q: %v", last, err)
		}
		checkStopped(t, store, restOfWriter(store.log, i+1))
	}
}

// restOfWriter is where the pieces of one blob that begin at from end: its
// content comes in one go, and nobody sees it before its commit.
func restOfWriter(log []string, from int) int {
	for from < len(log) && strings.HasPrefix(log[from], "write to ") {
		from++
	}
	return from
}

// The run is stopped during each operation in turn; the cause comes back, not
// context.Canceled.
func TestPublishCancelled(t *testing.T) {
	whole := earlier()
	if _, err := Publish(t.Context(), whole, always, clock, result()); err != nil {
		t.Fatal(err)
	}
	cause := reason.New(reason.Cancelled, "cancelled by a user")
	for i, last := range whole.log[:len(whole.log)-1] {
		ctx, cancel := context.WithCancelCause(t.Context())
		store := earlier()
		store.fail = func(string) error {
			if len(store.log) == i {
				cancel(cause)
			}
			return nil
		}
		if _, err := Publish(ctx, store, always, clock, result()); !errors.Is(err, cause) || reason.Of(err) != reason.Cancelled {
			t.Errorf("cancelled during %q: %v", last, err)
		}
		checkStopped(t, store, restOfWriter(store.log, i+1))
		cancel(nil)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	store := earlier()
	if _, err := Publish(ctx, store, always, clock, result()); !errors.Is(err, cause) || len(store.log) != 0 {
		t.Errorf("cancelled before: %v, %q", err, store.log)
	}
}

// Each operation of the store fails in turn.
func TestPublishStoreFails(t *testing.T) {
	whole := earlier()
	if _, err := Publish(t.Context(), whole, always, clock, result()); err != nil {
		t.Fatal(err)
	}
	down := reason.New(reason.StorageUnavailable, "the store is down")
	for i, op := range whole.log {
		store := earlier()
		store.fail = func(string) error {
			if len(store.log) == i {
				return down
			}
			return nil
		}
		if m, err := Publish(t.Context(), store, always, clock, result()); !errors.Is(err, down) || m != nil {
			t.Errorf("%q fails: %v, %v", op, m, err)
		}
		checkStopped(t, store, i)
		// Tried again, it comes to the same result.
		store.fail = nil
		if _, err := Publish(t.Context(), store, always, clock, result()); err != nil {
			t.Errorf("again after %q: %v", op, err)
		}
		if diff := cmp.Diff(whole.blobs, store.blobs); diff != "" {
			t.Errorf("again after %q: -want +got\n%s", op, diff)
		}
		if diff := cmp.Diff(whole.tables, store.tables); diff != "" {
			t.Errorf("again after %q: -want +got\n%s", op, diff)
		}
	}
}

func TestPublishSourceFails(t *testing.T) {
	bad := errors.New("PLUME.PLT is cut short")
	failing := func(emit func(plume.Row) error) error {
		if err := emit(plume.Row{}); err != nil {
			return err
		}
		return bad
	}
	tests := []struct {
		name   string
		change func(*Result)
		want   string
	}{
		{"rows by time", func(r *Result) { r.ByTime = failing }, "publish PlumeByTime: PLUME.PLT is cut short"},
		{"rows by mile", func(r *Result) { r.ByMile = failing }, "publish PlumeByMile: PLUME.PLT is cut short"},
		{"blob", func(r *Result) {
			r.Blobs[1].Write = func(w io.Writer) error { io.WriteString(w, "half"); return bad }
		}, "publish run/job-1/log: PLUME.PLT is cut short"},
	}
	for _, tt := range tests {
		store, r := earlier(), result()
		tt.change(r)
		if _, err := Publish(t.Context(), store, always, clock, r); !errors.Is(err, bad) || err.Error() != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
		checkStopped(t, store, len(store.log))
		if data, there := store.blobs["run/job-1/log"]; there {
			t.Errorf("%s: half a blob: %q", tt.name, data)
		}
		if tt.name == "rows by time" && store.tables["PlumeByTime"][0].River != "old" {
			t.Errorf("half a table: %v", store.tables)
		}
	}
}

func TestJSON(t *testing.T) {
	tests := []struct {
		value any
		want  string
	}{
		{map[string]any{"b": []int{1, 2}, "a": nil}, `{"a":null,"b":[1,2]}`},
		{"<a> & \u2028 é", `"<a> & \u2028 é"`},
		{struct {
			X float64 `json:"x"`
		}{1e21}, `{"x":1e+21}`},
	}
	for _, tt := range tests {
		var b strings.Builder
		if err := JSON("x.json", tt.value).Write(&b); err != nil || b.String() != tt.want {
			t.Errorf("%v: %s, %v, want %s", tt.value, b.String(), err, tt.want)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		store := newMemory()
		r := result()
		r.Blobs = append(r.Blobs, JSON("bad.json", []float64{1, bad}))
		_, err := Publish(t.Context(), store, always, clock, r)
		if reason.Of(err) != reason.EngineOutputInvalid || reason.Of(err).Transient() {
			t.Errorf("%v: %v", bad, err)
		}
		checkStopped(t, store, len(store.log))
		if _, there := store.blobs["bad.json"]; there {
			t.Errorf("%v was published", bad)
		}
	}
	if err := JSON("x.json", 1).Write(failingWriter{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a writer that fails: %v", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestReadMarkerRefuses(t *testing.T) {
	for _, text := range []string{"", "{", `{"run_key":1}`, "<html>", `{"run_key":"k","blobs":[{"name":"a"`} { // H18
		if m, err := ReadMarker(strings.NewReader(text)); err == nil || m != nil || !strings.Contains(err.Error(), MarkerName) {
			t.Errorf("%q: %+v, %v", text, m, err)
		}
	}
	if _, err := ReadMarker(failingReader{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a reader that fails: %v", err)
	}
}

func FuzzReadMarker(f *testing.F) {
	f.Add([]byte(`{"riverbasin_id":"ohio","run_key":"k","attempt":1,"rows":{"plume_by_time":2},"blobs":[{"name":"a","size":3}]}`))
	f.Add([]byte(`{"started_at":"2026-01-02T03:00:00Z","blobs":null}`))
	f.Add([]byte(`{} trailing`))
	f.Add([]byte("\xef\xbb\xbf{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadMarker(bytes.NewReader(data))
		if (m == nil) == (err == nil) {
			t.Fatalf("%+v, %v", m, err)
		}
		if err != nil {
			return
		}
		again, err := marshal(m)
		if err != nil {
			return // a year that JSON cannot write
		}
		if m2, err := ReadMarker(bytes.NewReader(again)); err != nil || !cmp.Equal(m, m2) {
			t.Fatalf("%+v, again %+v, %v", m, m2, err)
		}
	})
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestLogs(t *testing.T) {
	store := earlier()
	blobs := []Blob{text("run/job-1/bltm.stdout", "out"), text("run/job-1/bltm.stderr", "err")}
	if err := Logs(t.Context(), store, owned, ids, blobs); err != nil {
		t.Fatal(err)
	}
	if got := string(store.blobs["run/job-1/bltm.stderr"]); got != "err" {
		t.Errorf("stderr %q", got)
	}
	if string(store.blobs[MarkerName]) != "{}" || len(store.blobs) != 7 {
		t.Errorf("the earlier result was touched: %q", slices.Sorted(maps.Keys(store.blobs)))
	}

	down := errors.New("down")
	store = newMemory()
	store.fail = func(op string) error {
		if op == "commit run/job-1/bltm.stdout" {
			return down
		}
		return nil
	}
	if err := Logs(t.Context(), store, owned, ids, blobs); !errors.Is(err, down) || store.open != 0 {
		t.Errorf("%v, %d writers left open", err, store.open)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(down)
	if err := Logs(ctx, newMemory(), owned, ids, blobs); !errors.Is(err, down) {
		t.Errorf("cancelled: %v", err)
	}
}

// owned is the answer of a scenario that is ours.
func owned() error { return nil }

// A run that lost its scenario publishes no logs either.
func TestLogsOfALostRun(t *testing.T) {
	lost := errors.New("taken over")
	store := newMemory()
	blobs := []Blob{{Name: "run/j/bltm.stderr", Write: func(io.Writer) error { return nil }}}
	if err := Logs(t.Context(), store, func() error { return lost }, ids, blobs); !errors.Is(err, lost) || len(store.blobs) != 0 {
		t.Errorf("%v, %d blobs", err, len(store.blobs))
	}
}
