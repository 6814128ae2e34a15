package launch

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerinstance/armcontainerinstance/v2"
)

const (
	// tidyTime bounds what is done behind the end of a container.
	tidyTime = time.Minute
	// quickPoll is how often a group is asked that is about to end or to go.
	quickPoll = time.Second
	// maxTail is what is kept of the log of a container, in bytes: Container
	// Instances keeps no more of one that has ended. tailLines is what is asked for.
	maxTail   = 16 << 10
	tailLines = 500
	tailTries = 3
	// maxTailTime bounds the reading of the log.
	maxTailTime = 10 * time.Second
)

// finish ends the group in a time of its own, and returns err or, where ctx has
// ended before the container, the cause.
func (r *run) finish(ctx context.Context, err error) error {
	if lost(ctx) {
		r.log.Warn("the message belongs to somebody else: the container group is left alone")
		return context.Cause(ctx)
	}
	last, cancel := r.closing(ctx)
	defer cancel()
	tailTime := maxTailTime
	switch {
	case notStarted(err):
		r.clean(last)
		return err
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
		if !r.sent && !r.end.Adopted {
			return err
		}
		tailTime = r.o.Grace / 8 // and as long to delete the group
		r.stop(last)
	}
	if r.end.Started && r.end.State != Gone {
		r.keepTail(last, tailTime)
	}
	if r.end.State != Gone {
		r.remove(last)
	}
	return err
}

// closing is the time to end a group: the grace once ctx has ended, and no more
// at all when the message is lost.
func (r *run) closing(ctx context.Context) (context.Context, context.CancelFunc) {
	over := time.Now().Add(max(tidyTime, r.o.Grace))
	last, cancel := context.WithDeadline(context.WithoutCancel(ctx), over)
	timer := time.AfterFunc(time.Until(over), cancel)
	unwatch := context.AfterFunc(ctx, func() {
		if lost(ctx) {
			cancel()
			return
		}
		timer.Reset(r.o.Grace)
	})
	return last, func() {
		unwatch()
		timer.Stop()
		cancel()
	}
}

// stop lets the container write its end, as long as there is time to.
func (r *run) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.o.Grace*3/4)
	defer cancel()
	r.log.Info("container group is stopped")
	for {
		_, err := r.groups.Stop(ctx, r.o.ResourceGroup, r.job.Name, nil)
		f := r.failure(err)
		if f == nil {
			break
		}
		// One that is on its way to run cannot be stopped, only deleted.
		if f.kind != passing && f.kind != noRoom || !sleep(ctx, min(quickPoll, r.o.Poll)) {
			r.log.Warn("container group not stopped", "error", f)
			return
		}
	}
	for {
		if v, f := r.get(ctx, r.job.Name); f == nil {
			if done, _ := r.see(v); done {
				return
			}
		} else if f.kind == absent {
			return
		}
		if !sleep(ctx, min(quickPoll, r.o.Poll)) {
			r.log.Warn("the container has not ended in time")
			return
		}
	}
}

// keepTail reads the end of the log in a time, and logs it.
func (r *run) keepTail(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for try := 1; ; try++ {
		text, f := r.tail(ctx)
		if f == nil {
			r.end.Tail = text
			break
		}
		if try == tailTries || !sleep(ctx, min(quickPoll, r.o.Poll)) {
			r.log.Warn("the log of the container was not read", "error", f)
			return
		}
	}
	for line := range strings.Lines(r.end.Tail) {
		r.log.Info("container log", "line", strings.TrimSuffix(line, "\n"))
	}
}

func (r *run) tail(ctx context.Context) (string, *failure) {
	response, err := r.containers.ListLogs(ctx, r.o.ResourceGroup, r.job.Name, container,
		&armcontainerinstance.ContainersClientListLogsOptions{Tail: to.Ptr(int32(tailLines))})
	return lastLines(printable(value(response.Content)), maxTail), r.failure(err)
}

// clean deletes what is left of a group that could not be made or did not start,
// and nothing that runs or that somebody else makes just now (C30).
func (r *run) clean(ctx context.Context) {
	v, f := r.get(ctx, r.job.Name)
	if f == nil && !v.started() && (v.over() || r.sent || r.end.Adopted) {
		r.remove(ctx)
	}
}

// remove deletes the group and waits until it is gone; one that stays is swept
// by a later launcher. It returns why it is not, or not yet, gone.
func (r *run) remove(ctx context.Context) *failure {
	for taken := false; ; {
		f := r.delete(ctx, r.job.Name)
		if f == nil {
			taken = true
			if _, f = r.get(ctx, r.job.Name); f != nil && f.kind == absent {
				r.log.Info("container group deleted")
				return nil
			}
		}
		if f != nil && f.kind == refused || !sleep(ctx, min(quickPoll, r.o.Poll)) {
			if f == nil {
				f = &failure{kind: changing, err: errors.New("the deletion takes its time")}
			}
			r.log.Warn("container group not gone", "deletion_taken", taken, "error", f)
			return f
		}
	}
}
