package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

// office is an account behind a proxy with one scenario, and commands on it.
type office struct {
	testing.TB
	proxy *faultproxy.Proxy
	names azurite.Names
	store *storage.Azure
}

// newOffice sets the environment of the test, so it cannot run beside others.
func newOffice(t *testing.T) *office {
	connection := azurite.Connection(t)
	o := &office{TB: t, proxy: faultproxy.New(t, connection), names: azurite.NewNames()}
	o.store = azurite.Open(t, connection, o.names.Layout)
	for _, pair := range append(o.names.Environment(o.proxy.Connection()), "RSMS_STORE_DIR=", "RSMS_MESSAGE=", "RSMS_START_DEADLINE_SEC=20") {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	o.does(exitDone, "init")
	if err := o.store.PutScenario(t.Context(), "tiny", "s1", map[string]any{"SpillMile": 1.0}); err != nil {
		t.Fatal(err)
	}
	return o
}

// does runs a command, which must end with the code, and returns what it said.
func (o *office) does(code int, args ...string) (stdout, stderr string) {
	o.Helper()
	var out, log bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &log}
	c := a.command()
	c.SetArgs(args)
	if got := a.exit(c.ExecuteContext(o.Context())); got != code {
		o.Fatalf("%q exits %d, want %d:\n%s%s", args, got, code, out.String(), log.String())
	}
	return out.String(), log.String()
}

// fails puts a rule in force until the end of do.
func (o *office) fails(op faultproxy.Operation, action faultproxy.Action, do func()) {
	o.Helper()
	f := o.proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: op}, Action: action})
	defer f.Remove()
	do()
	if f.Hits() == 0 {
		o.Errorf("nobody asked for %s", op)
	}
}

// stands checks what the row says, and how many messages a queue has and how
// many of them can be seen.
func (o *office) stands(status any, queue string, length, visible int) {
	o.Helper()
	row, err := o.store.Scenario(o.Context(), "tiny", "s1")
	if err != nil {
		o.Fatal(err)
	}
	if row["Status"] != status {
		o.Errorf("the row says %v, want %v", row["Status"], status)
	}
	q := o.store.Queue(queue)
	n, err := q.Length(o.Context())
	if err != nil {
		o.Fatal(err)
	}
	seen, err := q.Peek(o.Context(), 32)
	if err != nil {
		o.Fatal(err)
	}
	if n != length || len(seen) != visible {
		o.Errorf("queue %s has %d messages, %d of them visible, want %d and %d", queue, n, len(seen), length, visible)
	}
}

func denied() faultproxy.Action {
	return faultproxy.Status(http.StatusForbidden, "AuthorizationPermissionMismatch", 0)
}

// Whatever goes wrong on the way: no row says Queued without a message, and no
// message is sent twice.
func TestEnqueueHalfway(t *testing.T) {
	o := newOffice(t)
	enqueue := []string{"enqueue", "tiny", "s1", "--job-id", "j1"}

	o.fails(faultproxy.QueueSend, denied(), func() {
		o.does(exitFailed, enqueue...)
	})
	o.stands(nil, o.names.Queue, 0, 0)

	o.fails(faultproxy.EntityMerge, denied(), func() {
		o.does(exitFailed, enqueue...)
	})
	o.stands(nil, o.names.Queue, 0, 0)

	o.fails(faultproxy.QueueSend, faultproxy.DropResponse(), func() {
		_, said := o.does(exitRetry, enqueue...)
		if !strings.Contains(said, "may be on queue "+o.names.Queue+" or not; look with rsms-job status") {
			t.Errorf("what to do is not said: %s", said)
		}
	})
	o.stands(nil, o.names.Queue, 1, 0)

	o.fails(faultproxy.QueueUpdate, denied(), func() {
		out, said := o.does(exitDone, enqueue...)
		if out != "queued tiny s1 as job j1\n" || !strings.Contains(said, "hidden for a while") {
			t.Errorf("it said %s%s", out, said)
		}
	})
	o.stands("Queued", o.names.Queue, 2, 0)
}

// Once the row may say Queued the message stays, also where it was requeued.
func TestEnqueueToldOnly(t *testing.T) {
	o := newOffice(t)
	text, _ := (&message.Poison{Reason: reason.InvalidBasin, MessageID: "m1", Original: `{"riverbasin_id":"tiny","scenario_id":"s1"}`}).Encode()
	if _, err := o.store.Queue(o.names.Poison).Send(t.Context(), text, 0); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, table string
		action      faultproxy.Action
		args        []string
		want        string
		queued      int
	}{
		{"record denied", o.names.Layout.Runs, denied(), []string{"enqueue", "tiny", "s1", "--job-id", "j1"}, "queued tiny s1 as job j1\n", 1},
		{"record denied, JSON", o.names.Layout.Runs, denied(), []string{"enqueue", "tiny", "s1", "--job-id", "j2", "--json"}, `"state": "Queued"`, 2},
		{"record denied, requeue", o.names.Layout.Runs, denied(), []string{"poison", "requeue", "m1"}, "requeued m1 as ", 3},
		{"answer to the row lost", o.names.Layout.Scenarios, faultproxy.DropResponse(), []string{"enqueue", "tiny", "s1", "--job-id", "j4"}, "queued tiny s1 as job j4\n", 4},
	} {
		if err := o.store.MergeScenario(t.Context(), "tiny", "s1", map[string]any{"Status": "Untouched"}); err != nil {
			t.Fatal(err)
		}
		f := o.proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Path: "/" + tt.table}, Action: tt.action,
			When: func(r *http.Request) bool { return r.Method != http.MethodGet }})
		out, said := o.does(exitDone, tt.args...)
		f.Remove()
		if !strings.Contains(out, tt.want) || !strings.Contains(said, "its run record is not written") {
			t.Errorf("%s: it said %s%s", tt.name, out, said)
		}
		o.stands("Queued", o.names.Queue, tt.queued, tt.queued)
	}
	o.stands("Queued", o.names.Poison, 0, 0)
	// A worker copes with the record that is not there.
	_, said := o.does(exitDone, "run")
	if !strings.Contains(said, `"reason":"basin_not_found"`) {
		t.Errorf("it said %s", said)
	}
	o.stands("Failed", o.names.Queue, 3, 3)
}

// The message cannot be taken back: it is run, and that is said.
func TestEnqueueNotTakenBack(t *testing.T) {
	o := newOffice(t)
	o.fails(faultproxy.QueueDelete, denied(), func() {
		o.fails(faultproxy.EntityMerge, denied(), func() {
			_, said := o.does(exitFailed, "enqueue", "tiny", "s1", "--job-id", "j1")
			if !strings.Contains(said, "could not be taken back and will be run") {
				t.Errorf("it said %s", said)
			}
		})
	})
	o.stands(nil, o.names.Queue, 1, 0)
}

// C67: copy first, delete second, and what a failure between leaves is said.
func TestRequeueHalfway(t *testing.T) {
	o := newOffice(t)
	text, _ := (&message.Poison{Reason: reason.InvalidBasin, MessageID: "m1", Original: `{"riverbasin_id":"tiny","scenario_id":"s1"}`}).Encode()
	if _, err := o.store.Queue(o.names.Poison).Send(t.Context(), text, 0); err != nil {
		t.Fatal(err)
	}
	for _, action := range []faultproxy.Action{denied(), faultproxy.DropRequest()} {
		o.fails(faultproxy.QueueSend, action, func() {
			var out, log bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &log}
			c := a.command()
			c.SetArgs([]string{"poison", "requeue", "m1"})
			if err := c.ExecuteContext(t.Context()); err == nil || out.Len() > 0 {
				t.Errorf("requeued: %v %s", err, out.String())
			}
		})
		o.stands(nil, o.names.Poison, 1, 1)
		o.stands(nil, o.names.Queue, 0, 0)
	}
	o.fails(faultproxy.QueueDelete, denied(), func() {
		_, said := o.does(exitFailed, "poison", "requeue", "m1")
		if !strings.Contains(said, "must not be requeued again") {
			t.Errorf("it said %s", said)
		}
	})
	o.stands("Queued", o.names.Poison, 1, 1)
	o.stands("Queued", o.names.Queue, 1, 1)
}

// C47: an identity that may receive and not renew is found out.
func TestCheckFindsMissingRights(t *testing.T) {
	o := newOffice(t)
	for _, tt := range []struct {
		op   faultproxy.Operation
		want string
	}{
		{faultproxy.QueueUpdate, "FAIL  message rights         no right to update a message of queue "},
		{faultproxy.EntityInsert, ""}, // not asked for
		{faultproxy.BlobPut, "FAIL  write rights           no right to write "},
		{faultproxy.EntityQuery, "FAIL  tables and containers  no right to read table "},
	} {
		f := o.proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: tt.op}, Action: denied()})
		code := exitFailed
		if tt.want == "" {
			code = exitDone
		}
		if out, _ := o.does(code, "check"); tt.want != "" && (!strings.Contains(out, tt.want) || strings.Count(out, "FAIL") != 1) {
			t.Errorf("%s denied: %s", tt.op, out)
		}
		f.Remove()
	}
}

func TestMetadata(t *testing.T) {
	for _, tt := range []struct {
		pair string
		want any
	}{
		{"a=1", json.Number("1")}, {"a=-1.50", json.Number("-1.50")}, {"a=true", true}, {"a=null", nil}, {"a=", ""},
		{`a="x"`, `"x"`}, {"a=x", "x"}, {"a=007", "007"}, {"a=1 2", "1 2"}, {"a=1e", "1e"}, {"a=b=c", "b=c"},
		{`a={"b":[1]}`, map[string]any{"b": []any{json.Number("1")}}}, {"a=[]", []any{}}, {"a={", "{"},
	} {
		got, err := metadata([]string{tt.pair})
		if diff := cmp.Diff(map[string]any{"a": tt.want}, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", tt.pair, err, diff)
		}
	}
	for _, pairs := range [][]string{{"a"}, {"=1"}, {"a=1", "a=1"}, {""}} {
		if _, err := metadata(pairs); exitCode(err) != exitUsage {
			t.Errorf("%q: %v", pairs, err)
		}
	}
	if got, err := metadata(nil); got != nil || err != nil {
		t.Errorf("nothing: %v %v", got, err)
	}
}

// The ids of arguments are those of messages.
func TestScenarioMessage(t *testing.T) {
	for id, ok := range map[string]bool{"42": true, "a.b-c_d": true, "": false, "a..b": false, "-a": false, "a b": false,
		"a/b": false, strings.Repeat("x", 63): true, strings.Repeat("x", 64): false, "ü": false} {
		for _, pair := range [][2]string{{id, "s"}, {"b", id}} {
			_, err := scenarioMessage(pair[0], pair[1])
			if ok != (err == nil) || !ok && exitCode(err) != exitUsage {
				t.Errorf("%q: %v", pair, err)
			}
			if err != nil && id != "" && strings.Contains(fmt.Sprint(err), id+" ") && len(id) > 5 {
				t.Errorf("the error repeats the argument: %v", err)
			}
		}
	}
}
