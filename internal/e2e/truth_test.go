//go:build unix

package e2e

import (
	"errors"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

// is checks that row and record of a scenario say the same of its job: the
// state, the reason, and with one a detail.
func (w *world) is(scenario string, state runs.State, why reason.Code) {
	w.Helper()
	row, r := w.row(scenario), w.record(scenario)
	if row["Status"] != string(state) || row["Reason"] != string(why) || row["StatusDetail"] != r.Detail || row["JobId"] != jobOf(scenario) ||
		(row["FinishedAt"] != nil) != r.Over() {
		w.Errorf("scenario %s: the row says %v, want %s %s", scenario, row, state, why)
	}
	if r.State != state || r.Reason != why || (r.Detail == "") != (why == "") || (r.FinishedAt != nil) != r.Over() || r.JobID != jobOf(scenario) {
		w.Errorf("scenario %s: the record says %+v, want %s %s", scenario, r, state, why)
	}
	if len(r.Notices) > 0 {
		w.Errorf("scenario %s: notices wait in the record: %v", scenario, r.Notices)
	}
}

// honest checks what must be so whenever no worker lives, whatever went wrong.
// A message that is not in the queue any more leaves a scenario that says how
// its job ended, in row and record. One that is poison leaves one that says it
// failed; where something is denied for good, one of the two must do. Nobody is
// told of an end that is none.
func (w *world) honest(scenario string) {
	w.Helper()
	row := w.row(scenario)
	status, _ := row["Status"].(string)
	record, err := runs.Read(w.Context(), w.store, basin, scenario)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		w.Fatal(err)
	}
	if err != nil {
		record = &runs.Record{}
	}
	over := record.Over() && status == string(record.State)
	failed := over && (record.State == runs.Failed || record.State == runs.TimedOut)
	poisoned := w.poisoned()
	if len(poisoned) > 0 && poisoned[0].Reason == reason.StorageDenied {
		failed = failed || status == string(runs.Failed) || record.State == runs.Failed && status == ""
	}
	switch {
	case len(poisoned) > 0 && !failed:
		w.Errorf("scenario %s: poison for %s, the row says %v, the record %+v", scenario, poisoned[0].Reason, row, record)
	case len(poisoned) == 0 && w.length(w.queue) == 0 && !over:
		w.Errorf("scenario %s: the message is gone, the row says %v, the record %+v", scenario, row, record)
	}
	if status == string(runs.Completed) {
		w.promise(scenario)
	}
	for _, m := range w.peek(w.done) {
		d, err := message.DecodeDone(m.Text)
		check(w, err)
		if d.Scenario == scenario && record.Over() && d.JobID == record.JobID && (d.State != string(record.State) || d.Reason != record.Reason) {
			w.Errorf("scenario %s: the notice says %+v, the record %+v", scenario, d, record)
		}
	}
}

// untilFree waits until a worker would find a message, and no worker is believed
// to run its scenario.
func (w *world) untilFree(scenario string) {
	w.Helper()
	pollEvery(w, slow, "the scenario is free", func() bool {
		record, err := runs.Read(w.Context(), w.store, basin, scenario)
		return w.visible() && (err != nil || !record.Live(time.Now()))
	})
}
