package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// progress shows how far a run is: one line that is rewritten on a terminal,
// a log line per step elsewhere.
type progress struct {
	w    io.Writer // nil without a terminal
	log  *slog.Logger
	step string
	last int
	open bool // a line is on the terminal
}

func (a *app) newProgress() *progress {
	p := &progress{log: a.log, last: -1}
	if isTerminal(a.stderr) {
		p.w = a.stderr
	}
	return p
}

const barWidth = 30

// show notes the step and the percent of the whole run.
func (p *progress) show(step string, percent float64) {
	if p.w == nil {
		if step != p.step {
			p.log.Info("step", "step", step, "percent", int(percent))
		}
		p.step = step
		return
	}
	if step == p.step && int(percent) == p.last {
		return
	}
	p.step, p.last, p.open = step, int(percent), true
	full := int(percent) * barWidth / 100
	fmt.Fprintf(p.w, "\r%-8s [%s%s] %3d %%", step, strings.Repeat("#", full), strings.Repeat(".", barWidth-full), int(percent))
}

// end takes the line from the terminal.
func (p *progress) end() {
	if p.open {
		fmt.Fprintf(p.w, "\r%*s\r", barWidth+20, "")
		p.open = false
	}
}
