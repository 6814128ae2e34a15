package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"rsmsjob/internal/bltm"
	"rsmsjob/internal/daflow"
	"rsmsjob/internal/engine"
	"rsmsjob/internal/process"
	"rsmsjob/internal/reason"
)

const superviseName = "supervise"

// superviseCommand is what process starts between this program and an engine.
func superviseCommand() *cobra.Command {
	return &cobra.Command{
		Use: superviseName, Hidden: true, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		Run: func(_ *cobra.Command, args []string) { os.Exit(process.Supervise(args)) },
	}
}

func (a *app) engineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "engine daflow|bltm|ctplt|cxplt",
		Short: "run a bundled engine in the current folder",
		Long: "engine runs one of the bundled engines on the files of the current folder:\n\n" +
			"  daflow  FLOW.IN                      -> BLTM.FLW, FLOW.OUT\n" +
			"  bltm    BLTM.IN, BLTM.FLW            -> BLTM.CON, BLTM.OUT\n" +
			"  ctplt   CTPLT.IN, BLTM.IN, BLTM.CON  -> PLUME.TIM (concentration against time at places)\n" +
			"  cxplt   CXPLT.IN, BLTM.IN, BLTM.CON  -> PLUME.PLT (concentration along the river at steps)",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: engine.Names(),
	}
	published := c.Flags().Bool("published", false, "bltm: the scheme as published, without our refinements")
	c.RunE = func(_ *cobra.Command, args []string) error { return a.engineRun(args[0], *published) }
	return c
}

func (a *app) engineRun(name string, published bool) error {
	if published && name != "bltm" {
		return usage("--published goes with bltm only")
	}
	dir := &engineDir{}
	err := a.engineIn(dir, name, published)
	return errors.Join(err, dir.close(err == nil))
}

func (a *app) engineIn(dir *engineDir, name string, published bool) error {
	switch name {
	case "daflow":
		return a.daflow(dir)
	case "bltm":
		in, flows := dir.open("BLTM.IN"), dir.open("BLTM.FLW")
		con, out := dir.create("BLTM.CON"), dir.create("BLTM.OUT")
		if dir.err != nil {
			return dir.err
		}
		_, err := bltm.Run(in, flows, con, out, bltm.Options{Published: published, Progress: a.steps(0)})
		return engineError(err)
	case "ctplt":
		places, in, out := dir.open("CTPLT.IN"), dir.open("BLTM.IN"), dir.create("PLUME.TIM")
		if dir.err != nil {
			return dir.err
		}
		return engineError(bltm.CTPLT(places, in, func() (io.ReadCloser, error) { return os.Open("BLTM.CON") }, out))
	default:
		times, in, con, out := dir.open("CXPLT.IN"), dir.open("BLTM.IN"), dir.open("BLTM.CON"), dir.create("PLUME.PLT")
		if dir.err != nil {
			return dir.err
		}
		return engineError(bltm.CXPLT(times, in, con, out))
	}
}

func (a *app) daflow(dir *engineDir) error {
	file := dir.open("FLOW.IN")
	if dir.err != nil {
		return dir.err
	}
	in, err := daflow.ReadInput(file, "FLOW.IN")
	if err != nil {
		return engineError(err)
	}
	flow, report := dir.create("BLTM.FLW"), dir.create("FLOW.OUT")
	if dir.err != nil {
		return dir.err
	}
	balance, err := daflow.Run(in, daflow.Outputs{Flow: flow, Report: report, Progress: a.steps(in.Steps)})
	for _, w := range balance.Warnings {
		fmt.Fprintf(a.stderr, "warning: %s\n", w)
	}
	return engineError(err)
}

// steps prints how far an engine is, twenty times a run.
func (a *app) steps(of int) func(step int) {
	every := max(1, of/20)
	return func(step int) {
		if step%every == 0 {
			fmt.Fprintln(a.stdout, engine.ProgressLine(step, of))
		}
	}
}

// engineError gives the error of an engine its reason: its inputs are wrong.
func engineError(err error) error {
	if len(reason.Faults(err)) == 0 {
		return err
	}
	return reason.Wrap(reason.InvalidBasin, err, "")
}

// engineDir opens and creates files in the current folder, and keeps the first
// error.
type engineDir struct {
	err     error
	files   []*os.File
	writers []*bufio.Writer
	created []string
}

func (d *engineDir) open(name string) io.Reader {
	f, err := os.Open(name)
	if err != nil && d.err == nil {
		d.err = &reason.Error{Code: reason.InvalidBasin, Err: err, Detail: name + " cannot be read in the current folder"}
	}
	d.files = append(d.files, f)
	return f
}

func (d *engineDir) create(name string) io.Writer {
	f, err := os.Create(name)
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("%s cannot be written in the current folder: %w", name, err)
	}
	d.files = append(d.files, f)
	d.created = append(d.created, name)
	w := bufio.NewWriterSize(f, 1<<18)
	d.writers = append(d.writers, w)
	return w
}

// close flushes and closes all files. What an engine that failed wrote is
// removed: half an output must not be taken for a whole one.
func (d *engineDir) close(good bool) error {
	var errs []error
	if d.err == nil {
		for _, w := range d.writers {
			errs = append(errs, w.Flush())
		}
	}
	for _, f := range d.files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	if !good {
		for _, name := range d.created {
			if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
				errs = append(errs, err)
			}
		}
		return nil
	}
	return errors.Join(errs...)
}
