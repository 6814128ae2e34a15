package fortran_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"rsmsjob/internal/fortran"
	"rsmsjob/internal/reason"
)

func lines(t *testing.T, r *fortran.Reader) []string {
	t.Helper()
	var all []string
	for r.Next() {
		all = append(all, string(r.Bytes()))
	}
	return all
}

// H08: byte order mark, CR LF, a last line without an end.
func TestReaderLinesH08(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""}, {"a", "a"}, {"a\n", "a"}, {"a\r\nb\r\n", "a|b"}, {"a\n\nb", "a||b"},
		{"\ufeffa\n\ufeffb", "a|\ufeffb"}, {"a\rb\n", "a\rb"}, {"\n", ""}, {"a\r", "a"},
	}
	for _, tt := range tests {
		r := fortran.NewReader(strings.NewReader(tt.text), "X.IN")
		got := strings.Join(lines(t, r), "|")
		if got != tt.want || r.Err() != nil {
			t.Errorf("%q: lines %q, error %v; want %q", tt.text, got, r.Err(), tt.want)
		}
	}
}

func TestReaderLongLine(t *testing.T) {
	fits := strings.Repeat("x", 64<<10)
	r := fortran.NewReader(strings.NewReader(fits+"\r\n"+fits+"\n"+fits), "X.IN")
	if got := lines(t, r); len(got) != 3 || got[2] != fits || r.Err() != nil {
		t.Fatalf("%d lines, error %v; want 3", len(got), r.Err())
	}
	for _, text := range []string{"a\n" + fits + "x\nb\n", "a\n" + fits + "xxx", "a\n" + fits + fits} {
		r = fortran.NewReader(strings.NewReader(text), "X.IN")
		got := lines(t, r)
		if want := "X.IN line 2: line longer than 65536 bytes"; len(got) != 1 || r.Err() == nil || r.Err().Error() != want {
			t.Errorf("%d lines, error %v; want 1 and %q", len(got), r.Err(), want)
		}
		if r.Next() || len(r.Bytes()) != 0 {
			t.Error("Next goes on after an error")
		}
	}
}

func TestReaderReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	r := fortran.NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), "X.IN")
	lines(t, r)
	if !errors.Is(r.Err(), broken) || len(reason.Faults(r.Err())) != 1 ||
		reason.Faults(r.Err())[0].Error() != "X.IN line 2: cannot be read" {
		t.Errorf("error %v", r.Err())
	}
}

func TestReaderColumns(t *testing.T) {
	r := fortran.NewReader(strings.NewReader("ab 12  1.5é *** x1234 7\n"), "X.IN")
	if !r.Next() {
		t.Fatal(r.Err())
	}
	for _, tt := range []struct{ from, to, want int }{{3, 5, 12}, {3, 7, 12}, {6, 7, 0}, {90, 95, 0}, {24, 99, 7}} {
		if got, err := r.Int(tt.from, tt.to, "n"); err != nil || got != tt.want {
			t.Errorf("Int(%d, %d) = %v, %v; want %v", tt.from, tt.to, got, err, tt.want)
		}
	}
	if got, err := r.Float(6, 10, "x"); err != nil || got != 1.5 {
		t.Errorf("Float = %v, %v", got, err)
	}
	for _, tt := range []struct{ from, to, want int }{{20, 22, 1234}, {22, 22, 1234}, {21, 22, 1234}, {24, 24, 7}, {3, 5, 12}, {80, 81, 0}} {
		if got, err := r.WideInt(tt.from, tt.to, "n"); err != nil || got != tt.want {
			t.Errorf("WideInt(%d, %d) = %v, %v; want %v", tt.from, tt.to, got, err, tt.want)
		}
	}
	// The é is one character of two bytes: columns behind it count characters.
	_, err := r.Int(14, 16, "grids")
	want := `X.IN line 1 column 13 grids: the number did not fit its columns when it was written (found "***")`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := r.Float(1, 3, "peak"); err == nil || err.Error() != `X.IN line 1 column 1 peak: not a number (found "ab")` {
		t.Errorf("error %v", err)
	}
	if got := r.Fault(0, "f", "wrong", "").Error(); got != "X.IN line 1 f: wrong" {
		t.Errorf("Fault: %s", got)
	}
}

func TestList(t *testing.T) {
	r := fortran.NewReader(strings.NewReader("GRID 1,2.5 ,\t3*4 2*5. a/b 6/ 7\n"), "X.IN")
	r.Next()
	if w, err := r.List(1).Word("label"); w != "GRID" || err != nil {
		t.Fatalf("Word = %q, %v", w, err)
	}
	l := r.List(5)
	if n, err := l.Int("n"); n != 1 || err != nil || l.Column() != 6 {
		t.Errorf("Int = %v, %v at column %d", n, err, l.Column())
	}
	if v, err := l.Float("x"); v != 2.5 || err != nil || l.Column() != 8 {
		t.Errorf("Float = %v, %v at column %d", v, err, l.Column())
	}
	for range 3 {
		if n, err := l.Int("n"); n != 4 || err != nil || !l.More() {
			t.Errorf("Int = %v, %v", n, err)
		}
	}
	for range 2 {
		if v, err := l.Float("x"); v != 5 || err != nil {
			t.Errorf("Float = %v, %v", v, err)
		}
	}
	if w, err := l.Word("w"); w != "a/b" || err != nil {
		t.Errorf("Word = %q, %v", w, err)
	}
	if n, err := l.Int("n"); n != 6 || err != nil {
		t.Errorf("Int = %v, %v", n, err)
	}
	if l.More() {
		t.Error("More after the slash")
	}
	if _, err := l.Int("n"); err == nil || err.Error() != "X.IN line 1 column 31 n: the line ends before this item" {
		t.Errorf("error %v", err)
	}
}

func TestListFaults(t *testing.T) {
	tests := []struct{ line, want string }{
		{"1,,2", "X.IN line 1 column 3 second: an item is left out"},
		{"1 x", `X.IN line 1 column 3 second: not a whole number (found "x")`},
		{"1 1.5", `X.IN line 1 column 3 second: not a whole number (found "1.5")`},
		{"1 2*", `X.IN line 1 column 3 second: a repeat count without a value (found "2*")`},
		{"1 0*7", `X.IN line 1 column 3 second: a repeat count without a value (found "0*7")`},
		{"1 99999999999999999999*7", `X.IN line 1 column 3 second: number out of range (found "99999999999999999999")`},
		{"1 2*x", `X.IN line 1 column 5 second: not a whole number (found "x")`},
		{"1 ****", `X.IN line 1 column 3 second: the number did not fit its columns when it was written (found "****")`},
		{"1 /2", "X.IN line 1 column 5 second: the line ends before this item"},
		{"1", "X.IN line 1 column 2 second: the line ends before this item"},
	}
	for _, tt := range tests {
		r := fortran.NewReader(strings.NewReader(tt.line), "X.IN")
		r.Next()
		l := r.List(1)
		if _, err := l.Int("first"); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Int("second"); err == nil || err.Error() != tt.want {
			t.Errorf("%q: error %v, want %s", tt.line, err, tt.want)
		}
	}
}

func TestReaderAllocatesNothingPerLine(t *testing.T) {
	text := strings.Repeat("    1    1    1       0.10000E+03 word 2*7 1.5\n", 1000)
	source := strings.NewReader(text)
	r := fortran.NewReader(source, "X.IN")
	n := testing.AllocsPerRun(900, func() {
		r.Next()
		r.Int(1, 5, "step")
		r.Float(16, 33, "flow")
		l := r.List(34)
		l.Word("w")
		l.Int("n")
		l.Int("n")
		if v, err := l.Float("x"); v != 1.5 || err != nil {
			t.Fatal(v, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations per line, want 0", n)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("\ufeff 1 2*3 x,/ é\r\n\n****"))
	f.Add([]byte("1,,2\n1*"))
	f.Add(bytes.Repeat([]byte("9"), 70000))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := fortran.NewReader(bytes.NewReader(data), "X.IN")
		for r.Next() {
			// 3*5 stands for three items, so count by columns that moved on.
			column := 0
			for l := r.List(1); l.More(); {
				_, err := l.Float("x")
				if l.Column() < column {
					t.Fatalf("column goes back from %d to %d", column, l.Column())
				}
				if l.Column() == column {
					break // the rest of a repeat count
				}
				column = l.Column()
				for _, fault := range reason.Faults(err) {
					if fault.Line != r.Line() || fault.Column < 1 || fault.Field != "x" {
						t.Fatalf("fault without a place: %v", fault)
					}
				}
			}
			r.Int(3, 5, "n")
			r.WideInt(3, 5, "n")
			r.Float(2, 20, "x")
		}
		for _, fault := range reason.Faults(r.Err()) {
			if fault.Line != r.Line() {
				t.Fatalf("fault at line %d, reader at %d", fault.Line, r.Line())
			}
		}
	})
}
