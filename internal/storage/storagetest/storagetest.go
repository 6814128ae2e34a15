// Package storagetest proves that a store does what the worker relies on.
// Invariant: every store of package storage passes the same Run.
package storagetest

import (
	"context"
	"io"
	"iter"
	"testing"

	"rsmsjob/internal/storage"
)

// Store is all that the worker needs of a store; its consumers declare the
// parts that they need themselves.
type Store interface {
	Basin(ctx context.Context, basin, name string) ([]byte, error)
	BasinExists(ctx context.Context, basin string) (bool, error)

	Scenario(ctx context.Context, basin, scenario string) (map[string]any, error)
	MergeScenario(ctx context.Context, basin, scenario string, columns map[string]any) error

	Run(ctx context.Context, basin, scenario string) (data []byte, etag string, err error)
	PutRun(ctx context.Context, basin, scenario string, data []byte, etag string) (newETag string, err error)

	WriteResult(ctx context.Context, basin, scenario, name string) (storage.ResultWriter, error)
	ReadResult(ctx context.Context, basin, scenario, name string) (io.ReadCloser, error)
	RemoveResult(ctx context.Context, basin, scenario, name string) error
	ListResults(ctx context.Context, basin, scenario string) ([]string, error)

	ResultVersion(ctx context.Context, basin, scenario, name string) (etag string, err error)
	CreateResult(ctx context.Context, basin, scenario, name string, data []byte) error
	RemoveVersion(ctx context.Context, basin, scenario, name, etag string) error

	PlumeByTime(ctx context.Context, basin, scenario string) (storage.RowWriter, error)
	PlumeByMile(ctx context.Context, basin, scenario string) (storage.RowWriter, error)
	CountRows(ctx context.Context, basin, scenario string) (byTime, byMile int, err error)
	ReadPlumeByTime(ctx context.Context, basin, scenario string) iter.Seq2[storage.PlumeEntity, error]
	ReadPlumeByMile(ctx context.Context, basin, scenario string) iter.Seq2[storage.PlumeEntity, error]
}

// Backend is one empty store under test and the ways of its users to fill it.
type Backend struct {
	// Open returns a new handle on the store, as another process has one; it
	// is closed at the end of the test.
	Open        func(t testing.TB) Store
	PutBasin    func(t testing.TB, basin, name string, data []byte)
	PutScenario func(t testing.TB, basin, scenario string, columns map[string]any)
	// SpoilRun puts something in the place of a run record that is none.
	SpoilRun func(t testing.TB, basin, scenario string)
}

// Run runs the whole suite; open returns a new, empty store each time.
func Run(t *testing.T, open func(t testing.TB) Backend) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, b Backend)
	}{
		{"Basin", testBasin},
		{"Scenario", testScenario},
		{"ScenarioValues", testScenarioValues},
		{"ScenarioColumns", testScenarioColumns},
		{"ScenarioRace", testScenarioRace},
		{"RunRecord", testRunRecord},
		{"RunRecordSameContent", testRunRecordSameContent},
		{"RunRecordUnreadable", testRunRecordUnreadable},
		{"RunRecordRaceCreate", testRunRecordRaceCreate},
		{"RunRecordRaceUpdate", testRunRecordRaceUpdate},
		{"Result", testResult},
		{"ResultUnseenBeforeCommit", testResultUnseenBeforeCommit},
		{"ResultNames", testResultNames},
		{"ResultRace", testResultRace},
		{"ResultCreate", testResultCreate},
		{"ResultCreateRace", testResultCreateRace},
		{"ResultRemoveVersion", testResultRemoveVersion},
		{"PlumeRoundTrip", testPlumeRoundTrip},
		{"PlumeKeyOrder", testPlumeKeyOrder},
		{"PlumeRerun", testPlumeRerun},
		{"PlumeAbort", testPlumeAbort},
		{"PlumeRefusedRows", testPlumeRefusedRows},
		{"PlumeSameKeys", testPlumeSameKeys},
		{"PlumeManyRows", testPlumeManyRows},
		{"IDs", testIDs},
		{"ContextEnded", testContextEnded},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}
