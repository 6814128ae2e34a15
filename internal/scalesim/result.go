package scalesim

import "time"

// Result is what a scenario came to.
type Result struct {
	Drain      time.Duration // from the first message to the end of the last work
	Executions int
	Empty      int // executions that found no message
	Crashed    int // attempts that vanished
	Failed     int // attempts that failed
	Done       int // messages whose work was done
	Poisoned   int // messages that were put aside; without renewal they may be done as well
	Lost       int // messages that are gone and not done
	Doubled    int // times that work was done again although it was done
	Peak       int // executions at once, those that start and end included
	Requests   int // to the queue service: producer, scale rule, workers

	ContainerSeconds float64 // of all executions, from their start to their end
	Waited           float64 // seconds from arrival to the first claim, of all messages
	LongestWait      time.Duration
}

// MeanWait is how long a message waited on average for its first claim.
func (r *Result) MeanWait() time.Duration {
	claimed := r.Done + r.Poisoned + r.Lost
	return time.Duration(r.Waited / float64(max(1, claimed)) * float64(time.Second))
}

// Prices are in US dollars.
type Prices struct {
	VCPUSecond float64
	GiBSecond  float64
	Request    float64 // to a queue
}

// ListPrices returns pay-as-you-go list prices; they differ by region. Container
// Apps, consumption plan, active usage:
// azure.microsoft.com/pricing/details/container-apps, as quoted on 12 July 2026.
// Queue Storage, locally redundant, 0.0004 per 10,000 operations:
// azure.microsoft.com/pricing/details/storage/queues, as quoted, without a date.
// The free grant of each month, 180,000 vCPU-seconds and 360,000 GiB-seconds, is
// left out.
func ListPrices() Prices {
	return Prices{VCPUSecond: 0.000024, GiBSecond: 0.000003, Request: 0.0004 / 10000}
}

// Cost is what the containers and what the requests to the queue cost, in US
// dollars. Whether the platform charges for an execution while it starts and
// while it is cleaned up is not documented; a user reports that a slow start was
// billed (microsoft/azure-container-apps#1763), so all of it counts.
func (r *Result) Cost(p Platform, prices Prices) (containers, requests float64) {
	perSecond := p.VCPU*prices.VCPUSecond + p.GiB*prices.GiBSecond
	return r.ContainerSeconds * perSecond, float64(r.Requests) * prices.Request
}

// CostPerThousand is the cost of 1,000 messages done, in US dollars; 0 where none
// was.
func (r *Result) CostPerThousand(p Platform, prices Prices) float64 {
	if r.Done == 0 {
		return 0
	}
	containers, requests := r.Cost(p, prices)
	return (containers + requests) / float64(r.Done) * 1000
}
