package storage_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

// azureCall is one kind of call to a store.
type azureCall struct {
	name string
	op   faultproxy.Operation
	gone string // code of the service that its queue, table or container is missing
	call func(ctx context.Context, a *storage.Azure, names azurite.Names) error
	once bool // a second try after a lost answer would do harm
}

func azureCalls() []azureCall {
	const table, blob, queue = "TableNotFound", "ContainerNotFound", "QueueNotFound"
	etag := `W/"datetime'2026-01-02T03%3A00%3A00Z'"`
	return []azureCall{
		{name: "Scenario", op: faultproxy.EntityGet, gone: table, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			_, err := a.Scenario(ctx, "ohio", "42")
			return err
		}},
		{name: "MergeScenario", op: faultproxy.EntityMerge, gone: table, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			return a.MergeScenario(ctx, "ohio", "42", map[string]any{"Status": "Queued"})
		}},
		{name: "PutScenario", op: faultproxy.EntityMerge, gone: table, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			return a.PutScenario(ctx, "ohio", "42", map[string]any{"Status": "Queued"})
		}},
		{name: "PutRun", op: faultproxy.EntityReplace, gone: table, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			_, err := a.PutRun(ctx, "ohio", "42", []byte("{}"), etag)
			return err
		}},
		{name: "PutRun of a new one", op: faultproxy.EntityInsert, gone: table, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			_, err := a.PutRun(ctx, "ohio", "new-"+rand.Text(), []byte("{}"), "")
			return err
		}},
		{name: "Basin", op: faultproxy.BlobGet, gone: blob, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			_, err := a.Basin(ctx, "ohio", "FLOW.IN")
			return err
		}},
		{name: "ReadResult", op: faultproxy.BlobGet, gone: blob, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			r, err := a.ReadResult(ctx, "ohio", "42", "x")
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.ReadAll(r)
			return err
		}},
		{name: "BasinExists", op: faultproxy.BlobList, gone: blob, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			_, err := a.BasinExists(ctx, "ohio")
			return err
		}},
		{name: "ListResults", op: faultproxy.BlobList, gone: blob, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			_, err := a.ListResults(ctx, "ohio", "42")
			return err
		}},
		{name: "Commit", op: faultproxy.BlobPut, gone: blob, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			return writeResult(ctx, a, "y", []byte("y"))
		}},
		{name: "RemoveResult", op: faultproxy.BlobDelete, gone: blob, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			return a.RemoveResult(ctx, "ohio", "42", "y")
		}},
		{name: "ResultVersion", op: faultproxy.BlobProperties, gone: blob, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			_, err := a.ResultVersion(ctx, "ohio", "42", "x")
			return err
		}},
		{name: "CreateResult", op: faultproxy.BlobPut, gone: blob, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			return a.CreateResult(ctx, "ohio", "42", "z", []byte("z"))
		}},
		{name: "RemoveVersion", op: faultproxy.BlobDelete, gone: blob, call: func(ctx context.Context, a *storage.Azure, _ azurite.Names) error {
			return a.RemoveVersion(ctx, "ohio", "42", "z", `"0x1"`)
		}},
		{name: "Receive", op: faultproxy.QueueReceive, gone: queue, once: true, call: func(ctx context.Context, a *storage.Azure, n azurite.Names) error {
			_, err := a.Queue(n.Queue).Receive(ctx, time.Minute)
			return err
		}},
		{name: "Update", op: faultproxy.QueueUpdate, gone: queue, once: true, call: func(ctx context.Context, a *storage.Azure, n azurite.Names) error {
			_, err := a.Queue(n.Queue).Update(ctx, "id", "receipt", "x", time.Minute)
			return err
		}},
		{name: "Delete", op: faultproxy.QueueDelete, gone: queue, call: func(ctx context.Context, a *storage.Azure, n azurite.Names) error {
			return a.Queue(n.Queue).Delete(ctx, "id", "receipt")
		}},
		{name: "Send", op: faultproxy.QueueSend, gone: queue, once: true, call: func(ctx context.Context, a *storage.Azure, n azurite.Names) error {
			_, err := a.Queue(n.Queue).Send(ctx, "x", 0)
			return err
		}},
		{name: "Peek", op: faultproxy.QueuePeek, gone: queue, call: func(ctx context.Context, a *storage.Azure, n azurite.Names) error {
			_, err := a.Queue(n.Queue).Peek(ctx, 1)
			return err
		}},
		{name: "Length", op: faultproxy.QueueProperties, gone: queue, call: func(ctx context.Context, a *storage.Azure, n azurite.Names) error {
			_, err := a.Queue(n.Queue).Length(ctx)
			return err
		}},
	}
}

// azureSetting is a store with a row, a file and a queue, behind a proxy.
func azureSetting(t *testing.T) (*storage.Azure, *faultproxy.Proxy, azurite.Names) {
	t.Helper()
	names, ctx := azurite.NewNames(), t.Context()
	direct := azurite.Open(t, azurite.Connection(t), names.Layout)
	proxy := faultproxy.New(t, azurite.Connection(t))
	err := errors.Join(direct.Create(ctx), direct.Queue(names.Queue).Create(ctx), direct.PutBasin(ctx, "ohio", "FLOW.IN", []byte("x")),
		direct.PutScenario(ctx, "ohio", "42", map[string]any{"Name": "x"}), writeResult(ctx, direct, "x", []byte("x")))
	if err != nil {
		t.Fatal(err)
	}
	return azurite.Open(t, proxy.Connection(), names.Layout), proxy, names
}

// eachCall runs test for every kind of call at the same time, since most of what
// it does is to wait for another try; the name of the call is in its errors.
func eachCall(t *testing.T, test func(call azureCall, a *storage.Azure, proxy *faultproxy.Proxy, names azurite.Names) error) {
	t.Helper()
	var wg sync.WaitGroup
	for _, call := range azureCalls() {
		a, proxy, names := azureSetting(t)
		wg.Go(func() {
			if err := test(call, a, proxy, names); err != nil {
				t.Errorf("%s: %v", call.name, err)
			}
		})
	}
	wg.Wait()
}

// Every answer of the service, to every kind of call, becomes the reason that
// decides what to do next, with words that say what and where. The detail has
// no text of the answer.
func TestAzureAnswers(t *testing.T) {
	a, proxy, names := azureSetting(t)
	answers := []struct {
		status  int
		code    string // of the service; "gone" for that of the call
		retry   time.Duration
		want    reason.Code
		missing bool
		says    string
	}{
		{403, "AuthorizationPermissionMismatch", 0, reason.StorageDenied, false, "role"}, // C47
		{403, "AuthorizationFailure", 0, reason.StorageDenied, false, "network"},
		{403, "AuthenticationFailed", 0, reason.StorageDenied, false, "clock"},
		{401, "", 0, reason.StorageDenied, false, "role"},
		{404, "gone", 0, reason.StorageUnavailable, true, "rsms-job init"},
		{404, "", 0, reason.StorageUnavailable, false, "endpoint"}, // of something else in between
		{409, "AccountBeingCreated", 0, reason.StorageUnavailable, false, "now"},
		{412, "LeaseIdMissing", 0, reason.StorageUnavailable, false, "locked"},
		{429, "TooManyRequests", time.Hour, reason.StorageUnavailable, false, "busy"},
		{503, "ServerBusy", time.Hour, reason.StorageUnavailable, false, "busy"},
		{500, "InternalError", time.Hour, reason.StorageUnavailable, false, "broken"},
		{400, "InvalidInput", 0, reason.Internal, false, "refused"},
	}
	for _, call := range azureCalls() {
		for _, answer := range answers {
			code := answer.code
			if code == "gone" {
				code = call.gone
			}
			fault := proxy.Fail(faultproxy.Rule{Action: faultproxy.Status(answer.status, code, answer.retry)})
			err := call.call(t.Context(), a, names)
			fault.Remove()
			id := fmt.Sprintf("%s, %d %s", call.name, answer.status, code)
			detail := reason.Detail(err)
			if reason.Of(err) != answer.want || storage.Missing(err) != answer.missing || errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrConflict) {
				t.Errorf("%s: %s, missing %t: %v", id, reason.Of(err), storage.Missing(err), err)
			}
			if !strings.Contains(detail, answer.says) || !strings.Contains(detail, code) || strings.ContainsAny(detail, "\n<{") {
				t.Errorf("%s: detail %q", id, detail)
			}
			if what := names.Queue[1:]; !strings.Contains(detail, what) { // in every name of the setting
				t.Errorf("%s: detail %q does not say where", id, detail)
			}
			if fault.Hits() != 1 {
				t.Errorf("%s: sent %d times", id, fault.Hits())
			}
		}
	}
}

// What is not there, and what somebody else has changed, has no reason: the
// caller knows what it means.
func TestAzureSentinels(t *testing.T) {
	a, proxy, names := azureSetting(t)
	want := map[string]map[int]error{}
	for _, call := range azureCalls() {
		want[call.name] = map[int]error{404: storage.ErrNotFound, 409: storage.ErrConflict, 412: storage.ErrConflict}
	}
	want["PutRun"][404], want["PutRun of a new one"][404] = storage.ErrConflict, storage.ErrConflict
	want["RemoveResult"][404], want["RemoveVersion"][404] = nil, nil
	want["PutScenario"][404] = storage.ErrNotFound // of an upsert: cannot be, but is not hidden
	codes := map[string]map[int]string{
		"TableNotFound":     {404: "ResourceNotFound", 409: "EntityAlreadyExists", 412: "UpdateConditionNotSatisfied"},
		"ContainerNotFound": {404: "BlobNotFound", 409: "BlobAlreadyExists", 412: "ConditionNotMet"},
		"QueueNotFound":     {404: "MessageNotFound", 409: "EntityAlreadyExists", 412: "ConditionNotMet"},
	}
	for _, call := range azureCalls() {
		for status, code := range codes[call.gone] {
			fault := proxy.Fail(faultproxy.Rule{Action: faultproxy.Status(status, code, 0)})
			err := call.call(t.Context(), a, names)
			fault.Remove()
			if !errors.Is(err, want[call.name][status]) {
				t.Errorf("%s, %d %s: %v, want %v", call.name, status, code, err, want[call.name][status])
			}
			if _, ok := errors.AsType[*reason.Error](err); ok {
				t.Errorf("%s, %d %s: %v has a reason", call.name, status, code, err)
			}
		}
	}
	fault := proxy.Fail(faultproxy.Rule{Action: faultproxy.Status(400, "PopReceiptMismatch", 0)}) // of the emulator
	defer fault.Remove()
	if err := a.Queue(names.Queue).Delete(t.Context(), "id", "receipt"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a stale receipt: %v, want ErrNotFound", err)
	}
}

// What does not answer as the service does is none, whatever it says: no write
// was done, no input was read, and nobody has refused anything for good. Each
// kind of call is tried again as after a lost answer.
func TestAzureStrangers(t *testing.T) {
	page := func(status int) faultproxy.Action {
		return faultproxy.Stranger(status, "text/html", "<html>sign in</html>")
	}
	// An answer of success in the form of the service is none either where it is
	// that of another call.
	other := faultproxy.Status(200, "", 0)
	others := []string{"MergeScenario", "PutScenario", "PutRun", "PutRun of a new one", "Commit", "RemoveResult", "CreateResult",
		"RemoveVersion", "Update", "Delete", "Send"}
	eachCall(t, func(call azureCall, a *storage.Azure, proxy *faultproxy.Proxy, names azurite.Names) error {
		var wrong []error
		calm := call.call(t.Context(), a, names)
		try := func(times int, action faultproxy.Action) (sent int, err error) {
			fault := proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: call.op}, Times: times, Action: action})
			defer fault.Remove()
			before := proxy.Count(faultproxy.Match{Operation: call.op})
			err = call.call(t.Context(), a, names)
			return proxy.Count(faultproxy.Match{Operation: call.op}) - before, err
		}
		once := []faultproxy.Action{page(400), page(405)} // worth no other try
		if call.once {
			once = append(once, page(200), faultproxy.Stranger(201, "application/json", `{"code":"ok"}`), page(204))
		} else if sent, err := try(1, page(200)); sent != 2 || reason.Of(err) != reason.Of(calm) || errors.Is(err, storage.ErrNotFound) != errors.Is(calm, storage.ErrNotFound) {
			wrong = append(wrong, fmt.Errorf("sent %d times: %v, want twice and %v", sent, err, calm))
		}
		if slices.Contains(others, call.name) {
			once = append(once, other)
		}
		for i, action := range once {
			sent, err := try(0, action)
			if detail := reason.Detail(err); sent != 1 || reason.Of(err) != reason.StorageUnavailable || !strings.Contains(detail, "in between") ||
				!strings.Contains(detail, names.Queue[1:]) || strings.ContainsAny(detail, "\n<{") {
				wrong = append(wrong, fmt.Errorf("answer %d, sent %d times: %s, %q: %w", i, sent, reason.Of(err), detail, err))
			}
		}
		return errors.Join(wrong...)
	})
}

// A lost answer is asked for again, but not where that would take or send
// another message; no answer at all ends with the context, by its cause.
func TestAzureLostAnswers(t *testing.T) {
	eachCall(t, func(call azureCall, a *storage.Azure, proxy *faultproxy.Proxy, names azurite.Names) error {
		var wrong []error
		calm := call.call(t.Context(), a, names)
		for _, action := range []faultproxy.Action{faultproxy.DropRequest(), faultproxy.DropResponse()} {
			before := proxy.Count(faultproxy.Match{Operation: call.op})
			fault := proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: call.op}, Times: 1, Action: action})
			err := call.call(t.Context(), a, names)
			fault.Remove()
			sent := proxy.Count(faultproxy.Match{Operation: call.op}) - before
			if call.once && (sent != 1 || reason.Of(err) != reason.StorageUnavailable || !strings.Contains(reason.Detail(err), "no answer")) {
				wrong = append(wrong, fmt.Errorf("sent %d times: %w, want once and no answer", sent, err))
			}
			if !call.once && (sent != 2 || reason.Of(err) != reason.Of(calm)) {
				wrong = append(wrong, fmt.Errorf("sent %d times: %v, want twice and %v", sent, err, calm))
			}
		}
		lost := errors.New("lease lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		fault := proxy.Fail(faultproxy.Rule{Action: faultproxy.BlackHole()})
		ended := make(chan error)
		go func() { ended <- call.call(ctx, a, names) }()
		<-fault.Hit()
		cancel(lost)
		if err := <-ended; !errors.Is(err, lost) {
			wrong = append(wrong, fmt.Errorf("%w, want the cause", err))
		}
		return errors.Join(wrong...)
	})
}
