package compare

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "A %s\nB %s\n%s\n", plain(r.A.Label), plain(r.B.Label), r.verdict())
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	for _, s := range r.sections() {
		fmt.Fprintf(&b, "\n%s", s.Title)
		if s.Note != "" {
			fmt.Fprintf(&b, ": %s", s.Note)
		}
		b.WriteByte('\n')
		if err := s.table(&b); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// widest is how many characters a column of the text has at most: a name of
// thousands would push all others out of sight. JSON and page have all of it.
const widest = 100

// plain is a text without what a terminal would obey, or take for another line.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// table writes aligned columns; no line ends in blanks.
func (s *section) table(w *bytes.Buffer) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	rows := s.Rows
	if len(s.Head) > 0 {
		rows = append([][]string{s.Head}, rows...)
	}
	for _, row := range rows {
		t.Write([]byte("  ")) // an error comes back from Flush
		for i, cell := range row {
			if i > 0 {
				t.Write([]byte("\t"))
			}
			t.Write([]byte(short(plain(cell), widest)))
		}
		t.Write([]byte("\n"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		w.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return nil
}
