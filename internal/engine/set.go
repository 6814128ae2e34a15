package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rsmsjob/internal/reason"
)

// Set is a set of engines: what to start, in order, and what each leaves
// behind.
type Set struct {
	Name  string // and its version, where engine.json gives one
	Steps []Step
	// Hash is over engine.json and the bytes of every executable of the set, in
	// hexadecimal.
	Hash string
	// Files are the SHA-256 of engine.json and of every executable, in
	// hexadecimal, by slash path inside the folder of the set.
	Files map[string]string
	// Foreign is set where the engines are not our own: what they leave is
	// checked after every step.
	Foreign bool
	// Env are variables of every engine of the set, as NAME=value, besides those
	// of Runner.Env.
	Env []string
	// MaxBytes is what all files of a run may have together; 0 is without limit.
	MaxBytes int64
	// hashed are the files of Files when they were, by path.
	hashed map[string]fs.FileInfo
	// beside is all that is in dir, EXE_DIR, hashed when it is first asked for; nil
	// for our own engines. Its error is *uncached or the cause of ctx.
	beside func(ctx context.Context) (*contents, error)
	dir    string
	system []string // patterns of files that are others in another system
}

// Version names the set and its executables, short enough for a table column.
func (s *Set) Version() string { return s.Name + " " + s.Hash[:16] }

// ForCurves is the set without the steps behind the last that Curves and Ledgers
// need, in two parts: the step that makes the flows from FLOW.IN and from nothing
// else, and the others. flows is nil where no step does that: a foreign one may read
// any file of the run folder, unless engine.json says what it reads.
func (s *Set) ForCurves() (flows, rest *Set) {
	n := len(s.Steps)
	for n > 0 && !slices.Contains(s.Steps[n-1].Outputs, timesFile) && !slices.Contains(s.Steps[n-1].Outputs, ledgerFile) {
		n--
	}
	part := func(steps []Step) *Set {
		p := *s
		p.Steps = steps
		return &p
	}
	if n > 0 && slices.Equal(s.Steps[0].Outputs, []string{flowFile}) && (!s.Foreign || slices.Equal(s.Steps[0].Reads, []string{flowInputFile})) {
		return part(s.Steps[:1]), part(s.Steps[1:n])
	}
	return nil, part(s.Steps[:n])
}

// Step is one engine of a set.
type Step struct {
	Name       string   // daflow, bltm, ctplt, cxplt
	Path       string   // absolute: of the runner, or of the executable
	Args       []string // behind Path
	Executable string   // absolute
	Stdin      []byte   // all that it can read
	Outputs    []string // files it must leave, new and not empty
	ExitCodes  []int    // that mean success; none is 0
	// Timeout is the limit of the set; 0 leaves that of the Runner.
	Timeout time.Duration
	// Success is a text that it must print when it succeeds; "" for none.
	Success string
	// Reads are the files of the run folder that what it computes depends on; nil
	// where that may be any of them.
	Reads []string
	// Uncached is set where the step must not be taken from a cache.
	Uncached bool
}

// The engines in the order in which the data passes, with what each must leave.
var outputs = []struct {
	name   string
	reads  []string
	files  []string
	report []string // what our own leaves besides, for people
}{
	{"daflow", []string{flowInputFile}, []string{flowFile}, []string{flowReportFile}},
	{"bltm", []string{transportInputFile, flowFile}, []string{concentrationFile, ledgerFile}, nil},
	{"ctplt", []string{placesFile, transportInputFile, concentrationFile}, []string{timesFile}, nil},
	{"cxplt", []string{outputStepsFile, transportInputFile, concentrationFile}, []string{profilesFile}, nil},
}

// Names returns the names of the engines in the order of a run.
func Names() []string {
	var names []string
	for _, o := range outputs {
		names = append(names, o.name)
	}
	return names
}

// runnerVariable is the setting that names a runner.
const runnerVariable = "RSMS_ENGINE_RUNNER"

// inputs are the files that are there before the first step.
func inputs() []string {
	return []string{flowInputFile, transportInputFile, placesFile, outputStepsFile}
}

// final are the files that the job reads when the last step is done.
func final() []string { return []string{ledgerFile, timesFile, profilesFile} }

// readLater are the files that are read behind a step, by a later one or by the
// job.
func (s *Set) readLater(step string) []string {
	later := final()
	for i := len(outputs) - 1; i >= 0 && outputs[i].name != step; i-- {
		later = append(later, outputs[i].reads...)
	}
	for i := len(s.Steps) - 1; i >= 0 && s.Steps[i].Name != step; i-- {
		later = append(later, s.Steps[i].Reads...)
	}
	slices.Sort(later)
	return slices.Compact(later)
}

// Bundled is the set of our own engines: the binary self, started again. runner,
// which may be empty, is put before every command line.
func Bundled(self, runner string) (*Set, error) {
	prefix, err := onPath(strings.Fields(runner), runnerVariable)
	if err != nil {
		return nil, err
	}
	sum, info, err := hashFile(context.Background(), self)
	if err != nil {
		return nil, err
	}
	s := &Set{Name: "bundled", Hash: sum, Files: map[string]string{filepath.Base(self): sum}, hashed: map[string]fs.FileInfo{self: info}}
	for _, o := range outputs {
		argv := append(slices.Clone(prefix), self, "engine", o.name)
		s.Steps = append(s.Steps, Step{Name: o.name, Path: argv[0], Args: argv[1:], Executable: self, Outputs: o.files, Reads: o.reads})
	}
	return s, nil
}

// onPath makes the program of a runner absolute; from is what names it.
func onPath(words []string, from string) ([]string, error) {
	if len(words) == 0 {
		return nil, nil
	}
	path, err := exec.LookPath(words[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, &reason.Error{Code: reason.EngineMissing, Err: err,
			Detail: "the program of " + from + " was not found on the PATH"}
	}
	return append([]string{path}, words[1:]...), nil
}

// hash sets the hashes of the set over its files, by what they are to it. A file
// may be more than one thing: an executable of two steps.
func (s *Set) hash(dir string, roles [][2]string) error {
	s.Files, s.hashed = map[string]string{}, map[string]fs.FileInfo{}
	all := sha256.New()
	for _, role := range roles {
		name, err := filepath.Rel(dir, role[1])
		if err != nil {
			return &reason.Error{Code: reason.Internal, Err: err, Detail: "an engine does not stand in EXE_DIR"}
		}
		name = filepath.ToSlash(name)
		if s.Files[name] == "" {
			if s.Files[name], s.hashed[role[1]], err = hashFile(context.Background(), role[1]); err != nil {
				return err
			}
		}
		fmt.Fprintf(all, "%s %s\n", role[0], s.Files[name])
	}
	s.Hash = hex.EncodeToString(all.Sum(nil))
	return nil
}

// untouched checks that the files of a set are those that were hashed: what a
// run says of its engines must be true, and an engine that writes to their folder
// spoils other runs as well.
func (s *Set) untouched(step string) error {
	if path := s.changed(); s.Foreign && path != "" {
		return reason.New(reason.EngineFailed, "%s in EXE_DIR is not what it was when the run began: engine %s changed it, or somebody else did; "+
			"an engine may write in its run folder only, and new engines go into a new folder", shownName(filepath.Base(path)), step)
	}
	return nil
}

// changed is a file of the set that is not what was hashed, "" for none.
func (s *Set) changed() string {
	for _, path := range slices.Sorted(maps.Keys(s.hashed)) {
		if is, err := os.Stat(path); err != nil || !same(s.hashed[path], is) {
			return path
		}
	}
	return ""
}

// same reports whether a file is what it was, as far as a look at it tells.
func same(was, is fs.FileInfo) bool {
	return os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
}

// hashFile is the SHA-256 of a file, in hexadecimal, and the file that has it.
func hashFile(ctx context.Context, path string) (string, fs.FileInfo, error) {
	var info fs.FileInfo
	sum := sha256.New()
	f, err := os.Open(path)
	if err == nil {
		if info, err = f.Stat(); err == nil {
			_, err = io.Copy(sum, whileWanted{ctx, f})
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return "", nil, &reason.Error{Code: unreadable(err), Err: err,
			Detail: fmt.Sprintf("engine file %s cannot be read: is it yours to read?", shownName(filepath.Base(path)))}
	}
	return hex.EncodeToString(sum.Sum(nil)), info, nil
}
