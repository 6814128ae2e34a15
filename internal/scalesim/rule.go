// Package scalesim plays a burst of queue messages against the arithmetic by
// which Container Apps starts executions of an event-driven job, and counts what
// comes of it: time, executions, starts for nothing, work done twice, money. It
// is a discrete-event simulation: a queue with hidden messages, the poll of the
// scale rule, executions that take time to start, and workers that crash or
// fail. The same parameters give the same result, and every message ends done,
// put aside or lost.
package scalesim

// Strategy is which messages of the queue a scale rule counts: the
// queueLengthStrategy of KEDA's azure-queue scaler.
type Strategy int

const (
	All         Strategy = iota // hidden messages too
	VisibleOnly                 // hidden ones only where more than peekLimit-1 are visible
)

// peekLimit is how many messages one look at a queue can show. Where that many
// are visible, visibleonly falls back to the count of all
// (keda.sh/docs/scalers/azure-storage-queue).
const peekLimit = 32

// Rule is the scale rule of the job.
type Rule struct {
	QueueLength int // messages that one execution stands for
	Max         int // executions at once
	Strategy    Strategy
}

// Counted is the length of the queue as the rule sees it.
func (r Rule) Counted(all, visible int) int {
	if r.Strategy == VisibleOnly && visible < peekLimit {
		return visible
	}
	return all
}

// Starts is how many executions a poll starts where it counts that many messages
// and running executions have not ended, those that still start among them:
// KEDA's default strategy for jobs, min(Max, ceil(counted/QueueLength)) - running.
func (r Rule) Starts(counted, running int) int {
	wanted := (counted + r.QueueLength - 1) / r.QueueLength
	return max(0, min(r.Max, wanted)-running)
}
