package message

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"rsmsjob/internal/reason"
)

const (
	maxJSON     = 48 << 10 // bytes of JSON in a message
	maxDepth    = 64       // levels of nested objects and arrays
	maxMetadata = 8 << 10  // bytes of all unknown fields as one JSON object
)

const (
	space = " \t\r\n"
	bom   = "\xef\xbb\xbf"
)

// Decode reads the text of a queue message: JSON, or standard base64 of JSON,
// by the rule of the contract (section 2). Nothing else is guessed and no
// envelope is unwrapped. The error is a *reason.Error: Undecodable where there
// is no JSON to be had, UnsupportedCommand for a type or version that is not
// known, InvalidMessage for the rest.
func Decode(raw []byte) (*Message, error) {
	text, err := jsonText(raw)
	if err != nil {
		return nil, err
	}
	members, err := readObject(text)
	if err != nil {
		return nil, err
	}
	return fromMembers(members)
}

// Salvage returns who a message is about that Decode refused: a command to run a
// scenario, in whatever version, whose ids can be told beyond doubt. JobID is ""
// where that one cannot. False says that it is about nobody.
func Salvage(raw []byte) (*Message, bool) {
	body, err := jsonText(raw)
	if err != nil {
		return nil, false
	}
	members, err := readObject(body)
	if members == nil {
		return nil, false
	}
	for _, fault := range reason.Faults(err) { // it is there twice
		if fault.Field == fieldType {
			return nil, false
		}
		delete(members, fault.Field)
	}
	f := &fields{members: members}
	if kind, given := f.given(fieldType); given {
		if name, isText := text(kind); !isText || name != TypeRun {
			return nil, false
		}
	}
	m := &Message{Type: TypeRun, Version: Version, Basin: f.id(fieldBasin, true), Scenario: f.id(fieldScenario, true)}
	if f.faults.Err() != nil {
		return nil, false
	}
	if id := f.jobID(); f.faults.Err() == nil {
		m.JobID = id
	}
	return m, true
}

// jsonText returns the JSON that raw is or encodes; it is well formed.
func jsonText(raw []byte) ([]byte, error) {
	text := trim(raw)
	if len(text) == 0 {
		return nil, reason.New(reason.Undecodable, "the message is empty")
	}
	if text[0] == '{' {
		return wellFormed(text, "the message begins like JSON but is not")
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if err != nil {
		return nil, reason.New(reason.Undecodable, "the message is neither JSON nor base64 of JSON")
	}
	return wellFormed(trim(decoded), "the message is base64, but not of JSON")
}

func trim(b []byte) []byte {
	b = bytes.Trim(b, space)
	return bytes.TrimLeft(bytes.TrimPrefix(b, []byte(bom)), space)
}

// wellFormed returns text when it is one JSON value within the limits.
func wellFormed(text []byte, otherwise string) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, reason.New(reason.Undecodable, "%s: it is not UTF-8", otherwise)
	}
	// The limits come first: they are cheap, and the parser has its own.
	if len(text) > maxJSON {
		return nil, reason.New(reason.InvalidMessage, "the message has more than %d bytes of JSON", maxJSON)
	}
	if depth(text) > maxDepth {
		return nil, reason.New(reason.InvalidMessage, "the message is nested deeper than %d levels", maxDepth)
	}
	if !json.Valid(text) {
		return nil, reason.New(reason.Undecodable, "%s", otherwise)
	}
	return text, nil
}

// depth returns how deep text nests, text being JSON or not.
func depth(text []byte) int {
	var now, deepest int
	var quoted, escaped bool
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped = c == '\\'
			quoted = c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// readObject splits a well-formed JSON object into its members. Names are
// compared as they are: a variant in other case is another member.
func readObject(text []byte) (map[string]json.RawMessage, error) {
	if text[0] != '{' {
		return nil, reason.New(reason.InvalidMessage, "the message is not a JSON object")
	}
	members := make(map[string]json.RawMessage)
	var faults reason.List
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return nil, notJSON(err)
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		name, ok := token.(string)
		if !ok {
			return nil, notJSON(nil)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, notJSON(err)
		}
		if _, twice := members[name]; twice {
			faults.Add(&reason.Fault{Field: safeName(name), Problem: "is given twice"})
			continue
		}
		members[name] = value
	}
	return members, reason.Wrap(reason.InvalidMessage, faults.Err(), "")
}

// notJSON is for what json.Valid has ruled out already.
func notJSON(err error) error {
	return &reason.Error{Code: reason.Undecodable, Detail: "the message is not JSON", Err: err}
}

// safeName keeps names of foreign fields out of errors: they are input too.
func safeName(name string) string {
	if isKnown(name) {
		return name
	}
	return "metadata"
}
