//go:build unix

package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"
)

// What a key is made of, word for word: another key loses what every store has, so
// a change of this wants another format.
func TestKeyIsStable(t *testing.T) {
	dir := lay(t, map[string]string{flowInputFile: "flow\n"})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	there, err := filesOf(root)
	if err != nil {
		t.Fatal(err)
	}
	step := Step{Name: "daflow", Path: "/no/such/runner", Args: []string{"-q", "/no/such/DAFLOW", "x"}, Executable: "/no/such/DAFLOW",
		Stdin: []byte("FLOW.IN\n"), Outputs: []string{flowFile}, Success: "END", ExitCodes: []int{0, 2}, Reads: []string{flowInputFile, "TABLE"}}
	r := &Runner{Set: &Set{Hash: "abc", Steps: []Step{step}}}
	key, err := r.resume(dir, []string{"TZ=UTC", "TMPDIR=/x"}).key(t.Context(), root, step, there)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("flow\n"))
	want := "rsms step 1 2\n" + sized(runtime.GOOS, runtime.GOARCH) + "step 1\n6 daflow\nset 1\n3 abc\n" +
		"word 2\n" + sized("runner", "") + "word 2\n" + sized("-q", "") + "word 2\n" + sized("the executable", "") + "word 2\n" + sized("x", "") +
		"stdin 1\n8 FLOW.IN\n\noutputs 1\n8 BLTM.FLW\nsuccess 1\n3 END\nexit 1\n1 0\nexit 1\n1 2\nenvironment 1\n6 TZ=UTC\n" +
		"file 2\n" + sized(flowInputFile, hex.EncodeToString(sum[:])) + "file 2\n" + sized("TABLE", "")
	whole := sha256.Sum256([]byte(want))
	if key != hex.EncodeToString(whole[:]) {
		t.Errorf("the key is not the hash of\n%s", want)
	}
}

func sized(values ...string) string {
	var b bytes.Buffer
	for _, v := range values {
		fmt.Fprintf(&b, "%d %s\n", len(v), v)
	}
	return b.String()
}

// Every step of a set that is found says what it reads, or may be taken for one
// that reads all.
func TestBundledReads(t *testing.T) {
	set, err := Bundled(self(t), "")
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]bool{}
	for _, s := range set.Steps {
		if len(s.Reads) == 0 || s.Uncached {
			t.Errorf("%s reads %v", s.Name, s.Reads)
		}
		for _, name := range s.Reads {
			read[name] = true
		}
	}
	for _, name := range inputs() {
		if !read[name] {
			t.Errorf("nobody reads %s: %v", name, slices.Sorted(maps.Keys(read)))
		}
	}
}
