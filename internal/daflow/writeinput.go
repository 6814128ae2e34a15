package daflow

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"rsmsjob/internal/fortran"
)

// WriteInput writes in as FLOW.IN in the public layout. Numbers have as many
// digits as they need as far as their columns hold them; grid lines are
// list-directed and hold every digit. Numbers beyond three digits grow to the
// left over the text before them. The errors are those of Validate and w.
func WriteInput(w io.Writer, in *Input) error {
	if err := in.Validate(); err != nil {
		return err
	}
	out := inputWriter{w: bufio.NewWriter(w)}
	out.header(in)
	for i := range in.Network.Branches {
		b := &in.Network.Branches[i]
		out.put(7, 9, strconv.Itoa(i+1), "Branch")
		out.put(gridsAt, gridsTo, strconv.Itoa(len(b.Grids)), " has")
		out.put(shareAt, shareTo, fixed(b.Share, 5, func(dst []byte) []byte { return fortran.AppendF(dst, b.Share, 5, 2) }), " xsects & routes")
		out.put(upAt, upTo, strconv.Itoa(b.Up), " of flow at JNCT")
		out.put(downAt, downTo, strconv.Itoa(b.Down), " To JNCT")
		out.end("")
		unit := "KM  "
		if in.Network.Units == 1 {
			unit = "Mile"
		}
		fmt.Fprintf(out.w, "Grd R %s  IOUT  Disch        A1        A2        AO      Slope       W1    W2\n", unit)
		for g, p := range b.Grids {
			flag := 0
			if p.Print {
				flag = 1
			}
			fmt.Fprintf(out.w, "%3d %-10s %d", g+1, general(p.Distance, 10, 4), flag)
			if g < len(b.Grids)-1 {
				fmt.Fprintf(out.w, " %-10s %-9s %-9s %-9s %-9s %-6s %s", general(p.Flow, 10, 4), general(p.A1, 9, 3),
					general(p.A2, 9, 3), general(p.A0, 9, 3), general(p.Slope, 9, 3), general(p.W1, 9, 3), general(p.W2, 9, 3))
			}
			fmt.Fprintln(out.w)
		}
	}
	for k, changes := range in.Boundaries {
		out.put(9, 13, strconv.Itoa(k+1), "for Time")
		out.put(changesAt, changesTo, strconv.Itoa(len(changes)), " NBC=")
		out.end("  *")
		for _, c := range changes {
			out.put(branchAt-3, branchTo, strconv.Itoa(c.Branch), " Branch")
			out.put(gridAt, gridTo, strconv.Itoa(c.Grid), " Grid")
			out.put(flowAt, flowTo, fixed(c.Flow, 14, func(dst []byte) []byte { return fortran.AppendG(dst, c.Flow, 14, 5) }), " Q=")
			out.end(" *")
		}
	}
	return out.w.Flush()
}

// inputWriter builds one line at a time.
type inputWriter struct {
	w    *bufio.Writer
	line []byte
}

// header writes records 1 to 9.
func (o *inputWriter) header(in *Input) {
	title := in.Network.Title
	if len(title) < maxTitle {
		title = " " + title
	}
	fmt.Fprintln(o.w, title)
	net := &in.Network
	for i, n := range [...]int{len(net.Branches), net.InteriorJunctions, in.Steps, in.StartStep, in.PrintEvery, int(net.Units)} {
		text := [...][2]string{
			{" 2 No. of Branches", " *"}, {" 3 No. of Internal", " * Junctions"},
			{" 4 No. Time Steps", " * Modeled"}, {" 5 Model Starts", " time steps after midnight."},
			{" 6 Output Given Ever", ` Time Steps in "flow.out"`}, {" 7 0=Metric,1=Englis", " *"}}[i]
		o.put(headerAt, headerTo, strconv.Itoa(n), text[0])
		o.end(text[1])
	}
	for i, v := range [...]float64{in.StepHours, in.Peak} {
		text := [...][2]string{{" 8 Time Step Size", " Hours."}, {" 9 Peak Discharge", " *"}}[i]
		o.put(headerAt, headerTo, fixed(v, 10, func(dst []byte) []byte { return fortran.AppendF(dst, v, 10, 3) }), text[0])
		o.end(text[1])
	}
}

// put writes text and then value right-aligned at the columns from to to. A
// value that is wider takes the place of the end of the text, with a blank
// before it.
func (o *inputWriter) put(from, to int, value, text string) {
	o.line = append(o.line, text...)
	start := to - len(value)
	if start < from-1 {
		o.line = o.line[:min(len(o.line), start-1)]
	}
	o.line = o.line[:min(len(o.line), start)]
	for len(o.line) < start {
		o.line = append(o.line, ' ')
	}
	o.line = append(o.line, value...)
}

func (o *inputWriter) end(text string) {
	o.line = append(append(o.line, text...), '\n')
	o.w.Write(o.line) // an error stays in o.w until Flush
	o.line = o.line[:0]
}

// fixed returns v for width columns: by layout where nothing that fits is
// closer, otherwise with as many digits as fit.
func fixed(v float64, width int, layout func(dst []byte) []byte) string {
	text := string(layout(nil))
	if number(text) == v {
		return text
	}
	for digits := 17; digits > 0; digits-- {
		if better := shortest(v, digits); len(better) <= width {
			if number(better) == number(text) {
				return text
			}
			return fmt.Sprintf("%*s", width, better)
		}
	}
	return text
}

// number reads what was written; stars are no number.
func number(text string) float64 {
	v, err := fortran.ParseFloat([]byte(text))
	if err != nil {
		return math.NaN()
	}
	return v
}

// general returns v for a list-directed line: as Gw.d without blanks where
// that loses nothing, otherwise with all its digits.
func general(v float64, width, digits int) string {
	if text := strings.TrimSpace(string(fortran.AppendG(nil, v, width, digits))); number(text) == v {
		return text
	}
	return shortest(v, 17)
}

// shortest returns v rounded to digits in the fewest characters, with a
// decimal point as Fortran wants it.
func shortest(v float64, digits int) string {
	if digits < 17 {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	}
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	plain := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(plain, ".") {
		plain += "."
	}
	if strings.HasPrefix(plain, "0.") && len(plain) > 2 {
		plain = plain[1:]
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'E', -1, 64), "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += "."
	}
	if power := mantissa + "E" + exponent; len(power) < len(plain) {
		plain = power
	}
	return sign + plain
}
