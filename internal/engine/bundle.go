package engine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"rsmsjob/internal/bltm"
	"rsmsjob/internal/daflow"
	"rsmsjob/internal/reason"
)

// Bundle runs one of the bundled engines on files of one folder.
type Bundle struct {
	Dir       string // "" is the current folder
	Published bool   // bltm: the scheme as published, without our refinements
	// Progress, when not nil, is told the steps that are done, of so many.
	Progress func(step, of int)
	// Warn, when not nil, hears what a user should know.
	Warn func(text string)
	// opened, when not nil, hears the name of each file that is read.
	opened func(name string)
}

// Run runs the named engine. It removes its outputs of an earlier run before,
// and what it fails to finish: neither an old nor half an output must be taken
// for its own. Faults of the input files carry invalid_basin.
func (b *Bundle) Run(name string) (err error) {
	f := &bundleFiles{dir: b.Dir, opened: b.opened}
	if err := f.clear(name); err != nil {
		return err
	}
	defer func() { err = f.close(err) }()
	switch name {
	case "daflow":
		err = b.daflow(f)
	case "bltm":
		err = b.bltm(f)
	case "ctplt":
		places, in, out := f.open(placesFile), f.open(transportInputFile), f.create(timesFile)
		if f.err == nil {
			again := func() (io.ReadCloser, error) { return f.read(concentrationFile) }
			err = bltm.CTPLT(places, in, again, out)
		}
	case "cxplt":
		times, in, con, out := f.open(outputStepsFile), f.open(transportInputFile), f.open(concentrationFile), f.create(profilesFile)
		if f.err == nil {
			err = bltm.CXPLT(times, in, con, out)
		}
	default:
		return fmt.Errorf("there is no engine %s", name)
	}
	if len(reason.Faults(err)) > 0 {
		err = reason.Wrap(reason.InvalidBasin, err, "")
	}
	return err
}

func (b *Bundle) daflow(f *bundleFiles) error {
	file := f.open(flowInputFile)
	if f.err != nil {
		return nil
	}
	in, err := daflow.ReadInput(file, flowInputFile)
	if err != nil {
		return err
	}
	flow, report := f.create(flowFile), f.create(flowReportFile)
	if f.err != nil {
		return nil
	}
	out := daflow.Outputs{Flow: flow, Report: report}
	if b.Progress != nil {
		out.Progress = func(step int) { b.Progress(step, in.Steps) }
	}
	balance, err := daflow.Run(in, out)
	if b.Warn != nil {
		for _, w := range slices.Concat(in.Warnings, balance.Warnings) {
			b.Warn(w)
		}
	}
	return err
}

func (b *Bundle) bltm(f *bundleFiles) error {
	in, flows := f.open(transportInputFile), f.open(flowFile)
	con, out := f.create(concentrationFile), f.create(ledgerFile)
	if f.err != nil {
		return nil
	}
	_, err := bltm.Run(in, flows, con, out, bltm.Options{Published: b.Published, Progress: b.Progress})
	return err
}

// bundleFiles opens and creates files of a folder, and keeps the first error.
type bundleFiles struct {
	dir     string
	opened  func(name string)
	err     error
	files   []*os.File
	writers []*bufio.Writer
	created []string
}

// unfinished ends the names of outputs while they are written.
const unfinished = ".part"

// clear removes what the engine left in an earlier run.
func (f *bundleFiles) clear(name string) error {
	var errs []error
	for _, o := range outputs {
		if o.name != name {
			continue
		}
		for _, file := range append(slices.Clone(o.files), o.report...) {
			path := filepath.Join(f.dir, file)
			if info, err := os.Lstat(path); err != nil || info.IsDir() {
				continue
			}
			if err := os.Remove(path); err != nil {
				errs = append(errs, fmt.Errorf("an old %s cannot be removed: %w", file, err))
			}
		}
	}
	return errors.Join(errs...)
}

// read is the one way to a file that is read; who calls it closes it.
func (f *bundleFiles) read(name string) (*os.File, error) {
	if f.opened != nil {
		f.opened(name)
	}
	return os.Open(filepath.Join(f.dir, name))
}

func (f *bundleFiles) open(name string) io.Reader {
	file, err := f.read(name)
	if err != nil {
		f.fail(&reason.Error{Code: reason.InvalidBasin, Err: err, Detail: name + " cannot be read in the folder of the engine"})
		return nil
	}
	f.files = append(f.files, file)
	return file
}

func (f *bundleFiles) create(name string) io.Writer {
	if f.err != nil {
		return nil
	}
	file, err := os.Create(filepath.Join(f.dir, name+unfinished))
	if err != nil {
		f.fail(fmt.Errorf("%s cannot be written in the folder of the engine: %w", name, err))
		return nil
	}
	f.files = append(f.files, file)
	f.created = append(f.created, name)
	w := bufio.NewWriterSize(file, 1<<18)
	f.writers = append(f.writers, w)
	return w
}

func (f *bundleFiles) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// close ends all files and returns what went wrong, the engine's own error
// first.
func (f *bundleFiles) close(err error) error {
	errs := []error{err, f.err}
	if err == nil && f.err == nil {
		for _, w := range f.writers {
			errs = append(errs, w.Flush())
		}
	}
	for _, file := range f.files {
		errs = append(errs, file.Close())
	}
	err = errors.Join(errs...)
	for _, name := range f.created {
		path := filepath.Join(f.dir, name)
		if err != nil {
			_ = os.Remove(path + unfinished) // the error that is already there counts
		} else if moved := os.Rename(path+unfinished, path); moved != nil {
			err = fmt.Errorf("%s cannot be written in the folder of the engine: %w", name, moved)
		}
	}
	return err
}
