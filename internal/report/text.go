package report

import (
	"fmt"
	"io"
	"strings"

	"rsmsjob/internal/plume"
)

// Text writes a plain message that a duty officer can forward, in a fixed order:
// what, where, when, each intake, how far to trust it, whom to ask.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "RIVER SPILL: %s\n\n", oneLine(r.title()))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-7s %s\n", name, oneLine(text))
		}
	}
	line("WHAT", r.what())
	line("WHERE", r.where())
	line("WHEN", r.both(r.start()))
	fmt.Fprintf(&b, "\nINTAKES\n%s\n", r.outcome())
	for i := range r.Intakes {
		r.intakeText(&b, i)
	}
	b.WriteString("\nCONFIDENCE\nComputed by a model, not measured.\n")
	if r.hasSpread() {
		fmt.Fprintf(&b, "- The ranges are of %s. What else a model does not know is not in them.\n", r.varied())
	}
	if text := r.unbanded(); text != "" {
		fmt.Fprintf(&b, "- %s\n", oneLine(text))
	}
	for _, c := range r.cautions() {
		fmt.Fprintf(&b, "- %s\n", oneLine(c))
	}
	b.WriteString("\n")
	line("CONTACT", r.Contact)
	line("RESULT", r.IDs.Basin+" "+r.IDs.Scenario+", job "+r.JobID+", "+r.Engine)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the message: %w", err)
	}
	return nil
}

// intakeText is one intake: a line where it is clean, a few where it is not.
func (r *Report) intakeText(b *strings.Builder, i int) {
	in := &r.Intakes[i]
	fmt.Fprintf(b, "\n%s (%s, mile %s)", isolated(oneLine(nameOf(in))), in.River, mile(in.RiverMile))
	if in.LeadingEdge == nil {
		b.WriteString(": not reached\n")
		r.beside(b, in)
		return
	}
	fmt.Fprintf(b, "\n  arrives %s\n", r.both(early(*in.LeadingEdge)))
	if in.PeakTime != nil {
		fmt.Fprintf(b, "  peak    %s, %s mg/L\n", r.both(*in.PeakTime), number(in.PeakMgL))
	}
	if in.TrailingEdge != nil {
		fmt.Fprintf(b, "  over    %s\n", r.both(late(*in.TrailingEdge)))
	} else {
		b.WriteString("  over    not before the end of the simulation\n")
	}
	if h := in.HoursAboveThreshold; h != nil && r.Scenario.ThresholdMgL > 0 {
		fmt.Fprintf(b, "  above the level of concern of %s mg/L: %s h\n", number(r.Scenario.ThresholdMgL), hours(*h))
	}
	r.beside(b, in)
}

// beside is what rivers have shown at an intake, and how far the answer for it
// moves, where that is known.
func (r *Report) beside(b *strings.Builder, in *plume.Intake) {
	for _, text := range []string{r.bandText(in), r.spreadText(in)} {
		if text != "" {
			fmt.Fprintf(b, "  %s\n", text)
		}
	}
}

// oneLine keeps a name from making lines of its own.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
