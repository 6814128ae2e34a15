package runs

import (
	"bytes"
	"testing"
	"time"

	"rsmsjob/internal/reason"
)

// The record is what status, cancel and other programs read: its names stand.
func TestRecordForm(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	r := Record{JobID: "j", RunKey: "key", State: Failed, Step: "bltm", Progress: 62.5, Attempt: 2, Generation: 3, Owner: "a",
		LeaseUntil: at, StartedAt: at, FinishedAt: &at, Reason: reason.EngineFailed, Detail: "exit code 3", CancelRequested: true, Engine: "bundled"}
	const want = `{"JobId":"j","RunKey":"key","State":"Failed","Step":"bltm","Progress":62.5,"Attempt":2,"Generation":3,"Owner":"a",` +
		`"LeaseUntil":"2026-01-02T03:00:00Z","StartedAt":"2026-01-02T03:00:00Z","FinishedAt":"2026-01-02T03:00:00Z",` +
		`"Reason":"engine_failed","Detail":"exit code 3","CancelRequested":true,"Engine":"bundled"}`
	if got, err := encode(&r); err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestLive(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	tests := []struct {
		name string
		r    Record
		want bool
	}{
		{"somebody else", Record{State: Running, Owner: "b", LeaseUntil: now.Add(1)}, true},
		{"in another zone", Record{State: Running, Owner: "b", LeaseUntil: now.Add(1).In(time.FixedZone("", -7200))}, true},
		{"its lease ends now", Record{State: Running, Owner: "b", LeaseUntil: now}, false},
		{"ourselves", Record{State: Running, Owner: "a", LeaseUntil: now.Add(1)}, false},
		{"queued", Record{State: Queued, Owner: "b", LeaseUntil: now.Add(1)}, false},
		{"completed", Record{State: Completed, Owner: "b", LeaseUntil: now.Add(1)}, false},
		{"no record", Record{}, false},
	}
	for _, tt := range tests {
		if got := tt.r.live("a", now); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"JobId":"j","State":"Running","Generation":3,"Owner":"a","LeaseUntil":"2026-01-02T03:00:00Z","FinishedAt":null}`))
	f.Add([]byte(`{"Progress":1e400}`))
	f.Add([]byte(`null`))
	f.Add([]byte("\xef\xbb\xbf{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data)
		if (r == nil) == (err == nil) {
			t.Fatalf("%+v, %v", r, err)
		}
		if err != nil {
			return
		}
		first, err := encode(r)
		if err != nil {
			return // a year that JSON cannot write
		}
		again, err := decode(first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		if second, err := encode(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s, then %s, %v", first, second, err)
		}
	})
}
