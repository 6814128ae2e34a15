package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/remove"
	"rsmsjob/internal/river"
)

// ensembleName is the blob of the bands.
const ensembleName = "ensemble.json"

// Factors that dispersion is varied by where nobody says: Fischer's formula is
// good to a factor of 4; for one that a basin gives, that of half as much again is
// our choice.
const (
	estimatedDispersion = 4
	givenDispersion     = 1.5
)

// ensembleWeights is where each step of a run with an ensemble begins and ends, in
// percent: what comes before it is soon done.
func ensembleWeights(step string) [2]float64 {
	const before, behind = 30, 94
	w := weights[step]
	switch step {
	case "ensemble":
		return [2]float64{before, behind}
	case "publish":
		return [2]float64{behind, 100}
	}
	most := weights["check"][1]
	return [2]float64{w[0] / most * before, w[1] / most * before}
}

// members are the runs of an ensemble while they are made.
type members struct {
	*run
	central *engine.Plan
	draws   []ensemble.Draw
	flows   *engine.Set // makes the flows of a level; nil where each member must
	set     *engine.Set // does the rest
	dir     string      // of the run; each member has a folder in it
	levels  map[int]func() (*sharedFlows, error)

	mu       sync.Mutex // guards what follows
	study    *ensemble.Study
	parts    []float64 // of each member, that are done
	done     float64   // all of them together
	warnings []string
	failed   int
}

// ensemble runs the plan again and again with other dispersion, flows and release
// times, and returns how far the answers at the intakes move, and what is to be
// warned of. Whatever becomes of a member costs no more than the band, and the time
// of the job does not end in it: the error is the end of the whole run.
func (r *run) ensemble(ctx context.Context, plan *engine.Plan, intakes []plume.Intake, dir string) (*ensemble.Document, []string, error) {
	r.step("ensemble", 0)
	m := &members{run: r, central: plan, dir: dir}
	m.flows, m.set = r.set.ForCurves()
	options := m.options()
	if len(intakes) > 0 {
		m.draw(&options)
	}
	m.study, m.parts = ensemble.NewStudy(r.ids, options, plan.Case.Flows != nil, m.draws, intakes), make([]float64, len(m.draws))
	group, wanted := errgroup.WithContext(ctx)
	timely, cancel := r.inTime(wanted)
	defer cancel()
	m.levels = m.shareFlows(timely)
	defer m.dropFlows()
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, i := range byLevel(m.draws) {
		group.Go(func() error { return m.member(wanted, timely, i) })
	}
	err := group.Wait()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	doc := m.study.Document()
	if more := m.failed - mostTold; more > 0 {
		m.warn("%d more runs of the ensemble failed; %s has all of them", more, ensembleName)
	}
	if doc.Problem != "" {
		m.warn("%s", doc.Problem)
	}
	return doc, m.warnings, nil
}

// warn warns in the log and in the answer.
func (m *members) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	m.warnings = append(m.warnings, text)
	m.Log.Warn(text)
}

// options are those of the job, with what fits the basin where they say nothing.
func (m *members) options() ensemble.Options {
	o := m.Ensemble
	if o.Dispersion == 0 {
		o.Dispersion = givenDispersion
		if m.central.DispersionEstimated() {
			o.Dispersion = estimatedDispersion
		}
	}
	return o
}

// draw draws the members. Where the records of flows do not reach as far as
// another release time needs, that is left as it is.
func (m *members) draw(o *ensemble.Options) {
	dated := m.central.Case.Flows != nil
	m.draws = o.Draws(dated)
	if !dated || o.Release == 0 {
		return
	}
	seen := map[int]bool{}
	for _, d := range m.draws {
		if seen[d.FlowLevel] {
			continue
		}
		seen[d.FlowLevel] = true
		if _, err := m.plan(d); len(reason.Faults(err)) > 0 && reason.Faults(err)[0].File == nfqName {
			m.warn("the ensemble does not vary the release time, for which the records are too short: %s", reason.Detail(err))
			o.Release = 0
			m.draws = o.Draws(dated)
			return
		}
	}
}

// byLevel is the order in which members are begun: first one of each flow level,
// so that nobody waits for flows that somebody else computes.
func byLevel(draws []ensemble.Draw) []int {
	order, turn, seen := make([]int, len(draws)), make([]int, len(draws)), map[int]int{}
	for i, d := range draws {
		order[i], turn[i] = i, seen[d.FlowLevel]
		seen[d.FlowLevel]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(turn[a], turn[b]) })
	return order
}

// mostTold is how many members that failed have a warning each.
const mostTold = 5

// inTime ends when half of what is left to the job is over: an answer without a
// band is better than none, and the rest of the time is for publishing it.
func (r *run) inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, time.Until(end)/2,
		reason.New(reason.TimedOut, "an ensemble has half of the time that is left to its job; raise RSMS_JOB_TIMEOUT_SEC, or make fewer runs"))
}

// member makes one member and notes what came of it. The error, that wanted has
// ended, ends all.
func (m *members) member(wanted, timely context.Context, i int) error {
	found, err := m.tried(timely, i)
	if wanted.Err() != nil {
		return context.Cause(wanted)
	}
	if err != nil && timely.Err() != nil {
		err = context.Cause(timely)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.part(i, 1)
	if err == nil {
		m.study.Completed(i, found)
		return nil
	}
	m.Log.Warn("a run of the ensemble failed", "number", i+1, "reason", string(reason.Of(err)), "error", err)
	m.study.Failed(i, reason.Of(err))
	if m.failed++; m.failed <= mostTold {
		m.warnings = append(m.warnings, fmt.Sprintf("run %d of the ensemble failed (%s): %s: %s", i+1, m.draws[i], reason.Of(err), reason.Detail(err)))
	}
	return nil
}

// tried computes a member, or says why it cannot be.
func (m *members) tried(ctx context.Context, i int) (found []plume.Intake, err error) {
	defer func() {
		if p := recover(); p != nil { // nobody else sees it in this goroutine
			err = &reason.Error{Code: reason.Internal, Detail: "internal error; the log has the stack", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return m.compute(ctx, i)
}

// compute runs the engines of a member in a folder of its own, which is gone
// behind it, and returns its answers.
func (m *members) compute(ctx context.Context, i int) (found []plume.Intake, err error) {
	plan, err := m.plan(m.draws[i])
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(m.dir, fmt.Sprintf("ensemble-%d", i+1))
	defer m.remove(dir)
	if err := lay(plan, dir); err != nil {
		return nil, err
	}
	runner := m.runner(plan, m.set)
	var flows *sharedFlows
	if m.flows != nil {
		flows, err = m.levels[m.draws[i].FlowLevel]()
		if err == nil {
			runner.Given, err = flows.into(dir)
		}
		if err != nil {
			return nil, err
		}
	}
	runner.Progress = func(step string, part float64) {
		at := slices.IndexFunc(m.set.Steps, func(s engine.Step) bool { return s.Name == step })
		m.mu.Lock()
		defer m.mu.Unlock()
		m.part(i, (float64(at)+part)/float64(len(m.set.Steps)))
	}
	if err = runner.Run(ctx, dir); err == nil {
		found, err = m.answers(ctx, plan, dir, i)
	}
	if flows != nil {
		flows.doubt(ctx, err)
	}
	return found, noRoom(dir, err)
}

// lay makes a folder with the inputs of a plan.
func lay(plan *engine.Plan, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "a folder for a run of the ensemble could not be made in RSMS_WORK_DIR"}
	}
	if err := plan.WriteInputs(dir); err != nil {
		return &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "the engine inputs could not be written; is the disk of RSMS_WORK_DIR full?"}
	}
	return nil
}

// remove removes a folder of the ensemble.
func (m *members) remove(dir string) {
	if err := remove.All(dir); err != nil {
		m.Log.Warn("a folder of the ensemble goes with that of the whole run", "error", err)
	}
}

// plan lays a member out; of the places only intakes are asked for. Flows that
// have no dates begin at the spill, so another release time moves nothing but the
// clock, and answers takes care of that.
func (m *members) plan(d ensemble.Draw) (*engine.Plan, error) {
	c := m.central.Case
	s := *c.Scenario
	s.FlowScale *= d.FlowFactor
	if c.Flows != nil {
		s.SpillTime = s.SpillTime.Add(d.Shift())
	}
	c.Scenario, c.DispersionScale = &s, d.DispersionFactor
	p, err := engine.NewPlan(c)
	if err != nil {
		return nil, reason.Wrap(reason.InvalidScenario, err, "it does not fit the basin")
	}
	p.Places = slices.DeleteFunc(p.Places, func(p engine.Place) bool { return p.Feature != river.Intake })
	return p, nil
}

// runner starts engines of a member. What they say is kept of none: their logs are
// as many as there are members.
func (m *members) runner(plan *engine.Plan, set *engine.Set) *engine.Runner {
	return &engine.Runner{Set: set, Check: plan.Check, StepTimeout: m.StepTimeout, Grace: m.Grace, Supervisor: m.Supervisor,
		Env: m.EngineEnv, Log: slog.New(slog.DiscardHandler), Progress: func(string, float64) {}}
}

// part notes which part of a member is done. It must be called with mu held.
func (m *members) part(i int, done float64) {
	m.done += done - m.parts[i]
	m.parts[i] = done
	m.step("ensemble", m.done/float64(len(m.parts)))
}

// answers reads what a member found at the intakes, once its ledger is seen to
// add up.
func (m *members) answers(ctx context.Context, plan *engine.Plan, dir string, i int) ([]plume.Intake, error) {
	var last plume.Ledger
	_, err := plan.Ledgers(ctx, dir, func(_ int, l plume.Ledger, _ []float64) error { last = l; return nil })
	if err == nil {
		err = believable(last, plan.Case.Scenario.MassKg())
	}
	if err != nil {
		return nil, err
	}
	s := m.central.Case.Scenario
	begin := s.SpillTime.Add(m.draws[i].Shift())
	var found []plume.Intake
	err = plan.Curves(ctx, dir, func(p engine.Place, c *plume.Curve) error {
		found = append(found, plume.IntakeOf(p.Place, c, begin, s.ConcentrationTolerance, threshold(s)))
		return nil
	})
	return found, err
}
