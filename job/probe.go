package main

import (
	"context"
	"log/slog"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
)

// The record of a probe stands beside those of scenarios.
const (
	probeBasin    = message.TypeProbe
	probeScenario = "current"
)

// probe does what check does and writes what it found as a run record, for who
// has no other way to look into a deployment. An error says that the record was
// not written; checks that failed are in the record and in the log, which names
// the job on every line.
func (a *app) probe(ctx context.Context, log *slog.Logger, s store, m *message.Message, jobID string) error {
	began := time.Now().UTC().Truncate(time.Second)
	list := a.checks(ctx, s)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, c := range list {
		switch {
		case c.Warning:
			log.Warn("check", "name", c.Name, "ok", true, "detail", c.Detail)
		case c.OK:
			log.Info("check", "name", c.Name, "ok", true, "detail", c.Detail)
		default:
			log.Error("check", "name", c.Name, "ok", false, "detail", c.Detail, "reason", string(reason.Of(c.err)))
		}
	}
	record := probeRecord(list, jobID, began, time.Now())
	var err error
	if record.Metadata, err = keptMetadata(m); err != nil {
		return err
	}
	if self, err := selfPath(); err == nil {
		if set, err := a.engines(self); err == nil {
			record.Engine = set.Version()
		}
	}
	if err := runs.Note(ctx, s, probeBasin, probeScenario, record); err != nil {
		return err
	}
	log.Info("probe recorded", "state", string(record.State))
	return nil
}

// probeRecord tells of the checks as a run record does of a run.
func probeRecord(list []checked, jobID string, began, ended time.Time) runs.Record {
	ended = ended.UTC().Truncate(time.Second)
	r := runs.Record{JobID: jobID, State: runs.Completed, Step: "done", Progress: 100, Attempt: 1,
		StartedAt: began, FinishedAt: &ended, Commit: commit}
	for _, c := range list {
		if c.OK {
			continue
		}
		if r.State == runs.Completed {
			r.State, r.Reason = runs.Failed, reason.Of(c.err)
		} else {
			r.Detail += "\n"
		}
		r.Detail += c.Name + ": " + oneLine(c.Detail)
	}
	return r
}
