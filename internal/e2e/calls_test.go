//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"rsmsjob/internal/storage/faultproxy"
)

// call is one request that a story makes, in words that fit every world.
type call struct {
	name      string // unique
	operation faultproxy.Operation
	path      string // of what is asked, with {roles} for names; see in
	nth       int    // of its kind in the story, from 0
	answered  bool   // with a body
	reads     bool   // and changes nothing
	story     story  // that makes it
}

// kind is what c of the call.
func (c *call) kind() kind { return kind{c.operation, c.path} }

// in gives what the requests of the kind have in common in a world.
func (c call) in(w *world, scenario string) faultproxy.Match {
	return faultproxy.Match{Operation: c.operation, Path: w.roles(scenario, false).Replace(c.path)}
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
	case r.Service == faultproxy.Queue:
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
	for _, r := range p.Requests() {
		k := w.kindOf(r, scenario)
		c := call{operation: k.operation, path: k.path, nth: seen[k], reads: r.Method == http.MethodGet && r.Operation != faultproxy.QueueReceive,
			answered: r.Status == http.StatusOK || r.Status == http.StatusAccepted && r.Service == faultproxy.Table || r.Operation == faultproxy.QueueSend}
		seen[k]++
		c.name = fmt.Sprintf("%s %s %d", c.operation, strings.TrimPrefix(c.path, "/"), c.nth+1)
		if most := byTime()[k]; most > 0 && c.nth >= most {
			continue
		}
		container, file, _ := strings.Cut(strings.TrimPrefix(c.path, "/"), "/")
		if r.Service == faultproxy.Blob && file != "" && !strings.HasSuffix(file, "result.json") {
			many := string(r.Operation) + container
			if similar[many] {
				continue
			}
			similar[many] = true
		}
		if r.Operation == faultproxy.TableTransaction && c.nth > 2 {
			all = slices.DeleteFunc(all, func(other call) bool { return other.kind() == k && other.nth == c.nth-1 })
		}
		all = append(all, c)
	}
	return all
}

// byTime are the calls that a run repeats while it lasts, and how many of them
// it makes however fast it is.
func byTime() map[kind]int {
	return map[kind]int{{faultproxy.QueueUpdate, "/{queue}/messages"}: 1, {faultproxy.EntityGet, "/{runs}"}: 3,
		{faultproxy.EntityReplace, "/{runs}"}: 2, {faultproxy.EntityMerge, "/{scenarios}"}: 2}
}

// story is a way that a message goes.
type story struct {
	name string
	// begin makes all that comes before the worker that is disturbed, for the
	// scenario.
	begin func(w *world, scenario string)
	// end checks how it ended.
	end func(w *world, scenario string, want map[string]string)
}

// stories are the ways of which the later ones ask what the earlier do not.
func stories() []story {
	return []story{
		{"run", func(w *world, scenario string) {
			w.scenario(scenario, nil)
			w.send(order(scenario))
		}, func(w *world, scenario string, want map[string]string) {
			w.completed(scenario, want)
			w.told(scenario, "Completed", 1, 2)
		}},
		{"again", func(w *world, scenario string) { // it was handed back once
			w.scenario(scenario, nil)
			w.send(order(scenario))
			w.run("RSMS_ENGINE_RUNNER=false").exits(10)
		}, func(w *world, scenario string, want map[string]string) {
			w.completed(scenario, want)
			w.told(scenario, "Completed", 1, 2)
		}},
		{"duplicate", func(w *world, scenario string) {
			w.scenario(scenario, nil)
			w.send(order(scenario))
			w.run().exits(0)
			w.notices()
			w.send(strings.Replace(order(scenario), jobOf(scenario), "other", 1))
		}, func(w *world, scenario string, want map[string]string) {
			w.completed(scenario, want)
			if n := len(w.notices()["other"]); n < 1 || n > 2 {
				w.Errorf("scenario %s: %d notices of the duplicate", scenario, n)
			}
		}},
		{"poison", func(w *world, scenario string) {
			w.scenario(scenario, map[string]any{"SpillMassKg": -1.0})
			w.send(order(scenario))
		}, func(w *world, scenario string, _ map[string]string) {
			if p := w.takePoison(); len(p) != 1 || p[0].Original != order(scenario) || p[0].Reason != "invalid_scenario" {
				w.Errorf("scenario %s: the poison queue has %+v", scenario, p)
			}
			if row := w.row(scenario); row["Status"] != "Failed" {
				w.Errorf("the row of scenario %s: %v", scenario, row)
			}
			w.told(scenario, "Failed", 1, 2)
		}},
	}
}

// recorded returns the calls of all stories, each kind once.
func recorded(tb testing.TB) []call {
	tb.Helper()
	var calls []call
	for _, s := range stories() {
		w := newWorld(tb)
		s.begin(w, "s1")
		p := w.proxy()
		w.run(via(p)).exits(0)
		known := map[kind]bool{}
		for _, c := range calls {
			known[c.kind()] = true
		}
		for _, c := range w.calls(p, "s1") {
			if !known[c.kind()] {
				c.name, c.story = s.name+": "+c.name, s
				calls = append(calls, c)
			}
		}
	}
	return calls
}
