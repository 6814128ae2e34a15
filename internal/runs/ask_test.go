package runs

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

func TestRead(t *testing.T) {
	store := &memory{}
	if r, err := Read(t.Context(), store, "ohio", "42"); r != nil || !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("no record: %v, %v", r, err)
	}
	store.data, store.etag = []byte(`{"State":`), 1
	_, err := Read(t.Context(), store, "ohio", "42")
	if want := "the run record of scenario 42 of basin ohio is not readable; the next run of the scenario replaces it"; reason.Detail(err) != want {
		t.Errorf("unreadable: %v", err)
	}
	store.set(t, Record{State: Failed, JobID: "j"})
	if r, err := Read(t.Context(), store, "ohio", "42"); err != nil || r.State != Failed || r.JobID != "j" {
		t.Errorf("%+v, %v", r, err)
	}
	store.fail = failing("Run")
	if _, err := Read(t.Context(), store, "ohio", "42"); reason.Of(err) != reason.StorageUnavailable {
		t.Errorf("store down: %v", err)
	}
}

// States of a record besides those of contract section 4: of an owner who
// lives, one who died, and what cannot be read.
const live, lapsed, unreadable = "live", "lapsed", "unreadable"

// entry is one way into the record and what it makes of a record in a state.
// want gives the state that it leaves, with err where it refuses; "" says that
// nothing is written.
type entry struct {
	name string
	row  State // what the scenario row says
	do   func(*testing.T, *memory) error
	want func(from string) (to State, err error)
}

func entries() []entry {
	busy := reason.New(reason.Busy, "")
	// stays is for what does not change the state.
	stays := func(from string) (State, error) {
		switch from {
		case "", unreadable:
			return "", storage.ErrNotFound
		case live, lapsed:
			return Running, nil
		}
		return State(from), nil
	}
	becomes := func(to State, refused error) func(string) (State, error) {
		return func(from string) (State, error) {
			if from == live {
				return "", refused
			}
			return to, nil
		}
	}
	cancel := func(t *testing.T, store *memory) error {
		_, err := Cancel(t.Context(), store, "ohio", "42", time.Now())
		return err
	}
	return []entry{
		{"Take", Queued, func(t *testing.T, store *memory) error {
			h, err := Take(t.Context(), store, request("b"))
			if err == nil {
				h.stop()
				h.done.Wait()
			}
			return err
		}, becomes(Running, busy)},
		{"Queue", Running, func(t *testing.T, store *memory) error {
			_, err := Queue(t.Context(), store, "ohio", "42", "k", "", time.Now())
			return err
		}, func(from string) (State, error) {
			if from == live {
				return Running, nil // the job waits behind it
			}
			return becomes(Queued, nil)(from)
		}},
		{"Cancel", Completed, cancel, func(from string) (State, error) {
			if State(from).over() {
				return "", nil
			}
			return stays(from)
		}},
		{"Cancel of a queued row", Queued, cancel, func(from string) (State, error) {
			if from == live || from == lapsed {
				return Running, nil
			}
			return Queued, nil
		}},
		{"Snooze", Running, func(t *testing.T, store *memory) error {
			return Snooze(t.Context(), store, "ohio", "42", "n")
		}, stays},
		{"Note", Running, func(t *testing.T, store *memory) error {
			return Note(t.Context(), store, "ohio", "42", Record{State: Completed, Commit: "c"})
		}, becomes(Completed, busy)},
	}
}

// Every way into the record, from every state it may be in.
func TestEntryPoints(t *testing.T) {
	for _, entry := range entries() {
		for _, from := range []string{"", unreadable, "Queued", live, lapsed, "Completed", "Failed", "Cancelled", "TimedOut"} {
			t.Run(entry.name+" from "+from, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { entry.check(t, from) })
			})
		}
	}
}

func (e entry) check(t *testing.T, from string) {
	store := &memory{}
	store.status(e.row)
	old := Record{JobID: "j", RunKey: "key", State: State(from), Generation: 7, Owner: "a",
		Notices: []string{"n"}, Snoozed: map[string]int{"m": 3}}
	switch from {
	case live:
		old.State, old.LeaseUntil = Running, time.Now().Add(1)
	case lapsed:
		old.State, old.LeaseUntil = Running, time.Now()
	}
	known := from != "" && from != unreadable
	if known {
		store.set(t, old)
	} else if from == unreadable {
		store.data, store.etag = []byte("?"), 1
	}
	to, refused := e.want(from)
	if err := e.do(t, store); !errors.Is(err, refused) && (reason.Of(refused) != reason.Busy || reason.Of(err) != reason.Busy) {
		t.Fatalf("%v, want %v", err, refused)
	}
	if to == "" || refused != nil {
		if len(store.written()) != 0 {
			t.Errorf("wrote %q", store.written())
		}
		return
	}
	r := store.record(t)
	if r.State != to {
		t.Errorf("it is %s, want %s", r.State, to)
	}
	if known && (!slices.Equal(r.Notices, old.Notices) || r.Snoozed["m"] != 3) {
		t.Errorf("what waits for others became %v and %v", r.Notices, r.Snoozed)
	}
	if known && e.name != "Take" && r.Generation != 7 {
		t.Errorf("generation %d", r.Generation)
	}
}

// A row that was told and a record that was not are told apart from neither.
func TestQueueToldOnly(t *testing.T) {
	for op, told := range map[string]bool{"Run": false, "MergeScenario": true, "PutRun": true} {
		store := &memory{}
		store.fail = failing(op)
		_, err := Queue(t.Context(), store, "ohio", "42", "k", "", time.Now())
		if reason.Of(err) != reason.StorageUnavailable || errors.Is(err, ErrToldOnly) != told {
			t.Errorf("%s fails: %v", op, err)
		}
	}
	store := &memory{noRow: true}
	if _, err := Queue(t.Context(), store, "ohio", "42", "k", "", time.Now()); !errors.Is(err, storage.ErrNotFound) || errors.Is(err, ErrToldOnly) {
		t.Errorf("no row: %v", err)
	}
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		mustFinish(t, mustTake(t, store, request("a")), Outcome{State: Failed, Reason: reason.EngineFailed, Detail: "d"})
		store.change(t, func(r *Record) {
			r.CancelRequested, r.CancelAt, r.Snoozed = true, new(time.Now().UTC()), map[string]int{"m": 1}
		})
		n := len(store.written())
		r, err := Queue(t.Context(), store, "ohio", "42", "k", `{"by":"api"}`, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		want := Record{JobID: "k", State: Queued, Generation: 1, Metadata: `{"by":"api"}`, Snoozed: map[string]int{"m": 1}}
		if got := store.record(t); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(*r, want) {
			t.Errorf("record   %+v\nreturned %+v\nwant     %+v", got, *r, want)
		}
		for column, want := range map[string]any{"Status": "Queued", "Progress": 0.0, "Step": "", "StatusDetail": "", "Reason": "",
			"JobId": "k", "FinishedAt": nil, "StartedAt": nil, "Attempt": 0, "EngineVersion": ""} {
			if got := store.column(column); got != want {
				t.Errorf("column %s is %v, want %v", column, got, want)
			}
		}
		if got := store.written()[n:]; !slices.Equal(got, []string{"row Queued", "record Queued"}) {
			t.Errorf("wrote %q", got)
		}
		req := request("b")
		req.JobID = "k"
		h := mustTake(t, store, req)
		if h.Attempt() != 1 || h.Context.Err() != nil {
			t.Errorf("attempt %d, %v", h.Attempt(), context.Cause(h.Context))
		}
		// The next one waits behind it, which the record tells.
		n = len(store.written())
		if r, err := Queue(t.Context(), store, "ohio", "42", "l", "", time.Now()); err != nil || r.State != Running || r.JobID != "k" {
			t.Errorf("%+v, %v", r, err)
		}
		if got := store.written()[n:]; !slices.Equal(got, []string{"record Running"}) || !slices.Equal(store.record(t).Waiting, []string{"l"}) {
			t.Errorf("wrote %q over a run, %+v", got, store.record(t))
		}
		mustFinish(t, h, Outcome{State: Completed})
	})
}

// Where there is no scenario, and where the store is down, no record is made.
func TestQueueFails(t *testing.T) {
	store := &memory{noRow: true}
	if r, err := Queue(t.Context(), store, "ohio", "42", "j", "", time.Now()); r != nil || !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("no row: %v, %v", r, err)
	}
	store.noRow, store.fail = false, failing("MergeScenario")
	if r, err := Queue(t.Context(), store, "ohio", "42", "j", "", time.Now()); r != nil || reason.Of(err) != reason.StorageUnavailable {
		t.Errorf("store down: %v, %v", r, err)
	}
	if store.etag != 0 {
		t.Errorf("there is the record %s", store.data)
	}
}

type whoKey struct{}

// A worker takes the scenario after Queue has looked: its row is set right
// again, also where it comes to its end while that is done.
func TestQueueAgainstTake(t *testing.T) {
	for _, ends := range []bool{false, true} {
		t.Run(fmt.Sprint("ends ", ends), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				var h *Hold
				merges := 0
				told, goOn, finished := make(chan struct{}), make(chan struct{}), make(chan error, 1)
				var once sync.Once
				store.failWith(func(ctx context.Context, op string) error {
					switch who := ctx.Value(whoKey{}); {
					case who == "queue" && op == "PutRun" && h == nil:
						h = mustTake(t, store, request("a"))
					case who == "queue" && op == "MergeScenario":
						if merges++; merges == 2 && ends {
							go func() {
								finished <- h.Finish(context.WithValue(t.Context(), whoKey{}, "owner"), Outcome{State: Completed})
							}()
							<-told
						}
					case who == "owner" && op == "PutRun":
						once.Do(func() { close(told) })
						<-goOn
					}
					return nil
				})
				r, err := Queue(context.WithValue(t.Context(), whoKey{}, "queue"), store, "ohio", "42", "k", "", time.Now())
				if err != nil || r.State != Running || r.JobID != "j" || merges != 2 {
					t.Fatalf("%+v, %v, row told %d times", r, err, merges)
				}
				if got := store.column("Status"); got != "Running" || store.column("JobId") != "j" {
					t.Errorf("the row says %v of %v", got, store.column("JobId"))
				}
				close(goOn)
				if ends {
					err = <-finished
				} else {
					err = h.Finish(t.Context(), Outcome{State: Completed})
				}
				if err != nil {
					t.Error(err)
				}
				if got := store.column("Status"); got != "Completed" || store.record(t).State != Completed {
					t.Errorf("the row says %v, the record %s", got, store.record(t).State)
				}
			})
		})
	}
}

// C26: many messages find the scenario busy at the same time, again and again,
// while the owner renews and reports; nothing of either is lost.
func TestSnoozeAgainstTheOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		h := mustTake(t, store, request("a"))
		store.failWith(func(ctx context.Context, op string) error {
			if op != "MergeScenario" {
				<-time.After(10 * time.Millisecond)
			}
			return nil
		})
		const messages, times = 16, 20
		var all sync.WaitGroup
		for m := range messages {
			all.Go(func() {
				for range times {
					<-time.After(time.Until(time.Now().Truncate(watchInterval).Add(watchInterval))) // all at once, with the watch
					if err := Snooze(t.Context(), store, "ohio", "42", fmt.Sprint("m", m%8)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Go(func() {
			for i := range times {
				h.Progress("bltm", float64(2*i))
				<-time.After(watchInterval)
			}
			if _, err := Cancel(t.Context(), store, "ohio", "42", time.Now()); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		pass(watchInterval)
		r := store.record(t)
		if err := h.Err(); err != nil || r.Owner != "a" || r.State != Running || !r.Live(time.Now()) {
			t.Fatalf("%v, record %+v", err, r)
		}
		if r.Step != "bltm" || r.Progress < 36 || reason.Of(context.Cause(h.Context)) != reason.Cancelled {
			t.Errorf("at %s %v, %v", r.Step, r.Progress, context.Cause(h.Context))
		}
		if err := Snooze(t.Context(), store, "ohio", "42", "other"); err != nil {
			t.Error(err)
		}
		mustFinish(t, h, Outcome{State: Cancelled})
		store.failWith(nil)
		count := func(r Record) {
			t.Helper()
			for m := range 8 {
				if got := r.Snoozed[fmt.Sprint("m", m)]; got != 2*times {
					t.Errorf("message %d was counted %d times, want %d", m, got, 2*times)
				}
			}
			if r.Snoozed["other"] != 1 {
				t.Errorf("the last one was counted %d times", r.Snoozed["other"])
			}
		}
		count(store.record(t))
		// Its count is still needed when the message is next.
		h = mustTake(t, store, request("b"))
		count(store.record(t))
		pass(lease)
		mustFinish(t, h, Outcome{State: Completed})
		count(store.record(t))
	})
}

func TestNote(t *testing.T) {
	store := &memory{}
	given := Record{JobID: "probe", State: Completed, Commit: "c0ffee", Detail: "all well"}
	for range 2 {
		if err := Note(t.Context(), store, "ohio", "42", given); err != nil {
			t.Fatal(err)
		}
	}
	if got := store.record(t); !reflect.DeepEqual(got, given) {
		t.Errorf("record %+v", got)
	}
	if got := store.written(); !slices.Equal(got, []string{"record Completed", "record Completed"}) {
		t.Errorf("wrote %q", got)
	}
}

// Whoever always comes second gives up; errors of the store pass.
func TestAskGivesUp(t *testing.T) {
	asks := map[string]func(*memory) error{
		"Queue":  func(m *memory) error { _, err := Queue(t.Context(), m, "ohio", "42", "j", "", time.Now()); return err },
		"Cancel": func(m *memory) error { _, err := Cancel(t.Context(), m, "ohio", "42", time.Now()); return err },
		"Snooze": func(m *memory) error { return Snooze(t.Context(), m, "ohio", "42", "m") },
		"Note":   func(m *memory) error { return Note(t.Context(), m, "ohio", "42", Record{State: Completed}) },
	}
	for name, ask := range asks {
		t.Run(name, func(t *testing.T) {
			store := &memory{}
			store.set(t, Record{State: Queued, JobID: "j"})
			puts := 0
			store.fail = func(_ context.Context, op string) error {
				if op == "PutRun" {
					puts++
					store.change(t, func(*Record) {})
				}
				return nil
			}
			if err := ask(store); reason.Of(err) != reason.Busy || puts != rounds {
				t.Errorf("%v after %d rounds", err, puts)
			}
			for _, op := range []string{"Run", "PutRun"} {
				store.fail = failing(op)
				if err := ask(store); reason.Of(err) != reason.StorageUnavailable {
					t.Errorf("%s fails: %v", op, err)
				}
			}
		})
	}
}

// The clock of who asks for a job does not decide whether a run is alive.
func TestQueueGoesByTheTimeOfTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		dead(t, store, "a") // it renews no more
		until := store.record(t).LeaseUntil
		pass(2 * lease)
		if r, err := Queue(t.Context(), store, "ohio", "42", "k", "", until.Add(-1)); err != nil || r.State != Running {
			t.Errorf("within the lease: %+v, %v", r, err)
		}
		if r, err := Queue(t.Context(), store, "ohio", "42", "k", "", until); err != nil || r.State != Queued {
			t.Errorf("behind it: %+v, %v", r, err)
		}
	})
}
