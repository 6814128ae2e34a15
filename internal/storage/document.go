package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"rsmsjob/internal/reason"
)

// document is a JSON object whose top-level members can be replaced without
// touching anything else of its text: order, spacing, numbers.
type document struct {
	source  []byte
	members []member
}

// member is where one member of the object stands in the text.
type member struct {
	name                 string
	key                  int // begin of the name, its quote
	nameEnd, value, past int // end of the name, begin and end of the value
}

// byteOrderMark may stand in front of a UTF-8 text (H08).
const byteOrderMark = "\xef\xbb\xbf"

// parseDocument finds the members of the object that source is. What is wrong
// with it is a *reason.Fault without a file name.
func parseDocument(source []byte) (*document, error) {
	text := bytes.TrimPrefix(source, []byte(byteOrderMark))
	if !utf8.Valid(text) {
		return nil, &reason.Fault{Problem: "not UTF-8 text"}
	}
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, syntaxFault(text, err)
	}
	if whole[0] != '{' {
		return nil, &reason.Fault{Problem: "not a JSON object"}
	}
	d := &document{source: source}
	offset := len(source) - len(text)
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil { // the opening brace
		return nil, syntaxFault(text, err)
	}
	seen := map[string]bool{}
	for dec.More() {
		before := int(dec.InputOffset())
		token, err := dec.Token()
		if err != nil {
			return nil, syntaxFault(text, err)
		}
		name, _ := token.(string) // the decoder has made sure of it
		key := before + bytes.IndexByte(text[before:], '"')
		if seen[name] {
			line, column := position(text, key)
			return nil, &reason.Fault{Line: line, Column: column, Problem: "column given twice", Text: name}
		}
		seen[name] = true
		m := member{name: name, key: offset + key, nameEnd: offset + int(dec.InputOffset())}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, syntaxFault(text, err)
		}
		m.past = offset + int(dec.InputOffset())
		m.value = m.past - len(raw)
		d.members = append(d.members, m)
	}
	return d, nil
}

// columns returns the members by name, numbers as json.Number.
func (d *document) columns() (map[string]any, error) {
	columns := make(map[string]any, len(d.members))
	for _, m := range d.members {
		dec := json.NewDecoder(bytes.NewReader(d.source[m.value:m.past]))
		dec.UseNumber()
		var value any
		if err := dec.Decode(&value); err != nil {
			return nil, syntaxFault(d.source, err)
		}
		columns[m.name] = value
	}
	return columns, nil
}

// merge returns the text with the values, which are JSON, in place of those of
// the same name; new members follow the last one, by name, in the spacing of
// those that are there.
func (d *document) merge(values map[string][]byte) []byte {
	var out []byte
	copied := 0
	left := make([]string, 0, len(values))
	for name := range values {
		left = append(left, name)
	}
	slices.Sort(left)
	for _, m := range d.members {
		value, ok := values[m.name]
		if !ok {
			continue
		}
		out = append(append(out, d.source[copied:m.value]...), value...)
		copied = m.past
		left = slices.DeleteFunc(left, func(name string) bool { return name == m.name })
	}
	if len(left) == 0 {
		return append(out, d.source[copied:]...)
	}

	between, colon, first := d.spacing()
	end := d.end()
	out = append(out, d.source[copied:end]...)
	for i, name := range left {
		if i > 0 || len(d.members) > 0 {
			out = append(out, between...)
		} else {
			out = append(out, first...)
		}
		out = append(out, encodeString(name)...)
		out = append(append(out, colon...), values[name]...)
	}
	if len(d.members) == 0 {
		out = append(out, '\n')
		end = bytes.LastIndexByte(d.source, '}')
	}
	return append(out, d.source[end:]...)
}

// end is where a new member begins: behind the last one or the opening brace.
func (d *document) end() int {
	if n := len(d.members); n > 0 {
		return d.members[n-1].past
	}
	return bytes.IndexByte(d.source, '{') + 1
}

// spacing returns what stands between two members, between a name and its
// value, and in front of the first member.
func (d *document) spacing() (between, colon, first string) {
	if len(d.members) == 0 {
		return ",\n  ", ": ", "\n  "
	}
	m := d.members[0]
	first = string(d.source[bytes.IndexByte(d.source, '{')+1 : m.key])
	colon = string(d.source[m.nameEnd:m.value])
	if len(d.members) > 1 {
		return string(d.source[m.past:d.members[1].key]), colon, first
	}
	return "," + first, colon, first
}

// syntaxFault says where a text stops being JSON.
func syntaxFault(text []byte, err error) error {
	fault := &reason.Fault{Problem: "not JSON"}
	// Only a decoder tells a text that is cut from one that is wrong.
	var whole json.RawMessage
	cut := json.NewDecoder(bytes.NewReader(text)).Decode(&whole)
	if errors.Is(cut, io.EOF) || errors.Is(cut, io.ErrUnexpectedEOF) {
		fault.Problem = "JSON text ends too early"
		fault.Line, fault.Column = position(text, len(text))
		return fault
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at := int(max(0, min(syntax.Offset-1, int64(len(text)))))
		fault.Line, fault.Column = position(text, at)
		fault.Text = string(text[at:min(len(text), at+1)])
	}
	return fault
}

// position returns line and column, in characters, of a byte.
func position(text []byte, at int) (line, column int) {
	before := text[:at]
	line = 1 + bytes.Count(before, []byte{'\n'})
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// encodeColumns returns the values of columns as JSON. A column that no table
// can hold is a *reason.Fault, so that a folder can be moved into one.
func encodeColumns(columns map[string]any) (map[string][]byte, error) {
	values := make(map[string][]byte, len(columns))
	for name, value := range columns {
		if err := checkColumnName(name); err != nil {
			return nil, err
		}
		encoded, err := encodeValue(value)
		if err != nil {
			return nil, &reason.Fault{Field: name, Problem: "a value that no column can hold"}
		}
		if value != nil {
			if problem := (entity{}).set(name, value); problem != "" {
				return nil, &reason.Fault{Field: name, Problem: problem}
			}
		}
		values[name] = encoded
	}
	return values, nil
}

var errNoColumnValue = errors.New("no value of a column")

func encodeValue(value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return []byte("null"), nil
	case string:
		if !utf8.ValidString(v) {
			return nil, errNoColumnValue
		}
		return encodeString(v), nil
	case bool:
		return strconv.AppendBool(nil, v), nil
	case int:
		return strconv.AppendInt(nil, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(nil, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errNoColumnValue
		}
		return json.Marshal(v)
	case json.Number:
		if v == "" { // json takes it for 0
			return nil, errNoColumnValue
		}
		return json.Marshal(v)
	case time.Time:
		return v.UTC().MarshalJSON()
	}
	return nil, errNoColumnValue
}

// encodeString returns s, valid UTF-8, as JSON; <, > and & stay as they are.
func encodeString(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // a string and a buffer cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
