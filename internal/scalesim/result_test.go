package scalesim

import (
	"math"
	"testing"
	"time"
)

// 100 executions of 60 s at 2 vCPU and 4 GiB, by hand.
func TestCost(t *testing.T) {
	r := Result{Done: 50, ContainerSeconds: 6000, Requests: 25_000}
	p := Platform{VCPU: 2, GiB: 4}
	containers, requests := r.Cost(p, ListPrices())
	if want := 6000 * (2*0.000024 + 4*0.000003); math.Abs(containers-want) > 1e-12 {
		t.Errorf("containers cost %v, want %v", containers, want)
	}
	if math.Abs(requests-0.001) > 1e-12 {
		t.Errorf("requests cost %v, want 0.001", requests)
	}
	if got := r.CostPerThousand(p, ListPrices()); math.Abs(got-7.22) > 1e-9 {
		t.Errorf("1,000 runs cost %v, want 7.22", got)
	}
	if (&Result{ContainerSeconds: 5}).CostPerThousand(p, ListPrices()) != 0 {
		t.Error("nothing done has a price per run")
	}
}

// Every request, second and cent of one message, by hand.
func TestOneMessage(t *testing.T) {
	s := Deployed()
	s.Messages, s.Run = 1, 100*time.Second
	s.StartMin, s.StartMax = 20*time.Second, 20*time.Second
	r, err := Run(s)
	if err != nil {
		t.Fatal(err)
	}
	want := Result{
		Drain:      151 * time.Second, // poll 30, start 20, boot 1, run 100
		Executions: 1, Done: 1, Peak: 1,
		Requests:         1 + 5 + 4 + 2 + 1, // send, polls at 30 to 150, claim, renewals at 40 and 80, delete
		ContainerSeconds: 20 + 1 + 100 + 15,
		Waited:           51,
		LongestWait:      51 * time.Second,
	}
	if r != want {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
	if r.MeanWait() != 51*time.Second {
		t.Errorf("mean wait %v", r.MeanWait())
	}
}
