package process

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxTail = 2 << 10
	maxLine = 4 << 10
)

// output is what is kept of both streams of a child.
type output struct{ stdout, stderr sink }

// openOutput creates the files of c. stop is called when a stream has more
// than it may or cannot be kept.
func openOutput(c *Command, stop context.CancelCauseFunc) (*output, error) {
	limit := cmp.Or(c.MaxOutput, defaultMaxOutput)
	o := &output{
		stdout: sink{left: limit, stop: stop, onLine: c.OnLine},
		stderr: sink{left: limit, stop: stop},
	}
	err := o.stdout.open(c.Dir, c.Stdout)
	if err == nil {
		err = o.stderr.open(c.Dir, c.Stderr)
	}
	if err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

// close closes the files and returns the first thing that went wrong with one.
func (o *output) close() error {
	return cmp.Or(o.stdout.close(), o.stderr.close())
}

// over reports whether a stream had more than is kept.
func (o *output) over() bool { return o.stdout.over || o.stderr.over }

// tail is the end of standard error, or of standard output where that is blank.
func (o *output) tail() string {
	if s := Tail(o.stderr.last); s != "" {
		return s
	}
	return Tail(o.stdout.last)
}

// sink takes one stream. It never refuses a write, so that a child that is
// being stopped does not die of a broken pipe first; it only stops keeping.
type sink struct {
	file   *os.File // nil: the tail only
	left   int64    // bytes that may still come
	last   []byte   // end of the stream, up to 2*maxTail
	onLine func([]byte)
	line   []byte // line that is not complete yet, up to maxLine
	stop   context.CancelCauseFunc
	over   bool // stop was called
	err    error
}

func (s *sink) open(dir, name string) error {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("create output file: %w", err)
	}
	s.file = f
	return nil
}

func (s *sink) close() error {
	if s.file == nil {
		return nil
	}
	if err := s.file.Close(); err != nil && s.err == nil {
		s.err = fmt.Errorf("close output file: %w", err)
	}
	return s.err
}

// Write keeps p as far as the limit allows and takes the rest for nothing.
func (s *sink) Write(p []byte) (int, error) {
	n := len(p)
	if s.over {
		return n, nil
	}
	if int64(n) > s.left {
		p = p[:s.left]
		s.over = true
		s.stop(errOutputLimit)
	}
	s.left -= int64(len(p))
	if s.file != nil {
		if _, err := s.file.Write(p); err != nil {
			s.err = fmt.Errorf("write output file: %w", err)
			s.over = true
			s.stop(errOutputWrite)
		}
	}
	s.keepTail(p)
	if s.onLine != nil {
		s.split(p)
	}
	return n, nil
}

func (s *sink) keepTail(p []byte) {
	if len(p) > maxTail {
		p = p[len(p)-maxTail:]
	}
	if len(s.last)+len(p) > 2*maxTail {
		s.last = append(s.last[:0], s.last[len(s.last)-maxTail:]...)
	}
	s.last = append(s.last, p...)
}

// split hands every line that p completes to onLine.
func (s *sink) split(p []byte) {
	for len(p) > 0 {
		part, rest, complete := bytes.Cut(p, []byte{'\n'})
		room := maxLine - len(s.line)
		s.line = append(s.line, part[:min(len(part), room)]...)
		if complete {
			s.onLine(bytes.TrimSuffix(s.line, []byte{'\r'}))
			s.line = s.line[:0]
		}
		p = rest
	}
}

// Tail returns the end of b, maxTail bytes at most, as text that can be
// shown anywhere: valid UTF-8, line feeds and tabs as they are, any other
// character without a picture escaped as in Go. Blanks around it are dropped.
func Tail(b []byte) string {
	var sb strings.Builder
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	for _, r := range strings.TrimSpace(text) {
		switch {
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			sb.WriteRune(r) // a byte that is no UTF-8 is U+FFFD here
		default:
			q := strconv.QuoteRuneToASCII(r)
			sb.WriteString(q[1 : len(q)-1])
		}
	}
	s := sb.String()
	if len(s) <= maxTail {
		return s
	}
	s = s[len(s)-maxTail:]
	for !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return strings.TrimSpace(s)
}
