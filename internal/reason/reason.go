// Package reason holds the closed list of reasons why a run ended badly and
// the error types that carry one. Invariant: every reason is either permanent
// or transient, and a reason's detail never contains text of an input.
package reason

import (
	"errors"
	"fmt"
)

// Code is one reason of the closed list (contract section 6).
type Code string

// The closed list.
const (
	Undecodable         Code = "undecodable"
	InvalidMessage      Code = "invalid_message"
	UnsupportedCommand  Code = "unsupported_command"
	ScenarioNotFound    Code = "scenario_not_found"
	InvalidScenario     Code = "invalid_scenario"
	BasinNotFound       Code = "basin_not_found"
	InvalidBasin        Code = "invalid_basin"
	InvalidFlows        Code = "invalid_flows"
	EngineMissing       Code = "engine_missing"
	EngineFailed        Code = "engine_failed"
	EngineTimeout       Code = "engine_timeout"
	EngineOutputMissing Code = "engine_output_missing"
	EngineOutputInvalid Code = "engine_output_invalid"
	StorageUnavailable  Code = "storage_unavailable"
	StorageDenied       Code = "storage_denied"
	LeaseLost           Code = "lease_lost"
	Busy                Code = "busy"
	Cancelled           Code = "cancelled"
	TimedOut            Code = "timed_out"
	Shutdown            Code = "shutdown"
	MaxAttempts         Code = "max_attempts"
	Internal            Code = "internal"
)

// Codes returns the closed list in the order of the contract.
func Codes() []Code {
	return []Code{Undecodable, InvalidMessage, UnsupportedCommand, ScenarioNotFound,
		InvalidScenario, BasinNotFound, InvalidBasin, InvalidFlows, EngineMissing,
		EngineFailed, EngineTimeout, EngineOutputMissing, EngineOutputInvalid,
		StorageUnavailable, StorageDenied, LeaseLost, Busy, Cancelled, TimedOut,
		Shutdown, MaxAttempts, Internal}
}

// Transient reports whether a later attempt may succeed. Every other code is
// permanent: trying again with the same message cannot help.
func (c Code) Transient() bool {
	switch c {
	case EngineFailed, EngineTimeout, StorageUnavailable, Busy, Shutdown, TimedOut, Internal, LeaseLost:
		return true
	}
	return false
}

// Error is an error with a reason. Detail is a sentence that is safe to show
// to anyone: ids, file names, line numbers, never text of an input or of a
// foreign error. Err is the full story for the log; it may be nil.
type Error struct {
	Code   Code
	Detail string
	Err    error
}

// New returns an error with a reason and a detail built from format. The
// arguments must be ids, file names and numbers.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Wrap gives err a reason. Where err holds faults, the detail is what they say
// without the text of the input; otherwise the detail is what.
// An err that already carries a reason is returned as it is.
func Wrap(code Code, err error, what string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	detail := what
	if faults := Faults(err); len(faults) > 0 {
		detail = faultDetails(faults)
	}
	return &Error{Code: code, Detail: detail, Err: err}
}

// Error returns the detail and, behind it, the full story where there is one.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Detail
	}
	if len(Faults(e.Err)) > 0 || e.Detail == "" {
		return e.Err.Error()
	}
	return e.Detail + ": " + e.Err.Error()
}

// Unwrap returns the error behind the reason.
func (e *Error) Unwrap() error { return e.Err }

// Of returns the reason that err carries, Internal where it carries none, and
// "" for nil.
func Of(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// Detail returns the safe sentence of the reason that err carries, or a fixed
// one where it carries none.
func Detail(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Detail != "" {
		return e.Detail
	}
	return "internal error; the log has the stack"
}
