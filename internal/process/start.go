package process

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// Why a child could not be started; errors.Is finds them in a *StartError.
var (
	ErrNotFound      = errors.New("executable not found")
	ErrDirectory     = errors.New("executable is a directory")
	ErrNotExecutable = errors.New("file cannot be executed here")
	ErrInterpreter   = errors.New("interpreter or loader of the executable is missing")
	ErrLibrary       = errors.New("shared library of the executable is missing")
	ErrBatch         = errors.New("batch file would not get its arguments as they are")
	// ErrShortage is the one that may pass: the same start can succeed later.
	ErrShortage = errors.New("system is short of what a new process needs")
)

// StartError says that a child could not be started.
type StartError struct {
	Path string // of the executable
	Kind error  // one of the sentinels above, nil where none fits
	Err  error  // what the system said; may be nil
}

// Error says which executable, why, and what the system said.
func (e *StartError) Error() string {
	s := "start " + e.Path
	if e.Kind != nil {
		s += ": " + e.Kind.Error()
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the kind and what the system said.
func (e *StartError) Unwrap() []error {
	var errs []error
	if e.Kind != nil {
		errs = append(errs, e.Kind)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// checkExecutable finds what can be said about an executable before it is
// started, where the system would only say that something was not found.
func checkExecutable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &StartError{Path: path, Kind: ErrNotFound, Err: err}
	case err != nil && shortage(err):
		return &StartError{Path: path, Kind: ErrShortage, Err: err}
	case err != nil:
		return &StartError{Path: path, Err: err}
	case info.IsDir():
		return &StartError{Path: path, Kind: ErrDirectory}
	case !mayExecute(info):
		return &StartError{Path: path, Kind: ErrNotExecutable}
	}
	return nil
}

// startError gives err, which starting an existing file in an existing folder
// gave, its kind.
func startError(path, dir string, err error) error {
	if info, statErr := os.Stat(dir); !shortage(statErr) && (statErr != nil || !info.IsDir()) {
		return &StartError{Path: path, Err: errors.Join(errors.New("folder to run in is missing"), statErr)}
	}
	return &StartError{Path: path, Kind: startKind(err), Err: err}
}

// busyPatience bounds the pauses between the tries to start what is busy: 127 ms
// in all.
const busyPatience = 64 * time.Millisecond

// whileBusy calls start, which must not go on where an earlier call ended, until
// it says something else than that the executable is busy, a few times at most.
func whileBusy(start func() error) error {
	for pause := time.Millisecond; ; pause *= 2 {
		err := start()
		if !busy(err) || pause > busyPatience {
			return err
		}
		time.Sleep(pause)
	}
}
