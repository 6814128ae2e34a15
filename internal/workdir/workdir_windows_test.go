package workdir

import (
	"os"
	"path/filepath"
	"testing"
)

// H17: a file that is still open keeps the folder; Remove tries for a while and
// says so, and the next run sweeps what is left.
func TestOpenFileKeepsTheFolder(t *testing.T) {
	parent := t.TempDir()
	f, err := Make(parent)
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.Create(filepath.Join(f.Path, "BLTM.CON"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(); err == nil {
		t.Error("removed under an open file")
	}
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	if swept := Sweep(parent); len(swept) != 1 {
		t.Errorf("swept %v", swept)
	}
}
