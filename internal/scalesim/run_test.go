package scalesim

import (
	"math/rand/v2"
	"testing"
	"time"
)

func play(t *testing.T, s Scenario) Result {
	t.Helper()
	r, err := Run(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// scenario draws one of any size, kind and trouble.
func scenario(random *rand.Rand) Scenario {
	s := Deployed()
	s.Seed = random.Uint64()
	s.Messages = 1 + random.IntN(400)
	s.Max = 1 + random.IntN(60)
	s.Run = time.Duration(1+random.IntN(1200)) * time.Second
	s.Spread = time.Duration(random.Float64() * float64(s.Run))
	s.Every = time.Duration(random.IntN(3)*random.IntN(90)) * time.Second
	s.Crash, s.Fail, s.Hopeless = random.Float64()*0.3, random.Float64()*0.3, random.Float64()*0.1
	s.Lease = time.Duration(3+random.IntN(600)) * time.Second
	s.Attempts = 1 + random.IntN(6)
	return s
}

// Every message is done or put aside, once; only early delete loses any, only
// without renewal is work done twice.
func TestNothingIsLostOrDoubled(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		s := scenario(random)
		for _, d := range Designs() {
			changed := s
			d.Change(&changed)
			r := play(t, changed)
			ended := r.Done + r.Poisoned + r.Lost
			switch {
			case changed.NoRenewal && ended < s.Messages, !changed.NoRenewal && ended != s.Messages:
				t.Errorf("%s: %d of %d messages ended: %+v", d.Name, ended, s.Messages, r)
			case !changed.NoRenewal && r.Doubled != 0, !changed.DeleteFirst && r.Lost != 0:
				t.Errorf("%s: %d done twice, %d lost", d.Name, r.Doubled, r.Lost)
			case !changed.ForgetsPending && r.Peak > s.Max:
				t.Errorf("%s: %d ran at once, the limit is %d", d.Name, r.Peak, s.Max)
			}
			// Every execution is one of: empty, an attempt, a message put aside at its claim.
			attempts := r.Done + r.Doubled + r.Crashed + r.Failed
			if rest := r.Executions - r.Empty - attempts; rest < 0 || rest > r.Poisoned && !changed.NoRenewal {
				t.Errorf("%s: %d executions, %d empty, %d attempts, %d poison", d.Name, r.Executions, r.Empty, attempts, r.Poisoned)
			}
		}
	}
}

func TestSameSeedSameResult(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	differ := 0
	for range 20 {
		s := scenario(random)
		first := play(t, s)
		if again := play(t, s); again != first {
			t.Fatalf("two runs of one scenario:\n%+v\n%+v", first, again)
		}
		s.Seed++
		if play(t, s) != first {
			differ++
		}
	}
	if differ < 15 {
		t.Errorf("only %d of 20 scenarios feel the seed", differ)
	}
}

// Without chance the executions go in rounds: each lasts from one poll to the
// first poll at which the executions of the round before have ended (C27).
func TestRounds(t *testing.T) {
	up := func(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }
	for _, c := range []struct {
		messages, limit int
		run, start      time.Duration
	}{
		{1, 1, time.Minute, 20 * time.Second},
		{100, 10, 30 * time.Second, 20 * time.Second},
		{101, 10, 5 * time.Minute, 35 * time.Second},
		{1000, 300, 5 * time.Minute, 0},
		{1000, 100, 44 * time.Second, 30 * time.Second}, // a round that ends just at a poll
		{50, 7, 30 * time.Minute, 20 * time.Second},
	} {
		s := Deployed()
		s.Messages, s.Max, s.Run, s.StartMin, s.StartMax = c.messages, c.limit, c.run, c.start, c.start
		r := play(t, s)
		work := c.start + s.Boot + c.run
		rounds := (c.messages + c.limit - 1) / c.limit
		want := s.Poll + time.Duration(rounds-1)*up(work+s.Cleanup, s.Poll) + work
		if r.Drain != want || r.Executions != c.messages || r.Peak != min(c.messages, c.limit) {
			t.Errorf("%+v: %v, %d executions, %d at once; want %v", c, r.Drain, r.Executions, r.Peak, want)
		}
	}
}

// A 15-minute run every minute: a message waits for a poll and a start, not for
// the end of another one, unless those that run are not counted.
func TestC01C02C03C25WaitForAFinish(t *testing.T) {
	s := Deployed()
	s.Messages, s.Every, s.Run, s.Max = 120, time.Minute, 15*time.Minute, 100
	// One more poll, where an execution that is being cleaned up still counts.
	if wait, most := play(t, s).LongestWait, 2*s.Poll+s.StartMax+s.Boot; wait > most {
		t.Errorf("a message waited %v, more than two polls and a start, %v", wait, most)
	}
	for name, change := range map[string]func(*Scenario){
		"early delete":       func(s *Scenario) { s.DeleteFirst = true },
		"C25: visibleonly":   func(s *Scenario) { s.Strategy = VisibleOnly },
		"C07: queueLength 5": func(s *Scenario) { s.QueueLength = 5 },
	} {
		worse := s
		change(&worse)
		if r := play(t, worse); r.LongestWait < 15*time.Minute {
			t.Errorf("%s: a message waited %v only", name, r.LongestWait)
		}
	}
}

// Those that are started while the first one still starts find nothing, and the
// message is done once (C22). A platform that counts what starts starts one.
func TestC22StartersRace(t *testing.T) {
	s := Deployed()
	s.Messages, s.Run = 1, 10*time.Minute
	s.StartMin, s.StartMax = 3*time.Minute, 3*time.Minute
	if r := play(t, s); r.Executions != 1 || r.Empty != 0 {
		t.Errorf("%+v", r)
	}
	s.ForgetsPending = true
	if r := play(t, s); r.Empty < 4 || r.Done != 1 || r.Doubled != 0 || r.Executions != r.Empty+1 {
		t.Errorf("%+v", r)
	}
}

// One worker that renews for two hours is not joined by empty ones (C23).
func TestC23LongRun(t *testing.T) {
	s := Deployed()
	s.Messages, s.Run = 1, 2*time.Hour
	if r := play(t, s); r.Executions != 1 || r.Empty != 0 {
		t.Errorf("%+v", r)
	}
}

// One running, one new: it starts at the next poll (C24).
func TestC24OneBesideAnother(t *testing.T) {
	s := Deployed()
	s.Messages, s.Every, s.Run = 2, 5*time.Minute, time.Hour
	if r := play(t, s); r.LongestWait > s.Poll+s.StartMax+s.Boot {
		t.Errorf("the second message waited %v", r.LongestWait)
	}
	s.DeleteFirst = true
	if r := play(t, s); r.LongestWait < 55*time.Minute {
		t.Errorf("with early delete the second message waited only %v", r.LongestWait)
	}
}

// A message that is hidden after a failure starts an empty execution at every
// poll: few with our back-off, some 100 an hour with a long one (C26).
func TestC26BackOff(t *testing.T) {
	s := Deployed()
	s.Messages, s.Run, s.Hopeless = 1, time.Minute, 1
	ours := play(t, s)
	if ours.Poisoned != 1 || ours.Failed != s.Attempts || ours.Empty > 5 {
		t.Errorf("%+v", ours)
	}
	s.Backoff, s.BackoffMax = time.Hour, time.Hour
	long := play(t, s)
	if hours := s.Attempts - 1; long.Poisoned != 1 || long.Empty < 40*hours {
		t.Errorf("%+v", long)
	}
}

// A worker that always dies is put aside by the count of dequeues (C68).
func TestC68AlwaysCrashes(t *testing.T) {
	s := Deployed()
	s.Messages, s.Run, s.Crash = 3, time.Minute, 1
	if r := play(t, s); r.Poisoned != 3 || r.Crashed != 3*s.Attempts || r.Done != 0 {
		t.Errorf("%+v", r)
	}
}

// What a dead worker held comes back when the lease ends that it renewed last.
func TestCrashHidesForTheLease(t *testing.T) {
	s := Deployed()
	s.Messages, s.Run, s.Crash, s.Attempts = 1, time.Second, 1, 1
	s.StartMin, s.StartMax = 0, 0
	claimed := s.Poll + s.Boot
	// The execution of the poll at 2:30 claims at 2:31, just when the message is back.
	if r := play(t, s); r.Poisoned != 1 || r.Drain != claimed+s.Lease {
		t.Errorf("%+v, want the end at %v", r, claimed+s.Lease)
	}
	for worked, want := range map[time.Duration]time.Duration{0: 0, 39 * time.Second: 0, 40 * time.Second: 40 * time.Second, 125 * time.Second: 2 * time.Minute} {
		if got := s.renewed(worked); got != want {
			t.Errorf("after %v the last renewal was at %v, want %v", worked, got, want)
		}
	}
}

// The back-off of the worker is 15 s, doubled, 5 min at most.
func TestBackoff(t *testing.T) {
	w := Deployed().Worker
	for i, seconds := range []time.Duration{15, 30, 60, 120, 240, 300, 300} {
		if got := w.backoff(i + 1); got != seconds*time.Second {
			t.Errorf("attempt %d: hidden for %v, want %d s", i+1, got, seconds)
		}
	}
}

// Runs of about three leases are done once with renewal. Without, a message that
// came back is taken by an execution that was started for another one (C65).
func TestC65Renewal(t *testing.T) {
	s := Deployed()
	s.Messages, s.Run, s.Spread = 200, 3*s.Lease, s.Lease
	if r := play(t, s); r.Done != 200 || r.Doubled != 0 || r.Executions != 200 {
		t.Errorf("%+v", r)
	}
	s.NoRenewal = true
	if r := play(t, s); r.Doubled < 20 {
		t.Errorf("%+v", r)
	}
	// Where nobody else takes it, the expired receipt deletes it.
	s.Messages = 1
	if r := play(t, s); r.Done != 1 || r.Doubled != 0 || r.Executions != 1 {
		t.Errorf("%+v", r)
	}
}

// Memory follows what runs at once, not what waits.
func TestMemory(t *testing.T) {
	s := Deployed()
	s.Messages, s.Max, s.Run, s.Spread, s.Crash, s.Fail = 50_000, 100, time.Minute, 20*time.Second, 0.05, 0.05
	sim := newSimulation(s)
	sim.play()
	for name, size := range map[string]int{"events": cap(sim.events.entries), "hidden": cap(sim.queue.waiting.entries), "back": cap(sim.queue.back)} {
		if size > 4*s.Max {
			t.Errorf("%s grew to %d entries with %d executions at once", name, size, s.Max)
		}
	}
}

func TestBadScenarios(t *testing.T) {
	for name, spoil := range map[string]func(*Scenario){
		"no messages":       func(s *Scenario) { s.Messages = 0 },
		"no executions":     func(s *Scenario) { s.Max = 0 },
		"no queue length":   func(s *Scenario) { s.QueueLength = 0 },
		"no poll":           func(s *Scenario) { s.Poll = 0 },
		"no lease":          func(s *Scenario) { s.Lease = 0 },
		"no attempts":       func(s *Scenario) { s.Attempts = 0 },
		"back in time":      func(s *Scenario) { s.Every = -1 },
		"back-off falls":    func(s *Scenario) { s.BackoffMax = s.Backoff - 1 },
		"start range falls": func(s *Scenario) { s.StartMax = s.StartMin - 1 },
		"run below nothing": func(s *Scenario) { s.Spread = s.Run + 1 },
		"chance above 1":    func(s *Scenario) { s.Hopeless = 1.1 },
		"chances above 1":   func(s *Scenario) { s.Crash, s.Fail = 0.6, 0.6 },
	} {
		s := Deployed()
		s.Messages, s.Run = 1, time.Minute
		spoil(&s)
		if _, err := Run(s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The seconds that a million messages take to play.
func BenchmarkMillion(b *testing.B) {
	s := Deployed()
	s.Messages, s.Max, s.Run, s.Spread, s.Crash, s.Fail = 1_000_000, 300, 5*time.Minute, time.Minute, 0.01, 0.02
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Run(s); err != nil {
			b.Fatal(err)
		}
	}
}
