package message

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"rsmsjob/internal/reason"
)

// maxQueueText is what a queue holds in one message, in bytes of its text.
const maxQueueText = 64 << 10

// inEnvelope returns the JSON of v as base64: the text of a queue message is
// part of an XML document, which base64 cannot break (C77). v holds strings and
// numbers only, so it can be written.
func inEnvelope(v any) string {
	text, err := marshal(v)
	if err != nil {
		panic("message: an envelope cannot be written: " + err.Error())
	}
	return base64.StdEncoding.EncodeToString(text)
}

// envelope takes one apart that was read from a queue. what names it in errors.
type envelope struct {
	fields
	what string
}

// openEnvelope reads what inEnvelope wrote. Unlike a message, an envelope is
// never plain JSON: it cannot be taken for what somebody else sent.
func openEnvelope(text, what string) (*envelope, error) {
	e := &envelope{what: what}
	if len(text) > maxQueueText {
		return nil, e.refused("it is longer than %d bytes", maxQueueText)
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(strings.Trim(text, space))
	if err == nil {
		decoded, err = wellFormed(decoded, "")
	}
	if err != nil {
		return nil, e.refused("it is not base64 of JSON")
	}
	if e.members, err = readObject(decoded); err != nil {
		return nil, e.refused("it is not one JSON object with every name once")
	}
	if raw := e.members[fieldVersion]; string(raw) != strconv.Itoa(Version) {
		e.wrong(fieldVersion, "must be 1")
	}
	return e, nil
}

func (e *envelope) refused(format string, args ...any) *reason.Error {
	err := reason.New(reason.Undecodable, format, args...)
	err.Detail = "the text is not " + e.what + ": " + err.Detail
	return err
}

// err returns one error with everything that was wrong, nil for nothing.
func (e *envelope) err() error {
	if err := e.faults.Err(); err != nil {
		return e.refused("%s", reason.Detail(reason.Wrap(reason.Undecodable, err, "")))
	}
	return nil
}

// str reads a text that must be there.
func (e *envelope) str(name string) string {
	raw, ok := e.given(name)
	if ok {
		var s string
		if s, ok = text(raw); ok {
			return s
		}
	}
	e.wrong(name, "must be a string")
	return ""
}

// number reads an integer that must be there.
func (e *envelope) number(name string) int64 {
	raw, ok := e.given(name)
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if !ok || !isInteger(raw) || err != nil {
		e.wrong(name, "must be an integer")
	}
	return n
}

// reason reads a code of the closed list; "" only where it may be.
func (e *envelope) reason(name string, mayBeEmpty bool) reason.Code {
	code := reason.Code(e.str(name))
	if code == "" && mayBeEmpty {
		return ""
	}
	for _, known := range reason.Codes() {
		if code == known {
			return code
		}
	}
	e.wrong(name, "must be a reason of the closed list")
	return ""
}

// moment reads a time as timeText writes it, in UTC and whole seconds.
func (e *envelope) moment(name string) time.Time {
	s := e.str(name)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if t = t.UTC().Truncate(time.Second); err != nil || !hasText(t) {
		e.wrong(name, "must be a time of RFC 3339")
		return time.Time{}
	}
	return t
}

// timeText is RFC 3339 in UTC and whole seconds; "" for no time.
func timeText(t time.Time) string {
	t = t.UTC()
	if t.IsZero() || !hasText(t) {
		return ""
	}
	return t.Format(time.RFC3339)
}

// hasText reports whether RFC 3339 can say t, which is in UTC.
func hasText(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

// jsonString makes s writable as JSON; what JSON cannot hold is replaced.
func jsonString(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
