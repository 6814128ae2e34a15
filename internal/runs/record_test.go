package runs

import (
	"bytes"
	"fmt"
	"strings"
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
	r = Record{State: Queued, CancelRequested: true, CancelAt: &at, Commit: "c0ffee", Metadata: "{}",
		Notices: []string{"bm90aWNl"}, Snoozed: map[string]int{"m": 2}}
	const more = `"Metadata":"{}","Commit":"c0ffee","CancelAt":"2026-01-02T03:00:00Z","Notices":["bm90aWNl"],"Snoozed":{"m":2}}`
	if got, err := encode(&r); err != nil || !strings.HasSuffix(string(got), more) {
		t.Errorf("got  %s, %v\nwant %s", got, err, more)
	}
}

func TestOver(t *testing.T) {
	for state, want := range map[State]bool{"": false, Queued: false, Running: false, Completed: true, Failed: true,
		Cancelled: true, TimedOut: true} {
		if got := (&Record{State: state}).Over(); got != want {
			t.Errorf("%q: %v", state, got)
		}
	}
}

// A cancel means the job that it was asked for, or whichever comes next, and
// nothing that was asked for after it.
func TestCancels(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	before, after := at.Add(-1), at.Add(1)
	tests := []struct {
		name  string
		job   string
		at    *time.Time
		state State
		since time.Time
		want  bool
	}{
		{"the job", "j", &at, Queued, before, true},
		{"the job, whose owner died", "j", &at, Running, before, true},
		{"the job, at that moment", "j", &at, Queued, at, true},
		{"the same job asked for again", "j", &at, Queued, after, false},
		{"in another zone", "j", &at, Queued, after.In(time.FixedZone("", -7200)), false},
		{"the job, no time", "j", nil, Queued, after, true},
		{"another job", "k", &at, Queued, before, false},
		{"another job, no time", "k", nil, Queued, before, false},
		{"whichever", "", &at, Queued, before, true},
		{"whichever, at that moment", "", &at, Queued, at, false},
		{"whichever, asked for later", "", &at, Queued, after, false},
		{"whichever, no time", "", nil, Queued, before, false},
		{"completed", "j", &at, Completed, before, false},
		{"failed", "j", &at, Failed, before, false},
		{"cancelled", "j", &at, Cancelled, before, false},
		{"timed out", "j", &at, TimedOut, before, false},
	}
	for _, tt := range tests {
		r := Record{JobID: tt.job, State: tt.state, CancelRequested: true, CancelAt: tt.at}
		req := Request{JobID: "j", Since: tt.since}
		if got := r.cancels(&req); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
		n := next(&r, &req, at)
		if n.CancelRequested != tt.want || tt.want && n.CancelAt != tt.at || !tt.want && n.CancelAt != nil {
			t.Errorf("%s: the next run has %v at %v", tt.name, n.CancelRequested, n.CancelAt)
		}
		if r.CancelRequested = false; r.cancels(&req) {
			t.Errorf("%s: nobody asked", tt.name)
		}
	}
}

// A later wish counts, an earlier one and the same one change nothing.
func TestCancelTwice(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	r := Record{CancelRequested: true}
	for _, s := range []struct {
		after   time.Duration
		changes bool
		want    time.Duration
	}{{0, true, 0}, {0, false, 0}, {-1, false, 0}, {5, true, 5}} {
		if got := r.cancel(at.Add(s.after)); got != s.changes || !r.CancelAt.Equal(at.Add(s.want)) {
			t.Errorf("%v later: %v, %v", s.after, got, r.CancelAt)
		}
	}
}

func TestSnoozedIsBounded(t *testing.T) {
	var r Record
	for i := range maxSnoozed {
		for range 2 + i%3 {
			r.snooze(fmt.Sprintf("m%02d", i))
		}
	}
	if len(r.Snoozed) != maxSnoozed || r.Snoozed["m02"] != 4 {
		t.Fatalf("%d entries, %v", len(r.Snoozed), r.Snoozed)
	}
	r.snooze("m02") // a known one takes no room
	r.snooze("new")
	if _, kept := r.Snoozed["m00"]; kept || len(r.Snoozed) != maxSnoozed || r.Snoozed["m02"] != 5 || r.Snoozed["new"] != 1 {
		t.Errorf("%d entries, %v", len(r.Snoozed), r.Snoozed)
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
		{"queued", Record{State: Queued, Owner: "b", LeaseUntil: now.Add(1)}, false},
		{"completed", Record{State: Completed, Owner: "b", LeaseUntil: now.Add(1)}, false},
		{"no record", Record{}, false},
	}
	for _, tt := range tests {
		if got := tt.r.Live(now); got != tt.want {
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
