package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// terminal is where progress and log lines meet: before anything else is
// written, the progress line is taken away.
type terminal struct {
	mu   sync.Mutex
	w    io.Writer
	open bool // a progress line is there
}

const barWidth = 30

// Write writes a log line.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	return t.w.Write(p)
}

// clear must be called with mu held.
func (t *terminal) clear() {
	if t.open {
		fmt.Fprintf(t.w, "\r%*s\r", barWidth+20, "")
		t.open = false
	}
}

// bar draws the progress line anew.
func (t *terminal) bar(step string, percent int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	full := percent * barWidth / 100
	fmt.Fprintf(t.w, "\r%-8s [%s%s] %3d %%", step, strings.Repeat("#", full), strings.Repeat(".", barWidth-full), percent)
	t.open = true
}

// progress shows how far a run is: one line that is rewritten on a terminal,
// a log line per step elsewhere.
type progress struct {
	terminal *terminal // nil without one
	log      *slog.Logger
	step     string
	last     int
}

func (a *app) newProgress() *progress { return &progress{terminal: a.terminal, log: a.log, last: -1} }

// show notes the step and the percent of the whole run.
func (p *progress) show(step string, percent float64) {
	if step == p.step && (p.terminal == nil || int(percent) == p.last) {
		return
	}
	p.step, p.last = step, int(percent)
	if p.terminal != nil {
		p.terminal.bar(step, p.last)
		return
	}
	p.log.Info("step", "step", step, "percent", p.last)
}

// end takes the line from the terminal.
func (p *progress) end() {
	if p.terminal != nil {
		p.terminal.mu.Lock()
		defer p.terminal.mu.Unlock()
		p.terminal.clear()
	}
}
