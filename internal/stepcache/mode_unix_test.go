//go:build unix

package stepcache

import (
	"io/fs"
	"strings"
	"testing"
)

// Files may do after they are taken what they might before: an engine may leave a
// program for a later step. What has the rights of its owner is not kept.
func TestModes(t *testing.T) {
	c, log := newCache(newShelf(), Options{})
	modes := map[string]fs.FileMode{"tool": 0o755, "table": 0o444, "text": 0o640}
	dir := folder(t, map[string]string{"tool": "#!/bin/sh\n", "table": "1\n", "text": "2\n"})
	for name, mode := range modes {
		if err := dir.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	c.Keep(t.Context(), key("a"), dir, look(t, dir))
	to := folder(t, nil)
	if sums, done := c.Take(t.Context(), key("a"), to); len(sums) != 3 {
		t.Errorf("%v\n%s", sums, log)
	} else {
		done()
	}
	for name, info := range look(t, to) {
		if info.Mode() != modes[name] {
			t.Errorf("%s has the mode %v, had %v", name, info.Mode(), modes[name])
		}
	}
	if err := dir.Chmod("tool", 0o755|fs.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	c.Keep(t.Context(), key("b"), dir, look(t, dir))
	if files, _ := taken(t, c, key("b")); len(files) > 0 || !strings.Contains(log.String(), "runs with the rights of its owner") {
		t.Errorf("%d files\n%s", len(files), log)
	}
}
