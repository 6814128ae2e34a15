package compare

import (
	"cmp"
	"encoding/binary"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"rsmsjob/internal/reason"
)

// Scratch is a file that is nobody else's; Close removes it.
type Scratch interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// shelf keeps curves in a file, and in memory only where each of them is. The
// file is opened when the first one comes.
type shelf struct {
	open func() (Scratch, error)
	file Scratch
	size int64
	at   [2]map[spot]shelved // by result
}

// shelved is where a curve is in the file.
type shelved struct {
	offset    int64
	rows      int
	riverMile float64
}

// cellSize is what a cell takes in the file, in bytes: seconds since 1970, grid,
// hours and mg/L.
const cellSize = 4 * 8

// put adds a curve of a result. Errors carry a reason.
func (s *shelf) put(side int, one *curve) error {
	if s.file == nil {
		file, err := s.open()
		if err != nil {
			return err
		}
		s.file, s.at = file, [2]map[spot]shelved{{}, {}}
	}
	data := make([]byte, 0, len(one.cells)*cellSize)
	for i := range one.cells {
		c := &one.cells[i]
		for _, word := range [...]uint64{uint64(c.at.Unix()), uint64(c.grid), math.Float64bits(c.elapsed), math.Float64bits(c.mgL)} {
			data = binary.LittleEndian.AppendUint64(data, word)
		}
	}
	if _, err := s.file.Write(data); err != nil {
		return unshelved(err)
	}
	s.at[side][one.spot] = shelved{s.size, len(one.cells), one.cells[0].riverMile}
	s.size += int64(len(data))
	return nil
}

// take returns the cells of a curve and forgets it; nil where there is none.
func (s *shelf) take(side int, of spot) ([]cell, error) {
	where, ok := s.at[side][of]
	if !ok {
		return nil, nil
	}
	delete(s.at[side], of)
	data := make([]byte, where.rows*cellSize)
	if _, err := s.file.ReadAt(data, where.offset); err != nil {
		return nil, unshelved(err)
	}
	cells := make([]cell, where.rows)
	for i := range cells {
		word := func(n int) uint64 { return binary.LittleEndian.Uint64(data[i*cellSize+n*8:]) }
		cells[i] = cell{spot: of, at: time.Unix(int64(word(0)), 0).UTC(), riverMile: where.riverMile, grid: int(word(1)),
			elapsed: math.Float64frombits(word(2)), mgL: math.Float64frombits(word(3))}
	}
	return cells, nil
}

// spots are those of a result that nobody has taken, in the order of the file.
func (s *shelf) spots(side int) []spot {
	return slices.SortedFunc(maps.Keys(s.at[side]), func(a, b spot) int {
		return cmp.Compare(s.at[side][a].offset, s.at[side][b].offset)
	})
}

func (s *shelf) close() error {
	if s.file == nil {
		return nil
	}
	if err := s.file.Close(); err != nil {
		return unshelved(err)
	}
	return nil
}

func unshelved(err error) error {
	return &reason.Error{Code: reason.StorageUnavailable, Err: err,
		Detail: "the temporary file of the comparison cannot be used; is there room where RSMS_WORK_DIR is?"}
}
