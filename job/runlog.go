package main

import (
	"bytes"
	"fmt"
	"sync"
)

const (
	runLogHead = 256 << 10 // bytes kept from the beginning of a run
	runLogTail = 1 << 20   // bytes kept from its end
)

// runLog keeps the lines that were logged since the run began, for the store.
// Of a very long log it keeps the beginning and the end.
type runLog struct {
	mu         sync.Mutex
	head, tail []byte
	dropped    int
}

// Write adds one line.
func (l *runLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tail) == 0 && l.dropped == 0 && len(l.head)+len(line) <= runLogHead {
		l.head = append(l.head, line...)
		return len(line), nil
	}
	l.tail = append(l.tail, line...)
	for len(l.tail) > runLogTail {
		end := bytes.IndexByte(l.tail, '\n') + 1
		if end == 0 {
			end = len(l.tail)
		}
		l.tail = l.tail[end:]
		l.dropped++
	}
	return len(line), nil
}

// begin forgets what earlier runs of the process logged.
func (l *runLog) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head, l.tail, l.dropped = nil, nil, 0
}

// text returns what was logged.
func (l *runLog) text() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := bytes.Clone(l.head)
	if l.dropped > 0 {
		out = fmt.Appendf(out, `{"msg":"%d lines left out"}`+"\n", l.dropped)
	}
	return append(out, l.tail...)
}
