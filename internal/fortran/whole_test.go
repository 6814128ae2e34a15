package fortran

import (
	"strings"
	"testing"

	"rsmsjob/internal/reason"
)

func TestWhole(t *testing.T) {
	for text, whole := range map[string]bool{"": true, "1 2\n": true, "1 2\r\n": true, "1 2\n\n": true, "1 2\n\x1a": true, "1 2": false, "1 2\n3.": false, "1 2\r": false} {
		lines, check := NewWhole(strings.NewReader(text), "PLUME.TIM")
		n := 0
		for lines.Next() {
			n++
		}
		err := check()
		if (err == nil) != whole || lines.Err() != nil {
			t.Errorf("%q: %v, %v", text, err, lines.Err())
		}
		if faults := reason.Faults(err); !whole && (len(faults) != 1 || faults[0].File != "PLUME.TIM" || faults[0].Line != n) {
			t.Errorf("%q: %v", text, faults)
		}
	}
	for line, mark := range map[string]bool{"": false, "\x1a": true, "\x1a\x1a": true, "1\x1a": false, " ": false} {
		if EndMark([]byte(line)) != mark {
			t.Errorf("%q", line)
		}
	}
}
