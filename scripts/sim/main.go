// Command sim prints what a burst of queue messages comes to: time, executions,
// starts for nothing, double work and cost, with the job as it is deployed and
// with the mistakes that it avoids.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"rsmsjob/internal/scalesim"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		os.Exit(2)
	}
}

const about = `usage: go run ./scripts/sim [flags]

Plays bursts of queue messages against the scale rule of the job and prints what
comes of it. Without -messages it prints the tables of the README; with it, one
table of your own burst: the job as it is, then the same with one mistake each.

Columns
  drained in      from the first message to the end of the last work
  empty           executions that found no message
  crashed         attempts that vanished; their message came back
  poison          messages that were put aside after too many attempts
  lost            messages that are gone with their work undone
  double          times that work was done again
  peak            executions at once
  container h     hours of all executions, their start and clean-up included
  USD/1,000 runs  list price for 1,000 messages done, queue requests included,
                  free grant left out
  queue USD       the part of it that is for queue requests
  mean wait       from the arrival of a message to its first claim

Designs
`

// options is what the flags say.
type options struct {
	markdown bool
	full     bool
	scenario scalesim.Scenario
}

// run returns an error once it has been told.
func run(args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err == nil {
		err = show(o, stdout)
		if err != nil {
			fmt.Fprintf(stderr, "sim: %v\n", err)
		}
	}
	return err
}

func parse(args []string, stdout, stderr io.Writer) (options, error) {
	o := options{scenario: scalesim.Deployed()}
	s := &o.scenario
	flags := flag.NewFlagSet("sim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {} // for a bad flag the error is enough
	flags.BoolVar(&o.markdown, "markdown", false, "print Markdown tables")
	flags.BoolVar(&o.full, "full", false, "every mistake at every size, not at one of each")
	flags.Uint64Var(&s.Seed, "seed", 3, "of the random draws: the same seed gives the same numbers")
	flags.Float64Var(&s.Crash, "crash", 0.01, "chance of an attempt to vanish on the way")
	flags.Float64Var(&s.Fail, "fail", 0.02, "chance of an attempt to fail on the way")
	flags.Float64Var(&s.Hopeless, "hopeless", 0.005, "chance of a message to fail in every attempt")
	flags.IntVar(&s.Messages, "messages", 0, "your own burst: how many messages")
	flags.DurationVar(&s.Every, "every", 0, "your own burst: time between two messages; 0 = all at once")
	flags.DurationVar(&s.Run, "run", 5*time.Minute, "your own burst: average run time, evenly spread by a fifth to both sides")
	flags.IntVar(&s.Max, "max", s.Max, "your own burst: maxExecutions")
	flags.DurationVar(&s.Poll, "poll", s.Poll, "pollingInterval")
	flags.Float64Var(&s.VCPU, "cpu", s.VCPU, "vCPU of an execution")
	flags.Float64Var(&s.GiB, "memory", s.GiB, "GiB of an execution")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			help(flags, stdout)
		}
		return o, err
	}
	var err error
	if flags.NArg() > 0 {
		err = fmt.Errorf("%q is no flag: see sim -h", flags.Arg(0))
	}
	own := map[string]bool{"every": true, "run": true, "max": true}
	flags.Visit(func(f *flag.Flag) {
		if own[f.Name] && s.Messages == 0 {
			err = fmt.Errorf("-%s is for a burst of your own: give -messages too", f.Name)
		}
	})
	if err != nil {
		fmt.Fprintf(stderr, "sim: %v\n", err)
	}
	return o, err
}

func help(flags *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, about)
	for _, d := range scalesim.Designs() {
		fmt.Fprintf(w, "  %-18s%s\n", d.Name, d.About)
	}
	fmt.Fprint(w, "\nFlags\n")
	flags.SetOutput(w)
	flags.PrintDefaults()
}

func show(o options, w io.Writer) error {
	tables := standard(o)
	if o.scenario.Messages != 0 {
		tables = []table{own(o.scenario)}
	}
	for i, t := range tables {
		rows, err := t.play()
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		if o.markdown {
			markdown(w, t.title, rows)
		} else {
			plain(w, t.title, rows)
		}
	}
	return nil
}
