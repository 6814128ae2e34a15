package daflow

import (
	"bufio"
	"fmt"
	"io"

	"rsmsjob/internal/river"
)

// report writes FLOW.OUT: what was read, the flagged grids per printed step
// and the water balance.
type report struct {
	w  *bufio.Writer
	in *Input
}

func newReport(w io.Writer, in *Input) *report {
	r := &report{w: bufio.NewWriter(w), in: in}
	r.echo()
	return r
}

func (r *report) echo() {
	in := r.in
	units := "metric (m, m3/s, km)"
	if in.Network.Units == river.English {
		units = "English (ft, ft3/s, miles)"
	}
	fmt.Fprintf(r.w, " %s\n\n", in.Network.Title)
	fmt.Fprintf(r.w, " branches            %10d\n", len(in.Network.Branches))
	fmt.Fprintf(r.w, " interior junctions  %10d\n", in.Network.InteriorJunctions)
	fmt.Fprintf(r.w, " time steps          %10d\n", in.Steps)
	fmt.Fprintf(r.w, " steps from midnight %10d\n", in.StartStep)
	fmt.Fprintf(r.w, " steps per output    %10d\n", in.PrintEvery)
	fmt.Fprintf(r.w, " step, hours         %10.3f\n", in.StepHours)
	fmt.Fprintf(r.w, " peak discharge      %10.3f\n", in.Peak)
	fmt.Fprintf(r.w, " units               %s\n", units)
	for i, b := range in.Network.Branches {
		fmt.Fprintf(r.w, "\n branch %d: %d grids, %.2f of the flow at junction %d, to junction %d\n",
			i+1, len(b.Grids), b.Share, b.Up, b.Down)
		fmt.Fprintf(r.w, " grid   distance print         flow         A1         A2         A0      slope         W1         W2\n")
		for g, p := range b.Grids {
			flag := 0
			if p.Print {
				flag = 1
			}
			fmt.Fprintf(r.w, "%5d %10.4f %5d", g+1, p.Distance, flag)
			if g < len(b.Grids)-1 {
				fmt.Fprintf(r.w, " %12.5g %10.4g %10.4g %10.4g %10.4g %10.4g %10.4g",
					p.Flow, p.A1, p.A2, p.A0, p.Slope, p.W1, p.W2)
			}
			fmt.Fprintln(r.w)
		}
	}
	fmt.Fprintln(r.w)
}

// step writes the flagged grids after step k where it is to be printed. The
// hour is the middle of the step, as flows are means over it.
func (r *report) step(k int, m *model) error {
	if k == 0 || k%r.in.PrintEvery != 0 {
		return nil
	}
	hour := (float64(r.in.StartStep+k) - 0.5) * r.in.StepHours
	fmt.Fprintf(r.w, " step %6d, hour %10.3f\n", k, hour)
	for i, b := range r.in.Network.Branches {
		run := &m.branches[i]
		for g, p := range b.Grids {
			if !p.Print {
				continue
			}
			fmt.Fprintf(r.w, "   branch %4d grid %5d  flow %13.6g", i+1, g+1, run.flow[g])
			if g < len(run.reaches) {
				reach := &run.reaches[g]
				fmt.Fprintf(r.w, "  area %13.6g  width %13.6g  lateral %13.6g",
					reach.a0+run.volume[g]/reach.length, reach.w1*power(run.flow[g], reach.w2), run.lateral[g])
			}
			fmt.Fprintln(r.w)
		}
	}
	return r.w.Flush()
}

func (r *report) close(b Balance) error {
	fmt.Fprintf(r.w, "\n volume in           %18.6e\n", b.In)
	fmt.Fprintf(r.w, " volume out          %18.6e\n", b.Out)
	fmt.Fprintf(r.w, " lateral inflow      %18.6e\n", b.Lateral)
	fmt.Fprintf(r.w, " withdrawn           %18.6e\n", b.Withdrawn)
	fmt.Fprintf(r.w, " stored at the start %18.6e\n", b.Stored0)
	fmt.Fprintf(r.w, " stored at the end   %18.6e\n", b.Stored)
	fmt.Fprintf(r.w, " relative error      %18.9f\n", b.Relative)
	for _, warning := range b.Warnings {
		fmt.Fprintf(r.w, " warning: %s\n", warning)
	}
	return r.w.Flush()
}
