package storage_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
)

// childVar tells the test binary that it is a child: what it does is its
// value, on the store that is its first argument.
const childVar = "STORAGE_TEST_CHILD"

func TestMain(m *testing.M) {
	role := os.Getenv(childVar)
	if role == "" {
		os.Exit(azurite.Main(m))
	}
	code, err := child(role, os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

const (
	wonCode      = 0
	conflictCode = 3
)

func child(role, dir, arg string) (int, error) {
	ctx := context.Background()
	f, err := storage.OpenFolder(dir)
	if err != nil {
		return 1, err
	}
	switch role {
	case "take": // the run record, when standard input ends
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
		_, err := f.PutRun(ctx, "ohio", "42", []byte(arg), "")
		if errors.Is(err, storage.ErrConflict) {
			return conflictCode, nil
		}
		if err != nil {
			return 1, err
		}
		return wonCode, nil
	case "half": // of a result and of a table, until it is killed
		w, err := f.WriteResult(ctx, "ohio", "42", "result.json")
		if err != nil {
			return 1, err
		}
		if _, err := io.WriteString(w, "half"); err != nil {
			return 1, err
		}
		if _, err := f.PlumeByTime(ctx, "ohio", "42"); err != nil {
			return 1, err
		}
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
		return 1, errors.New("not killed")
	}
	return 1, errors.New("no such role")
}

// startChild starts a child and waits until it is ready.
func startChild(t *testing.T, role, dir, arg string) (cmd *exec.Cmd, stdin io.WriteCloser) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(exe, dir, arg)
	cmd.Env = append(os.Environ(), childVar+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err = cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("child %s says %q, %v", role, line, err)
	}
	return cmd, stdin
}

// C22: of many processes that take the record at once, one gets it.
func TestProcessesTakeOneRecord(t *testing.T) {
	const processes = 6
	dir := t.TempDir()
	var cmds []*exec.Cmd
	var starts []io.WriteCloser
	for i := range processes {
		cmd, stdin := startChild(t, "take", dir, fmt.Sprint(i))
		cmds, starts = append(cmds, cmd), append(starts, stdin)
	}
	for _, stdin := range starts {
		stdin.Close()
	}
	var codes []int
	winner := ""
	for i, cmd := range cmds {
		cmd.Wait()
		codes = append(codes, cmd.ProcessState.ExitCode())
		if codes[i] == wonCode {
			winner = fmt.Sprint(i)
		}
	}
	slices.Sort(codes)
	if !slices.Equal(codes, []int{wonCode, conflictCode, conflictCode, conflictCode, conflictCode, conflictCode}) {
		t.Errorf("exit codes %v: not one winner", codes)
	}
	if data, _, err := openFolder(t, dir).Run(t.Context(), "ohio", "42"); err != nil || string(data) != winner {
		t.Errorf("the record is %q, %v, want %q", data, err, winner)
	}
}

// C12: what a killed process was writing is not seen, hinders nobody, and is
// gone with the next write.
func TestKilledWriter(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	f := openFolder(t, dir)
	cmd, stdin := startChild(t, "half", dir, "")
	defer stdin.Close()
	folders := []string{filepath.Join(dir, "rsms-results", "ohio", "42"), filepath.Join(dir, "tables", "PlumeByTime", "ohio")}
	count := func() (n int) {
		for _, folder := range folders {
			entries, err := os.ReadDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			n += len(entries)
		}
		return n
	}
	if n := count(); n != 2 {
		t.Fatalf("%d files while it writes, want 2", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if names, err := f.ListResults(ctx, "ohio", "42"); err != nil || len(names) != 0 {
		t.Errorf("results of a killed process: %q, %v", names, err)
	}
	w, err := f.WriteResult(ctx, "ohio", "42", "result.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	rows, err := f.PlumeByTime(ctx, "ohio", "42")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 2 {
		t.Errorf("%d files at the end, want the result and the table", n)
	}
}
