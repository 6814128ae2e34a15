package engine

import "testing"

// What is certainly no program of this machine is found before a message is
// taken for it; what only the system can know is left to it.
func TestForeign(t *testing.T) {
	elf := func(machine byte) []byte {
		head := make([]byte, 64)
		copy(head, "\x7fELF\x02\x01\x01")
		head[18] = machine
		return head
	}
	for name, tt := range map[string]struct {
		head []byte
		want bool
	}{
		"empty":                {nil, true},
		"text":                 {[]byte("echo hello\n"), true},
		"Windows":              {append([]byte("MZ"), make([]byte, 62)...), true},
		"script":               {[]byte("#!/bin/sh\n"), false},
		"of an IBM mainframe":  {elf(22), true},
		"something in between": {[]byte{1, 2, 0, 3}, false},
	} {
		if got := foreign(tt.head); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
