package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// span is a duration in its two largest units.
func span(d time.Duration) string {
	units := []struct {
		size time.Duration
		name string
	}{{365 * 24 * time.Hour, "y"}, {24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	d = d.Round(time.Second)
	for i, u := range units {
		if d < u.size && u.size > time.Second {
			continue
		}
		text := fmt.Sprintf("%d %s", d/u.size, u.name)
		if i+1 < len(units) && d%u.size >= units[i+1].size {
			text += fmt.Sprintf(" %d %s", d%u.size/units[i+1].size, units[i+1].name)
		}
		return text
	}
	return ""
}

// count is a number with a comma before every three digits.
func count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// plain prints rows under their head; all columns but those of words stand
// right.
func plain(w io.Writer, title string, rows [][]string) {
	fmt.Fprintf(w, "%s\n\n", title)
	widths := widths(rows)
	for _, row := range rows {
		var line strings.Builder
		for i, text := range row {
			if rows[0][i] == "design" {
				fmt.Fprintf(&line, "%-*s", widths[i], text)
			} else {
				fmt.Fprintf(&line, "%*s", widths[i], text)
			}
			line.WriteString("  ")
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

func widths(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], len(text))
		}
	}
	return widths
}

func markdown(w io.Writer, title string, rows [][]string) {
	fmt.Fprintf(w, "**%s**\n\n", title)
	for i, row := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i > 0 {
			continue
		}
		for _, head := range row {
			if head == "design" {
				fmt.Fprint(w, "|---")
			} else {
				fmt.Fprint(w, "|---:")
			}
		}
		fmt.Fprintln(w, "|")
	}
}
