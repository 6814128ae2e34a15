package fortran_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"rsmsjob/internal/fortran"
)

func TestAppend(t *testing.T) {
	type call func([]byte) []byte
	e := func(v float64, w, d int) call { return func(b []byte) []byte { return fortran.AppendE(b, v, w, d) } }
	f := func(v float64, w, d int) call { return func(b []byte) []byte { return fortran.AppendF(b, v, w, d) } }
	g := func(v float64, w, d int) call { return func(b []byte) []byte { return fortran.AppendG(b, v, w, d) } }
	i := func(v, w int) call { return func(b []byte) []byte { return fortran.AppendInt(b, v, w) } }
	tests := []struct {
		name string
		do   call
		want string
	}{
		{"I3", i(7, 3), "  7"}, {"I3 full", i(-12, 3), "-12"}, {"I3 too wide", i(1000, 3), "***"},
		{"I3 negative too wide", i(-100, 3), "***"},
		{"E18.5", e(123.45, 18, 5), "       0.12345E+03"},
		{"E18.5 negative", e(-123.45, 18, 5), "      -0.12345E+03"},
		{"E18.5 zero", e(0, 18, 5), "       0.00000E+00"},
		{"E18.5 negative zero", e(math.Copysign(0, -1), 18, 5), "       0.00000E+00"},
		{"E18.5 small", e(1.2345e-5, 18, 5), "       0.12345E-04"},
		{"E18.5 rounds up", e(.999999, 18, 5), "       0.10000E+01"},
		{"E18.5 exponent of three digits", e(1.2345e-102, 18, 5), "       0.12345-101"},
		{"E18.5 exponent of three digits up", e(1e99, 18, 5), "       0.10000+100"},
		{"E18.5 exponent -99", e(1e-100, 18, 5), "       0.10000E-99"},
		{"E18.1", e(25, 18, 1), "           0.2E+02"},
		{"E11.5 just fits", e(123.45, 11, 5), "0.12345E+03"},
		{"E10.5 drops the zero", e(123.45, 10, 5), ".12345E+03"},
		{"E11.5 negative drops the zero", e(-123.45, 11, 5), "-.12345E+03"},
		{"E9.5 stars", e(123.45, 9, 5), "*********"},
		{"E NaN", e(math.NaN(), 12, 5), strings.Repeat("*", 12)},
		{"E Inf", e(math.Inf(-1), 12, 5), strings.Repeat("*", 12)},
		{"F10.3", f(.25, 10, 3), "     0.250"}, {"F5.2", f(1, 5, 2), " 1.00"},
		{"F4.2 drops no zero", f(.5, 4, 2), "0.50"}, {"F3.2 drops the zero", f(.5, 3, 2), ".50"},
		{"F5.2 stars", f(1234, 5, 2), "*****"}, {"F10.3 negative zero", f(-.0001, 10, 3), "     0.000"},
		{"F10.0", f(1000, 10, 0), "     1000."}, {"F NaN", f(math.NaN(), 3, 1), "***"},
		// As in the public FLOW.IN of example 3.
		{"G14.5", g(10.3, 14, 5), "    10.300    "}, {"G14.5 hundreds", g(131.2, 14, 5), "    131.20    "},
		{"G14.5 zero", g(0, 14, 5), "    0.0000    "}, {"G14.5 below one", g(.5, 14, 5), "   0.50000    "},
		{"G14.5 below .1", g(.05, 14, 5), "   0.50000E-01"}, {"G14.5 largest F", g(99999, 14, 5), "    99999.    "},
		{"G14.5 rounds into E", g(99999.6, 14, 5), "   0.10000E+06"},
		{"G14.5 rounds into F", g(.0999999, 14, 5), "   0.10000    "},
		{"G14.5 negative", g(-10.3, 14, 5), "   -10.300    "}, {"G9.1", g(7, 9, 1), "   7.    "},
	}
	for _, tt := range tests {
		if got := string(tt.do([]byte("x"))); got != "x"+tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got[1:], tt.want)
		}
	}
}

func TestAppendExp(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		v := math.Float64frombits(random.Uint64())
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if got, want := string(fortran.AppendExp(nil, v, 9)), fmt.Sprintf("%.9e", v); got != want {
			t.Fatalf("AppendExp(%v) = %q, want %q", v, got, want)
		}
	}
}

// What Ew.d writes is the nearest number with d digits, and reads back as it.
func TestWriteReadE(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		v := math.Float64frombits(random.Uint64())
		if math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) > 1e307 {
			continue
		}
		digits := 1 + random.IntN(17)
		text := fortran.AppendE(nil, v, 26, digits)
		got, err := fortran.ParseFloat(text)
		want, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
		if err != nil || got != want || len(text) != 26 {
			t.Fatalf("%v with %d digits: wrote %q, read %v, %v; want %v", v, digits, text, got, err, want)
		}
	}
}

// The quick way to digits must give the digits of strconv, above all next to
// halves and powers of ten.
func TestDigitsOfAppend(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 200000 {
		digits := random.IntN(13)
		v := math.Pow(10, float64(random.IntN(70)-35))
		switch i % 4 {
		case 0: // a power of ten and its neighbours
			for range random.IntN(4) {
				v = math.Nextafter(v, float64(i%8)*math.MaxFloat64-1)
			}
		case 1: // near half of the last digit
			v *= math.Trunc(random.Float64()*math.Pow(10, float64(digits+1))) + .5
		case 2:
			v *= random.Float64()
		case 3:
			v *= -random.Float64()
		}
		want := strconv.FormatFloat(v, 'e', digits, 64)
		if got := string(fortran.AppendExp(nil, v, digits)); got != want {
			t.Fatalf("AppendExp(%v, %d) = %q, want %q", v, digits, got, want)
		}
		text := fortran.AppendE(nil, v, 30, digits+1)
		got, err := fortran.ParseFloat(text)
		if number, _ := strconv.ParseFloat(want, 64); err != nil || got != number {
			t.Fatalf("AppendE(%v, %d) = %q, want %q", v, digits+1, text, want)
		}
	}
}

func BenchmarkAppendE(b *testing.B) {
	dst := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		dst = fortran.AppendE(dst[:0], 427.2345678, 18, 5)
	}
}

func BenchmarkAppendExp(b *testing.B) {
	dst := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		dst = fortran.AppendExp(dst[:0], 427.2345678, 9)
	}
}
