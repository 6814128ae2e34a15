package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"rsmsjob/internal/config"
	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
)

// TestQueueScripts runs the commands that work with a queue against a storage
// emulator.
func TestQueueScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script/queue", queueCommands())
}

func queueCommands() map[string]scriptCommand {
	return map[string]scriptCommand{
		"account": account, "send": sendText, "queue": queueHas, "first": firstIs, "exact": exact, "receive": receiveText,
		"poisoned": poisoned, "rundoc": runRecord, "row": rowIs, "setrow": setRow, "keep": keepValue,
	}
}

// account: account gives the script names of its own in the emulator, with the
// queues QUEUE, POISON and DONE, and takes the folder store and the message
// away. With the connection strings NOBODY and WRONGKEY nothing can be done.
func account(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 0, 0, "account")
	names := azurite.NewNames()
	for _, pair := range names.Environment(os.Getenv(azurite.Variable)) {
		name, value, _ := strings.Cut(pair, "=")
		ts.Setenv(name, value)
	}
	for name, value := range map[string]string{"RSMS_STORE_DIR": "", "RSMS_MESSAGE": "",
		"NOBODY":   "AccountName=a;AccountKey=d3Jvbmc=;BlobEndpoint=http://127.0.0.1:1;QueueEndpoint=http://127.0.0.1:1;TableEndpoint=http://127.0.0.1:1",
		"WRONGKEY": regexp.MustCompile(`AccountKey=[^;]*`).ReplaceAllString(os.Getenv(azurite.Variable), "AccountKey=d3Jvbmc="),
		"QUEUE":    names.Queue, "POISON": names.Poison, "DONE": names.Done} {
		ts.Setenv(name, value)
	}
}

// theAccount opens the account of the script.
func theAccount(ts *testscript.TestScript) *storage.Azure {
	c, err := config.ParseConnection(os.Getenv(azurite.Variable))
	ts.Check(err)
	a, err := storage.OpenConnection(c, storage.Layout{Basins: ts.Getenv("RSMS_RIVERBASIN_BLOB_CONTAINER"),
		Results: ts.Getenv("RSMS_RESULTS_BLOB_CONTAINER"), Scenarios: ts.Getenv("RSMS_SCENARIOS_TABLE"), Runs: ts.Getenv("RSMS_RUNS_TABLE"),
		PlumeByTime: ts.Getenv("RSMS_PLUME_BY_TIME_TABLE"), PlumeByMile: ts.Getenv("RSMS_PLUME_BY_MILE_TABLE"), PublishConcurrency: 4})
	ts.Check(err)
	return a
}

// sendText: send QUEUE FILE [TIMES] sends the content of a file as it is.
func sendText(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 3, "send QUEUE FILE [TIMES]")
	times := 1
	if len(args) == 3 {
		var err error
		times, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	queue := theAccount(ts).Queue(args[0])
	for range times {
		_, err := queue.Send(context.Background(), bare(ts, args[1]), 0)
		ts.Check(err)
	}
}

// queueHas: queue QUEUE N [VISIBLE] checks how many messages a queue has and,
// where that is given, how many of them can be seen, up to 32.
func queueHas(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 3, "queue QUEUE N [VISIBLE]")
	queue := theAccount(ts).Queue(args[0])
	n, err := queue.Length(context.Background())
	ts.Check(err)
	if strconv.Itoa(n) != args[1] {
		ts.Fatalf("queue %s has %d messages, want %s", args[0], n, args[1])
	}
	if len(args) == 2 {
		return
	}
	list, err := queue.Peek(context.Background(), 32)
	ts.Check(err)
	if strconv.Itoa(len(list)) != args[2] {
		ts.Fatalf("queue %s has %d visible messages, want %s", args[0], len(list), args[2])
	}
}

// firstIs: first QUEUE FILE checks that the text of the first message is that of
// a file, byte for byte.
func firstIs(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 2, "first QUEUE FILE")
	list, err := theAccount(ts).Queue(args[0]).Peek(context.Background(), 1)
	ts.Check(err)
	if len(list) == 0 {
		ts.Fatalf("queue %s has no message that can be seen", args[0])
	}
	if want := bare(ts, args[1]); list[0].Text != want {
		ts.Fatalf("the first message is %q, want %q", list[0].Text, want)
	}
}

// exact: exact A B checks that two files are the same but for a line feed at the
// end of B.
func exact(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 2, "exact A B")
	if got, want := ts.ReadFile(args[0]), bare(ts, args[1]); got != want {
		ts.Fatalf("%s is %q, want %q", args[0], got, want)
	}
}

// bare is the content of a file without the line feed that ends every file of a
// script.
func bare(ts *testscript.TestScript, name string) string {
	return strings.TrimSuffix(ts.ReadFile(name), "\n")
}

// receiveText: receive QUEUE takes the first message away.
func receiveText(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 1, 1, "receive QUEUE")
	queue := theAccount(ts).Queue(args[0])
	m, err := queue.Receive(context.Background(), time.Minute)
	ts.Check(err)
	if m == nil {
		ts.Fatalf("queue %s has no message", args[0])
	}
	ts.Check(queue.Delete(context.Background(), m.ID, m.Receipt))
}

// poisoned: poisoned ID FILE [REASON] puts the content of a file aside, as a
// worker does.
func poisoned(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 3, "poisoned ID FILE [REASON]")
	p := message.Poison{Reason: reason.InvalidBasin, Detail: "FLOW.IN line 9: is no number\nFLOW.IN line 10: is blank",
		Original: bare(ts, args[1]), MessageID: args[0], DequeueCount: 3, JobID: "job-of-" + args[0],
		InsertedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), FailedAt: time.Date(2026, 1, 2, 4, 4, 5, 0, time.UTC)}
	if len(args) == 3 {
		p.Reason = reason.Code(args[2])
	}
	text, whole := p.Encode()
	if !whole {
		ts.Fatalf("the poison message is too long")
	}
	_, err := theAccount(ts).Queue(ts.Getenv("POISON")).Send(context.Background(), text, 0)
	ts.Check(err)
}

// runRecord: rundoc STATE JOB LEASE writes the run record of tiny s1 as a worker
// does; LEASE is how long its owner is believed to live, such as 1h or -1h.
func runRecord(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 3, 3, "rundoc STATE JOB LEASE")
	lease, err := time.ParseDuration(args[2])
	ts.Check(err)
	now := time.Now().UTC().Truncate(time.Second)
	r := runs.Record{JobID: args[1], State: runs.State(args[0]), Step: "bltm", Progress: 41.7, Attempt: 2, Owner: "w",
		LeaseUntil: now.Add(lease), StartedAt: now, Engine: "bundled 0123", Commit: "c0ffee"}
	if r.Over() {
		r.FinishedAt, r.Reason, r.Detail = &now, reason.EngineFailed, "bltm ended with 1"
	}
	data, err := json.Marshal(r)
	ts.Check(err)
	a, ctx := theAccount(ts), context.Background()
	_, etag, err := a.Run(ctx, "tiny", "s1")
	if err != nil {
		etag = ""
	}
	_, err = a.PutRun(ctx, "tiny", "s1", data, etag)
	ts.Check(err)
}

// rowIs: row COLUMN VALUE checks a column of the scenario row of tiny s1, "-"
// for none.
func rowIs(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 2, "row COLUMN VALUE")
	row, err := theAccount(ts).Scenario(context.Background(), "tiny", "s1")
	ts.Check(err)
	got := "-"
	if v, ok := row[args[0]]; ok {
		got = fmt.Sprint(v)
	}
	if got != args[1] {
		ts.Fatalf("%s is %q, want %q", args[0], got, args[1])
	}
}

// setRow: setrow COLUMN VALUE sets a column of the scenario row of tiny s1, as
// an API does.
func setRow(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 2, "setrow COLUMN VALUE")
	ts.Check(theAccount(ts).MergeScenario(context.Background(), "tiny", "s1", map[string]any{args[0]: args[1]}))
}

// keepValue: keep VARIABLE FILE PATH keeps a string of a JSON file in a variable.
func keepValue(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 3, 3, "keep VARIABLE FILE PATH")
	v := value(ts, ts.ReadFile(args[1]))
	for part := range strings.SplitSeq(args[2], ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[part]
		case []any:
			i, err := strconv.Atoi(part)
			ts.Check(err)
			v = at[i]
		}
	}
	text, ok := v.(string)
	if !ok {
		ts.Fatalf("%s of %s is no string: %v", args[2], args[1], v)
	}
	ts.Setenv(args[0], text)
}
