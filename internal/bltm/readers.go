package bltm

import (
	"fmt"
	"io"
	"math"

	"rsmsjob/internal/fortran"
)

// blocks reads a file of blocks: a line "WORD … n" and n lines behind it. It
// knows how many blocks there must be, so that a cut file is seen.
type blocks struct {
	rec        records
	word       string
	last, wide int // index of the last block and of the current one + 1
	line, n    int // lines of the block read and in all
	err        error
}

func (b *blocks) fail() bool {
	b.err = b.rec.err()
	return false
}

// nextBlock goes to the line that begins the next block.
func (b *blocks) nextBlock() bool {
	if b.err != nil {
		return false
	}
	if b.line < b.n {
		b.rec.fault("", fmt.Sprintf("line %d of %d of the block is not read yet", b.line+1, b.n), "")
		return b.fail()
	}
	if b.wide == b.last {
		b.err = b.rec.nothingMore(fmt.Sprintf("more than %d blocks %s", b.last, b.word))
		return false
	}
	b.wide++
	if !b.rec.lines.Next() {
		b.rec.cut(fmt.Sprintf("block %s number %d of %d", b.word, b.wide, b.last))
		return b.fail()
	}
	b.rec.bad = false
	b.rec.list = b.rec.lines.List(1)
	if word, err := b.rec.list.Word("label"); err != nil || word != b.word {
		b.rec.add(b.rec.lines.Fault(1, "label", fmt.Sprintf("expected block %s number %d of %d", b.word, b.wide, b.last),
			string(b.rec.lines.Bytes())))
		return b.fail()
	}
	b.line = 0
	return true
}

// begun checks the first line of a block once its items are read.
func (b *blocks) begun(n int) bool {
	b.rec.end()
	if b.n = n; b.rec.bad {
		return b.fail()
	}
	return true
}

// nextLine goes to the next line of the block; false behind the last.
func (b *blocks) nextLine() bool {
	if b.err != nil || b.line >= b.n {
		return false
	}
	b.line++
	if !b.rec.lines.Next() {
		b.rec.cut(fmt.Sprintf("line %d of %d of block %s number %d", b.line, b.n, b.word, b.wide))
		return b.fail()
	}
	b.rec.bad = false
	b.rec.list = b.rec.lines.List(1)
	return true
}

// concentrations reads the rest of the line.
func (b *blocks) concentrations(c []float64) bool {
	if !b.rec.bad {
		if err := readConcentrations(b.rec.lines, b.rec.list, c); err != nil {
			b.rec.add(err)
		}
	}
	if b.rec.bad {
		return b.fail()
	}
	return true
}

// Place is the head of one series of PLUME.TIM.
type Place struct {
	Branch, Grid int
	Distance     float64 // miles or km along the branch
	N            int     // points of the series
}

// Point is one record of a series.
type Point struct {
	Step int
	Hour float64   // hours from midnight of the first day
	C    []float64 // mg/L per constituent, valid until the next point
}

// TimesReader reads PLUME.TIM: NextPlace, then Next until it is false, and so
// on. It allocates nothing per point.
type TimesReader struct {
	blocks blocks
	place  Place
	point  Point
}

// NewTimesReader returns a reader of the series at so many places. The base
// name file goes into faults.
func NewTimesReader(r io.Reader, file string, places, constituents int) *TimesReader {
	lines, whole := fortran.NewWhole(r, file)
	return &TimesReader{
		blocks: blocks{rec: records{lines: lines, whole: whole}, word: "LOCATION", last: places},
		point:  Point{C: make([]float64, constituents)},
	}
}

// NextPlace goes to the next series; false behind the last or at a fault. The
// series before must have been read to its end.
func (r *TimesReader) NextPlace() bool {
	if !r.blocks.nextBlock() {
		return false
	}
	rec := &r.blocks.rec
	r.place = Place{
		Branch:   rec.int("branch", 1, math.MaxInt32),
		Grid:     rec.int("grid", 1, math.MaxInt32),
		Distance: rec.float("distance", -math.MaxFloat64),
		N:        rec.int("number of points", 1, math.MaxInt32),
	}
	r.point.Step = -1
	return r.blocks.begun(r.place.N)
}

// Place returns the head of the current series.
func (r *TimesReader) Place() Place { return r.place }

// Next goes to the next point of the series, which has every step from 0; false
// behind its last.
func (r *TimesReader) Next() bool {
	if !r.blocks.nextLine() {
		return false
	}
	rec := &r.blocks.rec
	step := rec.int("step", 0, math.MaxInt32)
	if !rec.bad && step != r.point.Step+1 {
		rec.fault("step", fmt.Sprintf("out of order, expected step %d", r.point.Step+1), rec.text())
	}
	r.point.Step = step
	r.point.Hour = rec.float("hour", 0)
	return r.blocks.concentrations(r.point.C)
}

// Point returns the current point.
func (r *TimesReader) Point() Point { return r.point }

// Unit is that of the last digit of the last concentration of the current point,
// mg/L.
func (r *TimesReader) Unit() float64 { return unit(r.blocks.rec.text()) }

// Err returns what is wrong with the file, nil when it was read to its end.
func (r *TimesReader) Err() error { return r.blocks.err }

// Time is the head of one profile of PLUME.PLT.
type Time struct {
	Step int
	Hour float64 // hours from midnight of the first day
	N    int     // cells of the profile
}

// Cell is one record of a profile.
type Cell struct {
	Branch, Grid int
	Distance     float64   // miles or km along the branch
	C            []float64 // mg/L per constituent, valid until the next cell
}

// ProfilesReader reads PLUME.PLT: NextTime, then Next until it is false, and
// so on. It allocates nothing per cell.
type ProfilesReader struct {
	blocks blocks
	time   Time
	cell   Cell
}

// NewProfilesReader returns a reader of the profiles at so many times. The
// base name file goes into faults.
func NewProfilesReader(r io.Reader, file string, times, constituents int) *ProfilesReader {
	lines, whole := fortran.NewWhole(r, file)
	return &ProfilesReader{
		blocks: blocks{rec: records{lines: lines, whole: whole}, word: "TIME", last: times},
		time:   Time{Step: -1},
		cell:   Cell{C: make([]float64, constituents)},
	}
}

// NextTime goes to the next profile; false behind the last or at a fault. The
// profile before must have been read to its end.
func (r *ProfilesReader) NextTime() bool {
	if !r.blocks.nextBlock() {
		return false
	}
	rec := &r.blocks.rec
	step := rec.int("step", 0, math.MaxInt32)
	if !rec.bad && step <= r.time.Step {
		rec.fault("step", "not above the one before", rec.text())
	}
	r.time = Time{Step: step, Hour: rec.float("hour", 0), N: rec.int("number of cells", 1, math.MaxInt32)}
	r.cell.Branch, r.cell.Grid = 0, 0
	return r.blocks.begun(r.time.N)
}

// Time returns the head of the current profile.
func (r *ProfilesReader) Time() Time { return r.time }

// Next goes to the next cell of the profile; false behind its last.
func (r *ProfilesReader) Next() bool {
	if !r.blocks.nextLine() {
		return false
	}
	rec := &r.blocks.rec
	branch := rec.int("branch", 1, math.MaxInt32)
	grid := rec.int("grid", 1, math.MaxInt32)
	if !rec.bad && (branch < r.cell.Branch || branch == r.cell.Branch && grid <= r.cell.Grid) {
		rec.fault("grid", "not behind the one before", rec.text())
	}
	r.cell.Branch, r.cell.Grid = branch, grid
	r.cell.Distance = rec.float("distance", -math.MaxFloat64)
	return r.blocks.concentrations(r.cell.C)
}

// Cell returns the current cell.
func (r *ProfilesReader) Cell() Cell { return r.cell }

// Err returns what is wrong with the file, nil when it was read to its end.
func (r *ProfilesReader) Err() error { return r.blocks.err }

// Unit is that of the last digit of the last concentration of the current cell,
// mg/L: half of it is what rounding may have changed.
func (r *ProfilesReader) Unit() float64 { return unit(r.blocks.rec.text()) }

// Line is the number of the current line, from 1.
func (r *ProfilesReader) Line() int { return r.blocks.rec.lines.Line() }
