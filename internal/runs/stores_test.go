package runs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
)

func TestMain(m *testing.M) { os.Exit(azurite.Main(m)) }

// One job in the stores as they are: queued, taken, found busy by many
// messages at once while its owner reports, cancelled, told of.
func TestOneJobInTheStores(t *testing.T) {
	stores := map[string]func(*testing.T) Rows{
		"folder": func(t *testing.T) Rows {
			dir := t.TempDir()
			row := filepath.Join(dir, "tables", "Scenarios", "ohio", "42.json")
			if err := os.MkdirAll(filepath.Dir(row), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(row, []byte(`{"Name":"spill","Status":"Failed","FinishedAt":"2026-01-02T03:00:00Z"}`), 0o644); err != nil {
				t.Fatal(err)
			}
			f, err := storage.OpenFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		},
		"azure": func(t *testing.T) Rows {
			a := azurite.Open(t, azurite.Connection(t), azurite.NewNames().Layout)
			if err := a.Create(t.Context()); err != nil {
				t.Fatal(err)
			}
			columns := map[string]any{"Name": "spill", "Status": "Failed", "FinishedAt": time.Now()}
			if err := a.PutScenario(t.Context(), "ohio", "42", columns); err != nil {
				t.Fatal(err)
			}
			return a
		},
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { oneJob(t, open(t)) })
	}
}

func oneJob(t *testing.T, store Rows) {
	ctx := t.Context()
	if r, err := Queue(ctx, store, "ohio", "42", "j", `{"by":"api"}`, time.Now()); err != nil || r.State != Queued {
		t.Fatalf("%+v, %v", r, err)
	}
	row := scenarioRow(t, store)
	if row["Status"] != "Queued" || row["JobId"] != "j" || row["FinishedAt"] != nil || row["Name"] != "spill" {
		t.Errorf("row %v", row)
	}
	var told []string
	req := request("a")
	req.Lease = 6 * time.Second
	req.Notify = func(_ context.Context, text string) error { told = append(told, text); return nil }
	h := mustTake(t, store, req)
	const messages = 16
	var all sync.WaitGroup
	for i := range messages {
		all.Go(func() {
			if err := Snooze(ctx, store, "ohio", "42", fmt.Sprint("m", i%4)); err != nil {
				t.Error(err)
			}
		})
	}
	h.Progress("bltm", 50)
	all.Wait()
	if _, err := Cancel(ctx, store, "ohio", "42", time.Now()); err != nil {
		t.Error(err)
	}
	<-h.Context.Done()
	if got := reason.Of(context.Cause(h.Context)); got != reason.Cancelled {
		t.Errorf("it ended with %v", context.Cause(h.Context))
	}
	mustFinish(t, h, Outcome{State: Cancelled, Reason: reason.Cancelled})
	r, err := Read(ctx, store, "ohio", "42")
	if err != nil {
		t.Fatal(err)
	}
	// A write whose answer was lost is done twice; here no answer is.
	if !r.Over() || r.Notices != nil || r.Snoozed["m0"] != messages/4 || r.Snoozed["m3"] != messages/4 || r.Attempt != 1 {
		t.Errorf("record %+v", r)
	}
	if row := scenarioRow(t, store); row["Status"] != "Cancelled" || row["FinishedAt"] == nil {
		t.Errorf("row %v", row)
	}
	if len(told) != 1 {
		t.Fatalf("told %d times", len(told))
	}
	if d, err := message.DecodeDone(told[0]); err != nil || d.JobID != "j" || d.State != "Cancelled" {
		t.Errorf("%+v, %v", d, err)
	}
}

func scenarioRow(t *testing.T, store Rows) map[string]any {
	t.Helper()
	row, err := store.Scenario(t.Context(), "ohio", "42")
	if err != nil {
		t.Fatal(err)
	}
	return row
}
