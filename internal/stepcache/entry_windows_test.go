package stepcache

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/windows"
)

// A file that a virus scanner has open gets its name when that is done.
func TestFileInUse(t *testing.T) {
	u := &unpacking{dir: folder(t, map[string]string{taking + "0": "text"}), files: []listed{{Name: "A", Mode: 0o666}}}
	path, err := windows.UTF16PtrFromString(filepath.Join(u.dir.Name(), taking+"0"))
	if err != nil {
		t.Fatal(err)
	}
	open, err := windows.CreateFile(path, windows.GENERIC_READ, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { windows.CloseHandle(open) })
	began := time.Now()
	if sums, err := u.finish(t.Context()); err != nil || len(sums) != 1 {
		t.Errorf("%v, %v", sums, err)
	}
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("it was done in %v, before the file was free", took)
	}
}
