package storage_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

// openQueue opens an empty queue of its own.
func openQueue(t testing.TB) *storage.Queue {
	t.Helper()
	names := azurite.NewNames()
	q := azurite.Open(t, azurite.Connection(t), names.Layout).Queue(names.Queue)
	for range 2 { // the second finds it there
		if err := q.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

func send(t testing.TB, q *storage.Queue, text string, hidden time.Duration) *storage.QueueMessage {
	t.Helper()
	m, err := q.Send(t.Context(), text, hidden)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func receive(t testing.TB, q *storage.Queue, visibility time.Duration) *storage.QueueMessage {
	t.Helper()
	m, err := q.Receive(t.Context(), visibility)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// C61: the text comes back byte for byte, also after it was written again and
// again by renewals.
func TestQueueText(t *testing.T) {
	q, ctx := openQueue(t), t.Context()
	json := `{"riverbasin_id": "ohio", "scenario_id": "42"}`
	for name, text := range map[string]string{
		"JSON": json, "base64": base64.StdEncoding.EncodeToString([]byte(json)), "base64 in lines": "eyJhIjox\r\nfQ==\n",
		"blanks around": " \t\n {} \r\n ", "line ends": "a\rb\nc\r\nd\n\re", "XML": `<a b="c">&amp; &#13; ]]> <!-- 'x' --></a>`,
		"BOM": "\ufeff{}", "other letters": "Río, 河, 😀, \u0085\u2028", "empty": "", "blank": " ",
		"largest": strings.Repeat("x", 64<<10), "largest of escapes": strings.Repeat("<&\r\n", 16<<10),
	} {
		send(t, q, text, 0)
		m := receive(t, q, time.Minute)
		if m == nil {
			t.Fatalf("%s: no message", name)
		}
		receipt := m.Receipt
		for range 5 {
			var err error
			if receipt, err = q.Update(ctx, m.ID, receipt, m.Text, time.Minute); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if _, err := q.Update(ctx, m.ID, receipt, m.Text, 0); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		seen, err := q.Peek(ctx, 100)
		if err != nil || len(seen) != 1 || seen[0].Text != text || seen[0].Receipt != "" || seen[0].ID != m.ID {
			t.Errorf("%s: peeked %d messages, %v", name, len(seen), err)
		}
		again := receive(t, q, time.Minute)
		if again == nil || again.Text != text || m.Text != text {
			t.Fatalf("%s: received %.100q, then %.100q, want %.100q", name, m.Text, again.Text, text)
		}
		if err := q.Delete(ctx, again.ID, again.Receipt); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// C77: what XML cannot hold is refused and not sent as something else.
func TestQueueTextRefused(t *testing.T) {
	names := azurite.NewNames()
	proxy := faultproxy.New(t, azurite.Connection(t))
	q, ctx := azurite.Open(t, proxy.Connection(), names.Layout).Queue(names.Queue), t.Context()
	for name, text := range map[string]string{"zero": "a\x00", "control": "\x1b[0m", "not UTF-8": "\xff", "half a character": "\xed\xa0\x80",
		"no character": "\uffff", "too large": strings.Repeat("x", 64<<10+1), "too large in bytes": strings.Repeat("é", 32<<10+1)} {
		_, sent := q.Send(ctx, text, 0)
		_, updated := q.Update(ctx, "id", "receipt", text, 0)
		for _, err := range []error{sent, updated} {
			if faults := reason.Faults(err); len(faults) != 1 || faults[0].Text != "" {
				t.Errorf("%s: %v, want a fault without the text", name, err)
			}
		}
	}
	// C63: a message that was only looked at has no receipt.
	_, updated := q.Update(ctx, "id", "", "x", 0)
	for _, err := range []error{updated, q.Delete(ctx, "id", "")} {
		if reason.Of(err) != reason.Internal || !strings.Contains(reason.Detail(err), "receive it first") {
			t.Errorf("without a receipt: %v", err)
		}
	}
	if list := proxy.Requests(); len(list) != 0 {
		t.Errorf("sent %+v", list)
	}
}

// C57, C58, C64: each update voids the receipts before it, and the newest one
// deletes.
func TestQueueReceipts(t *testing.T) {
	q, ctx := openQueue(t), t.Context()
	sent := send(t, q, "x", 0)
	m := receive(t, q, time.Minute)
	receipts := []string{sent.Receipt, m.Receipt}
	for range 3 {
		next, err := q.Update(ctx, m.ID, receipts[len(receipts)-1], m.Text, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		receipts = append(receipts, next)
	}
	last := len(receipts) - 1
	for i, receipt := range receipts[:last] {
		_, update := q.Update(ctx, m.ID, receipt, m.Text, 0)
		for _, err := range []error{update, q.Delete(ctx, m.ID, receipt)} {
			if !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("receipt %d of %d: %v, want ErrNotFound", i, last, err)
			}
		}
	}
	if err := q.Delete(ctx, m.ID, receipts[last]); err != nil {
		t.Fatal(err)
	}
	_, update := q.Update(ctx, m.ID, receipts[last], m.Text, 0)
	for _, err := range []error{update, q.Delete(ctx, m.ID, receipts[last])} {
		if !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("a message that is gone: %v, want ErrNotFound", err)
		}
	}
	if n, err := q.Length(ctx); n != 0 || err != nil {
		t.Errorf("%d messages, %v", n, err)
	}
	// What was sent can be taken back at once.
	sent = send(t, q, "y", time.Minute)
	if err := q.Delete(ctx, sent.ID, sent.Receipt); err != nil {
		t.Error(err)
	}
}

// C62, C93: a message is hidden as long as it was asked, not at all for 0, and
// its count of deliveries rises. It never expires.
func TestQueueVisibility(t *testing.T) {
	q, ctx := openQueue(t), t.Context()
	if m := receive(t, q, time.Minute); m != nil {
		t.Fatalf("an empty queue has %+v", m)
	}
	sent := send(t, q, "x", time.Hour)
	if m := receive(t, q, time.Minute); m != nil {
		t.Fatalf("a hidden message is received: %+v", m)
	}
	if n, err := q.Length(ctx); n != 1 || err != nil {
		t.Errorf("%d messages, %v, want the hidden one", n, err)
	}
	receipt, err := q.Update(ctx, sent.ID, sent.Receipt, "x", 0)
	if err != nil || receipt == "" {
		t.Fatal(err)
	}
	for count := range int64(3) {
		m := receive(t, q, time.Hour)
		if m == nil || m.DequeueCount != count+1 || m.ID != sent.ID || m.InsertedAt.IsZero() || m.ExpiresAt.Year() != 9999 {
			t.Fatalf("delivery %d: %+v", count+1, m)
		}
		if other := receive(t, q, time.Minute); other != nil {
			t.Fatalf("received twice: %+v", other)
		}
		if _, err := q.Update(ctx, m.ID, m.Receipt, m.Text, 0); err != nil {
			t.Fatal(err)
		}
	}
	// A second is the shortest that the service has; a part of one is not 0.
	begin := time.Now()
	m := receive(t, q, time.Millisecond)
	again := receive(t, q, time.Minute)
	for again == nil && time.Since(begin) < time.Minute {
		again = receive(t, q, time.Minute)
	}
	if again == nil || again.ID != m.ID || time.Since(begin) < 500*time.Millisecond {
		t.Errorf("visible again after %v: %+v", time.Since(begin), again)
	}
	if err := q.Delete(ctx, m.ID, m.Receipt); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the receipt before the last delivery: %v, want ErrNotFound", err)
	}
}

// A batch has as many messages as there are, each with a receipt of its own,
// and never more than the service gives at once.
func TestQueueBatch(t *testing.T) {
	q, ctx := openQueue(t), t.Context()
	for range 35 {
		send(t, q, "x", 0)
	}
	seen := map[string]bool{}
	for _, batch := range []struct{ n, want int }{{2, 2}, {100, 32}, {32, 1}, {32, 0}} {
		list, err := q.ReceiveBatch(ctx, batch.n, time.Hour)
		if err != nil || len(list) != batch.want {
			t.Fatalf("%d messages of %d, %v, want %d", len(list), batch.n, err, batch.want)
		}
		for _, m := range list {
			if seen[m.ID] || m.Receipt == "" {
				t.Errorf("received %+v twice or without a receipt", m)
			}
			seen[m.ID] = true
		}
	}
}
