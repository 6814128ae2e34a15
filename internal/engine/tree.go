package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"rsmsjob/internal/reason"
)

// node is one value of a JSON file that knows where it stands. value is nil,
// bool, string or json.Number where it is neither an object nor a list.
type node struct {
	offset  int // of its first byte
	kind    kind
	value   any
	members []member // of an object, in their order
	items   []*node  // of a list
	wrong   bool     // a fault was found in it
}

// member is a name of an object with its value.
type member struct {
	name   string
	offset int // of the name
	node   *node
}

// kind is what a value of a JSON file is, by its name in a JSON Schema.
type kind string

const (
	objectKind kind = "object"
	listKind   kind = "array"
	textKind   kind = "string"
	wholeKind  kind = "integer"
	boolKind   kind = "boolean"
	otherKind  kind = "" // null, and a number that is not whole
)

// maxDepth bounds how deep values may be nested; engine.json needs four.
const maxDepth = 16

// tree is a JSON file.
type tree struct {
	file   string // base name
	data   []byte
	root   *node
	faults reason.List
}

// parseTree reads a JSON file in UTF-8, byte order mark allowed. A name that
// is given twice is a fault of the tree, anything else that is no JSON the
// error.
func parseTree(data []byte, file string) (*tree, error) {
	t := &tree{file: file, data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	for at := 0; at < len(t.data); {
		r, n := utf8.DecodeRune(t.data[at:])
		if r == utf8.RuneError && n == 1 {
			return nil, t.fault(at, "", &reason.Fault{Problem: "is not UTF-8", Hint: "save the file as UTF-8"})
		}
		at += n
	}
	var whole json.RawMessage
	if err := json.Unmarshal(t.data, &whole); err != nil {
		at := len(t.data)
		if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = max(0, int(bad.Offset)-1) // it counts the offending byte
		}
		return nil, t.fault(at, "", &reason.Fault{Problem: "is not JSON from here on",
			Hint: "JSON has no comments, and no comma behind the last item"})
	}
	dec := json.NewDecoder(bytes.NewReader(t.data))
	dec.UseNumber()
	var err error
	t.root, err = t.read(dec, "", 0)
	return t, err
}

// next is the next token and where it begins.
func (t *tree) next(dec *json.Decoder) (json.Token, int, error) {
	from := int(dec.InputOffset()) // perhaps blanks, a comma or a colon, then the token
	from += len(t.data[from:]) - len(bytes.TrimLeft(t.data[from:], ",: \t\r\n"))
	token, err := dec.Token()
	return token, from, err
}

// read reads one value, which stands at path.
func (t *tree) read(dec *json.Decoder, path string, depth int) (*node, error) {
	token, offset, err := t.next(dec)
	if err != nil {
		return nil, err
	}
	n := &node{offset: offset}
	if depth > maxDepth {
		return nil, t.fault(offset, path, &reason.Fault{Problem: fmt.Sprintf("is nested deeper than %d levels", maxDepth)})
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			n.kind, err = objectKind, t.readMembers(dec, n, path, depth)
		} else {
			n.kind, err = listKind, t.readItems(dec, n, path, depth)
		}
	case string:
		n.kind, n.value = textKind, token
	case bool:
		n.kind, n.value = boolKind, token
	case json.Number:
		n.value = token
		if _, ok := wholeNumber(token); ok {
			n.kind = wholeKind
		}
	default:
		n.value = token
	}
	return n, err
}

func (t *tree) readMembers(dec *json.Decoder, n *node, path string, depth int) error {
	seen := map[string]bool{}
	for dec.More() {
		token, offset, err := t.next(dec)
		if err != nil {
			return err
		}
		name, _ := token.(string)
		value, err := t.read(dec, below(path, name), depth+1)
		if err != nil {
			return err
		}
		if seen[name] {
			t.add(offset, below(path, name), &reason.Fault{Problem: "is given twice", Text: name, Hint: "keep one of the two"})
			continue
		}
		seen[name] = true
		n.members = append(n.members, member{name, offset, value})
	}
	_, err := dec.Token()
	return err
}

func (t *tree) readItems(dec *json.Decoder, n *node, path string, depth int) error {
	for dec.More() {
		item, err := t.read(dec, numbered(path, len(n.items)), depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := dec.Token()
	return err
}

// wholeNumber returns a number that has no fraction, however it is written,
// and fits.
func wholeNumber(n json.Number) (int, bool) {
	f, err := n.Float64()
	if err != nil || f != float64(int(f)) || f > 1e15 || f < -1e15 {
		return 0, false
	}
	return int(f), true
}

// below is the path of a member. A name that is not of the usual letters may be
// anything, and stays out of what is said in fixed words.
func below(path, name string) string {
	plain := name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	switch {
	case !plain:
		return path
	case path == "":
		return name
	}
	return path + "." + name
}

// numbered is the path of an item; people count from 1.
func numbered(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i+1) }

// add keeps a fault that stands at an offset.
func (t *tree) add(offset int, path string, f *reason.Fault) { t.faults.Add(t.fault(offset, path, f)) }

// fault adds file, place and field to f.
func (t *tree) fault(offset int, path string, f *reason.Fault) *reason.Fault {
	f.File, f.Field = t.file, path
	before := t.data[:min(offset, len(t.data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	f.Line, f.Column = bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(before[start:])+1
	return f
}

// sorted returns all faults in the order in which they stand, nil for none.
func (t *tree) sorted() error {
	faults := reason.Faults(t.faults.Err())
	slices.SortStableFunc(faults, func(a, b *reason.Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var all reason.List
	for _, f := range faults {
		all.Add(f)
	}
	return all.Err()
}

// member returns the value of a name, nil where there is none or it is wrong.
func (n *node) member(name string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.name == name && !m.node.wrong {
			return m.node
		}
	}
	return nil
}

// texts are the strings of a list, nil for no list.
func (n *node) texts() []string {
	if n == nil {
		return nil
	}
	texts := make([]string, 0, len(n.items))
	for _, item := range n.items {
		if s, ok := item.value.(string); ok && !item.wrong {
			texts = append(texts, s)
		}
	}
	return texts
}

// text is the string that a value is, initial for none.
func (n *node) text(initial string) string {
	if n != nil {
		if s, ok := n.value.(string); ok {
			return s
		}
	}
	return initial
}

// whole is the whole number that a value is, initial for none.
func (n *node) whole(initial int) int {
	if n != nil {
		if number, ok := n.value.(json.Number); ok {
			if i, ok := wholeNumber(number); ok {
				return i
			}
		}
	}
	return initial
}

// truth is the true or false that a value is, initial for none.
func (n *node) truth(initial bool) bool {
	if n != nil {
		if b, ok := n.value.(bool); ok {
			return b
		}
	}
	return initial
}
