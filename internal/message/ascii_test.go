package message

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"
)

// FuzzASCII: the same JSON, in ASCII.
func FuzzASCII(f *testing.F) {
	f.Add(`{"é":"a😀\u00e9\\河\u2028"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || !json.Valid([]byte(text)) {
			return
		}
		escaped := ASCII([]byte(text))
		for _, c := range escaped {
			if c >= utf8.RuneSelf {
				t.Fatalf("%q is escaped as %q", text, escaped)
			}
		}
		var before, after any
		if json.Unmarshal([]byte(text), &before) == nil {
			if err := json.Unmarshal(escaped, &after); err != nil || !reflect.DeepEqual(before, after) {
				t.Fatalf("%q is escaped as %q: %v", text, escaped, err)
			}
		}
	})
}
