package river

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"rsmsjob/internal/reason"
)

// document is a JSON file whose values know where they stand.
type document struct {
	file string
	data []byte
	root value
}

// value is one JSON value: its text and the offset of its first byte.
type value struct {
	text   json.RawMessage
	offset int
}

// member is one name with its value.
type member struct {
	name   string
	offset int // of the name
	value  value
}

// openDocument checks that data is JSON text in UTF-8.
func openDocument(data []byte, file string) (*document, error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	d := &document{file: file, data: data}
	if at := invalidUTF8(data); at >= 0 {
		return nil, d.fault(at, &reason.Fault{Problem: "is not UTF-8", Hint: "save the file as UTF-8"})
	}
	var text json.RawMessage
	if err := json.Unmarshal(data, &text); err != nil {
		at := len(data)
		if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
			// Offset counts the bytes read, the offending one among them.
			at = max(0, int(bad.Offset)-1)
		}
		return nil, d.fault(at, &reason.Fault{Problem: "is not JSON from here on"})
	}
	d.root = value{text: text, offset: len(data) - len(bytes.TrimLeft(data, " \t\r\n"))}
	return d, nil
}

// members returns the members of an object in their order; each name once.
func (d *document) members(v value) ([]member, error) {
	if v.text[0] != '{' {
		return nil, d.fault(v.offset, &reason.Fault{Problem: "must be an object"})
	}
	var members []member
	var faults reason.List
	seen := make(map[string]bool)
	dec := json.NewDecoder(bytes.NewReader(v.text))
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("read %s: %w", d.file, err)
	}
	for dec.More() {
		behind := v.text[dec.InputOffset():] // perhaps a comma, then the name
		offset := len(v.text) - len(bytes.TrimLeft(behind, ", \t\r\n"))
		token, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", d.file, err)
		}
		name, _ := token.(string)
		m := member{name: name, offset: v.offset + offset}
		if err := dec.Decode(&m.value.text); err != nil {
			return nil, fmt.Errorf("read %s: %w", d.file, err)
		}
		m.value.offset = v.offset + int(dec.InputOffset()) - len(m.value.text)
		if seen[name] {
			if faults.Len() == maxFaults {
				break
			}
			faults.Add(d.fault(m.offset, &reason.Fault{Problem: "a name is given twice", Text: name}))
			continue
		}
		seen[name] = true
		members = append(members, m)
	}
	return members, faults.Err()
}

// decode returns the value as encoding/json does with UseNumber.
func (v value) decode() any {
	dec := json.NewDecoder(bytes.NewReader(v.text))
	dec.UseNumber()
	var decoded any
	if dec.Decode(&decoded) != nil {
		return nil // never: the document was checked
	}
	return decoded
}

// fault adds the place of an offset to f.
func (d *document) fault(offset int, f *reason.Fault) *reason.Fault {
	f.File = d.file
	f.Line, f.Column = d.position(offset)
	return f
}

// position returns line and character column of an offset, both from 1.
func (d *document) position(offset int) (line, column int) {
	before := d.data[:min(offset, len(d.data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}
