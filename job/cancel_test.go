package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/config"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/azurite"
)

// skewed is the connection string of the emulator with a clock that is ahead of
// that of this machine, or behind it.
func skewed(t *testing.T, ahead time.Duration) string {
	t.Helper()
	c, err := config.ParseConnection(azurite.Connection(t))
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(c.Blob)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host },
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
			return nil
		}}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return strings.Replace(azurite.Connection(t), c.Blob, server.URL+target.Path, 1)
}

// A cancel counts by the clock of the service, which stamps messages, however
// wrong that of the laptop is; and so does the silence of a worker.
func TestClockOfTheService(t *testing.T) {
	o := newOffice(t)
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Hour} {
		t.Setenv("AZURE_STORAGE_CONNECTION_STRING", skewed(t, ahead))
		if err := o.store.MergeScenario(t.Context(), "tiny", "s1", map[string]any{"Status": "Queued"}); err != nil {
			t.Fatal(err)
		}
		o.putRecord(&runs.Record{})
		asked := time.Now().Add(ahead)
		o.does(exitDone, "cancel", "tiny", "s1")
		r, err := runs.Read(t.Context(), o.store, "tiny", "s1")
		if err != nil {
			t.Fatal(err)
		}
		if !r.CancelRequested || r.CancelAt == nil || r.CancelAt.Sub(asked).Abs() > time.Minute {
			t.Errorf("service %v ahead: cancel at %v, want %v", ahead, r.CancelAt, asked)
		}

		o.putRecord(&runs.Record{JobID: "j1", State: runs.Running, LeaseUntil: time.Now().Add(-30 * time.Minute)})
		live := ahead < 0
		out, _ := o.does(exitDone, "cancel", "tiny", "s1")
		if live != strings.Contains(out, "is running and was asked to stop") {
			t.Errorf("service %v ahead: %s", ahead, out)
		}
		out, _ = o.does(exitDone, "status", "tiny", "s1")
		if live == strings.Contains(out, "is silent since") {
			t.Errorf("service %v ahead: %s", ahead, out)
		}
	}
}

// putRecord writes the run record of tiny s1, whatever is there.
func (o *office) putRecord(r *runs.Record) {
	o.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		o.Fatal(err)
	}
	_, etag, err := o.store.Run(o.Context(), "tiny", "s1")
	if err != nil {
		etag = ""
	}
	if _, err := o.store.PutRun(o.Context(), "tiny", "s1", data, etag); err != nil {
		o.Fatal(err)
	}
}
