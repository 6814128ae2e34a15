package message

import (
	"time"
	"unicode/utf8"

	"rsmsjob/internal/reason"
)

// TypeDone marks the notice of a job that ended.
const TypeDone = "rsms.done"

// Done is the notice of a job that ended, as it goes to the queue that
// RSMS_DONE_QUEUE_NAME names. The zero time stands for a time that is not
// known.
type Done struct {
	Basin, Scenario, JobID, RunKey string // "" where not known
	State                          string // as in the scenario's Status
	Reason                         reason.Code
	Detail                         string
	Attempt                        int
	StartedAt, FinishedAt          time.Time
	Commit                         string // of the program
}

// doneJSON is the notice; the order is public.
type doneJSON struct {
	Version    int         `json:"version"`
	Type       string      `json:"type"`
	Basin      string      `json:"riverbasin_id"`
	Scenario   string      `json:"scenario_id"`
	JobID      string      `json:"job_id"`
	State      string      `json:"state"`
	Reason     reason.Code `json:"reason"`
	Detail     string      `json:"detail"`
	Attempt    int         `json:"attempt"`
	StartedAt  string      `json:"started_at"`
	FinishedAt string      `json:"finished_at"`
	RunKey     string      `json:"run_key"`
	Commit     string      `json:"commit"`
}

// maxDoneDetail bounds the detail of a notice, in bytes: with ids and hashes
// beside it, the notice always fits into a queue.
const maxDoneDetail = 4 << 10

// Encode returns d as text for a queue: base64 of JSON. A detail of more than
// 4 KiB is cut.
func (d *Done) Encode() string {
	return inEnvelope(&doneJSON{Version: Version, Type: TypeDone, Basin: jsonString(d.Basin), Scenario: jsonString(d.Scenario),
		JobID: jsonString(d.JobID), State: jsonString(d.State), Reason: d.Reason, Detail: cut(jsonString(d.Detail), maxDoneDetail),
		Attempt: d.Attempt, StartedAt: timeText(d.StartedAt), FinishedAt: timeText(d.FinishedAt),
		RunKey: jsonString(d.RunKey), Commit: jsonString(d.Commit)})
}

// cut shortens s to at most limit bytes on the border of a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// DecodeDone reads what Encode wrote. Any other text gives a *reason.Error with
// Undecodable; it holds nothing of the text.
func DecodeDone(text string) (*Done, error) {
	e, err := openEnvelope(text, "a notice of a finished job")
	if err != nil {
		return nil, err
	}
	if e.str(fieldType) != TypeDone {
		e.wrong(fieldType, "must be "+TypeDone)
	}
	d := &Done{Basin: e.str(fieldBasin), Scenario: e.str(fieldScenario), JobID: e.str(fieldJobID), State: e.str("state"),
		Reason: e.reason("reason", true), Detail: e.str("detail"), Attempt: int(e.number("attempt")),
		StartedAt: e.moment("started_at"), FinishedAt: e.moment("finished_at"), RunKey: e.str("run_key"), Commit: e.str("commit")}
	if err := e.err(); err != nil {
		return nil, err
	}
	return d, nil
}
