package storage

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

// PlumeByTime begins the rows of a scenario in PlumeByTime. They are on their
// way before Commit: a reader may see some of the new rows among the old ones,
// and those that were sent stay after Abort or an error. The marker of the
// result tells whether the table is whole, and the next run leaves its own rows
// only.
func (a *Azure) PlumeByTime(ctx context.Context, basin, scenario string) (RowWriter, error) {
	return a.plumeRows(ctx, a.plumeByTime(), basin, scenario)
}

// PlumeByMile is PlumeByTime for PlumeByMile.
func (a *Azure) PlumeByMile(ctx context.Context, basin, scenario string) (RowWriter, error) {
	return a.plumeRows(ctx, a.plumeByMile(), basin, scenario)
}

// ReadPlumeByTime returns the rows of a scenario in PlumeByTime, in the order
// of their keys; the first error ends it. A scenario without a run has no rows.
func (a *Azure) ReadPlumeByTime(ctx context.Context, basin, scenario string) iter.Seq2[PlumeEntity, error] {
	return a.plumeByTime().read(ctx, basin, scenario)
}

// ReadPlumeByMile is ReadPlumeByTime for PlumeByMile.
func (a *Azure) ReadPlumeByMile(ctx context.Context, basin, scenario string) iter.Seq2[PlumeEntity, error] {
	return a.plumeByMile().read(ctx, basin, scenario)
}

// CountRows returns how many rows the scenario has in PlumeByTime and in
// PlumeByMile, -1 for a table that is not there.
func (a *Azure) CountRows(ctx context.Context, basin, scenario string) (byTime, byMile int, err error) {
	if err := checkIDs(basin, scenario); err != nil {
		return 0, 0, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { byTime, err = a.plumeByTime().count(ctx, basin, scenario); return err })
	g.Go(func() (err error) { byMile, err = a.plumeByMile().count(ctx, basin, scenario); return err })
	if err := g.Wait(); err != nil {
		return 0, 0, err
	}
	return byTime, byMile, nil
}

func (a *Azure) plumeByTime() *plumeTable {
	return &plumeTable{client: a.byTime, what: "table " + a.layout.PlumeByTime, keys: byTimeKeys()}
}

func (a *Azure) plumeByMile() *plumeTable {
	return &plumeTable{client: a.byMile, what: "table " + a.layout.PlumeByMile, keys: byMileKeys()}
}

// plumeTable is one of the plume tables of an account.
type plumeTable struct {
	client *aztables.Client
	what   string // the table in errors
	keys   plumeKeys
}

// scenarioFilter is the filter of all rows of a scenario: } follows | in the
// order of keys.
func scenarioFilter(basin, scenario string) string {
	return between("ge", basin+"|"+scenario+"|", basin+"|"+scenario+"}")
}

// between is the filter of a range of partitions, without the last one. No key
// has a quote.
func between(first, from, to string) string {
	return "PartitionKey " + first + " '" + from + "' and PartitionKey lt '" + to + "'"
}

// list returns the entities that a filter lets through as JSON, page by page
// in the order of their keys, and the first error. columns are the properties
// wanted, all for "". top bounds a page, 0 for as many as the service gives.
func (t *plumeTable) list(ctx context.Context, filter, columns string, top int32) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		options := &aztables.ListEntitiesOptions{Filter: &filter}
		if columns != "" {
			options.Select, options.Format = &columns, to.Ptr(aztables.MetadataFormatNone)
		}
		if top > 0 {
			options.Top = &top
		}
		for pager := t.client.NewListEntitiesPager(options); pager.More(); {
			page, err := pager.NextPage(patient(ctx))
			if err != nil {
				yield(nil, azureFailure(ctx, "read", t.what, err))
				return
			}
			for _, text := range page.Entities {
				if !yield(text, nil) {
					return
				}
			}
		}
	}
}

func (t *plumeTable) count(ctx context.Context, basin, scenario string) (n int, err error) {
	for _, err := range t.list(ctx, scenarioFilter(basin, scenario), "RowKey", 0) {
		if Missing(err) {
			return -1, nil
		}
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// any reports whether the scenario has rows.
func (t *plumeTable) any(ctx context.Context, basin, scenario string) (bool, error) {
	for _, err := range t.list(ctx, scenarioFilter(basin, scenario), "RowKey", 1) {
		return err == nil, err
	}
	return false, nil
}

func (t *plumeTable) read(ctx context.Context, basin, scenario string) iter.Seq2[PlumeEntity, error] {
	return func(yield func(PlumeEntity, error) bool) {
		if err := checkIDs(basin, scenario); err != nil {
			yield(PlumeEntity{}, err)
			return
		}
		for text, err := range t.list(ctx, scenarioFilter(basin, scenario), "", 0) {
			var e PlumeEntity
			if err == nil {
				e, err = decodePlume(text)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// decodePlume reads a row as appendPlume writes it; a *reason.Fault for any
// other.
func decodePlume(text []byte) (PlumeEntity, error) {
	var c struct {
		PartitionKey, RowKey, River, JobId        string
		RiverMile, ElapsedHours, ConcentrationMgL float64
		Branch, Grid                              int
		TimeUtc                                   time.Time
	}
	if err := json.Unmarshal(text, &c); err != nil {
		fault := &reason.Fault{Problem: "not a row of a plume table"}
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			fault.Field, fault.Problem = e.Field, "not a value of this column"
		}
		return PlumeEntity{}, fault
	}
	e := PlumeEntity{PartitionKey: c.PartitionKey, RowKey: c.RowKey, Row: plume.Row{River: c.River, RiverMile: c.RiverMile,
		Branch: c.Branch, Grid: c.Grid, Time: c.TimeUtc.UTC(), ElapsedHours: c.ElapsedHours,
		ConcentrationMgL: c.ConcentrationMgL, JobID: c.JobId}}
	return e, checkRow(&e.Row)
}

// azureRows writes one table of a scenario. It holds the keys of the open
// partition, the next transaction and what is in flight; where the scenario had
// rows before, also the names of its partitions.
type azureRows struct {
	table           *plumeTable
	basin, scenario string
	ctx             context.Context // ends with the first error, whose cause is that error
	cancel          context.CancelCauseFunc
	pool            *errgroup.Group
	leftovers       *leftovers // nil where there are none

	open           openPartition
	partition, key []byte // of the row at hand
	next           batch
	rows           int
	done           bool
}

func (a *Azure) plumeRows(ctx context.Context, table *plumeTable, basin, scenario string) (RowWriter, error) {
	if err := checkIDs(basin, scenario); err != nil {
		return nil, err
	}
	if err := ended(ctx); err != nil {
		return nil, err
	}
	// One look spares a first run all cleaning. It also finds a table that is
	// not there before anything is sent (C90).
	had, err := table.any(ctx, basin, scenario)
	if err != nil {
		return nil, err
	}
	w := &azureRows{table: table, basin: basin, scenario: scenario}
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.pool, w.ctx = errgroup.WithContext(ctx)
	w.pool.SetLimit(max(1, a.layout.PublishConcurrency))
	if had {
		w.leftovers = &leftovers{table: table, ctx: w.ctx, pool: w.pool, cleaned: map[string]chan struct{}{}}
	}
	return w, nil
}

func (w *azureRows) Write(row plume.Row) error {
	if w.done {
		return fs.ErrClosed
	}
	if err := ended(w.ctx); err != nil {
		return err
	}
	if err := checkRow(&row); err != nil {
		return err
	}
	w.partition = w.table.keys.partition(&row, w.partition[:0], w.basin, w.scenario)
	w.key = w.table.keys.row(&row, w.key[:0])
	if !w.open.is(w.partition) {
		w.closePartition()
		w.open.open(w.partition)
		if err := w.leftovers.await(w.open.name); err != nil {
			return err
		}
	}
	if err := w.open.add(w.key); err != nil {
		return err
	}
	w.next.add(w.partition, w.key, &row)
	w.rows++
	if w.next.full() {
		w.flush()
	}
	return nil
}

// flush sends the rows of the open partition that were not sent.
func (w *azureRows) flush() {
	if w.next.empty() {
		return
	}
	actions := w.next.take()
	w.pool.Go(func() error { return w.table.submit(w.ctx, actions) })
}

func (w *azureRows) closePartition() {
	w.flush()
	if w.open.rows != nil && w.leftovers != nil {
		w.leftovers.clean(w.open)
		w.open = openPartition{} // its keys belong to the cleaning now
	}
}

// Commit returns the number of rows once all of them are stored and no other
// row of the scenario is.
func (w *azureRows) Commit() (rows int, err error) {
	if w.done {
		return 0, fs.ErrClosed
	}
	defer w.Abort()
	if err := ended(w.ctx); err != nil {
		return 0, err
	}
	w.closePartition()
	if w.leftovers != nil {
		w.leftovers.cleanBetween(w.basin, w.scenario)
	}
	if err := w.pool.Wait(); err != nil {
		return 0, err
	}
	return w.rows, nil
}

// Abort drops what was not sent and waits for what is on its way.
func (w *azureRows) Abort() {
	if w.done {
		return
	}
	w.done = true
	w.cancel(fs.ErrClosed)
	w.pool.Wait()
}
