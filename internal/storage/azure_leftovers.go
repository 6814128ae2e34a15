package storage

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"rsmsjob/internal/reason"
)

// leftovers removes the rows of earlier runs from a table while a new run
// writes it: in each partition that the run has written, then in the ranges
// between them. Its work is done in the pool of the writer.
type leftovers struct {
	table *plumeTable
	ctx   context.Context
	pool  *errgroup.Group
	// cleaned has the partitions whose cleaning has begun; the channel is
	// closed when it has ended.
	cleaned map[string]chan struct{}
}

// clean removes from a partition what is not among its rows. A partition is
// cleaned once: all that it has after that was written by this run.
func (l *leftovers) clean(p openPartition) {
	if _, begun := l.cleaned[p.name]; begun {
		return
	}
	done := make(chan struct{})
	l.cleaned[p.name] = done
	l.pool.Go(func() error {
		defer close(done)
		return l.remove("PartitionKey eq '"+p.name+"'", p.rows)
	})
}

// await waits until a partition that is opened again is clean: rows that are
// written before that could be taken for leftovers.
func (l *leftovers) await(partition string) error {
	if l == nil {
		return nil
	}
	done, begun := l.cleaned[partition]
	if !begun {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
	}
}

// cleanBetween removes all rows of the scenario in partitions that were not
// cleaned, which are those that this run has not written.
func (l *leftovers) cleanBetween(basin, scenario string) {
	first, from, end := "ge", basin+"|"+scenario+"|", basin+"|"+scenario+"}"
	for _, partition := range slices.Sorted(maps.Keys(l.cleaned)) {
		filter := between(first, from, partition)
		l.pool.Go(func() error { return l.remove(filter, nil) })
		first, from = "gt", partition
	}
	filter := between(first, from, end)
	l.pool.Go(func() error { return l.remove(filter, nil) })
}

// remove deletes the rows that a filter lets through, but for those of keep. It
// runs in the pool, deletes by itself where the pool is full, and returns when
// no deletion is on its way any more.
func (l *leftovers) remove(filter string, keep map[string]struct{}) error {
	var partition string
	var actions []aztables.TransactionAction
	var deletions sync.WaitGroup
	defer deletions.Wait()
	flush := func() error {
		if len(actions) == 0 {
			return nil
		}
		these := actions
		actions = nil
		deletions.Add(1)
		work := func() error {
			defer deletions.Done()
			return l.table.delete(l.ctx, these)
		}
		if l.pool.TryGo(work) {
			return nil
		}
		return work()
	}
	for text, err := range l.table.list(l.ctx, filter, "PartitionKey,RowKey", 0) {
		if err != nil {
			return err
		}
		keys, err := decodeKeys(text)
		if err != nil {
			return err
		}
		if _, ours := keep[keys.RowKey]; ours {
			continue
		}
		if keys.PartitionKey != partition || len(actions) == maxOperations {
			if err := flush(); err != nil {
				return err
			}
			partition = keys.PartitionKey
		}
		actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeDelete, Entity: text})
	}
	return flush()
}

type entityKeys struct{ PartitionKey, RowKey string }

func decodeKeys(text []byte) (k entityKeys, err error) {
	if err := json.Unmarshal(text, &k); err != nil || k.PartitionKey == "" {
		return k, &reason.Error{Code: reason.Internal, Detail: "a row in the answer of Azure Storage has no keys", Err: err}
	}
	return k, nil
}

// delete deletes the rows of a transaction; a row that is not there is no
// error.
func (t *plumeTable) delete(ctx context.Context, actions []aztables.TransactionAction) error {
	err := t.submit(ctx, actions)
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	// One row that is not there fails all of them: an earlier try whose answer
	// was lost has deleted them, or somebody else has.
	for _, action := range actions {
		keys, err := decodeKeys(action.Entity)
		if err != nil {
			return err
		}
		_, err = t.client.DeleteEntity(patient(ctx), keys.PartitionKey, keys.RowKey, nil)
		if err := azureFailure(ctx, "delete from", t.what, err); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}
