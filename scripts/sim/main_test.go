package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/scalesim"
)

func sim(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, bad bytes.Buffer
	err = run(args, &out, &bad)
	return out.String(), bad.String(), err
}

// The designs stand below each other in columns of one width.
func TestOwnBurst(t *testing.T) {
	out, bad, err := sim(t, "-messages", "200", "-run", "2m", "-max", "20")
	if err != nil || bad != "" {
		t.Fatalf("%v\n%s", err, bad)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if want := 3 + len(scalesim.Designs()); len(lines) != want {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), want, out)
	}
	for _, line := range lines[2:] {
		if len(line) != len(lines[2]) {
			t.Errorf("a line of %d characters under a head of %d:\n%s", len(line), len(lines[2]), out)
		}
	}
	if !strings.HasPrefix(lines[3], "as it is") || !strings.Contains(lines[3], " 200 ") {
		t.Errorf("first row %q", lines[3])
	}
	again, _, err := sim(t, "-messages", "200", "-run", "2m", "-max", "20")
	if err != nil || again != out {
		t.Error("the same flags print something else")
	}
}

func TestMarkdown(t *testing.T) {
	out, _, err := sim(t, "-markdown", "-messages", "20", "-run", "1m")
	if err != nil {
		t.Fatal(err)
	}
	columns := 0
	for line := range strings.SplitSeq(out, "\n") {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		if n := strings.Count(line, "|"); columns == 0 {
			columns = n
		} else if n != columns {
			t.Errorf("%d bars, want %d: %s", n, columns, line)
		}
	}
	if columns == 0 || !strings.Contains(out, "|---:|") {
		t.Errorf("no table:\n%s", out)
	}
}

func TestHelp(t *testing.T) {
	out, bad, err := sim(t, "-h")
	if err != nil || bad != "" {
		t.Fatalf("%v\n%s", err, bad)
	}
	for _, d := range scalesim.Designs() {
		if !strings.Contains(out, d.About) {
			t.Errorf("no word of %s", d.Name)
		}
	}
	for _, c := range columns(waits[:1], outcome, requests) {
		if !strings.Contains(out, "  "+c.head+" ") && c.head != "executions" {
			t.Errorf("no word of the column %q", c.head)
		}
	}
	for _, flag := range []string{"-markdown", "-full", "-seed", "-messages", "-every", "-run", "-max", "-poll", "-cpu", "-memory", "-crash", "-fail", "-hopeless"} {
		if !strings.Contains(out, "  "+flag) {
			t.Errorf("no word of %s", flag)
		}
	}
}

func TestBadFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"-nonsense"}, "nonsense"},
		{[]string{"burst"}, `"burst"`},
		{[]string{"-max", "5"}, "-messages"},
		{[]string{"-messages", "-3"}, "-3 messages"},
		{[]string{"-messages", "3", "-max", "0"}, "max 0"},
		{[]string{"-messages", "3", "-crash", "2"}, "2"},
	} {
		if out, bad, err := sim(t, c.args...); err == nil || out != "" || !strings.Contains(bad, c.says) {
			t.Errorf("%q: error %v, printed %q, said %q", c.args, err, out, bad)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 400 * time.Millisecond: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min",
		61 * time.Second: "1 min 1 s", time.Hour + 59*time.Second: "1 h", 25 * time.Hour: "1 d 1 h",
		400 * 24 * time.Hour: "1 y 35 d", 3599*time.Second + 600*time.Millisecond: "1 h",
	} {
		if got := span(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// The tables of the README name each design at the sizes that are asked for.
func TestStandardTables(t *testing.T) {
	for _, full := range []bool{false, true} {
		tables := standard(options{full: full, scenario: scalesim.Deployed()})
		want := []int{18, 2 * len(scalesim.Designs()), len(scalesim.Designs())}
		if full {
			want[1] = 18 * len(scalesim.Designs())
		}
		for i, table := range tables {
			if len(table.cases) != want[i] {
				t.Errorf("full %v: %q has %d rows, want %d", full, table.title, len(table.cases), want[i])
			}
		}
	}
}
