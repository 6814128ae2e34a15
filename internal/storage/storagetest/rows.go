package storagetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

func testBasin(t *testing.T, b Backend) {
	ctx, s := t.Context(), b.Open(t)
	if ok, err := s.BasinExists(ctx, "ohio"); ok || err != nil {
		t.Errorf("BasinExists of an empty store: %t, %v", ok, err)
	}
	if _, err := s.Basin(ctx, "ohio", "FLOW.IN"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Basin of an empty store: %v, want ErrNotFound", err)
	}
	want := []byte("title\r\n\x00\xff any bytes")
	b.PutBasin(t, "ohio", "FLOW.IN", want)
	b.PutBasin(t, "ohio", "NFQ.csv", nil)
	if ok, err := s.BasinExists(ctx, "ohio"); !ok || err != nil {
		t.Errorf("BasinExists: %t, %v", ok, err)
	}
	if got, err := s.Basin(ctx, "ohio", "FLOW.IN"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("Basin: %q, %v, want %q", got, err, want)
	}
	if got, err := s.Basin(ctx, "ohio", "NFQ.csv"); err != nil || len(got) != 0 {
		t.Errorf("Basin of an empty file: %q, %v", got, err)
	}
	if _, err := s.Basin(ctx, "ohio", "basin.json"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a file that is not there: %v, want ErrNotFound", err)
	}
	if ok, err := s.BasinExists(ctx, "delaware"); ok || err != nil {
		t.Errorf("BasinExists of another: %t, %v", ok, err)
	}
}

func testScenario(t *testing.T, b Backend) {
	ctx, s := t.Context(), b.Open(t)
	if _, err := s.Scenario(ctx, "ohio", "42"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Scenario of an empty store: %v, want ErrNotFound", err)
	}
	err := s.MergeScenario(ctx, "ohio", "42", map[string]any{"Status": "Queued"})
	if !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("MergeScenario without a row: %v, want ErrNotFound", err)
	}
	if _, err := s.Scenario(ctx, "ohio", "42"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("merging made a row: %v", err)
	}
	b.PutScenario(t, "ohio", "42", map[string]any{"Name": "Río Grande, 河", "SpillMile": 12.5, "Status": "Queued"})
	b.PutScenario(t, "ohio", "43", map[string]any{"Name": "other"})
	if err := s.MergeScenario(ctx, "ohio", "42", map[string]any{"Status": "Running", "Attempt": 2}); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"Name": "Río Grande, 河", "SpillMile": json.Number("12.5"),
		"Status": "Running", "Attempt": json.Number("2")}
	if got := scenario(t, s, "42"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := scenario(t, s, "43"); !reflect.DeepEqual(got, map[string]any{"Name": "other"}) {
		t.Errorf("another scenario is now %v", got)
	}
	if err := s.MergeScenario(ctx, "ohio", "42", nil); err != nil {
		t.Errorf("merging nothing: %v", err)
	}
}

func scenario(t testing.TB, s Store, id string) map[string]any {
	t.Helper()
	columns, err := s.Scenario(context.Background(), "ohio", id)
	if err != nil {
		t.Fatal(err)
	}
	return columns
}

func testScenarioValues(t *testing.T, b Backend) {
	ctx, s := t.Context(), b.Open(t)
	b.PutScenario(t, "ohio", "42", map[string]any{"Name": "x"})
	at := time.Date(2026, 1, 2, 4, 0, 0, 500_000_000, time.FixedZone("", 3600))
	columns := map[string]any{
		"Text": "quotes \" \\ <&> \u2028 \x01 é", "Empty": "", "Flag": true, "Int": -7, "Long": int64(1) << 53,
		"Double": 0.1, "Whole": 50.0, "Number": json.Number("1.50"), "Time": at,
	}
	if err := s.MergeScenario(ctx, "ohio", "42", columns); err != nil {
		t.Fatal(err)
	}
	got := scenario(t, s, "42")
	for name, want := range map[string]any{"Text": columns["Text"], "Empty": "", "Flag": true} {
		if got[name] != want {
			t.Errorf("%s is %#v, want %#v", name, got[name], want)
		}
	}
	for name, want := range map[string]float64{"Int": -7, "Long": 1 << 53, "Double": 0.1, "Whole": 50, "Number": 1.5} {
		n, ok := got[name].(json.Number)
		if x, err := n.Float64(); !ok || err != nil || x != want {
			t.Errorf("%s is %#v, want the number %v", name, got[name], want)
		}
	}
	if err := s.MergeScenario(ctx, "ohio", "42", map[string]any{"Text": nil}); err != nil {
		t.Errorf("clear a column: %v", err)
	}
	if now := scenario(t, s, "42")["Text"]; now != nil {
		t.Errorf("a cleared column is %#v", now)
	}
	text, _ := got["Time"].(string)
	if back, err := time.Parse(time.RFC3339Nano, text); err != nil || !back.Equal(at) || back.Location() != time.UTC {
		t.Errorf("Time is %q, want %v in UTC", text, at)
	}
	for name, value := range map[string]any{"B": []string{"x"}, "C": map[string]any{}, "D": "\xff",
		"E": json.Number("x"), "": 1, "a b": 1, "é": 1} {
		err := s.MergeScenario(ctx, "ohio", "42", map[string]any{name: value, "Name": "changed"})
		if len(reason.Faults(err)) != 1 {
			t.Errorf("column %q = %#v: %v, want a fault", name, value, err)
		}
	}
	if got := scenario(t, s, "42")["Name"]; got != "x" {
		t.Errorf("a refused merge has changed another column to %v", got)
	}
}

// A folder takes the columns that a table takes, by name and by value, so that
// a scenario can go from one to the other.
func testScenarioColumns(t *testing.T, b Backend) {
	ctx, s := t.Context(), b.Open(t)
	b.PutScenario(t, "ohio", "42", map[string]any{"Name": "x"})
	longest := strings.Repeat("N", 255)
	most := strings.Repeat("x", 32_768)
	for name, value := range map[string]any{"1a": 1, "_a": 1, "a-b": 1, "a.b": 1, "a@odata.type": "Edm.Double", longest + "N": 1,
		"PartitionKey": "x", "RowKey": "x", "Timestamp": nil, "Long": most + "x", "Wide": strings.Repeat("😀", 16_385),
		"NaN": math.NaN(), "Far": json.Number("1e999"), "Early": time.Time{}, "Late": time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if err := s.MergeScenario(ctx, "ohio", "42", map[string]any{name: value, "Name": "changed"}); len(reason.Faults(err)) != 1 {
			t.Errorf("column %.20q: %v, want a fault", name, err)
		}
	}
	columns := map[string]any{"Name": "x", "a": "1", "A_1": "2", longest: "3", "Long": most}
	if err := s.MergeScenario(ctx, "ohio", "42", columns); err != nil {
		t.Fatal(err)
	}
	if got := scenario(t, s, "42"); !reflect.DeepEqual(got, columns) {
		t.Errorf("%d columns, want %d", len(got), len(columns))
	}
}

// Writers of different columns do not undo each other.
func testScenarioRace(t *testing.T, b Backend) {
	const writers, times = 8, 5
	b.PutScenario(t, "ohio", "42", map[string]any{"Name": "x"})
	var wg sync.WaitGroup
	for i := range writers {
		s := b.Open(t)
		wg.Go(func() {
			for n := range times {
				err := s.MergeScenario(context.Background(), "ohio", "42", map[string]any{fmt.Sprintf("C%d", i): n})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := scenario(t, b.Open(t), "42")
	for i := range writers {
		name := fmt.Sprintf("C%d", i)
		if got[name] != json.Number(strconv.Itoa(times-1)) {
			t.Errorf("%s is %v, want %d", name, got[name], times-1)
		}
	}
	if len(got) != writers+1 || got["Name"] != "x" {
		t.Errorf("got %v", got)
	}
}

func testRunRecord(t *testing.T, b Backend) {
	ctx, s := t.Context(), b.Open(t)
	if _, _, err := s.Run(ctx, "ohio", "42"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Run of an empty store: %v, want ErrNotFound", err)
	}
	if _, err := s.PutRun(ctx, "ohio", "42", []byte(`{}`), "no-such-version"); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("PutRun over a record that is gone: %v, want ErrConflict", err)
	}
	first := []byte(`{"owner":"Å"}`)
	etag1, err := s.PutRun(ctx, "ohio", "42", first, "")
	if err != nil || etag1 == "" {
		t.Fatalf("first PutRun: %q, %v", etag1, err)
	}
	if _, err := s.PutRun(ctx, "ohio", "42", first, ""); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("PutRun of a new record over one: %v, want ErrConflict", err)
	}
	data, etag, err := b.Open(t).Run(ctx, "ohio", "42")
	if err != nil || !bytes.Equal(data, first) || etag != etag1 {
		t.Errorf("Run: %q, %q, %v, want %q, %q", data, etag, err, first, etag1)
	}
	etag2, err := s.PutRun(ctx, "ohio", "42", []byte(`{"owner":"b"}`), etag1)
	if err != nil || etag2 == etag1 {
		t.Fatalf("second PutRun: %q, %v", etag2, err)
	}
	if _, err := s.PutRun(ctx, "ohio", "42", first, etag1); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("PutRun with an old ETag: %v, want ErrConflict", err)
	}
	if data, etag, err := s.Run(ctx, "ohio", "42"); err != nil || string(data) != `{"owner":"b"}` || etag != etag2 {
		t.Errorf("after a conflict: %q, %q, %v", data, etag, err)
	}
	if _, _, err := s.Run(ctx, "ohio", "43"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("another scenario: %v, want ErrNotFound", err)
	}
}

// What stands in the place of a record and is none can be replaced under its
// ETag, as a record can.
func testRunRecordUnreadable(t *testing.T, b Backend) {
	ctx, s := t.Context(), b.Open(t)
	b.SpoilRun(t, "ohio", "42")
	data, etag, err := s.Run(ctx, "ohio", "42")
	if !errors.Is(err, storage.ErrUnreadable) || etag == "" || len(data) != 0 {
		t.Fatalf("Run: %d bytes, %q, %v, want an ETag and ErrUnreadable", len(data), etag, err)
	}
	if detail := reason.Detail(err); reason.Of(err) != reason.Internal || !strings.Contains(detail, "42") || !strings.Contains(detail, "replaces it") {
		t.Errorf("%s: %q", reason.Of(err), detail)
	}
	for _, other := range []string{"", "no-such-version"} {
		if _, err := s.PutRun(ctx, "ohio", "42", []byte(`{}`), other); !errors.Is(err, storage.ErrConflict) {
			t.Errorf("PutRun with the ETag %q: %v, want ErrConflict", other, err)
		}
	}
	first, err := s.PutRun(ctx, "ohio", "42", []byte(`{}`), etag)
	if err != nil {
		t.Fatal(err)
	}
	if data, now, err := s.Run(ctx, "ohio", "42"); err != nil || string(data) != `{}` || now != first {
		t.Errorf("Run: %q, %q, %v", data, now, err)
	}
	if _, err := s.PutRun(ctx, "ohio", "42", []byte(`{}`), etag); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("PutRun with the ETag of before: %v, want ErrConflict", err)
	}
}

// A record with the same content is another version all the same: its writer
// has seen something that an older reader has not.
func testRunRecordSameContent(t *testing.T, b Backend) {
	ctx, s := t.Context(), b.Open(t)
	seen := map[string]bool{}
	etag := ""
	for range 20 {
		var err error
		if etag, err = s.PutRun(ctx, "ohio", "42", []byte(`{}`), etag); err != nil {
			t.Fatal(err)
		}
		if seen[etag] {
			t.Fatalf("ETag %q came twice", etag)
		}
		seen[etag] = true
	}
}

// C22: of many that take the record at once, one gets it.
func testRunRecordRaceCreate(t *testing.T, b Backend) {
	const workers = 16
	won := make(chan string, workers)
	var wg sync.WaitGroup
	for i := range workers {
		s := b.Open(t)
		wg.Go(func() {
			data := fmt.Sprintf(`{"owner":%d}`, i)
			_, err := s.PutRun(context.Background(), "ohio", "42", []byte(data), "")
			switch {
			case err == nil:
				won <- data
			case !errors.Is(err, storage.ErrConflict):
				t.Errorf("worker %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	close(won)
	if len(won) != 1 {
		t.Fatalf("%d workers have taken the record, want 1", len(won))
	}
	want := <-won
	if data, _, err := b.Open(t).Run(t.Context(), "ohio", "42"); err != nil || string(data) != want {
		t.Errorf("the record is %q, %v, want %q", data, err, want)
	}
}

// A counter raised by read and conditional write loses no step.
func testRunRecordRaceUpdate(t *testing.T, b Backend) {
	const workers, steps = 6, 5
	s := b.Open(t)
	if _, err := s.PutRun(t.Context(), "ohio", "42", []byte("0"), ""); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range workers {
		s := s
		if i%2 == 1 { // half of them share a handle
			s = b.Open(t)
		}
		wg.Go(func() {
			for range steps {
				if err := raise(s); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if data, _, err := s.Run(t.Context(), "ohio", "42"); err != nil || string(data) != strconv.Itoa(workers*steps) {
		t.Errorf("counter is %q, %v, want %d", data, err, workers*steps)
	}
}

func raise(s Store) error {
	ctx := context.Background()
	for {
		data, etag, err := s.Run(ctx, "ohio", "42")
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(data))
		if err != nil {
			return err
		}
		_, err = s.PutRun(ctx, "ohio", "42", []byte(strconv.Itoa(n+1)), etag)
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
	}
}
