//go:build unix

package pipeline

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"rsmsjob/internal/engine"
)

// C11: what stands in the place of a log of an engine, a pipe that nobody writes
// to, a folder, a link, does not hold the end of a run, and costs no other log.
func TestLogsThatAreNone(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		unix.Mkfifo(at("daflow.stdout"), 0o600),
		os.Mkdir(at("daflow.stderr"), 0o700),
		os.Symlink("/etc/passwd", at("bltm.stdout")),
		os.WriteFile(at("bltm.stderr"), []byte("river runs dry\n"), 0o600),
		os.WriteFile(at("cxplt.stdout"), bytes.Repeat([]byte("x"), maxLog+3), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	set := &engine.Set{}
	for _, name := range engine.Names() {
		set.Steps = append(set.Steps, engine.Step{Name: name})
	}
	const notKept = "[this log was not kept: it could not be read, or something else stood in its place]\n"
	want := map[string]string{"daflow.stdout": notKept, "daflow.stderr": notKept, "bltm.stdout": notKept, "bltm.stderr": "river runs dry\n",
		"ctplt.stdout": "", "ctplt.stderr": "", "cxplt.stdout": "[3 bytes left out]\n" + strings.Repeat("x", maxLog), "cxplt.stderr": ""}
	blobs := engineLogs(dir, "job-1", set)
	if len(blobs) != len(want) {
		t.Errorf("%d logs, want %d", len(blobs), len(want))
	}
	for _, b := range blobs {
		var text bytes.Buffer
		if err := b.Write(&text); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		name := strings.TrimPrefix(b.Name, "run/job-1/")
		if expected, ok := want[name]; !ok || text.String() != expected {
			t.Errorf("%s has %d bytes: %.80q", b.Name, text.Len(), text.String())
		}
	}
}
