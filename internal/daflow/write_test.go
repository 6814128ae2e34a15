package daflow_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"rsmsjob/internal/daflow"
)

// equal compares two inputs without their lines, and nil as an empty list.
func equal(a, b *daflow.Input) bool {
	plain := func(in *daflow.Input) daflow.Input {
		c := *in
		c.Network.Branches = nil
		for _, b := range in.Network.Branches {
			b.Line = 0
			grids := b.Grids
			b.Grids = nil
			for _, g := range grids {
				g.Line = 0
				b.Grids = append(b.Grids, g)
			}
			c.Network.Branches = append(c.Network.Branches, b)
		}
		c.Boundaries = nil
		for _, changes := range in.Boundaries {
			var all []daflow.Change
			for _, v := range changes {
				v.Line = 0
				all = append(all, v)
			}
			c.Boundaries = append(c.Boundaries, all)
		}
		return c
	}
	return reflect.DeepEqual(plain(a), plain(b))
}

func writeInput(t testing.TB, in *daflow.Input) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := daflow.WriteInput(&out, in); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The columns of numbers are those of the public file.
func TestWriteKeepsPublicColumns(t *testing.T) {
	want, err := os.ReadFile("testdata/example3.FLOW.IN")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(writeInput(t, readExample3(t))), "\n")
	public := strings.Split(string(want), "\n")
	if len(got) != len(public) {
		t.Fatalf("%d lines, want %d", len(got), len(public))
	}
	cut := func(s string, n int) string { return s[:min(len(s), n)] }
	for i := range got {
		g, p := got[i], public[i]
		switch {
		case i == 0:
			p = strings.TrimRight(p, " ")
		case i < 9:
			g, p = cut(g, 30)[20:], cut(p, 30)[20:]
			// 0.250 and 1000.000 may have more decimals than there.
			g, p = strings.TrimRight(strings.TrimSpace(g), "0"), strings.TrimRight(strings.TrimSpace(p), "0")
		case strings.HasPrefix(p, "for"):
			g, p = cut(g, 21), cut(p, 21)
		case strings.Contains(p, "Q=        0.     "): // an older way to write 0
			g, p = cut(g, 24), cut(p, 24)
		case strings.HasPrefix(p, " Branch"), strings.HasPrefix(p, "Branch"), strings.HasPrefix(p, "Grd"):
		default: // list-directed
			continue
		}
		if g != p {
			t.Errorf("line %d: %q, want %q", i+1, got[i], public[i])
		}
	}
}

func TestReadOfWriteIsIdentity(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		in := randomInput(random)
		text := writeInput(t, in)
		again, err := daflow.ReadInput(bytes.NewReader(text), "FLOW.IN")
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		// What columns cannot hold is rounded once.
		second := writeInput(t, again)
		if !bytes.Equal(text, second) {
			a, b := strings.Split(string(text), "\n"), strings.Split(string(second), "\n")
			for i := range a {
				if a[i] != b[i] {
					t.Fatalf("written again it differs: %q, %q", a[i], b[i])
				}
			}
		}
		third, err := daflow.ReadInput(bytes.NewReader(second), "FLOW.IN")
		if err != nil || !equal(again, third) {
			t.Fatalf("read again it differs: %v", err)
		}
		for b := range in.Network.Branches {
			for g := range in.Network.Branches[b].Grids {
				p, q := in.Network.Branches[b].Grids[g], again.Network.Branches[b].Grids[g]
				q.Line = 0
				if p != q {
					t.Fatalf("branch %d grid %d: %+v, want %+v", b+1, g+1, q, p)
				}
			}
		}
		for k := range in.Boundaries {
			for i, c := range in.Boundaries[k] {
				d := again.Boundaries[k][i]
				if d.Branch != c.Branch || d.Grid != c.Grid || math.Abs(d.Flow-c.Flow) > 1e-9*math.Abs(c.Flow) {
					t.Fatalf("step %d: %+v, want %+v", k+1, d, c)
				}
			}
		}
	}
}

// What fits G14.5 has the text of G14.5; what does not has more digits.
func TestWriteFlowDigits(t *testing.T) {
	in := single(1, reachOf(1, 2, 2, 1, 1, channel))
	in.StepHours = 1. / 12
	for _, tt := range []struct {
		flow float64
		want string
	}{
		{10.3, "Q=    10.300     *"}, {0, "Q=    0.0000     *"}, {123.456, "Q=       123.456 *"},
		{1. / 3, "Q=.3333333333333 *"}, {1234567.5, "Q=     1234567.5 *"}, {1e-9 / 3, "Q=3.33333333E-10 *"},
		{1e7, "Q=   0.10000E+08 *"},
	} {
		in.Boundaries[0] = []daflow.Change{{Branch: 1, Grid: 1, Flow: tt.flow}}
		text := string(writeInput(t, in))
		if !strings.Contains(text, tt.want) {
			t.Errorf("%v: no %q in %s", tt.flow, tt.want, text[strings.LastIndex(text, "Q="):])
		}
	}
	if text := string(writeInput(t, in)); !strings.Contains(text, "Time Step Size   .083333333 Hours.") {
		t.Errorf("step of five minutes: %s", text)
	}
}

// Numbers beyond three digits grow to the left and read back.
func TestLargeNumbersInNarrowColumns(t *testing.T) {
	in := &daflow.Input{Steps: 1, PrintEvery: 1, StepHours: 1, Peak: 100, Boundaries: make([][]daflow.Change, 1)}
	const n = 1200
	in.Network.InteriorJunctions = n - 1
	for i := range n {
		grids := 2
		if i == n-1 {
			grids = 10001
		}
		up, down := i, i+1
		if i == 0 {
			up = 99999
		}
		if i == n-1 {
			down = 12345
		}
		in.Network.Branches = append(in.Network.Branches, reachOf(up, down, grids, .5, 1, channel))
	}
	for g := 2; g <= 10000; g++ {
		at(in, 1, n, g, 0.5)
	}
	text := writeInput(t, in)
	for _, want := range []string{"Bran 1200  10001 xsects & routes 1.00 of flow at JN 1199 To J 12345\n",
		"Branch  1 has  2 xsects & routes 1.00 of flow at J 99999 To JNCT  1\n",
		"for Time    1 NB 9999  *\n", " Branch  1200 Gr 9999 Q=   0.50000     *\n"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("no %q", want)
		}
	}
	again, err := daflow.ReadInput(bytes.NewReader(text), "FLOW.IN")
	if err != nil {
		t.Fatal(err)
	}
	if !equal(in, again) {
		t.Error("reads back differently")
	}
}
