package main

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"rsmsjob/internal/scalesim"
)

// table is a list of scenarios and the columns that are shown of each.
type table struct {
	title   string
	columns []column
	cases   []played
}

// played is a scenario of a design, and what it came to.
type played struct {
	design   string
	scenario scalesim.Scenario
	result   scalesim.Result
}

type column struct {
	head string
	of   func(*played) string
}

// play runs the scenarios, as many at once as there are processors, and returns
// the head and one row for each.
func (t *table) play() ([][]string, error) {
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i := range t.cases {
		p := &t.cases[i]
		all.Go(func() (err error) {
			p.result, err = scalesim.Run(p.scenario)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	rows := make([][]string, 1, 1+len(t.cases))
	for _, c := range t.columns {
		rows[0] = append(rows[0], c.head)
	}
	for i := range t.cases {
		var row []string
		for _, c := range t.columns {
			row = append(row, c.of(&t.cases[i]))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

var load = []column{
	{"messages", func(p *played) string { return count(p.scenario.Messages) }},
	{"run", func(p *played) string { return span(p.scenario.Run) }},
	{"max", func(p *played) string { return count(p.scenario.Max) }},
}

var design = []column{{"design", func(p *played) string { return p.design }}}

var outcome = []column{
	{"drained in", func(p *played) string { return span(p.result.Drain) }},
	{"executions", func(p *played) string { return count(p.result.Executions) }},
	{"empty", func(p *played) string { return count(p.result.Empty) }},
	{"crashed", func(p *played) string { return count(p.result.Crashed) }},
	{"poison", func(p *played) string { return count(p.result.Poisoned) }},
	{"lost", func(p *played) string { return count(p.result.Lost) }},
	{"double", func(p *played) string { return count(p.result.Doubled) }},
	{"peak", func(p *played) string { return count(p.result.Peak) }},
	{"container h", func(p *played) string { return count(int(p.result.ContainerSeconds/3600 + 0.5)) }},
	{"USD/1,000 runs", func(p *played) string {
		return fmt.Sprintf("%.2f", p.result.CostPerThousand(p.scenario.Platform, scalesim.ListPrices()))
	}},
}

var requests = []column{{"queue USD", func(p *played) string {
	_, queue := p.result.Cost(p.scenario.Platform, scalesim.ListPrices())
	return fmt.Sprintf("%.4f", queue/float64(max(1, p.result.Done))*1000)
}}}

var waits = []column{
	{"mean wait", func(p *played) string { return span(p.result.MeanWait()) }},
	{"longest wait", func(p *played) string { return span(p.result.LongestWait) }},
}

func columns(groups ...[]column) []column {
	var all []column
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// burst puts a load on the job.
func burst(base scalesim.Scenario, messages int, run time.Duration, maxExecutions int) scalesim.Scenario {
	base.Messages, base.Run, base.Spread, base.Max = messages, run, run/5, maxExecutions
	return base
}

// everyDesign is the scenario with our design, then with each mistake.
func everyDesign(s scalesim.Scenario) []played {
	var all []played
	for _, d := range scalesim.Designs() {
		p := played{design: d.Name, scenario: s}
		d.Change(&p.scenario)
		all = append(all, p)
	}
	return all
}

func own(s scalesim.Scenario) table {
	s = burst(s, s.Messages, s.Run, s.Max)
	return table{"Your burst", columns(design, load, outcome, requests, waits), everyDesign(s)}
}

// standard is what the README shows; with o.full the mistakes are played at all
// sizes.
func standard(o options) []table {
	grid := table{title: "A burst, with the job as it is", columns: columns(load, outcome, requests)}
	mistakes := table{title: "The same with one mistake each", columns: columns(design, load, outcome)}
	for _, size := range []struct{ messages, small, middle, large int }{{1000, 10, 100, 300}, {1_000_000, 100, 300, 1000}} {
		for _, run := range []time.Duration{30 * time.Second, 5 * time.Minute, 30 * time.Minute} {
			for _, most := range []int{size.small, size.middle, size.large} {
				s := burst(o.scenario, size.messages, run, most)
				grid.cases = append(grid.cases, played{scenario: s})
				if o.full || run == 5*time.Minute && most == 300 {
					mistakes.cases = append(mistakes.cases, everyDesign(s)...)
				}
			}
		}
	}
	trickle := burst(o.scenario, 480, 30*time.Minute, 100)
	trickle.Every = time.Minute
	steady := table{"A message a minute for 8 hours", columns(design, load, waits, outcome), everyDesign(trickle)}
	return []table{grid, mistakes, steady}
}
