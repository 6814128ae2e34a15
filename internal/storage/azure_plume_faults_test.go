package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/faultproxy"
)

// A deletion whose answer was lost finds nothing when it is tried again.
func TestPlumeDeletesAgain(t *testing.T) {
	s := newPlumeSetting(t, 4)
	putByTime(t, t.Context(), s.direct, plumeHours(150, 1))
	s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.TableTransaction}, Times: 1, Action: faultproxy.DropResponse()})
	putByTime(t, t.Context(), s.store, nil)
	checkByTime(t, s.direct, "ohio", "42", nil)
	if n := s.Count(faultproxy.Match{Operation: faultproxy.EntityDelete}); n != 100 && n != 50 {
		t.Errorf("%d rows deleted one by one, want those of one transaction", n)
	}
}

// What goes wrong for a moment is tried again (C82), and leaves each row once.
func TestPlumeTriesAgain(t *testing.T) {
	tests := map[string]faultproxy.Action{
		"busy":             faultproxy.Status(http.StatusServiceUnavailable, "ServerBusy", 0),
		"busy inside":      faultproxy.TransactionStatus(http.StatusServiceUnavailable, "ServerBusy"),
		"timeout inside":   faultproxy.TransactionStatus(http.StatusInternalServerError, "OperationTimedOut"),
		"request lost":     faultproxy.DropRequest(),
		"answer lost":      faultproxy.DropResponse(),
		"answer cut short": faultproxy.CutResponse(),
		"sign-in page":     faultproxy.Stranger(http.StatusOK, "text/html", "<html>sign in</html>"),
	}
	for name, action := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPlumeSetting(t, 4)
			fault := s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.TableTransaction}, Skip: 1, Times: 1, Action: action})
			rows := plumeHours(130, 1, 2)
			putByTime(t, t.Context(), s.store, rows)
			checkByTime(t, s.direct, "ohio", "42", rows)
			if fault.Hits() != 1 {
				t.Errorf("%d faults, want 1", fault.Hits())
			}
		})
	}
}

// The first error ends the writing and is what every later call returns.
func TestPlumeRefused(t *testing.T) {
	const concurrency = 4
	transaction := faultproxy.Match{Operation: faultproxy.TableTransaction}
	tests := []struct {
		name   string
		action faultproxy.Action
		code   reason.Code
		detail string
	}{
		{"denied inside", faultproxy.TransactionStatus(http.StatusForbidden, "AuthorizationPermissionMismatch"), reason.StorageDenied,
			"no right to write table %s (AuthorizationPermissionMismatch)"},
		{"denied", faultproxy.Status(http.StatusForbidden, "AuthorizationPermissionMismatch", 0), reason.StorageDenied,
			"no right to write table %s (AuthorizationPermissionMismatch)"},
		{"refused inside", faultproxy.TransactionStatus(http.StatusBadRequest, "PropertyValueTooLarge"), reason.Internal,
			"Azure Storage refused to write table %s (PropertyValueTooLarge)"},
		{"C90 table missing inside", faultproxy.TransactionStatus(http.StatusNotFound, "TableNotFound"), reason.StorageUnavailable,
			"table %s cannot be used (TableNotFound); rsms-job init creates what is missing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newPlumeSetting(t, concurrency)
			s.Fail(faultproxy.Rule{Match: transaction, Action: test.action})
			w, err := s.store.PlumeByTime(t.Context(), "ohio", "42")
			if err != nil {
				t.Fatal(err)
			}
			for hour := 0; err == nil; hour++ {
				err = w.Write(plumeRow(hour, 1))
			}
			_, commit := w.Commit()
			for _, err := range []error{err, commit} {
				if reason.Of(err) != test.code || !strings.HasPrefix(reason.Detail(err), fmt.Sprintf(test.detail, s.layout.PlumeByTime)) {
					t.Errorf("%s: %v", reason.Of(err), reason.Detail(err))
				}
			}
			if n := s.Count(transaction); n > concurrency {
				t.Errorf("%d transactions were sent, want no more after the first error", n)
			}
		})
	}
}

// C90: a table that is not there, or no longer, is named.
func TestPlumeTableMissing(t *testing.T) {
	s := newPlumeSetting(t, 4)
	drop := func(table string) {
		t.Helper()
		if _, err := s.service(t).DeleteTable(t.Context(), table, nil); err != nil {
			t.Fatal(err)
		}
	}
	check := func(table string, err error) {
		t.Helper()
		want := "table " + table + " cannot be used (TableNotFound); rsms-job init creates what is missing"
		if reason.Of(err) != reason.StorageUnavailable || !storage.Missing(err) || reason.Detail(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	drop(s.layout.PlumeByMile)
	_, err := s.direct.PlumeByMile(t.Context(), "ohio", "42")
	check(s.layout.PlumeByMile, err)
	for _, err := range s.direct.ReadPlumeByMile(t.Context(), "ohio", "42") {
		check(s.layout.PlumeByMile, err)
	}
	if byTime, byMile, err := s.direct.CountRows(t.Context(), "ohio", "42"); byTime != 0 || byMile != -1 || err != nil {
		t.Errorf("CountRows: %d, %d, %v, want 0, -1", byTime, byMile, err)
	}
	w, err := s.direct.PlumeByTime(t.Context(), "ohio", "42")
	if err != nil {
		t.Fatal(err)
	}
	drop(s.layout.PlumeByTime)
	if err := w.Write(plumeRow(1, 1)); err != nil {
		t.Fatal(err)
	}
	_, err = w.Commit()
	check(s.layout.PlumeByTime, err)
}

// C83: a transaction whose second operation fails leaves nothing.
func TestTransactionIsWhole(t *testing.T) {
	s := newPlumeSetting(t, 1)
	table := s.service(t).NewClient(s.layout.PlumeByTime)
	var actions []aztables.TransactionAction
	for i, kind := range []aztables.TransactionType{aztables.TransactionTypeInsertReplace, aztables.TransactionTypeAdd} {
		actions = append(actions, aztables.TransactionAction{ActionType: kind, Entity: fmt.Appendf(nil, `{"PartitionKey":"ohio|42|x","RowKey":"%d"}`, i)})
	}
	if _, err := table.AddEntity(t.Context(), actions[1].Entity, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := table.SubmitTransaction(t.Context(), actions, nil); err == nil {
		t.Error("a row that is there was added")
	}
	if n, _, err := s.direct.CountRows(t.Context(), "ohio", "42"); n != 1 || err != nil {
		t.Errorf("%d rows, %v, want the one of before", n, err)
	}
}

// Nothing is sent by an owner that is one no longer.
func TestPlumeFenced(t *testing.T) {
	s := newPlumeSetting(t, 4)
	lost := reason.New(reason.StorageUnavailable, "lease lost") // the reason does not make it worth another try
	var asked atomic.Int32
	ctx := storage.Fenced(t.Context(), func() error {
		if asked.Add(1) > 3 {
			return lost
		}
		return nil
	})
	w, err := s.store.PlumeByTime(ctx, "ohio", "42")
	if err != nil {
		t.Fatal(err)
	}
	for hour := 0; err == nil; hour++ {
		err = w.Write(plumeRow(hour, 1))
	}
	_, commit := w.Commit()
	if !errors.Is(err, lost) || !errors.Is(commit, lost) {
		t.Errorf("Write: %v, Commit: %v, want %v", err, commit, lost)
	}
	if n := len(s.Requests()); n < 1 || n > 3 { // the first error may stop one that was let through
		t.Errorf("%d requests, want 1 to 3", n)
	}
}

// Abort and the end of the context stop what is on its way and wait for it.
func TestPlumeStopsWhatIsOnItsWay(t *testing.T) {
	begin := func(t *testing.T, ctx context.Context) (s *plumeSetting, w storage.RowWriter, sent <-chan struct{}) {
		t.Helper()
		s = newPlumeSetting(t, 2)
		silent := s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.TableTransaction}, Action: faultproxy.BlackHole()})
		w, err := s.store.PlumeByTime(ctx, "ohio", "42")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(plumeRow(1, 1)), w.Write(plumeRow(2, 1))); err != nil {
			t.Fatal(err)
		}
		return s, w, silent.Hit()
	}
	t.Run("Abort", func(t *testing.T) {
		s, w, sent := begin(t, t.Context())
		<-sent
		w.Abort()
		if err := w.Write(plumeRow(3, 1)); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Write after Abort: %v", err)
		}
		if _, err := w.Commit(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Commit after Abort: %v", err)
		}
		checkByTime(t, s.direct, "ohio", "42", nil)
	})
	t.Run("context", func(t *testing.T) {
		stopped := errors.New("stopped")
		ctx, stop := context.WithCancelCause(t.Context())
		s, w, sent := begin(t, ctx)
		go func() {
			<-sent
			stop(stopped)
		}()
		if _, err := w.Commit(); !errors.Is(err, stopped) {
			t.Errorf("Commit: %v, want the cause", err)
		}
		w.Abort()
		if err := w.Write(plumeRow(3, 1)); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Write after Commit: %v", err)
		}
		checkByTime(t, s.direct, "ohio", "42", nil)
	})
}

// C85: an answer without a text, or with another, is no end of the program; the
// transaction is sent again.
func TestPlumeStrangeAnswers(t *testing.T) {
	for name, answer := range map[string]string{"empty": "", "one line": "--", "JSON": `{"odata.error":{"code":"ServerBusy"}}`, "text": "hello\r\nworld\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			s := openFakeTables(t, 2, func(w http.ResponseWriter, body []byte) {
				if tries.Add(1) == 1 {
					w.WriteHeader(http.StatusAccepted)
					w.Write([]byte(answer))
					return
				}
				answerTransaction(w, bytes.Count(body, []byte("\r\nPUT ")))
			})
			putByTime(t, t.Context(), s, plumeHours(3, 1))
			if tries.Load() != 2 {
				t.Errorf("%d tries, want 2", tries.Load())
			}
		})
	}
}
