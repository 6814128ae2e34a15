package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"rsmsjob/internal/reason"
)

// Set is a set of engines: what to start, in order, and what each leaves
// behind.
type Set struct {
	Name  string
	Steps []Step
	// Hash is over the bytes of every executable of the set, in hexadecimal.
	Hash string
	// Foreign is set where the engines are not our own: what they leave is
	// checked after every step.
	Foreign bool
}

// Version names the set and its executables, short enough for a table column.
func (s *Set) Version() string { return s.Name + " " + s.Hash[:16] }

// Step is one engine of a set.
type Step struct {
	Name    string   // daflow, bltm, ctplt, cxplt
	Path    string   // absolute
	Args    []string // behind Path
	Outputs []string // files it must leave, not empty
}

// The engines in the order in which the data passes, with what each must leave.
var outputs = []struct {
	name   string
	files  []string
	report []string // what our own leaves besides, for people
}{
	{"daflow", []string{flowFile}, []string{flowReportFile}},
	{"bltm", []string{concentrationFile, ledgerFile}, nil},
	{"ctplt", []string{timesFile}, nil},
	{"cxplt", []string{profilesFile}, nil},
}

// Names returns the names of the engines in the order of a run.
func Names() []string {
	var names []string
	for _, o := range outputs {
		names = append(names, o.name)
	}
	return names
}

// Bundled is the set of our own engines: the binary self, started again. runner,
// which may be empty, is put before every command line.
func Bundled(self, runner string) (*Set, error) {
	prefix, err := runnerPath(runner)
	if err != nil {
		return nil, err
	}
	s := &Set{Name: "bundled"}
	for _, o := range outputs {
		argv := append(slices.Clone(prefix), self, "engine", o.name)
		s.Steps = append(s.Steps, Step{Name: o.name, Path: argv[0], Args: argv[1:], Outputs: o.files})
	}
	return s, s.hash([]string{self})
}

// Find looks for the engines of a team in dir: DAFLOW, BLTM, CTPLT and CXPLT,
// with or without .exe, in any case. runner, which may be empty, is put before
// every command line. The error says which are missing and where it looked.
func Find(dir, runner string) (*Set, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, reason.New(reason.EngineMissing, "EXE_DIR cannot be made an absolute path")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, &reason.Error{Code: reason.EngineMissing, Err: err,
			Detail: fmt.Sprintf("EXE_DIR %s cannot be read; it must be the folder of the engine executables", dir)}
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.EqualFold(e.Name(), "engine.json") }) {
		return nil, reason.New(reason.EngineMissing, "EXE_DIR %s has an engine.json, which this version cannot read; "+
			"remove it to run the executables without arguments in the run folder", dir)
	}
	prefix, err := runnerPath(runner)
	if err != nil {
		return nil, err
	}
	s := &Set{Name: "EXE_DIR", Foreign: true}
	var paths, missing, barred []string
	for _, o := range outputs {
		path := pick(dir, entries, o.name)
		if path == "" {
			missing = append(missing, strings.ToUpper(o.name))
			continue
		}
		paths = append(paths, path)
		if _, err := exec.LookPath(path); err != nil && len(prefix) == 0 {
			barred = append(barred, filepath.Base(path))
		}
		argv := append(slices.Clone(prefix), path)
		s.Steps = append(s.Steps, Step{Name: o.name, Path: argv[0], Args: argv[1:], Outputs: o.files})
	}
	if len(missing) > 0 {
		return nil, reason.New(reason.EngineMissing, "%s not found in EXE_DIR %s; looked for the name with and without .exe in any case",
			strings.Join(missing, ", "), dir)
	}
	if len(barred) > 0 {
		return nil, reason.New(reason.EngineMissing, "%s in EXE_DIR %s may not be executed: give permission, or name a RSMS_ENGINE_RUNNER",
			strings.Join(barred, ", "), dir)
	}
	return s, s.hash(paths)
}

// pick returns the path of the file that is the engine, "" for none.
func pick(dir string, entries []os.DirEntry, name string) string {
	for _, e := range entries {
		base := strings.ToLower(e.Name())
		if base != name && base != name+".exe" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// runnerPath splits a runner into words and makes its program absolute.
func runnerPath(runner string) ([]string, error) {
	words := strings.Fields(runner)
	if len(words) == 0 {
		return nil, nil
	}
	path, err := exec.LookPath(words[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, &reason.Error{Code: reason.EngineMissing, Err: err,
			Detail: "the program of RSMS_ENGINE_RUNNER was not found on the PATH"}
	}
	words[0] = path
	return words, nil
}

// hash sets the hash of the set over its executables.
func (s *Set) hash(paths []string) error {
	sum := sha256.New()
	for _, path := range paths {
		if err := addFile(sum, path); err != nil {
			return &reason.Error{Code: reason.EngineMissing, Err: err,
				Detail: fmt.Sprintf("engine executable %s cannot be read", filepath.Base(path))}
		}
	}
	s.Hash = hex.EncodeToString(sum.Sum(nil))
	return nil
}

func addFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}
