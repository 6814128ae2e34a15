package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"rsmsjob/internal/reason"
)

const (
	// createPatience is how long a group is tried to be made where nobody answers.
	createPatience = 2 * time.Minute
	// changePatience is how long a group of that name may be on its way to another
	// state: a deletion that is under way takes minutes.
	changePatience = 10 * time.Minute
	maxPause       = time.Minute // between two tries, where the service names none
	// goneTries is how often a group must be absent to be gone: what a group says
	// may be older than its making.
	goneTries = 3
	// MaxValue bounds a variable, in bytes: Windows takes 32,767 characters.
	MaxValue = 32_000
)

// run is one run of a job.
type run struct {
	*Groups
	job  Job
	log  *slog.Logger
	end  End
	sent bool // the group may have been made by us
	told string
}

// Run runs a job in a group of its own and returns what it came to. A group of
// that name that runs is adopted; one that has ended is made anew, for its end
// belongs to an earlier delivery.
//
// The error is *NoRoom or *NotStarted where the container has not run, or the
// cause of ctx. When ctx ends
// with lease_lost the group is left alone: who has the message now may have
// adopted it. For any other cause it is stopped, given three quarters of the
// grace to write its end, and deleted. What is known of the end is returned with
// every error.
func (g *Groups) Run(ctx context.Context, job Job) (End, error) {
	r := &run{Groups: g, job: job, log: g.o.Log.With("group", job.Name), end: End{ExitCode: -1}}
	if err := r.fits(); err != nil {
		return r.end, err
	}
	err := r.begin(ctx)
	if err == nil {
		err = r.follow(ctx)
	}
	err = r.finish(ctx, err)
	return r.end, err
}

// fits reports a variable that no Windows container takes.
func (r *run) fits() error {
	for _, v := range append(r.o.Env[:len(r.o.Env):len(r.o.Env)], r.job.Env...) {
		if len(v.Value) > MaxValue {
			return &NotStarted{Err: reason.New(reason.InvalidMessage, "%s is %d bytes long; a Windows container takes %d", v.Name, len(v.Value), MaxValue)}
		}
	}
	return nil
}

// begin adopts the group or makes it.
func (r *run) begin(ctx context.Context) error {
	began, answered, pause := time.Now(), time.Now(), min(time.Second, r.o.Poll)
	for {
		ready, f := r.tryBegin(ctx)
		if f == nil || f.kind != passing {
			answered = time.Now()
		}
		switch {
		case ready:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case (f == nil || f.kind == changing) && time.Since(began) >= changePatience:
			return r.stuck(f)
		case f == nil: // on its way
		case f.kind == refused, f.kind == noRoom, f.kind == passing && time.Since(answered) >= createPatience:
			return r.notMade(f)
		default:
			r.log.Warn("no container group yet, trying again", "error", f)
		}
		if !sleep(ctx, max(pause, retryHint(f))) {
			return context.Cause(ctx)
		}
		pause = min(2*pause, r.o.Poll)
	}
}

// stuck is the error of a group of that name that neither goes nor comes.
func (r *run) stuck(f *failure) error {
	why := errors.New("a container group of that name is still being deleted")
	if f != nil {
		why = f
	}
	return &NoRoom{Err: withReason(reason.StorageUnavailable, "the container group could not be made in ten minutes: another one of its name is in the way; "+
		"if it stays there, delete it by hand", why)}
}

func retryHint(f *failure) time.Duration {
	if f == nil {
		return 0
	}
	return min(f.after, maxPause)
}

// tryBegin looks for the group and makes it where it is absent. Neither ready
// nor a failure means that it is on its way.
func (r *run) tryBegin(ctx context.Context) (ready bool, f *failure) {
	v, f := r.get(ctx, r.job.Name)
	switch {
	case f != nil && f.kind == absent:
		return r.make(ctx)
	case f != nil && f.kind == noRoom: // too many calls, and nobody asked for room
		f.kind = passing
		return false, f
	case f != nil:
		return false, f
	case v.provisioning == deleting:
		return false, nil
	case r.sent || !v.over():
		r.end.Adopted = !r.sent
		r.log.Info("container group found", "adopted", r.end.Adopted, "state", v.state)
		return true, nil
	}
	r.log.Info("container group of an earlier delivery has ended; it is deleted", "state", v.state)
	return false, r.delete(ctx, r.job.Name)
}

// make makes the group. Where the answer is lost, the next look tells.
func (r *run) make(ctx context.Context) (ready bool, f *failure) {
	r.sent = true
	_, err := r.groups.BeginCreateOrUpdate(ctx, r.o.ResourceGroup, r.job.Name, r.definition(r.job), nil)
	if f = r.failure(err); f == nil {
		r.log.Info("container group made", "image", r.o.Image, "cpu", r.o.CPU, "memory_gb", r.o.MemoryGB, "location", r.o.Location)
		return true, nil
	}
	r.sent = f.kind == passing
	return false, f
}

// follow follows the group until its container has ended.
func (r *run) follow(ctx context.Context) error {
	missing, pause := 0, r.o.Poll
	for {
		v, f := r.get(ctx, r.job.Name)
		switch {
		case ctx.Err() != nil && f != nil:
			return context.Cause(ctx)
		case f == nil:
			missing, pause = 0, r.o.Poll
			if done, err := r.see(v); done {
				return err
			}
		case f.kind == absent:
			if missing++; missing >= goneTries {
				r.log.Warn("container group is gone: somebody else deleted it")
				r.end.State = Gone
				return nil
			}
		default:
			r.log.Warn("the container group does not tell its state, trying again", "error", f)
			pause = min(2*pause, max(maxPause, r.o.Poll))
		}
		if !sleep(ctx, max(pause, retryHint(f))) {
			return context.Cause(ctx)
		}
	}
}

// see notes what a group says. done is true where there is no more to come.
func (r *run) see(v view) (done bool, err error) {
	r.tell(v)
	if v.started() {
		r.end.Started = true
		if at := value(v.current.StartTime); r.end.StartedAt.IsZero() {
			r.end.StartedAt = at
		}
	}
	if state, ended := v.end(); ended {
		r.end.State, r.end.Detail, r.end.ExitCode = terminated, oneLine(value(state.DetailStatus)), int(value(state.ExitCode))
		r.end.FinishedAt = value(state.FinishTime)
		if at := value(state.StartTime); !at.IsZero() {
			r.end.StartedAt = at
		}
		if state.ExitCode == nil {
			r.end.ExitCode = -1
		}
		return true, nil
	}
	switch {
	case !r.end.Started && v.hopeless() && v.crowded():
		return true, &NoRoom{Err: withReason(reason.StorageUnavailable, "no room for a container group now; the region has no machine free, or its quota is reached", v.story())}
	case !r.end.Started && v.hopeless():
		return true, &NotStarted{Variable: "RSMS_ACI_IMAGE", Err: withReason(reason.StorageUnavailable, "the container did not start; is RSMS_ACI_IMAGE there, "+
			"is it for Windows ltsc2019 or ltsc2022, and has the identity of RSMS_ACI_IDENTITY_ID the role AcrPull? the log has the events", v.story())}
	case v.over():
		r.end.State = v.state
		return true, nil
	}
	return false, nil
}

// tell logs where a group is, each time that is another place.
func (r *run) tell(v view) {
	now := fmt.Sprint(v.provisioning, v.state, value(v.current.State), value(v.current.DetailStatus), v.restarts)
	if now == r.told {
		return
	}
	r.told = now
	r.log.Info("container group", "provisioning", v.provisioning, "state", v.state, "container", value(v.current.State),
		"detail", oneLine(value(v.current.DetailStatus)), "restarts", v.restarts)
}

// get asks for a group.
func (g *Groups) get(ctx context.Context, name string) (view, *failure) {
	response, err := g.groups.Get(ctx, g.o.ResourceGroup, name, nil)
	return look(response.ContainerGroup), g.failure(err)
}

// delete asks for a group to be deleted; it goes in a while.
func (g *Groups) delete(ctx context.Context, name string) *failure {
	_, err := g.groups.BeginDelete(ctx, g.o.ResourceGroup, name, nil)
	if f := g.failure(err); f != nil && f.kind != absent {
		return f
	}
	return nil
}

// sleep waits, and reports whether ctx lasted so long.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// lost reports whether ctx ended because the message belongs to somebody else.
func lost(ctx context.Context) bool {
	return ctx.Err() != nil && reason.Of(context.Cause(ctx)) == reason.LeaseLost
}

// notStarted reports whether err says that no container has run.
func notStarted(err error) bool {
	_, room := errors.AsType[*NoRoom](err)
	_, start := errors.AsType[*NotStarted](err)
	return room || start
}
