// Package storage keeps inputs, scenario rows, run records and results of the
// worker, in a folder or in Azure Storage; both behave the same, which
// storagetest proves. Invariant: no id or name becomes a path or a key
// unchecked, and what a reader sees was written in full.
package storage

import (
	"errors"
	"io"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

var (
	// ErrNotFound says that the row, file or result does not exist. It carries
	// no reason: the caller knows what it was looking for.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that somebody else wrote first: the ETag is not the
	// current one, or the record exists that must not.
	ErrConflict = errors.New("changed by somebody else")
	// ErrUnreadable says that what is there was not written by a store. Its
	// ETag comes with it.
	ErrUnreadable = errors.New("not readable")
)

// unreadable is the error of a run record that no store has written.
func unreadable(what string) error {
	return &reason.Error{Code: reason.Internal, Err: ErrUnreadable,
		Detail: what + " is not a run record of rsms-job; the next run of the scenario replaces it"}
}

// ResultWriter is one result while it is written. Readers see nothing of it
// before Commit and all of it after. It is for one goroutine.
type ResultWriter interface {
	io.Writer
	Commit() error
	// Abort drops what was written; after Commit or Abort it does nothing.
	Abort()
}

// RowWriter is one plume table of a scenario while it is written. Commit makes
// exactly the rows written the rows of the scenario and returns their number.
// It is for one goroutine.
type RowWriter interface {
	// Write adds a row. A row that no table can hold is a *reason.Fault and
	// leaves the writer as it was.
	Write(row plume.Row) error
	Commit() (rows int, err error)
	// Abort drops what was not sent yet; a table may keep what was, so only the
	// marker of a result says that its rows are whole. After Commit or Abort it
	// does nothing.
	Abort()
}

// PlumeEntity is a row of a plume table with its keys.
type PlumeEntity struct {
	PartitionKey, RowKey string
	plume.Row
}

const (
	// maxInput is the size limit of a basin file, bytes.
	maxInput = 256 << 20
	// maxDocument is the size limit of a scenario row or a run record, bytes.
	maxDocument = 1 << 20
)
