package scalesim

import "time"

// Requests to the queue service by a worker.
const (
	requestsEmpty   = 1 // a look at the queue
	requestsClaim   = 4 // a look, the right to renew, the poison queue, the claim
	requestsEnd     = 1 // delete or hand back
	requestsPutAway = 1 // the copy in the poison queue, before the delete
)

// execution is one that the platform has started, from first to last.
type execution struct {
	born    time.Duration
	m       *message
	receipt int
	claimed time.Duration
	end     fate
}

// event is what happens to an execution next.
type event struct {
	x    *execution
	step func(*simulation, *execution)
}

type simulation struct {
	Scenario
	chance  chance
	queue   queue
	events  timeline[event]
	now     time.Duration
	running int // executions that have not ended
	pending int // of these, how many have no process yet
	result  Result
}

// Run plays the scenario to its end. Time and memory grow with the executions
// that are needed and with those that run at once; messages that wait cost
// neither. An error names the parameter that cannot be.
func Run(s Scenario) (Result, error) {
	if err := s.check(); err != nil {
		return Result{}, err
	}
	sim := newSimulation(s)
	sim.play()
	return sim.result, nil
}

func newSimulation(s Scenario) *simulation {
	sim := &simulation{Scenario: s, chance: chance{seed: s.Seed}}
	sim.queue.load = &sim.Load
	sim.result.Requests = s.Messages // the producer's
	return sim
}

// play ends when the queue is empty and nothing runs. The burst comes just after
// a poll, which is the longest way to the first start.
func (s *simulation) play() {
	for poll := s.Poll; !s.queue.drained() || s.running > 0; {
		if s.events.due(poll) {
			at, e := s.events.take()
			s.now = at
			e.step(s, e.x)
			continue
		}
		s.now = poll
		s.poll()
		poll += s.Poll
	}
}

func (s *simulation) after(d time.Duration, x *execution, step func(*simulation, *execution)) {
	s.events.put(s.now+d, event{x, step})
}

// poll is the platform's look at the queue.
func (s *simulation) poll() {
	s.result.Requests++
	running := s.running
	if s.ForgetsPending {
		running -= s.pending
	}
	counted := s.Counted(s.queue.length(s.now), s.queue.visible(s.now))
	for range s.Starts(counted, running) {
		s.start()
	}
}

func (s *simulation) start() {
	delay := s.chance.between(s.StartMin, s.StartMax, drawStart, s.result.Executions)
	s.result.Executions++
	s.running++
	s.pending++
	s.result.Peak = max(s.result.Peak, s.running)
	s.after(delay, &execution{born: s.now}, (*simulation).boot)
}

func (s *simulation) boot(x *execution) {
	s.pending--
	s.after(s.Boot, x, (*simulation).claim)
}

// claim is the worker's one look for a message.
func (s *simulation) claim(x *execution) {
	x.m = s.queue.dequeue(s.now)
	if x.m == nil {
		s.result.Empty++
		s.result.Requests += requestsEmpty
		s.exit(x)
		return
	}
	x.receipt, x.claimed = x.m.receipt, s.now
	s.result.Requests += requestsClaim
	if x.m.dequeues == 1 {
		wait := s.now - s.queue.came(x.m.id)
		s.result.Waited += wait.Seconds()
		s.result.LongestWait = max(s.result.LongestWait, wait)
	}
	if x.m.dequeues > s.Attempts { // it never came to an end: crashes
		s.putAside(x)
		s.exit(x)
		return
	}
	switch {
	case s.DeleteFirst:
		s.result.Requests += requestsEnd
		s.queue.remove(x.m, x.receipt)
	case s.NoRenewal:
		s.queue.hide(x.m, x.receipt, s.now+s.Lease)
		x.receipt = x.m.receipt
	}
	end, work := s.chance.attempt(&s.Load, x.m.id, x.m.dequeues)
	x.end = end
	s.after(work, x, (*simulation).finish)
}

// finish is the end of the work, whichever it is.
func (s *simulation) finish(x *execution) {
	worked := s.now - x.claimed
	s.result.Requests += s.renewals(worked)
	s.result.Drain = s.now
	switch x.end {
	case finishes:
		s.done(x)
	case fails:
		s.result.Failed++
		s.failed(x)
	case crashes:
		s.result.Crashed++
		if s.DeleteFirst {
			s.result.Lost++
		} else if !s.NoRenewal { // else it is hidden until its lease ends
			s.queue.hide(x.m, x.receipt, x.claimed+s.renewed(worked)+s.Lease)
		}
	}
	s.exit(x)
}

func (s *simulation) done(x *execution) {
	if x.m.done {
		s.result.Doubled++
	} else {
		s.result.Done++
	}
	x.m.done = true
	if !s.DeleteFirst {
		s.result.Requests += requestsEnd
		s.queue.remove(x.m, x.receipt)
	}
}

func (s *simulation) failed(x *execution) {
	switch {
	case s.DeleteFirst:
		s.result.Lost++
	case x.m.dequeues >= s.Attempts:
		s.putAside(x)
	default:
		s.result.Requests += requestsEnd
		s.queue.hide(x.m, x.receipt, s.now+s.backoff(x.m.dequeues))
	}
}

// putAside moves the message to the poison queue, unless somebody else has it.
func (s *simulation) putAside(x *execution) {
	s.result.Requests += requestsPutAway + requestsEnd
	if s.queue.remove(x.m, x.receipt) {
		s.result.Poisoned++
		s.result.Drain = s.now
	}
}

func (s *simulation) exit(x *execution) { s.after(s.Cleanup, x, (*simulation).gone) }

func (s *simulation) gone(x *execution) {
	s.running--
	s.result.ContainerSeconds += (s.now - x.born).Seconds()
}
