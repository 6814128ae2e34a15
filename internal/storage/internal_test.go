package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"rsmsjob/internal/reason"
)

func TestFailureReasons(t *testing.T) {
	full := syscall.ENOSPC
	if runtime.GOOS == "windows" {
		full = syscall.Errno(112) // ERROR_DISK_FULL
	}
	tests := []struct {
		name   string
		err    error
		code   reason.Code
		detail string
	}{
		{"full", &fs.PathError{Op: "write", Path: "x", Err: full}, reason.StorageUnavailable, "no space left in the store to write a/b"},
		{"denied", &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, reason.StorageDenied, "no right to write a/b in the store"},
		{"I/O", &fs.PathError{Op: "read", Path: "x", Err: syscall.EIO}, reason.StorageUnavailable, "cannot write a/b in the store"},
		{"gone", fs.ErrNotExist, reason.StorageUnavailable, "cannot write a/b in the store"},
		{"closed", fs.ErrClosed, reason.StorageUnavailable, "cannot write a/b in the store"},
		{"escape", &fs.PathError{Op: "openat", Path: "x", Err: errors.New("path escapes from parent")}, reason.StorageDenied, "a/b leads out of the store"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := writeFailure("a/b", test.err)
			if reason.Of(err) != test.code || reason.Detail(err) != test.detail || !errors.Is(err, test.err) {
				t.Errorf("got %s, %q, want %s, %q", reason.Of(err), reason.Detail(err), test.code, test.detail)
			}
			if again := writeFailure("c", err); again != err {
				t.Errorf("a reason is given twice: %v", again)
			}
		})
	}
	if writeFailure("x", nil) != nil {
		t.Error("no error has a reason")
	}
	if err := readFailure("x", fs.ErrNotExist); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

// FuzzName: a name that is accepted is a path below any folder, on any system.
func FuzzName(f *testing.F) {
	for _, s := range []string{"result.json", "run/job-1/.job_id", "..", "a/../b", "CON", "nul.x", "x.", `a\b`, "a:b", "/x", ".tmp-a-b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkName(name) == nil {
			if !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\:*?\"<>|%'# \x00") {
				t.Fatalf("%q is accepted", name)
			}
			for part := range strings.SplitSeq(name, "/") {
				if part == "." || part == ".." || strings.HasSuffix(part, ".") || strings.HasPrefix(part, tempPrefix) {
					t.Fatalf("%q is accepted", name)
				}
			}
		}
		if checkID("x", name) == nil && (checkName(name+".json") != nil || strings.Contains(name, "/")) {
			t.Fatalf("id %q is accepted and %q is no name", name, name+".json")
		}
	})
}

// FuzzDocument: what is merged is there, everything else is as it was.
func FuzzDocument(f *testing.F) {
	for _, s := range []string{"{}", " { } ", `{"a":1}`, "{\n  \"a\": 1.50,\n  \"b\": {\"Status\": [1, 2]}\n}\n", `{"a" : 1 , "b":"x\"}" }`,
		"\ufeff{\"Status\":1}", `{"\u0053tatus":null}`, `{"a":1,"a":2}`, "[]", "null", "", `{"a":-0.0e+1   ,"b":tRue}`} {
		f.Add([]byte(s), "Running")
	}
	f.Fuzz(func(t *testing.T, text []byte, status string) {
		doc, err := parseDocument(text)
		if err != nil {
			if len(reason.Faults(err)) != 1 {
				t.Fatalf("%v is no fault", err)
			}
			return
		}
		if !json.Valid(bytes.TrimPrefix(text, []byte(byteOrderMark))) {
			t.Fatalf("%q is accepted", text)
		}
		before, err := doc.columns()
		if err != nil {
			t.Fatal(err)
		}
		values, err := encodeColumns(map[string]any{"Status": status, "Attempt": 3})
		if err != nil {
			return
		}
		merged, err := parseDocument(doc.merge(values))
		if err != nil {
			t.Fatalf("merged text %q: %v", doc.merge(values), err)
		}
		after, err := merged.columns()
		if err != nil || after["Status"] != status || after["Attempt"] != json.Number("3") {
			t.Fatalf("merged columns %v, %v", after, err)
		}
		raw := map[string]string{}
		for _, m := range merged.members {
			raw[m.name] = string(merged.source[m.value:m.past])
		}
		next := 0 // old members come first, in their order
		for _, m := range doc.members {
			if merged.members[next].name != m.name {
				t.Fatalf("member %d is %q, was %q", next, merged.members[next].name, m.name)
			}
			next++
			if m.name != "Status" && m.name != "Attempt" && raw[m.name] != string(text[m.value:m.past]) {
				t.Fatalf("%q is now %s, was %s", m.name, raw[m.name], text[m.value:m.past])
			}
		}
		before["Status"], before["Attempt"] = 0, 0
		if len(after) != len(before) {
			t.Fatalf("%d columns, want %d", len(after), len(before))
		}
		if again := merged.merge(values); !bytes.Equal(again, merged.source) {
			t.Fatalf("a second merge gives %q, the first %q", again, merged.source)
		}
	})
}

// FuzzReadPlume: rows that are read can be written, and say the same again.
func FuzzReadPlume(f *testing.F) {
	for _, name := range []string{"plume_by_time.csv", "plume_by_mile.csv"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(strings.Join(plumeColumns(), ",") + "\np,k,Ohio,1e2,1,2,2026-01-02T04:00:00.5+01:00,-0,1e-3,job\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for e, err := range ReadPlume(bytes.NewReader(text)) {
			if err != nil {
				if len(reason.Faults(err)) != 1 {
					t.Fatalf("%v is no fault", err)
				}
				return
			}
			text := strings.Join(plumeColumns(), ",") + "\n" + string(appendLine(nil, "p", "k", &e.Row))
			e.PartitionKey, e.RowKey = "p", "k"
			for again, err := range ReadPlume(strings.NewReader(text)) {
				if err != nil || again != e {
					t.Fatalf("%+v is written as %q and read as %+v, %v", e, text, again, err)
				}
			}
		}
	})
}
