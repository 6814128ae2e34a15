package river

import (
	"math"
	"strings"
	"testing"
)

func TestUnits(t *testing.T) {
	tests := []struct {
		units                                    Units
		metresPerDistance, litresPerVolume, mile float64
	}{
		{Metric, 1000, 1000, 1.609344},
		{English, 1609.344, 28.316846592, 1}, // NIST SP 811: 1 ft3 = 28.316846592 L
	}
	for _, tt := range tests {
		if got := tt.units.LengthPerDistance() * tt.units.MetresPerLength(); math.Abs(got-tt.metresPerDistance) > 1e-9 {
			t.Errorf("units %d: a distance unit of %v m", tt.units, got)
		}
		if got := tt.units.LitresPerVolume(); math.Abs(got-tt.litresPerVolume) > 1e-9 {
			t.Errorf("units %d: a volume unit of %v L", tt.units, got)
		}
		if got := KilometresPerMile * 1000 / (tt.units.LengthPerDistance() * tt.units.MetresPerLength()); math.Abs(got-tt.mile) > 1e-12 {
			t.Errorf("units %d: a mile of %v", tt.units, got)
		}
	}
}

func TestInterior(t *testing.T) {
	n := Network{InteriorJunctions: 2}
	for junction, want := range []bool{false, true, true, false} {
		if n.Interior(junction) != want {
			t.Errorf("junction %d: %v", junction, !want)
		}
	}
}

func TestWarningString(t *testing.T) {
	tests := []struct {
		w    Warning
		want string
	}{
		{Warning{"F", 3, "x"}, "F line 3: x"},
		{Warning{"F", 0, "x"}, "F: x"},
		{Warning{"", 3, "x"}, "line 3: x"},
		{Warning{"", 0, "x"}, "x"},
	}
	for _, tt := range tests {
		if got := tt.w.String(); got != tt.want {
			t.Errorf("%+v: %q", tt.w, got)
		}
	}
	if got, want := quoted(strings.Repeat("é", 41)), `"`+strings.Repeat("é", 40)+`…"`; got != want {
		t.Errorf("quoted: %s", got)
	}
	if got := quoted("a\n\x00"); got != `"a\n\x00"` {
		t.Errorf("quoted: %s", got)
	}
}
