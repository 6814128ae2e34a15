package bltm

import (
	"bytes"
	"io"
	"testing"

	"rsmsjob/internal/reason"
)

func fuzzReader(f *testing.F, text []byte, read func(string) error) {
	f.Add(string(text))
	f.Add(string(text[:len(text)/2]))
	f.Add("")
	f.Add("LOCATION 1 1 0 1\n0 0 1.5D-3 1.5-101\n")
	f.Fuzz(func(t *testing.T, s string) {
		if err := read(s); err != nil && len(reason.Faults(err)) == 0 {
			t.Errorf("an error without a fault: %v", err)
		}
	})
}

func FuzzTimes(f *testing.F)    { fuzzReader(f, exampleTimes(f), timesError) }
func FuzzProfiles(f *testing.F) { fuzzReader(f, exampleProfiles(f), profilesError) }

func FuzzReport(f *testing.F) {
	_, _, out := exampleFiles(f)
	fuzzReader(f, out, func(s string) error { _, err := ReadReport(parts(s), "BLTM.OUT"); return err })
}

func FuzzCXPLT(f *testing.F) {
	in, con, _ := exampleFiles(f)
	f.Add("0\n5\n", con)
	f.Add("0 5", con[:100])
	f.Fuzz(func(t *testing.T, times string, con []byte) {
		err := CXPLT(parts(times), bytes.NewReader(in), bytes.NewReader(con), io.Discard)
		if err != nil && len(reason.Faults(err)) == 0 {
			t.Errorf("an error without a fault: %v", err)
		}
	})
}

func FuzzCTPLT(f *testing.F) {
	in, con, _ := exampleFiles(f)
	f.Add("1 1\n3 2\n", con)
	f.Add("0 5", con[:100])
	f.Fuzz(func(t *testing.T, places string, con []byte) {
		n := 0
		err := CTPLT(parts(places), bytes.NewReader(in), opener(con, &n), io.Discard)
		if err != nil && len(reason.Faults(err)) == 0 {
			t.Errorf("an error without a fault: %v", err)
		}
	})
}

// FuzzRun: whatever the flow file says, the engine ends with a fault or with a
// ledger that closes.
func FuzzRun(f *testing.F) {
	h, changes := example()
	in := inputText(f, h, changes)
	flows := exampleFlows()
	f.Add(flows, false)
	f.Add(bytes.ReplaceAll(flows, []byte("0.60000E+02"), []byte("0.00000E+00")), false)
	f.Add(bytes.ReplaceAll(flows, []byte("0.70000E+02"), []byte("0.70000E-90")), true)
	f.Add(bytes.ReplaceAll(flows, []byte("0.60000E+02"), []byte("0.70000E-90")), false)
	f.Add(bytes.ReplaceAll(flows, []byte("0.40000E+02"), []byte("0.70000E+09")), false)
	f.Add(bytes.ReplaceAll(flows, []byte("0.30000E+02"), []byte("0.70000-308")), false)
	f.Add(bytes.ReplaceAll(flows, []byte(" 0.50000E+01"), []byte("-0.50000E+09")), false)
	f.Fuzz(func(t *testing.T, flows []byte, published bool) {
		ledgers, err := Run(bytes.NewReader(in), bytes.NewReader(flows), io.Discard, io.Discard, Options{Published: published})
		if err != nil {
			if len(reason.Faults(err)) == 0 {
				t.Errorf("an error without a fault: %v", err)
			}
			return
		}
		for _, l := range ledgers {
			if !(abs(l.Relative) <= 1e-9) {
				t.Errorf("ledger %+v", l)
			}
		}
	})
}
