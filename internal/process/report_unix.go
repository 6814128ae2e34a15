//go:build unix

package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ending is how a child ended, as the supervisor reports it.
type ending struct {
	StartError   string // set when it never ran
	StartKind    int    // index into startKinds, -1 for none
	Code         int
	Signal       syscall.Signal
	MaxRSS       int64 // bytes
	User, System time.Duration
}

func endOf(state *os.ProcessState) ending {
	end := ending{Code: state.ExitCode(), User: state.UserTime(), System: state.SystemTime()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.Signal = status.Signal()
	}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		end.MaxRSS = int64(usage.Maxrss) * rssUnit
	}
	return end
}

// A supervisor says two things, a line each: the number of the child's group,
// 0 for a child that could not be started, as soon as it knows; and the ending,
// when what was left of the group is killed.

func tellGroup(to io.Writer, id int) error {
	_, err := fmt.Fprintln(to, id)
	return err
}

func tellEnding(to io.Writer, end ending) error { return json.NewEncoder(to).Encode(end) }

// hearing is what a supervisor has said so far.
type hearing struct {
	mu    sync.Mutex
	pipe  *os.File
	lines *bufio.Reader
	child int     // group of the child
	last  *ending // nil until it was said
}

const (
	maxReport = 64 << 10
	// hearDelay bounds the wait for what was said before: it is in the pipe.
	hearDelay = 100 * time.Millisecond
)

func (h *hearing) open(pipe *os.File) {
	h.pipe, h.lines = pipe, bufio.NewReader(io.LimitReader(pipe, maxReport))
}

// unkilled is the child's group where the supervisor has not said that it is
// killed, otherwise 0.
func (h *hearing) unkilled() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.hear(hearDelay) // what is not known cannot be killed
	if h.last != nil {
		return 0
	}
	return h.child
}

// end is the ending of the child.
func (h *hearing) end() (ending, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.hear(waitDelay); err != nil {
		return ending{}, err
	}
	return *h.last, nil
}

// hear hears the supervisor out, or as far as it speaks in time.
func (h *hearing) hear(within time.Duration) error {
	if h.last != nil {
		return nil
	}
	if err := h.pipe.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	for h.last == nil {
		// A line is written in one piece, and so is never read in part.
		line, err := h.lines.ReadString('\n')
		if err != nil {
			return err
		}
		if id, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			h.child = id
			continue
		}
		var end ending
		if err := json.Unmarshal([]byte(line), &end); err != nil {
			return err
		}
		h.last = &end
	}
	return nil
}
