package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"rsmsjob/internal/lease"
	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

// Worker takes one message from a queue and sees it to its end: deleted when
// its work is done, handed back when it is to be tried again, moved to the
// poison queue when it can never be done. A message whose end is not certain is
// left alone and comes back by itself.
type Worker struct {
	Queue  lease.Queue
	Poison lease.PoisonQueue

	Lease      time.Duration
	Attempts   int // deliveries that a message may have
	RetryDelay func(attempt int) time.Duration
	JobTimeout time.Duration
	Patience   Patience
	PollWait   time.Duration // how long a first message is waited for
	Answer     time.Duration // how long the queue may take to give one

	// Look sees, before anything is taken, whether a message waits, and if so that
	// the job could run: an empty queue is asked for nothing else.
	Look func(ctx context.Context) (waiting bool, err error)
	// Job makes the job for a message; its message-related fields are set here.
	Job func(log *slog.Logger) *Job
	// Probe does what a worker.probe message asks for, and records it.
	Probe func(ctx context.Context, log *slog.Logger, m *message.Message, jobID string) error
	// Run names this process in the log.
	Run string
	Log *slog.Logger

	looked bool // and the job could run
}

// Poisoned says that the message was moved to the poison queue, and why.
type Poisoned struct{ Err error }

func (p *Poisoned) Error() string { return "message moved to poison: " + p.Err.Error() }
func (p *Poisoned) Unwrap() error { return p.Err }

// Next takes the next message and returns its answer, nil where there is none.
// Errors: ErrEmpty, *NoStart, *Poisoned, the cause of ctx, or what ended the run.
func (w *Worker) Next(ctx context.Context) (*Answer, error) {
	l, err := w.claim(ctx)
	if err != nil {
		return nil, err
	}
	defer l.Abandon() // does nothing behind any other end
	d := &delivery{Worker: w, lease: l, attempt: int(l.DequeueCount())}
	d.setLog(w.Log.With("message_id", l.ID(), "run", w.Run))
	// Who is stopped hands the message back first, then ends the work: the
	// platform may leave no time for more.
	work, end := context.WithCancelCause(context.WithoutCancel(l.Context()))
	defer end(nil)
	defer context.AfterFunc(l.Context(), func() {
		if ctx.Err() == nil {
			end(context.Cause(l.Context()))
		}
	})()
	back, grace := make(chan struct{}), d.job.Grace
	stop := context.AfterFunc(ctx, func() {
		defer close(back)
		stopWork := func() { end(context.Cause(ctx)) }
		defer stopWork()
		defer time.AfterFunc(grace/4, stopWork).Stop() // the queue may not answer
		handBack(ctx, l, grace)
	})
	answer, err := d.handle(work)
	if !stop() {
		<-back
		return answer, context.Cause(ctx)
	}
	return answer, d.end(ctx, err)
}

// delivery is one message, this time it was delivered.
type delivery struct {
	*Worker
	lease   *lease.Lease
	message *message.Message // nil where it cannot be decoded
	jobID   string
	refused bool // it cannot be decoded, though it says who it is about
	done    bool // the result stands
	attempt int  // deliveries so far that count
	waited  int  // and those that do not
	log     *slog.Logger
	job     *Job
}

// setLog gives the delivery and its job a log.
func (d *delivery) setLog(log *slog.Logger) {
	d.log, d.job = log, d.Job(log)
	d.lease.LogTo(log)
	d.job.Held, d.job.Message, d.job.Since = d.lease.Err, d.lease.ID(), d.lease.InsertedAt()
	d.job.Attempt, d.job.Attempts = d.attempt, d.Attempts
}

// handle runs the message.
func (d *delivery) handle(ctx context.Context) (*Answer, error) {
	d.log.Info("message claimed", "dequeue_count", d.lease.DequeueCount(), "inserted_at", d.lease.InsertedAt())
	m, err := message.Decode([]byte(d.lease.Text()))
	if err != nil {
		d.salvage()
		return nil, err
	}
	d.message, d.jobID = m, m.Identity(d.lease.ID())
	record, err := d.record(ctx)
	if err != nil {
		return nil, err
	}
	// A copy is busy once before it is delivered itself.
	d.waited = record.Snoozed[d.lease.OriginalID()]
	d.attempt = max(1, d.attempt-d.waited)
	d.identify()
	if end, over := d.ending(record); over {
		return nil, d.ended(ctx, end)
	}
	if d.attempt > d.Attempts {
		return d.tooOften(ctx)
	}
	limit := d.JobTimeout
	if m.Timeout > 0 && d.job.Place == nil { // a Place takes its time to begin
		limit = min(limit, m.Timeout)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, Overtime(limit))
	defer cancel()
	if m.Type == message.TypeProbe {
		return nil, d.Probe(ctx, d.log, m, d.jobID)
	}
	answer, err := d.job.Run(ctx, m, d.jobID)
	d.done = answer != nil
	return answer, err
}

// salvage finds out which job and scenario a message means that is refused:
// they are told.
func (d *delivery) salvage() {
	m, ok := message.Salvage([]byte(d.lease.Text()))
	if !ok {
		return
	}
	d.message, d.jobID, d.refused = m, m.Identity(d.lease.ID()), true
	d.identify()
}

// Overtime is why a run ended that took longer than its limit.
func Overtime(limit time.Duration) error {
	return reason.New(reason.TimedOut, "the time limit of the job, %.0f s, was reached", limit.Seconds())
}

// identify puts the names of the job on every line of its log.
func (d *delivery) identify() {
	log := d.log.With("job_id", d.jobID, "attempt", d.attempt)
	if d.message.Basin != "" {
		log = log.With("riverbasin_id", d.message.Basin, "scenario_id", d.message.Scenario)
	}
	d.setLog(log)
}

// record is the run record of the scenario, empty where there is none or none
// that can be read. Without an answer, how often the message may be tried is
// not known, so it stays.
func (d *delivery) record(ctx context.Context) (*runs.Record, error) {
	if d.message.Type == message.TypeProbe {
		return &runs.Record{}, nil
	}
	record, err := d.readRecord(ctx)
	if err != nil && reason.Of(err).Transient() {
		return nil, &Unsettled{Err: err}
	}
	return record, err
}

func (d *delivery) readRecord(ctx context.Context) (*runs.Record, error) {
	record, err := runs.Read(ctx, d.job.Runs, d.message.Basin, d.message.Scenario)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, runs.ErrUnreadable) {
		return &runs.Record{}, nil
	}
	return record, err
}

// ending is what the message came to, as the record says: under the id that it
// has or, where it was replaced by a copy since, that it had.
func (d *delivery) ending(record *runs.Record) (end runs.End, over bool) {
	if end, over = record.Ending(d.lease.ID()); !over {
		end, over = record.Ending(d.lease.OriginalID())
	}
	return end, over
}

// ended is the answer to a message whose end is on record: the worker that came
// to it died before the message was gone.
func (d *delivery) ended(ctx context.Context, end runs.End) error {
	d.log.Warn("the job came to its end in an earlier delivery, whose worker died", "state", string(end.State), "reason", string(end.Reason))
	r := d.job.run(d.message, d.jobID)
	r.sweep()
	if err := r.vacate(ctx, d.message); err != nil {
		return err
	}
	if end.State != runs.Completed {
		return &reason.Error{Code: end.Reason, Detail: end.Detail} // whose notice settle sends
	}
	d.done = true
	return r.tell(ctx)
}

// tooOften ends a message that was delivered more often than it may be: its
// workers died. One that died behind its result is done all the same.
func (d *delivery) tooOften(ctx context.Context) (*Answer, error) {
	err := reason.New(reason.MaxAttempts, "the message was delivered %d times, %d are allowed, and no attempt came to its end",
		d.attempt, d.Attempts)
	if d.message.Type == message.TypeProbe {
		return nil, err
	}
	r := d.job.run(d.message, d.jobID)
	r.sweep()
	if err := r.vacate(ctx, d.message); err != nil {
		return nil, err
	}
	marker, unknown := r.made(ctx)
	switch {
	case unknown != nil && reason.Of(unknown).Transient():
		return nil, &Unsettled{Err: unknown}
	case marker != nil:
		d.log.Warn("the result was made by an earlier attempt that died")
		d.done = true
		return r.record(ctx, d.message, marker)
	}
	return nil, d.job.Fail(ctx, d.message, d.jobID, err)
}

// Fail ends a job with err without running it, so that its scenario row says
// so. The error is err, or reason.Busy while somebody else runs the scenario,
// or *Unsettled where that could not be recorded.
func (j *Job) Fail(ctx context.Context, m *message.Message, jobID string, err error) error {
	r := j.run(m, jobID)
	return r.fail(ctx, r.request(m), err)
}
