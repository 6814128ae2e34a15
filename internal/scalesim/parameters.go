package scalesim

import (
	"fmt"
	"time"
)

// Load is what is put on the queue and how its work goes. Chances are of 0 to 1.
type Load struct {
	Messages int
	Every    time.Duration // between two messages; 0 = all at the start
	Run      time.Duration // of one message, on average
	Spread   time.Duration // a run takes Run ± Spread, evenly distributed
	Crash    float64       // chance of an attempt to vanish on the way, e.g. its node goes
	Fail     float64       // chance of an attempt to fail on the way, e.g. storage is away
	Hopeless float64       // chance of a message to fail in every attempt
	Seed     uint64
}

// Platform is the job as it is deployed, and what it runs on.
type Platform struct {
	Rule
	Poll           time.Duration // between two looks at the queue
	StartMin       time.Duration // from the start of an execution to that of its process, at least
	StartMax       time.Duration // the same, at most
	Cleanup        time.Duration // from the end of the process to that of the execution
	ForgetsPending bool          // executions that still start do not count as running
	VCPU, GiB      float64       // of one execution
}

// Worker is the program in the container.
type Worker struct {
	Boot        time.Duration // from the start of the process to its claim of a message
	Lease       time.Duration // how long a claim hides a message; renewed at a third of it
	Attempts    int           // dequeues after which a message is put aside
	Backoff     time.Duration // a failed message stays hidden, doubled per attempt
	BackoffMax  time.Duration
	DeleteFirst bool // the message is deleted before the work, not after
	NoRenewal   bool // the lease is left to run out during the work
}

// Scenario is all that a simulation depends on.
type Scenario struct {
	Load
	Platform
	Worker
}

// check refuses what has no meaning or no end.
func (s *Scenario) check() error {
	chance := func(p float64) bool { return p >= 0 && p <= 1 }
	switch {
	case s.Messages < 1:
		return fmt.Errorf("%d messages: at least 1 is needed", s.Messages)
	case s.Max < 1, s.QueueLength < 1:
		return fmt.Errorf("max %d, queue length %d: both must be 1 or more", s.Max, s.QueueLength)
	case s.Poll <= 0, s.Lease <= 0:
		return fmt.Errorf("poll %v, lease %v: both must be above 0", s.Poll, s.Lease)
	case s.Attempts < 1:
		return fmt.Errorf("%d attempts: at least 1 is needed", s.Attempts)
	case s.Every < 0, s.Boot < 0, s.Cleanup < 0, s.Backoff < 0, s.BackoffMax < s.Backoff:
		return fmt.Errorf("every %v, boot %v, clean-up %v, back-off %v to %v: none may be negative, or the last below the first", s.Every, s.Boot, s.Cleanup, s.Backoff, s.BackoffMax)
	case s.StartMin < 0, s.StartMax < s.StartMin:
		return fmt.Errorf("start of an execution %v to %v: the range must rise from 0 or more", s.StartMin, s.StartMax)
	case s.Spread < 0, s.Run < s.Spread:
		return fmt.Errorf("run %v ± %v: a run must not be shorter than nothing", s.Run, s.Spread)
	case !chance(s.Crash), !chance(s.Fail), !chance(s.Hopeless), s.Crash+s.Fail > 1:
		return fmt.Errorf("chances %g, %g, %g: each must be 0 to 1, crash and fail together too", s.Crash, s.Fail, s.Hopeless)
	}
	return nil
}

// backoff is how long a message stays hidden after its attempt, 1 for the first,
// has failed.
func (w *Worker) backoff(attempt int) time.Duration {
	d := w.Backoff
	for ; attempt > 1 && d < w.BackoffMax; attempt-- {
		d *= 2
	}
	return min(d, w.BackoffMax)
}

// renewed is how long after a claim the lease was last renewed by a worker that
// has worked for so long.
func (w *Worker) renewed(worked time.Duration) time.Duration {
	return time.Duration(w.renewals(worked)) * (w.Lease / 3)
}

func (w *Worker) renewals(worked time.Duration) int {
	if w.NoRenewal || w.DeleteFirst || w.Lease < 3 {
		return 0
	}
	return int(worked / (w.Lease / 3))
}
