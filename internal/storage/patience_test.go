package storage

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// answers is a service; f is asked with the number of the try, from 1.
type answers struct {
	tries int
	f     func(try int, r *http.Request) (*http.Response, error)
}

func (a *answers) Do(r *http.Request) (*http.Response, error) {
	a.tries++
	return a.f(a.tries, r)
}

func status(code int, retryAfter string) *http.Response {
	h := http.Header{"X-Ms-Version": {"2025-11-05"}}
	if retryAfter != "" {
		h.Set("Retry-After", retryAfter)
	}
	return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader("{}"))}
}

// ask sends one request with the options of a store and returns what it cost.
func ask(t *testing.T, ctx context.Context, service *answers) (took time.Duration, requests, retries int64, err error) {
	t.Helper()
	a := &Azure{}
	options := a.options()
	options.Transport = service
	pipeline := runtime.NewPipeline("test", "v0", runtime.PipelineOptions{}, &options)
	r, err := runtime.NewRequest(ctx, http.MethodGet, "http://localhost/x")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	response, err := pipeline.Do(r)
	if err == nil {
		response.Body.Close()
	}
	requests, retries = a.Traffic()
	return time.Since(begin), requests, retries, err
}

// How long each kind of call is tried, by the clock.
func TestPatience(t *testing.T) {
	busy := func(int, *http.Request) (*http.Response, error) { return status(503, ""), nil }
	refused := func(int, *http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }
	silent := func(_ int, r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	after := func(seconds string) func(int, *http.Request) (*http.Response, error) {
		return func(try int, _ *http.Request) (*http.Response, error) {
			if try == 1 {
				return status(429, seconds), nil
			}
			return status(200, ""), nil
		}
	}
	late := func(try int, _ *http.Request) (*http.Response, error) { // C49
		if try < 8 {
			return nil, errors.New("no route to host")
		}
		return status(200, ""), nil
	}
	stranger := func(int, *http.Request) (*http.Response, error) {
		r := status(200, "")
		r.Header.Del("X-Ms-Version")
		return r, nil
	}
	same := func(ctx context.Context) context.Context { return ctx }
	tests := []struct {
		name        string
		kind        func(context.Context) context.Context
		service     func(int, *http.Request) (*http.Response, error)
		tries       int
		least, most time.Duration
	}{
		{"once, busy", same, busy, 1, 0, 0},
		{"once, refused", same, refused, 1, 0, 0},
		{"once, silent", same, silent, 1, 15 * time.Second, 15 * time.Second},
		{"brief, busy", brief, busy, 5, 6 * time.Second, 11 * time.Second},
		{"brief, refused", brief, refused, 5, 6 * time.Second, 11 * time.Second},
		{"brief, silent", brief, silent, 5, 50 * time.Second, 61 * time.Second},
		{"brief, told to wait", brief, after("20"), 2, 20 * time.Second, 20 * time.Second},
		{"brief, told to wait too long", brief, after("31"), 1, 0, 0},
		{"once, stranger", same, stranger, 1, 0, 0},
		{"brief, stranger", brief, stranger, 5, 6 * time.Second, 11 * time.Second},
		{"brief for 256 MiB, silent", func(ctx context.Context) context.Context { return briefFor(ctx, 256<<20) }, silent, 5,
			690 * time.Second, 702 * time.Second},
		{"patient, busy", patient, busy, 10, 150 * time.Second, 230 * time.Second},
		{"patient, late network", patient, late, 8, 40 * time.Second, 100 * time.Second},
		{"patient, told to wait", patient, after("60"), 2, time.Minute, time.Minute},
		{"patient, told to wait too long", patient, after("61"), 1, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service := &answers{f: test.service}
				took, requests, retries, _ := ask(t, test.kind(t.Context()), service)
				if service.tries != test.tries || took < test.least || took > test.most {
					t.Errorf("%d tries in %v, want %d in %v to %v", service.tries, took, test.tries, test.least, test.most)
				}
				if requests != int64(test.tries) || retries != int64(test.tries-1) {
					t.Errorf("counted %d requests and %d retries", requests, retries)
				}
			})
		})
	}
}

// The fence is asked before each try, and what it says ends them.
func TestFenceEndsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &answers{f: func(int, *http.Request) (*http.Response, error) { return status(503, ""), nil }}
		lost := errors.New("lease lost")
		ctx := Fenced(t.Context(), func() error {
			if service.tries == 2 {
				return lost
			}
			return nil
		})
		_, _, _, err := ask(t, patient(ctx), service)
		if service.tries != 2 || azureFailure(ctx, "read", "x", err) != lost {
			t.Errorf("%v after %d tries", err, service.tries)
		}
	})
}

// The pause between two tries ends with the context.
func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &answers{f: func(int, *http.Request) (*http.Response, error) { return status(503, "50"), nil }}
		lost := errors.New("lease lost")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, lost)
		defer cancel()
		took, _, _, err := ask(t, patient(ctx), service)
		if took != 10*time.Second || azureFailure(ctx, "read", "x", err) != lost {
			t.Errorf("%v after %v", err, took)
		}
	})
}
