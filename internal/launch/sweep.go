package launch

import (
	"context"
	"time"
)

// Running reports whether the group of that name runs, or is about to. The error
// is like that of Ready.
func (g *Groups) Running(ctx context.Context, name string) (bool, error) {
	v, f := g.get(ctx, name)
	return f == nil && !v.over() && v.provisioning != deleting, g.swept(ctx, f)
}

// Remove stops the group of that name, if there is one, as Run does whose
// context ends, and deletes it. It takes the grace at most where the group goes
// in that time, and a minute otherwise. The error, like that of Ready, says that
// the group may still be there.
func (g *Groups) Remove(ctx context.Context, name string) error {
	last, cancel := context.WithTimeout(ctx, max(tidyTime, g.o.Grace))
	defer cancel()
	r := &run{Groups: g, job: Job{Name: name}, log: g.o.Log.With("group", name), end: End{ExitCode: -1}}
	v, f := g.get(last, name)
	if f != nil {
		return g.swept(ctx, f)
	}
	if !v.over() && v.provisioning != deleting {
		r.stop(last)
	}
	return g.swept(ctx, r.remove(last))
}

// Sweep deletes the groups of ours that ended more than that long ago, or that
// were made so long ago and never started, and returns how many: those count
// against the quota of the region, and nobody else deletes them. Groups that run
// are left alone.
func (g *Groups) Sweep(ctx context.Context, olderThan time.Duration) (int, error) {
	names, f := g.old(ctx, olderThan)
	swept := 0
	for _, name := range names {
		var v view
		if v, f = g.get(ctx, name); f != nil {
			if f.kind == absent {
				f = nil
				continue
			}
			break
		}
		since := v.made
		if state, ended := v.end(); ended {
			since = value(state.FinishTime)
		}
		if !v.over() || v.provisioning == deleting || time.Since(since) < olderThan {
			continue
		}
		if f = g.delete(ctx, name); f != nil {
			break
		}
		swept++
	}
	return swept, g.swept(ctx, f)
}

// old is the names of our groups that were made so long ago. A list does not
// tell their states.
func (g *Groups) old(ctx context.Context, age time.Duration) (names []string, f *failure) {
	for pages := g.groups.NewListByResourceGroupPager(g.o.ResourceGroup, nil); pages.More(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, g.failure(err)
		}
		for _, group := range page.Value {
			if group == nil || group.Name == nil {
				continue
			}
			if made := look(*group).made; !made.IsZero() && time.Since(made) >= age {
				names = append(names, *group.Name)
			}
		}
	}
	return names, nil
}

// swept is the error of a failure to delete what is left; nil where there is
// nothing.
func (g *Groups) swept(ctx context.Context, f *failure) error {
	switch {
	case f == nil || f.kind == absent:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return g.notReady(f)
}
