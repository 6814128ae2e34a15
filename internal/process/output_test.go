package process

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"", "x", "\x1b[0m", "caf\xe9", "\u202e", "é\n", strings.Repeat("\x00é", 900)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := Tail(b)
		if len(s) > maxTail || !utf8.ValidString(s) {
			t.Fatalf("%d bytes, valid %t", len(s), utf8.ValidString(s))
		}
		for _, r := range s {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				t.Fatalf("%q gets through", r)
			}
		}
	})
}

// FuzzSink splits a stream at arbitrary places: what is kept must not depend
// on it.
func FuzzSink(f *testing.F) {
	f.Add([]byte("one\ntwo\r\n\nthree"), 3)
	f.Add([]byte(strings.Repeat("x", 5000)+"\n"), 1000)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		size = max(1, min(size, len(stream)+1))
		var want [][]byte
		for line := range bytes.Lines(stream) {
			if text, complete := bytes.CutSuffix(line, []byte{'\n'}); complete {
				want = append(want, bytes.TrimSuffix(text[:min(len(text), maxLine)], []byte{'\r'}))
			}
		}
		var got [][]byte
		s := sink{left: 1 << 20, onLine: func(l []byte) { got = append(got, bytes.Clone(l)) },
			stop: func(error) {}}
		for rest := stream; len(rest) > 0; {
			n := min(size, len(rest))
			s.Write(rest[:n])
			rest = rest[n:]
		}
		if !bytes.Equal(bytes.Join(got, []byte{'|'}), bytes.Join(want, []byte{'|'})) || len(got) != len(want) {
			t.Fatalf("lines %q, want %q", got, want)
		}
		keep := min(len(stream), maxTail, 1<<20)
		if len(stream) <= 1<<20 && !bytes.HasSuffix(s.last, stream[len(stream)-keep:]) {
			t.Fatalf("tail of %d bytes is not the end of the stream", len(s.last))
		}
		if cap(s.last) > 4*maxTail || cap(s.line) > 2*maxLine {
			t.Fatalf("holds %d and %d bytes", cap(s.last), cap(s.line))
		}
	})
}
