package storage

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/config"
	"rsmsjob/internal/reason"
)

// openSilent opens an account whose services take requests and never answer.
// It is for a synctest bubble.
func openSilent(t *testing.T) *Azure {
	t.Helper()
	const at = "http://127.0.0.1:10000/a"
	c, err := config.ParseConnection("AccountName=a;AccountKey=AAAA;BlobEndpoint=" + at + ";QueueEndpoint=" + at + ";TableEndpoint=" + at)
	if err != nil {
		t.Fatal(err)
	}
	a, err := OpenConnection(c, Layout{Basins: "b", Results: "r", Scenarios: "S", Runs: "R", PlumeByTime: "T", PlumeByMile: "M"})
	if err != nil {
		t.Fatal(err)
	}
	a.transport.Proxy = nil
	a.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go io.Copy(io.Discard, server) // until the client closes it
		return client, nil
	}
	return a
}

// Whoever asks whether the account can be used, or sets it up, is told within
// about a minute that nobody answers: all that check, init and worker.probe call.
func TestSilentAccount(t *testing.T) {
	queue := func(call func(context.Context, *Queue) error) func(context.Context, *Azure) error {
		return func(ctx context.Context, a *Azure) error { return call(ctx, a.Queue("q")) }
	}
	calls := map[string]func(context.Context, *Azure) error{
		"Create":   func(ctx context.Context, a *Azure) error { return a.Create(ctx) },
		"Ready":    func(ctx context.Context, a *Azure) error { return a.Ready(ctx) },
		"MayWrite": func(ctx context.Context, a *Azure) error { return a.MayWrite(ctx) },
		"Clock":    func(ctx context.Context, a *Azure) error { _, err := a.Clock(ctx); return err },
		"PutBasin": func(ctx context.Context, a *Azure) error { return a.PutBasin(ctx, "ohio", "FLOW.IN", []byte("x")) },
		"PutScenario": func(ctx context.Context, a *Azure) error {
			return a.PutScenario(ctx, "ohio", "42", map[string]any{"Name": "x"})
		},
		"Queue.Create": queue(func(ctx context.Context, q *Queue) error { return q.Create(ctx) }),
		"Length":       queue(func(ctx context.Context, q *Queue) error { _, err := q.Length(ctx); return err }),
		"Peek":         queue(func(ctx context.Context, q *Queue) error { _, err := q.Peek(ctx, 1); return err }),
		"Update":       queue(func(ctx context.Context, q *Queue) error { _, err := q.Update(ctx, "id", "receipt", "", 0); return err }),
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := openSilent(t)
				defer a.Close()
				begin := time.Now()
				err := call(t.Context(), a)
				if took := time.Since(begin); took > 65*time.Second {
					t.Errorf("took %v", took)
				}
				if reason.Of(err) != reason.StorageUnavailable || !strings.Contains(reason.Detail(err), "no answer") {
					t.Errorf("%s: %v", reason.Of(err), err)
				}

				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				begin = time.Now()
				if err := call(ctx, a); err == nil || time.Since(begin) != 5*time.Second {
					t.Errorf("with 5 s to go: %v after %v", err, time.Since(begin))
				}
			})
		})
	}
}

// Every connection that a full pool of transactions has used is kept for the
// next ones.
func TestIdleConnections(t *testing.T) {
	for _, concurrency := range []int{0, 16, 256} {
		a := newAzure(Layout{PublishConcurrency: concurrency})
		all, each := a.transport.MaxIdleConns, a.transport.MaxIdleConnsPerHost
		if each < concurrency || all != 0 && all < 3*each { // three services
			t.Errorf("%d transactions at once: %d connections are kept, %d by service", concurrency, all, each)
		}
	}
}
