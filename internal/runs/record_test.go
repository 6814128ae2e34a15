package runs

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
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
		n := next(&r, &req, at)
		same := n.CancelAt == tt.at || n.CancelAt != nil && tt.at != nil && n.CancelAt.Equal(*tt.at)
		if n.CancelRequested != tt.want || tt.want && !same || !tt.want && n.CancelAt != nil {
			t.Errorf("%s: the next run has %v at %v", tt.name, n.CancelRequested, n.CancelAt)
		}
		// Who is not meant leaves the wish for the job that is, whoever else is
		// queued and run before it.
		other := Request{JobID: "other", Since: after}
		between := next(&r, &other, at)
		o := next(between.waiting("second", ""), &other, at)
		if n := next(&o, &req, at); n.CancelRequested != tt.want || len(n.Cancels) > 0 && tt.want {
			t.Errorf("%s: behind others it has %v, and %v is left", tt.name, n.CancelRequested, n.Cancels)
		}
		if r.CancelRequested = false; next(&r, &req, at).CancelRequested {
			t.Errorf("%s: nobody asked", tt.name)
		}
	}
}

// A job that is queued anew under its id is not the one that was to stop.
func TestQueuedAnewIsNotCancelled(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	r := Record{JobID: "j", State: Queued, CancelRequested: true, CancelAt: &at}
	behind := r.waiting("k", "")
	if _, kept := behind.Cancels["j"]; !kept || behind.CancelRequested {
		t.Fatalf("behind another job: %+v", behind)
	}
	again := behind.waiting("j", "")
	if n := next(again, &Request{JobID: "j", Since: at.Add(-1)}, at); n.CancelRequested || len(n.Cancels) > 0 {
		t.Errorf("%+v", n)
	}
}

func TestCancelsAreBounded(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	r := &Record{}
	for i := range maxCancels + 10 {
		r = r.waiting(fmt.Sprintf("j%03d", i), "")
		r.cancel(at.Add(time.Duration(i)))
	}
	all := r.wishes()
	if _, oldest := all["j009"]; len(all) != maxCancels || oldest {
		t.Errorf("%d wishes, the oldest among them: %v", len(all), oldest)
	}
}

// A message whose end is on record is known by its id, however the scenario
// went on, until many others have ended.
func TestEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		for i := range maxEnded + 3 {
			req := request(fmt.Sprint("owner ", i))
			req.JobID, req.Message = fmt.Sprint("j", i), fmt.Sprint("m", i)
			mustFinish(t, mustTake(t, store, req), Outcome{State: Queued, Reason: reason.EngineFailed})
			r := store.record(t)
			if _, over := r.Ending(req.Message); over {
				t.Fatalf("message %d is over while it is tried again", i)
			}
			if err := Snooze(t.Context(), store, "ohio", "42", req.Message); err != nil {
				t.Fatal(err)
			}
			mustFinish(t, mustTake(t, store, req), Outcome{State: Failed, Reason: reason.InvalidBasin, Detail: "d"})
			if r := store.record(t); len(r.Snoozed) > 0 {
				t.Fatalf("what is over still waits: %v", r.Snoozed)
			}
		}
		if _, err := Queue(t.Context(), store, "ohio", "42", "next", "", time.Now()); err != nil {
			t.Fatal(err)
		}
		r := store.record(t)
		if _, over := r.Ending("m2"); over || len(r.Ended) != maxEnded {
			t.Errorf("%d ends, m2 among them: %v", len(r.Ended), over)
		}
		want := End{Message: "m3", State: Failed, Reason: reason.InvalidBasin, Detail: "d"}
		if end, over := r.Ending("m3"); !over || end != want {
			t.Errorf("%+v, %v", end, over)
		}
	})
}

// A job that ends without a run keeps what its last run was.
func TestEndWithoutARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		first := mustTake(t, store, request("a"))
		mustFinish(t, first, Outcome{State: Queued, Reason: reason.EngineFailed})
		h := mustTake(t, store, request("b"))
		h.Progress("bltm", 40)
		pass(2 * watchInterval)
		mustFinish(t, h, Outcome{State: Queued, Reason: reason.EngineFailed})
		before := store.record(t)
		req := request("c")
		req.RunKey, req.Engine = "", ""
		mustFinish(t, mustTake(t, store, req), Outcome{State: Failed, Reason: reason.MaxAttempts})
		r := store.record(t)
		if r.Attempt != 2 || r.RunKey != before.RunKey || r.Step != "bltm" || r.Progress != 40 || !r.StartedAt.Equal(before.StartedAt) || r.Engine != before.Engine {
			t.Errorf("%+v, before %+v", r, before)
		}
		req.JobID = "k"
		mustFinish(t, mustTake(t, store, req), Outcome{State: Failed, Reason: reason.EngineMissing})
		if r := store.record(t); r.Attempt != 1 || r.RunKey != "" {
			t.Errorf("another job: %+v", r)
		}
	})
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
