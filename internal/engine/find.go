package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rsmsjob/internal/reason"
)

// Find looks for the engines of a team in dir: those that an engine.json there
// describes, or DAFLOW, BLTM, CTPLT and CXPLT, with or without .exe, in any
// case. runner, which may be empty, is put before every command line, and
// counts instead of that of engine.json. lookup is the environment that the set
// may name variables of.
//
// The error carries engine_missing and says all that is wrong, and where it
// looked.
func Find(dir, runner string, lookup func(name string) (string, bool)) (*Set, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, reason.New(reason.EngineMissing, "EXE_DIR cannot be made an absolute path")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, &reason.Error{Code: unreadable(err), Err: err,
			Detail: fmt.Sprintf("EXE_DIR %s cannot be read; it must be the folder of the engine executables", dir)}
	}
	f := &finder{dir: dir, prefix: findPrefix(lookup)}
	if f.runner, err = onPath(strings.Fields(runner), runnerVariable); err != nil {
		return nil, err
	}
	path, err := manifestPath(dir, entries)
	switch {
	case err != nil:
		return nil, err
	case path == "":
		err = f.plain()
	default:
		err = f.described(path)
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range f.manifest.environment {
		name, _, given := strings.Cut(entry, "=")
		if value, ok := lookup(name); !given && ok {
			entry, given = name+"="+value, true
		}
		if given {
			f.set.Env = append(f.set.Env, entry)
		}
	}
	f.set.beside, f.set.dir, f.set.system = remembered(dir), dir, systemFiles()
	return &f.set, f.set.hash(dir, f.roles)
}

// finder puts a set together.
type finder struct {
	dir      string
	runner   []string
	prefix   winePrefix // where the runner is Wine
	manifest *manifest
	set      Set
	roles    [][2]string // what a file is to the set, and its path
}

// manifestPath is the path of engine.json, "" where there is none.
func manifestPath(dir string, entries []os.DirEntry) (string, error) {
	var found []string
	for _, e := range entries {
		if strings.EqualFold(e.Name(), manifestName) {
			found = append(found, e.Name())
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return filepath.Join(dir, found[0]), nil
	}
	return "", reason.New(reason.EngineMissing, "EXE_DIR %s has %s; keep one of them", dir, strings.Join(found, " and "))
}

// plain takes the executables of a folder without engine.json.
func (f *finder) plain() error {
	f.manifest = plainManifest()
	var missing, looked, problems []string
	for _, s := range f.manifest.steps {
		err := f.add(s)
		if no, ok := errors.AsType[*notThere](err); ok {
			missing, looked = append(missing, s.executable), append(looked, no.looked...)
		} else if err != nil {
			problems = append(problems, reason.Detail(err))
		}
	}
	if len(missing) > 0 {
		problems = append([]string{fmt.Sprintf("%s not found in EXE_DIR %s; looked for %s in any case; there is: %s",
			strings.Join(missing, ", "), f.dir, strings.Join(looked, ", "), there(f.dir))}, problems...)
	}
	if len(problems) > 0 {
		return reason.New(reason.EngineMissing, "%s", strings.Join(problems, "\n"))
	}
	f.finish()
	return nil
}

// described takes what an engine.json describes.
func (f *finder) described(path string) error {
	data, err := readManifest(path)
	if err != nil {
		return err
	}
	if f.manifest, err = parseManifest(data, filepath.Base(path)); err != nil {
		return reason.Wrap(reason.EngineMissing, err, "")
	}
	m := f.manifest
	f.roles = append(f.roles, [2]string{manifestName, path})
	if len(m.runner) > 0 && len(f.runner) == 0 {
		if err := f.ownRunner(); err != nil {
			m.tree.add(m.at, "runner", &reason.Fault{Problem: reason.Detail(err)})
		}
	}
	for _, s := range m.steps {
		if s.executable == "" {
			continue
		}
		if err := f.add(s); err != nil {
			m.tree.add(s.at, "steps."+s.name+".executable", &reason.Fault{Problem: reason.Detail(err)})
		}
	}
	if err := m.tree.sorted(); err != nil {
		return reason.Wrap(reason.EngineMissing, err, "")
	}
	f.finish()
	return nil
}

// ownRunner takes the runner of the set: a program of the PATH, or one inside
// the folder where it has a slash.
func (f *finder) ownRunner() (err error) {
	words := f.manifest.runner
	if !strings.ContainsAny(words[0], `/\`) {
		f.runner, err = onPath(words, "the runner")
		return err
	}
	path, err := locate(f.dir, words[0])
	if err == nil {
		err = inside(f.dir, path)
	}
	if err == nil {
		err = startable(path)
	}
	if err != nil {
		return err
	}
	f.runner = append([]string{path}, words[1:]...)
	f.roles = append(f.roles, [2]string{"runner", path})
	return nil
}

// readManifest reads engine.json, which must be a file of a sensible size.
func readManifest(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(file, maxManifest+1)); err == nil && len(data) <= maxManifest {
			return data, nil
		}
		if err == nil {
			return nil, reason.New(reason.EngineMissing, "%s is longer than %d bytes: is it what describes the engines?", path, maxManifest)
		}
	}
	return nil, &reason.Error{Code: unreadable(err), Err: err,
		Detail: path + " cannot be read; it must be a file that describes the engines (rsms-job schema engine)"}
}

// add finds the executable of a step and adds the step to the set.
func (f *finder) add(s manifestStep) error {
	path, err := locate(f.dir, s.executable)
	if err != nil {
		return err
	}
	if f.manifest.tree != nil {
		if err := inside(f.dir, path); err != nil {
			return err
		}
	}
	switch {
	case len(f.runner) == 0:
		err = startable(path)
	case isWine(f.runner):
		err = unstartable(path, programProblem(path, f.prefix.refuses))
	}
	if err != nil {
		return err
	}
	argv := append(append(slices.Clone(f.runner), path), s.args...)
	step := Step{Name: s.name, Path: argv[0], Args: argv[1:], Executable: path, Outputs: s.outputs, ExitCodes: s.exitCodes,
		Timeout: s.timeout, Success: s.success, Reads: s.reads, Uncached: !s.cache}
	for _, line := range s.stdin {
		step.Stdin = append(append(step.Stdin, line...), '\n')
	}
	f.set.Steps = append(f.set.Steps, step)
	f.roles = append(f.roles, [2]string{s.name, path})
	return nil
}

// finish takes over what is of the whole set.
func (f *finder) finish() {
	m := f.manifest
	f.set.Name, f.set.Foreign, f.set.MaxBytes = strings.TrimSpace(m.name+" "+m.version), true, int64(m.limitMB)<<20
}
