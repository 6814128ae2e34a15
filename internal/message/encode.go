package message

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"time"
	"unicode/utf16"

	"rsmsjob/internal/reason"
)

// Encode returns m as JSON text that Decode reads back as the same message.
// Fields with their default value are left out; the text is ASCII, so it can
// stand in a queue as it is. The error is the one Decode would give.
func (m *Message) Encode() ([]byte, error) {
	for name := range m.Metadata {
		if isKnown(name) {
			return nil, reason.Wrap(reason.InvalidMessage,
				&reason.Fault{Field: name, Problem: "is a field of the contract, not metadata"}, "")
		}
	}
	if m.Timeout%time.Second != 0 {
		return nil, reason.Wrap(reason.InvalidMessage,
			&reason.Fault{Field: fieldTimeout, Problem: "must be whole seconds"}, "")
	}
	text, err := m.canonical()
	if err != nil {
		return nil, &reason.Error{Code: reason.InvalidMessage, Detail: "the metadata cannot be written as JSON", Err: err}
	}
	if _, err := Decode(text); err != nil {
		return nil, err
	}
	return text, nil
}

// Identity returns the job id: the one the message gives; else one derived
// from the id of the queue message, the same at every redelivery; else, where
// queueMessageID is "", one derived from what the message says. A forced run is
// the same job as the first one, so force and timeout_seconds do not count.
func (m *Message) Identity(queueMessageID string) string {
	switch {
	case m.JobID != "":
		return m.JobID
	case validJobID(queueMessageID):
		return queueMessageID
	case queueMessageID != "":
		return "q-" + digest([]byte(queueMessageID))
	}
	same := *m
	same.Force, same.Timeout = false, 0
	text, err := same.canonical()
	if err != nil {
		// Only metadata that no Decode returned cannot be written.
		text = []byte(m.Type + "|" + m.Basin + "|" + m.Scenario)
	}
	return "m-" + digest(text)
}

// WithIdentity returns the text of a queue message that gives the job id which
// the message stands for under the id of the queue: raw itself where it gives
// one, or cannot be decoded.
func WithIdentity(raw, queueMessageID string) string {
	m, err := Decode([]byte(raw))
	if err != nil || m.JobID != "" {
		return raw
	}
	m.JobID = m.Identity(queueMessageID)
	text, err := m.Encode()
	if err != nil {
		return raw // as long as a message may be: there is no room for the id
	}
	return string(text)
}

// digest returns the first 128 bits of the SHA-256 of b in hexadecimal.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// canonical returns the JSON text of m with sorted names, without defaults.
func (m *Message) canonical() ([]byte, error) {
	all := make(map[string]any, len(m.Metadata)+4)
	maps.Copy(all, m.Metadata)
	set := func(name string, value any, given bool) {
		if given {
			all[name] = value
		}
	}
	set(fieldType, m.Type, m.Type != "" && m.Type != TypeRun)
	set(fieldVersion, m.Version, m.Version != 0 && m.Version != Version)
	set(fieldBasin, m.Basin, m.Basin != "")
	set(fieldScenario, m.Scenario, m.Scenario != "")
	set(fieldJobID, m.JobID, m.JobID != "")
	set(fieldForce, true, m.Force)
	set(fieldTimeout, int64(m.Timeout/time.Second), m.Timeout != 0)
	text, err := marshal(all)
	return ASCII(text), err
}

// marshal is json.Marshal without escapes meant for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// ASCII writes every character of JSON text beyond ASCII as its \u escape.
// Such characters stand in strings only. DEL is left: it is allowed in XML.
func ASCII(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r < 0x80:
			out = append(out, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
