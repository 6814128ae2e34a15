package message

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"rsmsjob/internal/reason"
)

// The fields of a message.
const (
	fieldType     = "type"
	fieldVersion  = "version"
	fieldBasin    = "riverbasin_id"
	fieldScenario = "scenario_id"
	fieldJobID    = "job_id"
	fieldForce    = "force"
	fieldTimeout  = "timeout_seconds"
)

func isKnown(name string) bool {
	switch name {
	case fieldType, fieldVersion, fieldBasin, fieldScenario, fieldJobID, fieldForce, fieldTimeout:
		return true
	}
	return false
}

const (
	maxID      = 63 // characters of riverbasin_id and scenario_id
	maxJobID   = 64
	maxTimeout = 86400 // seconds
)

// fields takes the members of a message apart and keeps what is wrong.
type fields struct {
	members map[string]json.RawMessage
	faults  reason.List
}

func fromMembers(members map[string]json.RawMessage) (*Message, error) {
	f := &fields{members: members}
	m := &Message{Type: TypeRun, Version: Version}
	if err := f.command(m); err != nil {
		return nil, err
	}
	required := m.Type == TypeRun
	m.Basin = f.id(fieldBasin, required)
	m.Scenario = f.id(fieldScenario, required)
	m.JobID = f.jobID()
	m.Force = f.force()
	m.Timeout = f.timeout()
	m.Metadata = f.metadata()
	if err := f.faults.Err(); err != nil {
		return nil, reason.Wrap(reason.InvalidMessage, err, "")
	}
	return m, nil
}

// command reads type and version. What else an unknown command may hold is
// not ours to judge, so its error stands alone.
func (f *fields) command(m *Message) error {
	if raw, ok := f.given(fieldType); ok {
		name, isText := text(raw)
		if !isText {
			f.wrong(fieldType, "must be a string")
		} else if name != TypeRun && name != TypeProbe {
			return reason.New(reason.UnsupportedCommand, "%s: is not a command of this worker, which knows %s and %s",
				fieldType, TypeRun, TypeProbe)
		} else {
			m.Type = name
		}
	}
	if raw, ok := f.given(fieldVersion); ok {
		if !isInteger(raw) {
			f.wrong(fieldVersion, "must be an integer")
		} else if string(raw) != strconv.Itoa(Version) {
			return reason.New(reason.UnsupportedCommand, "%s: is not a version of this worker, which knows %d",
				fieldVersion, Version)
		}
	}
	return nil
}

// id reads an id: text, or an integer whose digits are kept as they are.
func (f *fields) id(name string, required bool) string {
	raw, ok := f.given(name)
	if !ok {
		if required {
			f.wrong(name, "is missing")
		}
		return ""
	}
	id, ok := text(raw)
	if !ok && isInteger(raw) {
		id, ok = string(raw), true
	}
	switch {
	case !ok:
		f.wrong(name, "must be a string or an integer")
	case !validID(id):
		f.wrong(name, "must be 1 to 63 characters of A-Z a-z 0-9 . _ -, begin with a letter or digit and hold no two dots in a row")
	}
	return id
}

func (f *fields) jobID() string {
	raw, ok := f.given(fieldJobID)
	if !ok {
		return ""
	}
	id, ok := text(raw)
	switch {
	case !ok:
		f.wrong(fieldJobID, "must be a string")
	case !validJobID(id):
		f.wrong(fieldJobID, "must be 1 to 64 characters of A-Z a-z 0-9 _ - and begin with a letter or digit")
	}
	return id
}

func (f *fields) force() bool {
	raw, ok := f.given(fieldForce)
	if ok && string(raw) != "true" && string(raw) != "false" {
		f.wrong(fieldForce, "must be true or false")
	}
	return string(raw) == "true"
}

func (f *fields) timeout() time.Duration {
	raw, ok := f.given(fieldTimeout)
	if !ok {
		return 0
	}
	seconds, err := strconv.Atoi(string(raw))
	if !isInteger(raw) || err != nil || seconds < 1 || seconds > maxTimeout {
		f.wrong(fieldTimeout, "must be an integer from 1 to 86400")
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// metadata returns every field that is not ours, nil where there is none.
func (f *fields) metadata() map[string]any {
	var rest map[string]any
	for name, raw := range f.members {
		if isKnown(name) {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var value any
		if dec.Decode(&value) != nil {
			f.wrong("metadata", "is not JSON")
			return nil
		}
		if rest == nil {
			rest = make(map[string]any)
		}
		rest[name] = value
	}
	if size, err := metadataSize(rest); err != nil || size > maxMetadata {
		f.wrong("metadata", "is more than 8192 bytes: the fields that are not of the contract, together")
	}
	return rest
}

// metadataSize returns the bytes of meta as JSON, in UTF-8 without escapes
// that JSON does not ask for: the same however the sender wrote it.
func metadataSize(meta map[string]any) (int, error) {
	if len(meta) == 0 {
		return 0, nil
	}
	text, err := marshal(meta)
	return len(text), err
}

// given returns the value of a member that is there and not null.
func (f *fields) given(name string) (json.RawMessage, bool) {
	raw, ok := f.members[name]
	return raw, ok && string(raw) != "null"
}

func (f *fields) wrong(field, problem string) {
	f.faults.Add(&reason.Fault{Field: field, Problem: problem})
}

// text returns the string that raw is, if it is one.
func text(raw json.RawMessage) (string, bool) {
	if raw[0] != '"' {
		return "", false
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// isInteger reports whether raw is a JSON number without fraction or exponent.
func isInteger(raw json.RawMessage) bool {
	digits := bytes.TrimPrefix(raw, []byte("-"))
	return len(digits) > 0 && !slices.ContainsFunc(digits, func(c byte) bool { return c < '0' || c > '9' })
}

// validID: ^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$ without "..".
func validID(id string) bool {
	return wordOf(id, maxID, "._-") && !strings.Contains(id, "..")
}

// validJobID: ^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$.
func validJobID(id string) bool { return wordOf(id, maxJobID, "_-") }

// wordOf reports whether s is at most limit ASCII letters, digits and marks,
// the first of them no mark.
func wordOf(s string, limit int, marks string) bool {
	if s == "" || len(s) > limit || strings.IndexByte(marks, s[0]) >= 0 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !('A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte(marks, c) >= 0) {
			return false
		}
	}
	return true
}
