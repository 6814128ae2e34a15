package compare

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
)

// owned is the run record of a scenario that a job runs for that long.
func owned(t *testing.T, lease time.Duration) []byte {
	t.Helper()
	data, err := json.Marshal(&runs.Record{JobID: "j2", State: runs.Running, Owner: "o", LeaseUntil: time.Now().Add(lease)})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A result that a run is replacing is not taken for one that is damaged or not
// there; and the error says which of the two it is.
func TestReplacedMeanwhile(t *testing.T) {
	other := func(m *memory) {
		d := newDraft()
		d.Marker.JobID = "j2"
		m.files[publish.MarkerName] = d.store(t).files[publish.MarkerName]
	}
	gone := func(m *memory) { delete(m.files, publish.MarkerName) }
	tests := []struct {
		name   string
		before func(m *memory) // it is opened
		behind func(m *memory) // the rows were read
		lease  time.Duration   // of the run
		code   reason.Code
		match  string
	}{
		{"another behind the rows", func(m *memory) { m.rows = m.rows[1:] }, other, 0, reason.Busy,
			"B, b: the result of tiny/s1 was replaced while it was compared; try again"},
		{"none behind the rows", func(m *memory) { m.rows = m.rows[1:] }, gone, time.Hour, reason.Busy,
			"B, b: the result of tiny/s1 is being replaced now, by job j2; try again"},
		{"none from the begin", gone, nil, time.Hour, reason.Busy, "is being replaced now, by job j2"},
		{"half a marker", func(m *memory) { m.files[publish.MarkerName] = []byte("{") }, nil, time.Hour, reason.Busy, "is being replaced now"},
		{"none, and its run is dead", gone, nil, -time.Hour, reason.ScenarioNotFound, "B, b: there is no result of scenario s1 of basin tiny"},
		{"none behind the rows, and its run is dead", nil, gone, -time.Hour, reason.ScenarioNotFound, "B, b: there is no result"},
		// The run has not begun to replace anything, so it is damage.
		{"a document is missing", func(m *memory) { delete(m.files, intakeDocument) }, nil, time.Hour, reason.EngineOutputInvalid, "intakes.json is missing"},
	}
	for _, tt := range tests {
		m := newDraft().store(t)
		m.record = owned(t, tt.lease)
		if tt.before != nil {
			tt.before(m)
		}
		if tt.behind != nil {
			m.behind = func() { tt.behind(m) }
		}
		b, err := Open(t.Context(), m, Target{"tiny", "s1", "B", "b"})
		if err == nil {
			_, err = Results(t.Context(), newDraft().open(t, "a"), b, Options{Scratch: scratchFile(t)})
		}
		if reason.Of(err) != tt.code || !strings.Contains(err.Error(), tt.match) {
			t.Errorf("%s: %v (%s), want %s %q", tt.name, err, reason.Of(err), tt.code, tt.match)
		}
	}
}

// A run that has just put its marker there was replacing the result when a
// document was missed.
func TestReplacedWhileOpened(t *testing.T) {
	m := newDraft().store(t)
	whole := m.files[publish.MarkerName]
	delete(m.files, publish.MarkerName)
	late := &lateMarker{memory: m, marker: whole}
	if _, err := Open(t.Context(), late, Target{"tiny", "s1", "A", "a"}); reason.Of(err) != reason.Busy {
		t.Errorf("%v, want busy", err)
	}
}
