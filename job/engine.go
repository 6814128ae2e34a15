package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rsmsjob/internal/engine"
)

const (
	// superviseName begins the command line of what process puts between this
	// program and an engine; it is no command of people's.
	superviseName = "supervise"
	engineName    = "engine"
)

func (a *app) engineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   engineName + " daflow|bltm|ctplt|cxplt",
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
	c.RunE = func(_ *cobra.Command, args []string) error {
		if *published && args[0] != "bltm" {
			return usage("--published goes with bltm only")
		}
		b := engine.Bundle{Published: *published, Progress: a.printStep,
			Warn: func(text string) { fmt.Fprintf(a.stderr, "warning: %s\n", text) }}
		return b.Run(args[0])
	}
	return c
}

// printStep prints how far an engine is, twenty times a run.
func (a *app) printStep(step, of int) {
	if every := max(1, of/20); of > 0 && step%every == 0 {
		fmt.Fprintln(a.stdout, engine.ProgressLine(step, of))
	}
}
