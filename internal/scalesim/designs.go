package scalesim

import "time"

// Deployed returns the job as it is deployed and the worker as it is, with no
// load. An execution starts and is cleaned up as slowly as users report
// (microsoft/azure-container-apps#997: 22 s to start; #1800: 30 s and 15 s).
func Deployed() Scenario {
	return Scenario{
		Platform: Platform{
			Rule:     Rule{QueueLength: 1, Max: 10},
			Poll:     30 * time.Second,
			StartMin: 15 * time.Second,
			StartMax: 35 * time.Second,
			Cleanup:  15 * time.Second,
			VCPU:     1,
			GiB:      2,
		},
		Worker: Worker{
			Boot:       time.Second,
			Lease:      2 * time.Minute,
			Attempts:   5,
			Backoff:    15 * time.Second,
			BackoffMax: 5 * time.Minute,
		},
	}
}

// Design is one way to deploy the job and to write its worker.
type Design struct {
	Name   string
	About  string
	Change func(*Scenario)
}

// Designs returns ours first, then the same with one mistake each.
func Designs() []Design {
	return []Design{
		{"as it is", "delete last, renew, short back-off, count all messages, one per execution",
			func(*Scenario) {}},
		{"early delete", "the message is deleted before the work",
			func(s *Scenario) { s.DeleteFirst = true }},
		{"long back-off", "a failed message stays hidden for an hour",
			func(s *Scenario) { s.Backoff, s.BackoffMax = time.Hour, time.Hour }},
		{"visibleonly", "queueLengthStrategy leaves hidden messages out of the count",
			func(s *Scenario) { s.Strategy = VisibleOnly }},
		{"queueLength 5", "the scaler's default: five messages for each execution",
			func(s *Scenario) { s.QueueLength = 5 }},
		{"no renewal", "a run that is longer than the lease loses its message",
			func(s *Scenario) { s.NoRenewal = true }},
		{"pending forgotten", "no mistake of ours: a platform that does not count what still starts",
			func(s *Scenario) { s.ForgetsPending = true }},
	}
}
