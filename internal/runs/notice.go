package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
)

// A run that ends leaves its done-notice in the record, in the same write as
// its end; then the notice is sent, then it is taken out. Whoever dies between
// leaves it to the next one who comes by. So each notice is sent at least once,
// and twice only where a sender died, or its last write did not arrive.

// Notify sends the text of a done-notice to where somebody waits for it. It
// must end with its context.
type Notify func(ctx context.Context, text string) error

// ErrNotTold says that a run ended as it should and its done-notice could not
// be sent. It waits in the run record.
var ErrNotTold = errors.New("a done-notice was not sent")

// Tell sends the notices that wait in the run record, whoever left them, and
// takes out those that were sent. The error is ErrNotTold, with its cause,
// where one could not be sent.
func Tell(ctx context.Context, store Store, basin, scenario string, notify Notify) error {
	if notify == nil {
		return nil
	}
	r, err := change(ctx, store, basin, scenario, func(*Record) (bool, error) { return false, nil })
	if err != nil {
		return err
	}
	sent, untold := send(ctx, r.Notices, notify)
	return errors.Join(untold, takeOut(ctx, store, basin, scenario, sent))
}

// send sends the notices and returns those that it could send. One that cannot
// be sent keeps no other back.
func send(ctx context.Context, notices []string, notify Notify) (sent []string, untold error) {
	for _, text := range notices {
		switch err := notify(ctx, text); {
		case err == nil:
			sent = append(sent, text)
		case untold == nil:
			untold = fmt.Errorf("%w and waits in the run record: %w", ErrNotTold, reason.Wrap(reason.StorageUnavailable, err,
				"the queue of RSMS_DONE_QUEUE_NAME took no done-notice; it is sent when the next message of the scenario is taken"))
		}
	}
	return sent, untold
}

// takeOut takes notices that were sent out of the record, whose owner may be
// somebody else by now.
func takeOut(ctx context.Context, store Store, basin, scenario string, sent []string) error {
	if len(sent) == 0 {
		return nil
	}
	_, err := change(ctx, store, basin, scenario, func(r *Record) (bool, error) {
		left := without(r.Notices, sent)
		write := len(left) < len(r.Notices)
		r.Notices = left
		return write, nil
	})
	return err
}

// without returns the notices that are not in sent.
func without(notices, sent []string) []string {
	return slices.DeleteFunc(slices.Clone(notices), func(text string) bool { return slices.Contains(sent, text) })
}

// leaveNotice puts the notice of the end that r tells of into r.
func (h *Hold) leaveNotice(r *Record) {
	if h.req.Notify == nil || !r.Over() {
		return
	}
	// An earlier call of Finish may have written one, and its answer was lost.
	r.Notices = without(r.Notices, []string{h.notice})
	h.notice = (&message.Done{Basin: h.req.Basin, Scenario: h.req.Scenario, JobID: r.JobID, RunKey: r.RunKey,
		State: string(r.State), Reason: r.Reason, Detail: r.Detail, Attempt: r.Attempt,
		StartedAt: r.StartedAt, FinishedAt: *r.FinishedAt, Commit: r.Commit}).Encode()
	r.Notices = append(r.Notices, h.notice)
	if many := len(r.Notices) - maxNotices; many > 0 {
		h.req.Log.Warn("too many done-notices wait to be sent: the oldest are dropped", "dropped", many)
		r.Notices = r.Notices[many:]
	}
}

// sendOwn sends what waits in the record after our own end. Others may own the
// scenario by then.
func (h *Hold) sendOwn(ctx context.Context) error {
	r := h.snapshot()
	if h.req.Notify == nil || !r.Over() {
		return nil
	}
	sent, untold := send(ctx, r.Notices, h.req.Notify)
	h.sentAgain(takeOut(ctx, h.store, h.req.Basin, h.req.Scenario, sent))
	return untold
}

// sentAgain notes that notices which were sent are still in the record.
func (h *Hold) sentAgain(err error) {
	if err != nil {
		h.req.Log.Warn("done-notices that were sent stay in the run record and will be sent once more", "error", err)
	}
}

// sendOld sends what earlier runs left in the record. It has little time: the
// lease is renewed only after it.
func (h *Hold) sendOld(ctx context.Context) {
	r := h.snapshot()
	if h.req.Notify == nil || len(r.Notices) == 0 {
		return
	}
	limited := func(do func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, h.req.Lease/6)
		defer cancel()
		return do(ctx)
	}
	var sent []string
	untold := limited(func(ctx context.Context) (err error) {
		sent, err = send(ctx, r.Notices, h.req.Notify)
		return err
	})
	if untold != nil {
		h.req.Log.Warn("a done-notice of an earlier run goes on waiting", "error", untold)
	}
	if len(sent) == 0 {
		return
	}
	h.sentAgain(limited(func(ctx context.Context) error {
		return h.write(ctx, func(r *Record) { r.Notices, r.LeaseUntil = without(r.Notices, sent), wall().Add(h.req.Lease) })
	}))
}
