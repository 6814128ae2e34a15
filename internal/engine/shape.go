package engine

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"rsmsjob/internal/reason"
)

// shape is what a value of engine.json must be. The reader and the JSON Schema
// both go by it.
type shape struct {
	kind  kind
	about string // description
	wants string // what is allowed, in the words of a fault

	low, high int            // of a whole number, the characters of a string, the items of a list; 0, 0 for any
	pattern   *regexp.Regexp // that a string must match, nil for any
	never     *regexp.Regexp // that it must not match, nil for none
	item      *shape         // of a list
	unique    bool           // no item of a list twice
	fields    []*field       // of an object; it may have no others
	initial   any            // what stands for it where it is left out, nil for nothing
}

// field is a field of an object.
type field struct {
	name     string
	required bool
	shape    *shape
}

// names are the fields of an object.
func (s *shape) names() []string {
	var names []string
	for _, f := range s.fields {
		names = append(names, f.name)
	}
	return names
}

// check holds a value, which stands at path, against its shape: what is wrong
// is added to the faults of the tree, and marked.
func (t *tree) check(n *node, s *shape, path string) {
	before := t.faults.Len()
	if n.kind != s.kind {
		t.wrong(n, s, path)
		return
	}
	switch s.kind {
	case objectKind:
		t.checkFields(n, s, path)
	case listKind:
		t.checkItems(n, s, path)
	case textKind:
		if text := n.text(""); !s.within(utf8.RuneCountInString(text)) ||
			s.pattern != nil && !s.pattern.MatchString(text) ||
			s.never != nil && s.never.MatchString(text) {
			t.wrong(n, s, path)
		}
	case wholeKind:
		if !s.within(n.whole(0)) {
			t.wrong(n, s, path)
		}
	}
	n.wrong = n.wrong || s.kind != objectKind && t.faults.Len() > before
}

// within reports whether a count or number is within the bounds.
func (s *shape) within(n int) bool { return s.low == 0 && s.high == 0 || s.low <= n && n <= s.high }

func (t *tree) wrong(n *node, s *shape, path string) {
	n.wrong = true
	found := ""
	if n.value != nil {
		found = fmt.Sprint(n.value)
	}
	t.add(n.offset, path, &reason.Fault{Problem: "must be " + s.wants, Text: found})
}

func (t *tree) checkFields(n *node, s *shape, path string) {
	for _, m := range n.members {
		i := slices.IndexFunc(s.fields, func(f *field) bool { return f.name == m.name })
		if i < 0 {
			t.add(m.offset, below(path, m.name), &reason.Fault{Problem: "is not known; allowed are " + strings.Join(s.names(), ", "), Text: m.name})
			continue
		}
		t.check(m.node, s.fields[i].shape, below(path, m.name))
	}
	for _, f := range s.fields {
		if f.required && !slices.ContainsFunc(n.members, func(m member) bool { return m.name == f.name }) {
			t.add(n.offset, below(path, f.name), &reason.Fault{Problem: "is missing; it must be " + f.shape.wants})
		}
	}
}

func (t *tree) checkItems(n *node, s *shape, path string) {
	if !s.within(len(n.items)) {
		t.wrong(n, s, path)
		return
	}
	for i, item := range n.items {
		t.check(item, s.item, numbered(path, i))
		same := func(o *node) bool {
			return o.kind == item.kind && o.text("") == item.text("") && o.whole(0) == item.whole(0)
		}
		if s.unique && !item.wrong && slices.ContainsFunc(n.items[:i], same) {
			t.add(item.offset, numbered(path, i), &reason.Fault{Problem: "is given twice", Text: item.text(""), Hint: "keep one of the two"})
		}
	}
}

// schema is the shape in the words of a JSON Schema.
func (s *shape) schema() map[string]any {
	m := map[string]any{"type": s.kind}
	if s.about != "" {
		m["description"] = s.about
	}
	if s.initial != nil {
		m["default"] = s.initial
	}
	bounds := map[kind][2]string{wholeKind: {"minimum", "maximum"}, textKind: {"minLength", "maxLength"}, listKind: {"minItems", "maxItems"}}
	if b, ok := bounds[s.kind]; ok && (s.low != 0 || s.high != 0) {
		m[b[0]], m[b[1]] = s.low, s.high
	}
	switch s.kind {
	case textKind:
		if s.pattern != nil {
			m["pattern"] = s.pattern.String()
		}
		if s.never != nil {
			m["not"] = map[string]any{"pattern": s.never.String()}
		}
	case listKind:
		m["items"] = s.item.schema()
		if s.unique {
			m["uniqueItems"] = true
		}
	case objectKind:
		properties, required := map[string]any{}, []string{}
		for _, f := range s.fields {
			properties[f.name] = f.shape.schema()
			if f.required {
				required = append(required, f.name)
			}
		}
		m["properties"], m["required"], m["additionalProperties"] = properties, required, false
	}
	return m
}

// Schema returns the JSON Schema (draft 2020-12) of engine.json. What the
// fields ask of each other and of the folder is not in it.
func Schema() []byte {
	m := manifestShape().schema()
	m["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	m["title"] = "rsms-job engine.json"
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		panic(err) // a schema made of constants always marshals
	}
	return append(text, '\n')
}
