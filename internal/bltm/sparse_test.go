package bltm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
)

// CTPLT reads the records of the places that it is asked for and counts the
// others: the curve of a place is the same whichever others are asked for, and a
// record too much or too few is found wherever it is.
func TestSparsePlaces(t *testing.T) {
	in, con, _ := exampleFiles(t)
	cut := func(con []byte, places string) (string, error) {
		var out bytes.Buffer
		opened := 0
		err := CTPLT(parts(places), bytes.NewReader(in), opener(con, &opened), &out)
		return out.String(), err
	}
	h, _ := example()
	var all, joined strings.Builder
	for b, branch := range h.Branches {
		for g := range branch.Grids {
			place := fmt.Sprintf("%d %d\n", b+1, g+1)
			all.WriteString(place)
			one, err := cut(con, place)
			if err != nil {
				t.Fatal(err)
			}
			joined.WriteString(one)
		}
	}
	if whole, err := cut(con, all.String()); err != nil || whole != joined.String() {
		t.Errorf("all places at once give other curves than one by one: %v", err)
	}
	lines := slices.Collect(bytes.Lines(con))
	for n := range lines {
		fewer := bytes.Join(slices.Delete(slices.Clone(lines), n, n+1), nil)
		more := bytes.Join(slices.Insert(slices.Clone(lines), n, lines[n]), nil)
		for name, text := range map[string][]byte{"fewer": fewer, "more": more} {
			if _, err := cut(text, "2 1\n"); len(reason.Faults(err)) == 0 || reason.Faults(err)[0].File != conFile {
				t.Errorf("one record %s at line %d: %v", name, n+1, err)
			}
		}
	}
}
