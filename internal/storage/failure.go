package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"rsmsjob/internal/reason"
)

// readFailure gives an error of reading path its reason; what is not there is
// ErrNotFound.
func readFailure(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", path, ErrNotFound)
	}
	return failure("read", path, err)
}

// writeFailure gives an error of writing or removing path its reason.
func writeFailure(path string, err error) error { return failure("write", path, err) }

func failure(verb, path string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*reason.Error](err); ok {
		return err
	}
	code, detail := reason.StorageUnavailable, "cannot "+verb+" "+path+" in the store"
	_, fromSystem := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, fs.ErrPermission):
		code, detail = reason.StorageDenied, "no right to "+verb+" "+path+" in the store"
	case diskFull(err):
		detail = "no space left in the store to " + verb + " " + path
	case !fromSystem && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrClosed):
		// What os.Root refuses by itself: a link that leads out of the folder.
		code, detail = reason.StorageDenied, path+" leads out of the store"
	}
	return &reason.Error{Code: code, Detail: detail, Err: err}
}

// notPlain says that path is there and is not what it must be.
func notPlain(path, want string) error {
	return reason.New(reason.StorageDenied, "%s in the store is not a %s", path, want)
}
