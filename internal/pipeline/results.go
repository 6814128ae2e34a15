package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/river"
	"rsmsjob/internal/storage"
)

// results are what a first pass over the engine outputs found: all but the
// rows, which are too many to keep and are streamed when they are published.
type results struct {
	tolerance float64
	edges     *plume.Edges
	balance   plume.Balance
	intakes   []plume.Intake
	warnings  []string           // of the transport engine
	ensemble  *ensemble.Document // nil without one
}

// check reads every output of the engines to its end before anything is
// published.
func check(ctx context.Context, plan *engine.Plan, dir string, progress func(part float64)) (*results, error) {
	s := plan.Case.Scenario
	places := make([]river.Place, len(plan.Places))
	for i, p := range plan.Places {
		places[i] = p.Place
	}
	branches := len(plan.Flow.Network.Branches)
	r := &results{tolerance: s.ConcentrationTolerance, intakes: []plume.Intake{},
		edges: plume.NewEdges(plan.Case.Index, places, branches, plan.Lengths(), s.ConcentrationTolerance)}
	branchKg, err := r.readBalance(ctx, plan, dir)
	if err != nil {
		return nil, err
	}
	progress(0.1)
	agree := newAgreement(plan)
	err = plan.Profiles(ctx, dir, func(step int, c []float64) error {
		r.edges.Profile(plan.Time(step), c, branchKg[step])
		return agree.byTime(step, c)
	})
	if err != nil {
		return nil, err
	}
	progress(0.5)
	err = plan.Curves(ctx, dir, func(p engine.Place, c *plume.Curve) error {
		if p.Feature == river.Intake {
			r.intakes = append(r.intakes, plume.IntakeOf(p.Place, c, s.SpillTime, s.ConcentrationTolerance, threshold(s)))
		}
		return agree.byPlace(c)
	})
	if err != nil {
		return nil, err
	}
	return r, agree.settle(ctx, dir)
}

// threshold is the level of concern of a scenario, mg/L; nil without one.
func threshold(s *river.Scenario) *float64 {
	if s.ThresholdMgL > 0 {
		return &s.ThresholdMgL
	}
	return nil
}

// mostOutOfBalance is the relative error of the mass ledger beyond which an
// engine's numbers are not believed.
const mostOutOfBalance = 0.01

// readBalance fills the mass balance at the output times and returns the mass
// in each branch by step.
func (r *results) readBalance(ctx context.Context, plan *engine.Plan, dir string) (map[int][]float64, error) {
	branchKg := map[int][]float64{}
	var last plume.Ledger
	warnings, err := plan.Ledgers(ctx, dir, func(step int, l plume.Ledger, kg []float64) error {
		last = l
		if step%plan.Case.Scenario.OutputEvery() == 0 {
			r.balance.Add(plan.Time(step), l)
			branchKg[step] = kg
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.warnings = warnings
	r.balance.Finish(last)
	return branchKg, believable(last, plan.Case.Scenario.MassKg())
}

// believable checks the last ledger of a transport engine against the spill:
// that all of it was released and that what became of it adds up, whatever
// the engine says of its own error.
func believable(l plume.Ledger, massKg float64) error {
	if off := math.Abs(l.InjectedKg-massKg) / massKg; !(off <= mostOutOfBalance) {
		return reason.New(reason.EngineOutputInvalid, "the transport engine released %.4g kg, the spill has %.4g kg", l.InjectedKg, massKg)
	}
	if e := math.Abs(l.ErrorKg()) / massKg; !(e <= mostOutOfBalance) {
		return reason.New(reason.EngineOutputInvalid, "the mass ledger of the transport engine is out of balance by %.2g of the released mass", e)
	}
	return nil
}

// result is what will be published.
func (r *results) result(ctx context.Context, ids plume.IDs, plan *engine.Plan, dir string) *publish.Result {
	row := func(p engine.Place, step int, c float64) plume.Row {
		return plume.Row{River: p.River, RiverMile: p.Mile, Branch: p.Branch, Grid: p.Grid, Time: plan.Time(step),
			ElapsedHours: plan.Hours(step), ConcentrationMgL: c, JobID: ids.JobID}
	}
	every := plan.Case.Scenario.OutputEvery()
	result := &publish.Result{
		ByTime: func(emit func(plume.Row) error) error {
			return plan.Profiles(ctx, dir, func(step int, c []float64) error {
				for i, v := range c {
					if v < r.tolerance {
						continue
					}
					if err := emit(row(plan.Places[i], step, v)); err != nil {
						return err
					}
				}
				return nil
			})
		},
		ByMile: func(emit func(plume.Row) error) error {
			return plan.Curves(ctx, dir, func(p engine.Place, c *plume.Curve) error {
				for step := 0; step < len(c.C); step += every {
					if c.C[step] < r.tolerance {
						continue
					}
					if err := emit(row(p, step, c.C[step])); err != nil {
						return err
					}
				}
				return nil
			})
		},
		Blobs: []publish.Blob{
			publish.JSON("edge_timeseries.json", plume.EdgeDocument{IDs: ids, ToleranceMgL: r.tolerance, Series: r.edges.Series()}),
			publish.JSON("mass_balance.json", plume.BalanceDocument{IDs: ids, Balance: r.balance}),
			publish.JSON("intakes.json", plume.IntakeDocument{IDs: ids, Intakes: r.intakes}),
			{Name: storage.RunPrefix + ids.JobID + "/.job_id", Write: func(w io.Writer) error {
				_, err := io.WriteString(w, ids.JobID)
				return err
			}},
		},
		Marker: publish.Marker{IDs: ids},
	}
	if r.ensemble != nil {
		result.Blobs = append(result.Blobs, publish.JSON(ensembleName, r.ensemble))
	}
	return result
}

// parameters is params.json: what the run was computed from.
type parameters struct {
	plume.IDs
	RunKey           string            `json:"run_key"`
	Engine           string            `json:"engine"`
	EngineHash       string            `json:"engine_sha256"`
	EngineFiles      map[string]string `json:"engine_files_sha256"`
	InputHashes      map[string]string `json:"inputs_sha256"`
	Scenario         river.Scenario    `json:"scenario"`
	Steps            int               `json:"steps"`
	SmallFlow        float64           `json:"small_flow"`
	DispersionFactor []float64         `json:"dispersion_factor"` // by branch, at the run's step
	Warnings         []string          `json:"warnings"`
}

func params(ids plume.IDs, in *inputs, plan *engine.Plan, set *engine.Set, warnings []string) publish.Blob {
	p := parameters{IDs: ids, RunKey: in.key, Engine: set.Name, EngineHash: set.Hash, EngineFiles: set.Files, InputHashes: in.hashes,
		Scenario: *plan.Case.Scenario, Steps: plan.Flow.Steps, SmallFlow: plan.Flow.SmallFlow(), Warnings: append([]string{}, warnings...)}
	for _, b := range plan.Header.Branches {
		p.DispersionFactor = append(p.DispersionFactor, b.DQQ)
	}
	return publish.JSON(storage.RunPrefix+ids.JobID+"/params.json", p)
}

// maxLog is how much of an engine log is published, in bytes: its end, where the
// last words are.
const maxLog = 4 << 20

// engineLogs are what the engines said, as blobs; an engine that did not run
// has empty ones.
func engineLogs(dir, jobID string, set *engine.Set) []publish.Blob {
	var blobs []publish.Blob
	for _, name := range set.Logs() {
		blobs = append(blobs, publish.Blob{Name: storage.RunPrefix + jobID + "/" + name, Write: func(w io.Writer) error {
			return writeLog(w, dir, name)
		}})
	}
	return blobs
}

// writeLog writes the end of a log. One that cannot be read costs neither the
// others nor the result: it says so itself.
func writeLog(w io.Writer, dir, name string) error {
	f, err := engine.OpenFile(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return notKept(w)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return notKept(w)
	}
	if left := info.Size() - maxLog; left > 0 {
		if _, err := f.Seek(left, io.SeekStart); err != nil {
			return notKept(w)
		}
		if _, err := fmt.Fprintf(w, "[%d bytes left out]\n", left); err != nil {
			return err
		}
	}
	_, err = io.Copy(w, f)
	return err
}

func notKept(w io.Writer) error {
	_, err := io.WriteString(w, "[this log was not kept: it could not be read, or something else stood in its place]\n")
	return err
}
