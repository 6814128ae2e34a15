package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/remove"
)

// before is what a run folder was like before a step.
type before struct {
	step  Step
	began time.Time // by the clock of the file system
	// guarded are the files that were made before the step and are read behind
	// it.
	guarded map[string]fs.FileInfo
}

// look notes what the folder is like.
func (s *Set) look(root *os.Root, step Step, made []string) (*before, error) {
	b := &before{step: step, guarded: map[string]fs.FileInfo{}}
	const probe = ".rsms-start"
	if err := remove.AllAt(root, probe); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(probe, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close(), remove.At(root, probe)); err != nil {
		return nil, err
	}
	b.began = info.ModTime()
	for _, name := range s.readLater(step.Name) {
		if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() && slices.Contains(made, name) {
			b.guarded[name] = info
		}
	}
	return b, nil
}

// left checks that the step left its outputs.
func (b *before) left(root *os.Root) error {
	var faults []string
	for _, name := range b.step.Outputs {
		if problem := b.problem(root, name); problem != "" {
			faults = append(faults, fmt.Sprintf("engine %s ended well but left no %s: %s", b.step.Name, shownName(name), problem))
		}
	}
	if len(faults) > 0 {
		return reason.New(reason.EngineOutputMissing, "%s", strings.Join(faults, "\n"))
	}
	return nil
}

// problem says why a file is no output of the step, "" for one.
func (b *before) problem(root *os.Root, name string) string {
	info, err := root.Stat(name)
	if at, linkErr := root.Lstat(name); err != nil && linkErr == nil && at.Mode()&fs.ModeSymlink != 0 {
		return "it is a link that leads nowhere or out of the run folder; the file itself must be there"
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent(root, name)
	case err != nil:
		return "it cannot be looked at"
	case info.IsDir():
		return "it is a folder"
	case !info.Mode().IsRegular():
		return "it is no regular file"
	case info.Size() == 0:
		return "it is empty"
	// Copies that keep the time often keep it to the second only.
	case info.ModTime().Before(b.began.Truncate(time.Second)):
		return "it is older than the step, so it was put there and not computed"
	}
	return ""
}

// absent says what is there instead of an output.
func absent(root *os.Root, name string) string {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return "the folder cannot be read"
	}
	var names []string
	for _, e := range entries {
		if strings.EqualFold(e.Name(), name) {
			return fmt.Sprintf("there is %s; capitals count", e.Name())
		}
		if !slices.Contains(inputs(), e.Name()) && !strings.HasSuffix(e.Name(), stdoutSuffix) && !strings.HasSuffix(e.Name(), stderrSuffix) {
			names = append(names, shownName(e.Name()))
		}
	}
	have := "nothing but inputs"
	if len(names) > mostNames {
		names = append(names[:mostNames], fmt.Sprintf("and %d more", len(names)-mostNames))
	}
	if len(names) > 0 {
		have = strings.Join(names, ", ")
	}
	return "it must be written in the folder that the engine is started in, before the engine ends; there is: " + have
}

// unchanged checks that the step did not touch what is read behind it.
func (b *before) unchanged(root *os.Root) error {
	for _, name := range slices.Sorted(maps.Keys(b.guarded)) {
		was := b.guarded[name]
		is, err := root.Stat(name)
		did := ""
		switch {
		case err != nil:
			did = "removed"
		case !same(was, is):
			did = "changed"
		default:
			continue
		}
		return reason.New(reason.EngineOutputInvalid, "engine %s %s %s, which is read after it; an engine may write its own outputs only", b.step.Name, did, name)
	}
	return nil
}
