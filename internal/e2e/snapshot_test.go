//go:build unix

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"rsmsjob/internal/filelock"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/runs"
)

// true. The ids are replaced, so that scenarios can be compared.
func (w *world) snapshot(scenario string) map[string]string {
	w.Helper()
	ctx := w.Context()
	all, blobs := map[string]string{}, map[string][]byte{}
	ids := strings.NewReplacer(jobOf(scenario), "JOB", `"`+scenario+`"`, `"SCENARIO"`, "|"+scenario+"|", "|SCENARIO|",
		", "+scenario+", ", ", SCENARIO, ")
	for e, err := range w.store.ReadPlumeByTime(ctx, basin, scenario) {
		check(w, err)
		all["row by time "+ids.Replace(e.PartitionKey)+" "+e.RowKey] = ids.Replace(fmt.Sprintf("%+v", e.Row))
	}
	for e, err := range w.store.ReadPlumeByMile(ctx, basin, scenario) {
		check(w, err)
		all["row by mile "+ids.Replace(e.PartitionKey)+" "+e.RowKey] = ids.Replace(fmt.Sprintf("%+v", e.Row))
	}
	names, err := w.store.ListResults(ctx, basin, scenario)
	check(w, err)
	for _, name := range names {
		if strings.HasPrefix(filepath.Base(name), "run-") {
			continue
		}
		blobs[name] = w.blob(scenario, name)
		text := ids.Replace(string(blobs[name]))
		if !utf8.ValidString(text) { // a picture, which holds no ids; snapshots are stored as text
			text = sum(blobs[name])
		}
		all["blob "+ids.Replace(name)] = text
	}
	all["blob "+publish.MarkerName] = ids.Replace(w.promised(scenario, blobs))
	return all
}

// promise checks what result.json says where nothing is known to compare with.
func (w *world) promise(scenario string) {
	w.Helper()
	w.promised(scenario, nil)
}

// promised is what result.json says that is the same in every run. It must be
// true of the rows and of the blobs, those that were read already and others.
func (w *world) promised(scenario string, blobs map[string][]byte) string {
	w.Helper()
	m := w.marker(scenario)
	w.counts(m)
	for i, b := range m.Blobs {
		data, read := blobs[b.Name]
		if !read {
			data = w.blob(scenario, b.Name)
		}
		if int64(len(data)) != b.Size || sum(data) != b.SHA256 {
			w.Errorf("scenario %s: blob %s is not what result.json says", scenario, b.Name)
		}
		// Both depend on the length and the text of the ids; the blob itself is
		// compared with the ids replaced.
		m.Blobs[i].SHA256, m.Blobs[i].Size = "", 0
	}
	m.StartedAt, m.FinishedAt, m.Attempt = time.Time{}, time.Time{}, 0
	text, err := json.Marshal(m)
	check(w, err)
	return string(text)
}

// counts checks how many rows there are.
func (w *world) counts(m *publish.Marker) {
	w.Helper()
	byTime, byMile, err := w.store.CountRows(w.Context(), m.Basin, m.Scenario)
	check(w, err)
	if m.Rows.ByTime != byTime || m.Rows.ByMile != byMile {
		w.Errorf("scenario %s has %d and %d rows, result.json says %+v", m.Scenario, byTime, byMile, m.Rows)
	}
}

// same fails the test where two snapshots differ.
func same(tb testing.TB, got, want map[string]string) {
	tb.Helper()
	for name, text := range want {
		if other, there := got[name]; !there {
			tb.Errorf("%s is missing", name)
		} else if other != text {
			tb.Errorf("%s differs:\n%s\nwant\n%s", name, other, text)
		}
	}
	for name := range got {
		if _, there := want[name]; !there {
			tb.Errorf("%s is too much", name)
		}
	}
}

// completed checks that a job of order has one complete result, that row and
// record say so, and that no row or blob differs from the reference.
func (w *world) completed(scenario string, reference map[string]string) {
	w.Helper()
	same(w, w.snapshot(scenario), reference)
	w.isCompleted(scenario, jobOf(scenario))
}

// whole is completed where nothing is known to compare with.
func (w *world) whole(scenario string) {
	w.Helper()
	w.promise(scenario)
	w.isCompleted(scenario, jobOf(scenario))
}

// stands is whole where it is known that a result is either whole or not there:
// it reads no blob but result.json.
func (w *world) stands(scenario string) {
	w.Helper()
	w.counts(w.marker(scenario))
	w.isCompleted(scenario, jobOf(scenario))
}

// isCompleted checks that row and record say that a job is completed, and that
// nobody waits for its notice.
func (w *world) isCompleted(scenario, job string) {
	w.Helper()
	row := w.row(scenario)
	if row["Status"] != string(runs.Completed) || row["JobId"] != job || row["note"] == nil {
		w.Errorf("the row of scenario %s, job %s: %v", scenario, job, row)
	}
	r := w.record(scenario)
	if r.State != runs.Completed || r.JobID != job || len(r.Notices) > 0 || r.Progress != 100 {
		w.Errorf("the record of scenario %s, job %s: %+v", scenario, job, r)
	}
}

// settled checks that nothing is left of any message and no run folder.
func (w *world) settled() {
	w.Helper()
	w.empty()
	w.tidy()
}

// empty checks that nothing is left of any message.
func (w *world) empty() {
	w.Helper()
	if n := w.length(w.queue); n > 0 {
		w.Errorf("%d messages are left", n)
	}
	if n := w.length(w.poison); n > 0 {
		w.Errorf("the poison queue has %d messages: %+v", n, w.poisoned())
	}
}

// tidy checks that no run folder is left.
func (w *world) tidy() {
	w.Helper()
	left, err := filepath.Glob(filepath.Join(w.work, "rsms-*"))
	check(w, err)
	if len(left) > 0 {
		w.Errorf("left in the work folder: %v", left)
	}
}

// shared is what make makes, for all tests: the first one that asks makes it, in
// a file, and the others wait.
func shared[T any](tb testing.TB, name string, make func(testing.TB) T) (all T) {
	tb.Helper()
	file := filepath.Join(filepath.Dir(os.Getenv(binaryVariable)), name)
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	check(tb, err)
	defer lock.Close()
	poll(tb, name, func() bool {
		mine, err := filelock.Try(lock)
		check(tb, err)
		return mine
	})
	if data, err := os.ReadFile(file); err == nil {
		check(tb, json.Unmarshal(data, &all))
		return all
	}
	all = make(tb)
	data, err := json.Marshal(all)
	check(tb, err)
	check(tb, os.WriteFile(file, data, 0o600))
	return all
}

// reference is the snapshot of an undisturbed run of scenario.
func reference(tb testing.TB) map[string]string {
	tb.Helper()
	return shared(tb, "reference", undisturbed)
}

func undisturbed(tb testing.TB) map[string]string {
	tb.Helper()
	w := newWorld(tb)
	w.one("s1").exits(0)
	all := w.snapshot("s1")
	w.completed("s1", all)
	w.settled()
	w.told("s1", "Completed", 1, 1)
	return all
}

// sum is the SHA-256 of data in hex.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// removeRunFolder removes what a job left under run/, which stays by design.
func (w *world) removeRunFolder(scenario, job string) error {
	names, err := w.store.ListResults(w.Context(), basin, scenario)
	for _, name := range names {
		if err == nil && strings.HasPrefix(name, "run/"+job+"/") {
			err = w.store.RemoveResult(w.Context(), basin, scenario, name)
		}
	}
	return err
}
