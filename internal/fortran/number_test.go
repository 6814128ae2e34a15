package fortran_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"rsmsjob/internal/fortran"
	"rsmsjob/internal/reason"
)

// H09: numbers as Fortran programs write them.
func TestParseFloatH09(t *testing.T) {
	tests := []struct {
		field string
		want  float64
	}{
		{"", 0}, {"      ", 0}, {"\t", 0},
		{"1.5", 1.5}, {"  1.5", 1.5}, {"1.5  ", 1.5}, {"+3", 3}, {"-3", -3}, {"-0.0", 0},
		{".5", .5}, {"5.", 5}, {"-.5", -.5}, {"1000", 1000},
		{"1e5", 1e5}, {"1E+05", 1e5}, {"1.5D-03", 1.5e-3}, {"1.5d3", 1.5e3}, {"2.q2", 200},
		{"0.38687557-107", 0.38687557e-107}, {".339567+2", 33.9567}, {"1-3", 1e-3},
		{".196937E-02", .196937e-2}, {"0.848E-03", .848e-3},
		{"123456789012345678901234567890", 123456789012345678901234567890},
		{"0.1000000000000000055511151231257827", .1},
		{"9007199254740993", 9007199254740992}, {"1.7976931348623157E308", math.MaxFloat64},
		{"1e-400", 0}, {"0e999999999", 0}, {"4.9e-324", 4.9e-324},
		{"000000000000000000000000000001.5", 1.5},
	}
	for _, tt := range tests {
		got, err := fortran.ParseFloat([]byte(tt.field))
		if err != nil || got != tt.want {
			t.Errorf("ParseFloat(%q) = %v, %v; want %v", tt.field, got, err, tt.want)
		}
	}
}

func TestParseInt(t *testing.T) {
	tests := []struct {
		field string
		want  int
	}{
		{"", 0}, {"   ", 0}, {"  7", 7}, {"7  ", 7}, {"+7", 7}, {"-12", -12}, {"007", 7},
		{"9223372036854775807", math.MaxInt},
	}
	for _, tt := range tests {
		got, err := fortran.ParseInt([]byte(tt.field))
		if err != nil || got != tt.want {
			t.Errorf("ParseInt(%q) = %v, %v; want %v", tt.field, got, err, tt.want)
		}
	}
}

// H10: what is no number is a fault, never 0.
func TestNotANumberH10(t *testing.T) {
	parseFloat := func(s string) error { _, err := fortran.ParseFloat([]byte(s)); return err }
	parseInt := func(s string) error { _, err := fortran.ParseInt([]byte(s)); return err }
	tests := []struct {
		parse func(string) error
		field string
		want  string
	}{
		{parseFloat, "*****", "the number did not fit its columns when it was written"},
		{parseFloat, " ** ", "the number did not fit its columns when it was written"},
		{parseFloat, "NaN", "not a finite number"},
		{parseFloat, "-Infinity", "not a finite number"},
		{parseFloat, "1 5", "a blank inside a number"},
		{parseFloat, "1.5 E3", "a blank inside a number"},
		{parseFloat, "1e400", "number out of range"},
		{parseFloat, "1+999999999999999999999", "number out of range"},
		{parseFloat, "Ice", "not a number"},
		{parseFloat, ".", "not a number"},
		{parseFloat, "-", "not a number"},
		{parseFloat, "1.2.3", "not a number"},
		{parseFloat, "1e", "not a number"},
		{parseFloat, "1e+", "not a number"},
		{parseFloat, "1.5-", "not a number"},
		{parseFloat, "0x10", "not a number"},
		{parseFloat, "1_0", "not a number"},
		{parseFloat, "1,5", "not a number"},
		{parseInt, "***", "the number did not fit its columns when it was written"},
		{parseInt, "1 2", "a blank inside a number"},
		{parseInt, "1.5", "not a whole number"},
		{parseInt, "12a", "not a whole number"},
		{parseInt, "-", "not a whole number"},
		{parseInt, "--1", "not a whole number"},
		{parseInt, "nan", "not a finite number"},
		{parseInt, "9223372036854775808", "number out of range"},
	}
	for _, tt := range tests {
		err := tt.parse(tt.field)
		fault, ok := errors.AsType[*reason.Fault](err)
		if !ok {
			t.Errorf("%q: error %v is no fault", tt.field, err)
			continue
		}
		if fault.Problem != tt.want || fault.Text != strings.TrimSpace(tt.field) {
			t.Errorf("%q: problem %q, text %q; want %q", tt.field, fault.Problem, fault.Text, tt.want)
		}
	}
}

func FuzzParseFloat(f *testing.F) {
	for _, s := range []string{"1.5", "1.5D-3", "1.5-101", "*****", " 1 ", "NaN", "1e400", "..", "12345678901234567890.5e-3"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, field []byte) {
		got, err := fortran.ParseFloat(field)
		if err != nil {
			if len(reason.Faults(err)) != 1 {
				t.Fatalf("%q: %v", field, err)
			}
			return
		}
		if math.IsNaN(got) || math.IsInf(got, 0) {
			t.Fatalf("ParseFloat(%q) = %v", field, got)
		}
		// Where Go knows the form as well, both must agree to the last bit.
		s := strings.Trim(string(field), " \t")
		if want, err := strconv.ParseFloat(s, 64); err == nil && want != got {
			t.Fatalf("ParseFloat(%q) = %v, want %v", field, got, want)
		}
	})
}

func FuzzParseInt(f *testing.F) {
	for _, s := range []string{"1", " -7 ", "***", "1 2", "99999999999999999999"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, field []byte) {
		got, err := fortran.ParseInt(field)
		s := strings.Trim(string(field), " \t")
		want, wantErr := strconv.Atoi(s)
		switch {
		case s == "":
			if got != 0 || err != nil {
				t.Fatalf("blank field %q = %v, %v", field, got, err)
			}
		case wantErr == nil && (err != nil || got != want):
			t.Fatalf("ParseInt(%q) = %v, %v; want %v", field, got, err, want)
		case wantErr != nil && err == nil && got != math.MinInt:
			t.Fatalf("ParseInt(%q) = %v, want an error", field, got)
		}
	})
}

func BenchmarkParseFloat(b *testing.B) {
	field := []byte("       0.42723E+03")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := fortran.ParseFloat(field); err != nil {
			b.Fatal(err)
		}
	}
}
