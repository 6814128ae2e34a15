package engine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rsmsjob/internal/bltm"
	"rsmsjob/internal/daflow"
	"rsmsjob/internal/fortran"
)

// The files of a run folder.
const (
	flowInputFile      = "FLOW.IN"
	flowFile           = "BLTM.FLW"
	flowReportFile     = "FLOW.OUT"
	transportInputFile = "BLTM.IN"
	concentrationFile  = "BLTM.CON"
	ledgerFile         = "BLTM.OUT"
	placesFile         = "CTPLT.IN"
	timesFile          = "PLUME.TIM"
	outputStepsFile    = "CXPLT.IN"
	profilesFile       = "PLUME.PLT"
)

// WriteInputs writes FLOW.IN, BLTM.IN, CTPLT.IN and CXPLT.IN into dir.
func (p *Plan) WriteInputs(dir string) error {
	return errors.Join(
		create(dir, flowInputFile, func(w io.Writer) error { return daflow.WriteInput(w, p.Flow) }),
		create(dir, transportInputFile, func(w io.Writer) error { return bltm.WriteInput(w, p.Header, p.boundaries) }),
		create(dir, placesFile, p.writePlaces),
		create(dir, outputStepsFile, p.writeOutputSteps),
	)
}

// writePlaces writes BRANCH GRID of every place, in the order of Places.
func (p *Plan) writePlaces(w io.Writer) error {
	var line []byte
	for _, place := range p.Places {
		line = fortran.AppendInt(line[:0], place.Branch, 10)
		line = append(fortran.AppendInt(line, place.RunGrid, 10), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// writeOutputSteps writes the STEP of every output time, from 0.
func (p *Plan) writeOutputSteps(w io.Writer) error {
	for _, step := range p.OutputSteps() {
		if _, err := fmt.Fprintf(w, "%10d\n", step); err != nil {
			return err
		}
	}
	return nil
}

// OutputSteps are the steps at whose end results are given, from 0.
func (p *Plan) OutputSteps() []int {
	var steps []int
	for k := 0; k <= p.Flow.Steps; k += p.Case.Scenario.OutputEvery() {
		steps = append(steps, k)
	}
	return steps
}

// create writes one file of the run folder.
func create(dir, name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	w := bufio.NewWriterSize(f, 1<<18)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
