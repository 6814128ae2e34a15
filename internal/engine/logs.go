package engine

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"rsmsjob/internal/process"
	"rsmsjob/internal/remove"
)

const (
	// The ends of the names of the files that keep the streams of an engine.
	stdoutSuffix = ".stdout"
	stderrSuffix = ".stderr"
)

// Logs are the names of the files of a run folder that keep what the engines of
// the set say.
func (s *Set) Logs() []string {
	var names []string
	for _, step := range s.Steps {
		names = append(names, step.logs()...)
	}
	return names
}

func (s *Step) logs() []string { return []string{s.Name + stdoutSuffix, s.Name + stderrSuffix} }

// OpenFile opens a file of a run folder to read it, and nothing that an engine
// may have put in its place: not what lies outside of dir, no folder, and no pipe,
// which would be waited at for ever.
func OpenFile(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openFile(root, name)
}

func openFile(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("it is no regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// keepLogs sees that what is published as the words of an engine is the file
// that was kept of them: nothing else that was put there, and nothing at all for
// an engine that did not run. begun is how many steps of the set did.
func (r *Runner) keepLogs(dir string, begun int) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		r.Log.Warn("what the engines said cannot be looked at", "error", err)
		return
	}
	defer root.Close()
	for i, step := range r.Set.Steps {
		for _, name := range step.logs() {
			info, err := root.Lstat(name)
			if err != nil || i < begun && info.Mode().IsRegular() {
				continue
			}
			r.Log.Warn("an engine put something else in the place of "+name+"; removed", "engine", step.Name)
			if err := remove.AllAt(root, name); err != nil {
				r.Log.Warn("it could not be removed", "error", err)
			}
		}
	}
}

// lastWords is how much of a log is looked at for its end, in bytes.
const lastWords = 8 << 10

// tell passes on what an engine said on standard error, its end.
func (r *Runner) tell(root *os.Root, step Step) {
	f, err := openFile(root, step.Name+stderrSuffix)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-lastWords), lastWords))
	if err != nil {
		return
	}
	r.Log.Warn("engine "+step.Name+" said: "+process.Tail(text), "engine", step.Name)
}

// shown reports whether a step printed the text that means success.
func shown(root *os.Root, step Step) bool {
	for _, name := range step.logs() {
		f, err := openFile(root, name)
		if err != nil {
			continue
		}
		found := holds(f, []byte(step.Success))
		f.Close()
		if found {
			return true
		}
	}
	return false
}

// holds reports whether what r reads has a text in it, which is short.
func holds(r io.Reader, text []byte) bool {
	b := make([]byte, 64<<10)
	kept := 0
	for {
		n, err := r.Read(b[kept:])
		if bytes.Contains(b[:kept+n], text) {
			return true
		}
		if err != nil {
			return false
		}
		// The text may begin in one piece and end in the next.
		last := min(kept+n, len(text)-1)
		copy(b, b[kept+n-last:kept+n])
		kept = last
	}
}
