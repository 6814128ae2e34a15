package reason

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestFault(t *testing.T) {
	tests := []struct {
		f             Fault
		error, detail string
	}{
		{Fault{Problem: "is missing"}, "is missing", "is missing"},
		{Fault{File: "FLOW.IN", Line: 3, Column: 21, Field: "steps", Problem: "is an overflow", Text: "*****", Hint: "widen it"}, // H10
			`FLOW.IN line 3 column 21 steps: is an overflow (found "*****"); widen it`,
			"FLOW.IN line 3 column 21 steps: is an overflow; widen it"},
		{Fault{Field: "SpillMile", Problem: "must be a number", Text: "a\n\"b\"\x00"},
			`SpillMile: must be a number (found "a\n\"b\"\x00")`, "SpillMile: must be a number"},
		{Fault{Line: 2, Problem: "is blank"}, "line 2: is blank", "line 2: is blank"},
	}
	for _, tt := range tests {
		if got := tt.f.Error(); got != tt.error {
			t.Errorf("error  %s\nwant   %s", got, tt.error)
		}
		if got := tt.f.Detail(); got != tt.detail {
			t.Errorf("detail %s\nwant   %s", got, tt.detail)
		}
	}
}

func TestFaultShortensText(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct{ text, want string }{
		{x(40), x(40)},
		{x(41), x(40) + "…"},
		{x(39) + "é", x(39) + "…"},   // 2 bytes, one beyond the border
		{x(38) + "€9", x(38) + "…"},  // 3 bytes, one beyond
		{x(37) + "😀!", x(37) + "…"},  // 4 bytes, one beyond
		{x(36) + "😀!", x(36) + "😀…"}, // the character ends at the border
		{strings.Repeat("é", 20), strings.Repeat("é", 20)},
		{strings.Repeat("é", 21), strings.Repeat("é", 20) + "…"},
		{"caf\xe9" + x(40), `caf\xe9` + x(36) + "…"}, // Latin-1: what is wrong stays visible
	}
	for _, tt := range tests {
		f := Fault{Problem: "p", Text: tt.text}
		if got, want := f.Error(), `p (found "`+tt.want+`")`; got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.text, got, want)
		}
	}
	// Bytes that begin no character do not make the rest disappear.
	for n := range 60 {
		f := Fault{Problem: "p", Text: strings.Repeat("\x80", n) + "end"}
		if got := strings.Count(f.Error(), `\x80`); got < min(n, 36) || got > 40 {
			t.Errorf("%d stray bytes: %d are shown", n, got)
		}
	}
}

func TestWrapListsTenFaults(t *testing.T) {
	for _, n := range []int{1, 9, 10, 11, 37} {
		var list List
		for i := range n {
			list.Add(&Fault{File: "index.csv", Line: i + 1, Problem: "is blank"})
		}
		lines := strings.Split(Detail(Wrap(InvalidBasin, list.Err(), "")), "\n")
		for i, line := range lines[:min(n, 10)] {
			if want := fmt.Sprintf("index.csv line %d: is blank", i+1); line != want {
				t.Errorf("%d faults: line %d is %q, want %q", n, i, line, want)
			}
		}
		switch {
		case n <= 10 && len(lines) != n:
			t.Errorf("%d faults in %d lines", n, len(lines))
		case n > 10 && (len(lines) != 11 || lines[10] != fmt.Sprintf("and %d more", n-10)):
			t.Errorf("%d faults end with %q in %d lines", n, lines[len(lines)-1], len(lines))
		}
	}
}

func TestFaults(t *testing.T) {
	a, b, c := &Fault{Problem: "a"}, &Fault{Problem: "b"}, &Fault{Problem: "c"}
	err := fmt.Errorf("x: %w", errors.Join(a, fmt.Errorf("%w and %w", io.EOF, b), &Error{Code: Internal, Err: c}))
	got := Faults(err)
	if len(got) != 3 || got[0] != a || got[1] != b || got[2] != c {
		t.Errorf("faults %v", got)
	}
	for _, err := range []error{nil, io.EOF, New(Busy, "busy")} {
		if got := Faults(err); got != nil {
			t.Errorf("%v has the faults %v", err, got)
		}
	}
}

func TestInFile(t *testing.T) {
	named, unnamed := &Fault{File: "a.csv", Problem: "p"}, &Fault{Problem: "p"}
	err := fmt.Errorf("x: %w", errors.Join(named, unnamed))
	if got := InFile(err, "b.csv"); got != err {
		t.Errorf("another error: %v", got)
	}
	if named.File != "a.csv" || unnamed.File != "b.csv" {
		t.Errorf("the files are %q and %q", named.File, unnamed.File)
	}
	if got := InFile(io.EOF, "b.csv"); got != io.EOF {
		t.Errorf("another error: %v", got)
	}
	if got := InFile(nil, "b.csv"); got != nil {
		t.Errorf("InFile of nil: %v", got)
	}
}

func TestList(t *testing.T) {
	var list List
	list.Merge(nil)
	if list.Len() != 0 || list.Err() != nil {
		t.Errorf("an empty list has %d, %v", list.Len(), list.Err())
	}
	a, b := &Fault{Problem: "a"}, &Fault{Problem: "b"}
	list.Add(a)
	list.Merge(errors.Join(b, io.EOF))
	list.Merge(nil)
	if list.Len() != 2 {
		t.Errorf("length %d", list.Len())
	}
	err := list.Err()
	if got := Faults(err); len(got) != 2 || got[0] != a || got[1] != b {
		t.Errorf("faults %v", got)
	}
	if !errors.Is(err, io.EOF) || err.Error() != "a\nb\nEOF" {
		t.Errorf("err %q", err)
	}
}
