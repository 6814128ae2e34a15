package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"rsmsjob/internal/scalesim"
)

// The tables of the README are what is printed, column by column. The rows of a
// million messages take too long to be played here.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	o := options{scenario: scalesim.Deployed()}
	o.scenario.Seed, o.scenario.Crash, o.scenario.Fail, o.scenario.Hopeless = 3, 0.01, 0.02, 0.005
	var printed []map[string]string
	for _, table := range standard(o) {
		table.cases = slices.DeleteFunc(table.cases, func(p played) bool { return p.scenario.Messages > 1000 })
		rows, err := table.play()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			printed = append(printed, named(rows[0], row))
		}
	}
	var head []string
	found := 0
	for line := range strings.Lines(string(text)) {
		cells := cells(line)
		switch {
		case len(cells) == 0:
			head = nil
		case slices.Contains(cells, "USD/1,000 runs"):
			head = cells
		case head == nil || strings.HasPrefix(cells[0], "---") || cells[0] == "1,000,000":
		default:
			found++
			row := named(head, cells)
			if !slices.ContainsFunc(printed, func(p map[string]string) bool { return within(row, p) }) {
				t.Errorf("the README says %v, which is not printed", row)
			}
		}
	}
	if found < 10 {
		t.Errorf("%d rows found in the README", found)
	}
}

// cells are those of a row of a Markdown table, none for another line.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	list := strings.Split(strings.Trim(line, "|"), "|")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func named(head, row []string) map[string]string {
	all := map[string]string{}
	for i := range head {
		all[head[i]] = row[i]
	}
	return all
}

// within reports whether all of a stands in b.
func within(a, b map[string]string) bool {
	for name, value := range a {
		if b[name] != value {
			return false
		}
	}
	return true
}
