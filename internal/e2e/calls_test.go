//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/faultproxy"
)

// call is one request that a story makes, in words that fit every world.
type call struct {
	Name      string // unique
	Operation faultproxy.Operation
	Path      string // of what is asked, with {roles} for names; see in
	Nth       int    // of its kind in the story, from 0
	Answered  bool   // with a body
	Reads     bool   // and changes nothing
	Early     bool   // up to the one that takes the message
	Story     string
}

// notices is how often a job may be told of, at most, where the call goes
// wrong: a notice that was sent and may not have been, or that could not be
// taken out of the record, is sent once more.
func (c call) notices() int {
	if c.Path == "/{done}/messages" || c.Path == "/{runs}" {
		return 2
	}
	return 1
}

// kind is what c of the call.
func (c *call) kind() kind { return kind{c.Operation, c.Path} }

// in gives what the requests of the kind have in common in a world.
func (c call) in(w *world, scenario string) faultproxy.Match {
	return faultproxy.Match{Operation: c.Operation, Path: w.roles(scenario, false).Replace(c.Path)}
}

// roles replaces the names of the world by roles, or back.
func (w *world) roles(scenario string, away bool) *strings.Replacer {
	l := w.names.Layout
	var pairs []string
	for _, p := range [][2]string{{"/" + w.names.Poison, "/{poison}"}, {"/" + w.names.Queue, "/{queue}"}, {"/" + w.names.Done, "/{done}"},
		{"/" + l.Basins, "/{basins}"}, {"/" + l.Results, "/{results}"}, {"/" + l.Scenarios, "/{scenarios}"}, {"/" + l.Runs, "/{runs}"},
		{"/" + l.PlumeByTime, "/{by time}"}, {"/" + l.PlumeByMile, "/{by mile}"}, {"/" + scenario + "/", "/{scenario}/"},
		{"/" + jobOf(scenario) + "/", "/{job}/"}} {
		if away {
			pairs = append(pairs, p[0], p[1])
		} else {
			pairs = append(pairs, p[1], p[0])
		}
	}
	return strings.NewReplacer(pairs...)
}

// kind is what a request has in common with others: what is asked of which
// thing.
type kind struct {
	operation faultproxy.Operation
	path      string
}

// kindOf takes a message for its queue, an entity for its table, and the log of
// a run for any.
func (w *world) kindOf(r faultproxy.Request, scenario string) kind {
	path := w.roles(scenario, true).Replace(r.Path)
	path, _, _ = strings.Cut(path, "(")
	switch {
	case r.Service == faultproxy.Queue && strings.Contains(path, "/messages"):
		path = path[:strings.Index(path, "}")+1] + "/messages"
	case strings.Contains(path, "/run-"):
		path = "/run-"
	}
	return kind{r.Operation, path}
}

// calls returns the requests that a proxy saw in a story about a scenario, each
// by its kind and number. Of transactions there are the first two and the last,
// of other blobs than result.json the first of each container.
func (w *world) calls(p *faultproxy.Proxy, scenario string) []call {
	var all []call
	seen := map[kind]int{}
	similar := map[string]bool{}
	early := true
	for _, r := range p.Requests() {
		k := w.kindOf(r, scenario)
		c := call{Operation: k.operation, Path: k.path, Nth: seen[k], Early: early, Reads: r.Method == http.MethodGet && r.Operation != faultproxy.QueueReceive,
			Answered: r.Status == http.StatusOK || r.Status == http.StatusAccepted && r.Service == faultproxy.Table || r.Operation == faultproxy.QueueSend}
		seen[k]++
		early = early && r.Operation != faultproxy.QueueReceive
		c.Name = fmt.Sprintf("%s %s %d", c.Operation, strings.TrimPrefix(c.Path, "/"), c.Nth+1)
		if most := byTime()[k]; most > 0 && c.Nth >= most {
			continue
		}
		container, file, _ := strings.Cut(strings.TrimPrefix(c.Path, "/"), "/")
		if r.Service == faultproxy.Blob && file != "" && !strings.HasSuffix(file, "result.json") {
			many := string(r.Operation) + container
			if similar[many] {
				continue
			}
			similar[many] = true
		}
		if r.Operation == faultproxy.TableTransaction && c.Nth > 2 {
			all = slices.DeleteFunc(all, func(other call) bool { return other.kind() == k && other.Nth == c.Nth-1 })
		}
		all = append(all, c)
	}
	return all
}

// byTime are the calls that a run repeats while it lasts, and how many of them
// it makes however fast it is.
func byTime() map[kind]int {
	return map[kind]int{{faultproxy.QueueUpdate, "/{queue}/messages"}: 2, {faultproxy.EntityGet, "/{runs}"}: 3,
		{faultproxy.EntityReplace, "/{runs}"}: 2, {faultproxy.EntityMerge, "/{scenarios}"}: 2}
}

// story is a way that a message goes.
type story struct {
	name string
	code int // that the worker exits with which ends it
	// begin makes all that comes before the worker that is disturbed, for the
	// scenario.
	begin func(w *world, scenario string)
	// end checks how it ended, and that its job was told of once, or up to most
	// times. The result, if there is one, is compared with want, unless that is nil.
	end func(w *world, scenario string, most int, want map[string]string)
}

// stories are the ways of which the later ones ask what the earlier do not.
func stories() []story {
	completed := func(w *world, scenario string, most int, want map[string]string) {
		w.Helper()
		if want != nil {
			w.completed(scenario, want)
		} else {
			w.stands(scenario)
		}
		w.told(scenario, "Completed", 1, most)
	}
	return []story{
		{"run", 0, func(w *world, scenario string) {
			w.scenario(scenario, nil)
			w.send(order(scenario))
		}, completed},
		{"again", 0, func(w *world, scenario string) { // it was handed back once
			w.scenario(scenario, nil)
			w.send(order(scenario))
			w.run("RSMS_ENGINE_RUNNER=false").exits(10)
		}, completed},
		{"duplicate", 0, func(w *world, scenario string) {
			w.scenario(scenario, nil)
			w.send(order(scenario))
			w.run().exits(0)
			w.notices()
			w.send(orderAs(scenario, "other"))
		}, func(w *world, scenario string, most int, want map[string]string) {
			w.Helper()
			if want != nil {
				same(w, w.snapshot(scenario), want)
			}
			w.isCompleted(scenario, "other")
			if n := len(w.notices()["other"]); n < 1 || n > most {
				w.Errorf("scenario %s: %d notices of the duplicate", scenario, n)
			}
		}},
		{"cancelled", 12, func(w *world, scenario string) {
			w.scenario(scenario, nil)
			w.send(order(scenario))
			w.setStatus(scenario, "Queued")
			w.command("cancel", basin, scenario).exits(0)
		}, func(w *world, scenario string, most int, _ map[string]string) {
			w.Helper()
			w.is(scenario, runs.Cancelled, reason.Cancelled)
			w.told(scenario, "Cancelled", 1, most)
		}},
		{"poison", 0, func(w *world, scenario string) {
			w.scenario(scenario, map[string]any{"SpillMassKg": -1.0})
			w.send(order(scenario))
		}, func(w *world, scenario string, most int, _ map[string]string) {
			w.Helper()
			if p := w.takePoison(); len(p) != 1 || p[0].Original != order(scenario) || p[0].Reason != reason.InvalidScenario {
				w.Errorf("scenario %s: the poison queue has %+v", scenario, p)
			}
			w.is(scenario, runs.Failed, reason.InvalidScenario)
			w.told(scenario, "Failed", 1, most)
		}},
	}
}

// recorded returns the calls of all stories, each kind once.
func recorded(tb testing.TB) []call { tb.Helper(); return shared(tb, "calls", record) }

func record(tb testing.TB) []call {
	tb.Helper()
	var calls []call
	for _, s := range stories() {
		w := newWorld(tb)
		s.begin(w, "s1")
		p := w.proxy()
		w.run(via(p)).exits(s.code)
		known := map[kind]bool{}
		for _, c := range calls {
			known[c.kind()] = true
		}
		for _, c := range w.calls(p, "s1") {
			if !known[c.kind()] {
				c.Name, c.Story = s.name+": "+c.Name, s.name
				calls = append(calls, c)
			}
		}
	}
	return calls
}

// story is the one that makes the call.
func (c call) story() story {
	list := stories()
	return list[slices.IndexFunc(list, func(s story) bool { return s.name == c.Story })]
}
