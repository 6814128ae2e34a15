package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

func write(t testing.TB, s Store, name string, data []byte) {
	t.Helper()
	w, err := s.WriteResult(context.Background(), "ohio", "42", name)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

func read(s Store, name string) ([]byte, error) {
	r, err := s.ReadResult(context.Background(), "ohio", "42", name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func list(t testing.TB, s Store) []string {
	t.Helper()
	names, err := s.ListResults(context.Background(), "ohio", "42")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func testResult(t *testing.T, b Backend) {
	ctx, s := t.Context(), b.Open(t)
	if _, err := read(s, "result.json"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("ReadResult of an empty store: %v, want ErrNotFound", err)
	}
	if names := list(t, s); len(names) != 0 {
		t.Errorf("ListResults of an empty store: %q", names)
	}
	if err := s.RemoveResult(ctx, "ohio", "42", "result.json"); err != nil {
		t.Errorf("RemoveResult of an empty store: %v", err)
	}
	write(t, s, "result.json", []byte(`{"a":1}`))
	write(t, s, "empty.json", nil)
	write(t, s, "run/job-1/params.json", []byte("{}"))
	write(t, s, "run/job-1/.job_id", []byte("job-1"))
	write(t, s, "run/job-1/DAFLOW.log", bytes.Repeat([]byte("line\n"), 1<<17))
	if got, err := read(b.Open(t), "run/job-1/DAFLOW.log"); err != nil || len(got) != 5<<17 {
		t.Errorf("%d bytes, %v, want %d", len(got), err, 5<<17)
	}
	if got, err := read(s, "empty.json"); err != nil || len(got) != 0 {
		t.Errorf("an empty result: %q, %v", got, err)
	}
	want := []string{"empty.json", "result.json", "run/job-1/.job_id", "run/job-1/DAFLOW.log", "run/job-1/params.json"}
	if got := list(t, s); !slices.Equal(got, want) {
		t.Errorf("ListResults: %q, want %q", got, want)
	}
	if err := s.RemoveResult(ctx, "ohio", "42", "result.json"); err != nil {
		t.Error(err)
	}
	if _, err := read(s, "result.json"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("after RemoveResult: %v, want ErrNotFound", err)
	}
	if names, err := s.ListResults(ctx, "ohio", "43"); err != nil || len(names) != 0 {
		t.Errorf("another scenario has %q, %v", names, err)
	}
}

func testResultUnseenBeforeCommit(t *testing.T, b Backend) {
	ctx, s, other := t.Context(), b.Open(t), b.Open(t)
	write(t, s, "result.json", []byte("old"))
	for _, commit := range []bool{false, true} {
		w, err := s.WriteResult(ctx, "ohio", "42", "result.json")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("new")); err != nil {
			t.Fatal(err)
		}
		if got, err := read(other, "result.json"); err != nil || string(got) != "old" {
			t.Errorf("before the end: %q, %v, want the old one", got, err)
		}
		if got := list(t, other); !slices.Equal(got, []string{"result.json"}) {
			t.Errorf("before the end the results are %q", got)
		}
		want := "old"
		if commit {
			want = "new"
			if err := w.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		w.Abort()
		if _, err := w.Write([]byte("more")); err == nil {
			t.Error("a write after the end is taken")
		}
		if err := w.Commit(); err == nil {
			t.Error("a second end is taken")
		}
		if got, err := read(other, "result.json"); err != nil || string(got) != want {
			t.Errorf("commit %t: %q, %v, want %q", commit, got, err, want)
		}
	}
}

func testResultNames(t *testing.T, b Backend) {
	ctx, s := t.Context(), b.Open(t)
	for _, name := range badNames() {
		w, err := s.WriteResult(ctx, "ohio", "42", name)
		if len(reason.Faults(err)) != 1 || w != nil {
			t.Errorf("WriteResult(%q): %v, want a fault and no writer", name, err)
		}
		_, err = s.ReadResult(ctx, "ohio", "42", name)
		if len(reason.Faults(err)) != 1 {
			t.Errorf("ReadResult(%q): %v, want a fault", name, err)
		}
		if err := s.RemoveResult(ctx, "ohio", "42", name); len(reason.Faults(err)) != 1 {
			t.Errorf("RemoveResult(%q): %v, want a fault", name, err)
		}
		_, version := s.ResultVersion(ctx, "ohio", "42", name)
		for _, err := range []error{version, s.CreateResult(ctx, "ohio", "42", name, nil), s.RemoveVersion(ctx, "ohio", "42", name, "x")} {
			if len(reason.Faults(err)) != 1 {
				t.Errorf("a version of %q: %v, want a fault", name, err)
			}
		}
		if _, err := s.Basin(ctx, "ohio", name); len(reason.Faults(err)) != 1 {
			t.Errorf("Basin(%q): %v, want a fault", name, err)
		}
	}
}

func badNames() []string {
	return []string{"", ".", "..", "../result.json", "run/../x", "/etc/passwd", "run//x", "run/", `run\x`, "a:b",
		`C:\x`, "CON", "run/nul.txt", "com1", "x.", "a b", "é.json", "a\x00", "a\n", "a%2fb", "a?b", "a#b", "x/..",
		".tmp-x", ".lock-x", "1/2/3/4/5/6/7/8/9"}
}

// Of many that write one result at once, the one that ends last is read, whole.
func testResultRace(t *testing.T, b Backend) {
	const writers = 8
	var wg sync.WaitGroup
	var wants []string
	for i := range writers {
		s := b.Open(t)
		data := bytes.Repeat(fmt.Appendf(nil, "writer %d\n", i), 1000)
		wants = append(wants, string(data))
		wg.Go(func() {
			for range 5 {
				write(t, s, "report.html", data)
				if got, err := read(s, "report.html"); err != nil || len(got) != len(data) {
					t.Errorf("read %d bytes, %v, want %d", len(got), err, len(data))
				}
			}
		})
	}
	wg.Wait()
	got, err := read(b.Open(t), "report.html")
	if err != nil || !slices.Contains(wants, string(got)) {
		t.Errorf("%d bytes, %v: not what one of them wrote", len(got), err)
	}
	if names := list(t, b.Open(t)); len(names) != 1 {
		t.Errorf("left %q", names)
	}
}

func testIDs(t *testing.T, b Backend) {
	ctx, s := t.Context(), b.Open(t)
	bad := []string{"", ".", "..", "a..b", "../x", "a/b", `a\b`, "/a", "C:", "-a", "_a", ".a", "a b", "é", "a|b", "a\x00b",
		"a%b", "a'b", "CON", "nul", "Aux.x", "LPT9", "a.", "a123456789b123456789c123456789d123456789e123456789f123456789g123"}
	for _, id := range bad {
		for name, err := range callAll(ctx, s, id, "42") {
			if len(reason.Faults(err)) != 1 {
				t.Errorf("%s with basin %q: %v, want a fault", name, id, err)
			}
		}
		calls := callAll(ctx, s, "ohio", id)
		delete(calls, "Basin")
		delete(calls, "BasinExists")
		for name, err := range calls {
			if len(reason.Faults(err)) != 1 {
				t.Errorf("%s with scenario %q: %v, want a fault", name, id, err)
			}
		}
	}
	for _, id := range []string{"0", "A-b_c.d", "com10", "console", "nul1", "007",
		"a123456789b123456789c123456789d123456789e123456789f123456789g12"} {
		b.PutBasin(t, id, "FLOW.IN", []byte(id))
		if got, err := s.Basin(ctx, id, "FLOW.IN"); err != nil || string(got) != id {
			t.Errorf("Basin(%q): %q, %v", id, got, err)
		}
		if _, err := s.PutRun(ctx, id, id, []byte(id), ""); err != nil {
			t.Errorf("PutRun(%q): %v", id, err)
		}
	}
}

// callAll calls every method with the ids and returns the errors by method.
func callAll(ctx context.Context, s Store, basin, scenario string) map[string]error {
	errs := map[string]error{}
	_, errs["Basin"] = s.Basin(ctx, basin, "FLOW.IN")
	_, errs["BasinExists"] = s.BasinExists(ctx, basin)
	_, errs["Scenario"] = s.Scenario(ctx, basin, scenario)
	errs["MergeScenario"] = s.MergeScenario(ctx, basin, scenario, map[string]any{"Status": "Queued"})
	_, _, errs["Run"] = s.Run(ctx, basin, scenario)
	_, errs["PutRun"] = s.PutRun(ctx, basin, scenario, []byte("{}"), "")
	_, errs["WriteResult"] = s.WriteResult(ctx, basin, scenario, "result.json")
	_, errs["ReadResult"] = s.ReadResult(ctx, basin, scenario, "result.json")
	errs["RemoveResult"] = s.RemoveResult(ctx, basin, scenario, "result.json")
	_, errs["ListResults"] = s.ListResults(ctx, basin, scenario)
	_, errs["ResultVersion"] = s.ResultVersion(ctx, basin, scenario, "result.json")
	errs["CreateResult"] = s.CreateResult(ctx, basin, scenario, "result.json", []byte("{}"))
	errs["RemoveVersion"] = s.RemoveVersion(ctx, basin, scenario, "result.json", `"0x1"`)
	_, errs["PlumeByTime"] = s.PlumeByTime(ctx, basin, scenario)
	_, errs["PlumeByMile"] = s.PlumeByMile(ctx, basin, scenario)
	for _, err := range s.ReadPlumeByTime(ctx, basin, scenario) {
		errs["ReadPlumeByTime"] = err
	}
	for _, err := range s.ReadPlumeByMile(ctx, basin, scenario) {
		errs["ReadPlumeByMile"] = err
	}
	return errs
}

// A context that has ended stops every method, with its cause.
func testContextEnded(t *testing.T, b Backend) {
	s := b.Open(t)
	b.PutBasin(t, "ohio", "FLOW.IN", []byte("x"))
	b.PutScenario(t, "ohio", "42", map[string]any{"Name": "x"})
	ctx, cancel := context.WithCancelCause(t.Context())
	w, err := s.WriteResult(ctx, "ohio", "42", "result.json")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.PlumeByTime(ctx, "ohio", "42")
	if err != nil {
		t.Fatal(err)
	}
	lost := errors.New("lease lost")
	cancel(lost)
	calls := callAll(ctx, s, "ohio", "42")
	if len(calls) != 17 {
		t.Errorf("%d methods called, want 17", len(calls))
	}
	for name, err := range calls {
		if !errors.Is(err, lost) {
			t.Errorf("%s: %v, want the cause", name, err)
		}
	}
	if err := w.Commit(); !errors.Is(err, lost) {
		t.Errorf("Commit of a result: %v, want the cause", err)
	}
	if _, err := rows.Commit(); !errors.Is(err, lost) {
		t.Errorf("Commit of rows: %v, want the cause", err)
	}
	if names := list(t, s); len(names) != 0 {
		t.Errorf("written all the same: %q", names)
	}
}
