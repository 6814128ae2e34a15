package scalesim

import (
	"math/rand/v2"
	"time"
)

// What is drawn, so that draws of one kind do not follow those of another.
const (
	drawStart = iota
	drawLength
	drawHopeless
	drawAttempt
	drawPart
)

// chance draws by what is asked for, not by when: a message has the same fate in
// every design, so that designs differ by what they do with it.
type chance struct {
	seed   uint64
	source rand.PCG
}

// draw is evenly distributed from 0 to below 1.
func (c *chance) draw(kind, of, attempt int) float64 {
	c.source.Seed(c.seed, uint64(of)<<16|uint64(attempt)<<8|uint64(kind))
	return float64(c.source.Uint64()>>11) / (1 << 53)
}

func (c *chance) between(low, high time.Duration, kind, of int) time.Duration {
	return low + time.Duration(c.draw(kind, of, 0)*float64(high-low))
}

// fate is how an attempt at a message ends.
type fate int

const (
	finishes fate = iota
	fails
	crashes
)

// attempt is how the attempt, 1 for the first, at the message ends, and after how
// much work.
func (c *chance) attempt(l *Load, message, attempt int) (fate, time.Duration) {
	run := c.between(l.Run-l.Spread, l.Run+l.Spread, drawLength, message)
	end := finishes
	switch u := c.draw(drawAttempt, message, attempt); {
	case u < l.Crash:
		end = crashes
	case u < l.Crash+l.Fail, c.draw(drawHopeless, message, 0) < l.Hopeless:
		end = fails
	default:
		return end, run
	}
	return end, time.Duration(c.draw(drawPart, message, attempt) * float64(run))
}
