package storage

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

// plumeColumns is the header of a plume table in the folder store.
func plumeColumns() []string {
	return []string{"PartitionKey", "RowKey", "River", "RiverMile", "Branch", "Grid",
		"TimeUtc", "ElapsedHours", "ConcentrationMgL", "JobId"}
}

// PlumeByTime begins the rows of a scenario in PlumeByTime.
func (f *Folder) PlumeByTime(ctx context.Context, basin, scenario string) (RowWriter, error) {
	return f.plume(ctx, byTimeFolder, basin, scenario, byTimeKeys())
}

// PlumeByMile begins the rows of a scenario in PlumeByMile.
func (f *Folder) PlumeByMile(ctx context.Context, basin, scenario string) (RowWriter, error) {
	return f.plume(ctx, byMileFolder, basin, scenario, byMileKeys())
}

// ReadPlumeByTime returns the rows of a scenario in PlumeByTime, in stored
// order; the first error ends it. ErrNotFound when no run has written any.
func (f *Folder) ReadPlumeByTime(ctx context.Context, basin, scenario string) iter.Seq2[PlumeEntity, error] {
	return f.readPlume(ctx, byTimeFolder, basin, scenario)
}

// ReadPlumeByMile is ReadPlumeByTime for PlumeByMile.
func (f *Folder) ReadPlumeByMile(ctx context.Context, basin, scenario string) iter.Seq2[PlumeEntity, error] {
	return f.readPlume(ctx, byMileFolder, basin, scenario)
}

// CountRows returns how many rows the scenario has in PlumeByTime and in
// PlumeByMile, -1 for a table that is not there or cannot be read as one.
func (f *Folder) CountRows(ctx context.Context, basin, scenario string) (byTime, byMile int, err error) {
	if byTime, err = f.countRows(ctx, byTimeFolder, basin, scenario); err != nil {
		return 0, 0, err
	}
	byMile, err = f.countRows(ctx, byMileFolder, basin, scenario)
	return byTime, byMile, err
}

func (f *Folder) countRows(ctx context.Context, folder, basin, scenario string) (int, error) {
	n := 0
	for _, err := range f.readPlume(ctx, folder, basin, scenario) {
		if errors.Is(err, ErrNotFound) || len(reason.Faults(err)) > 0 {
			return -1, nil
		}
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// rowWriter writes one table of a scenario as CSV. No field of a row that
// checkRow accepts needs a quote.
type rowWriter struct {
	pending         *pending
	buffer          *bufio.Writer
	keys            plumeKeys
	basin, scenario string
	open            openPartition
	partition, key  []byte // of the row at hand
	line            []byte
	rows            int
}

func (f *Folder) plume(ctx context.Context, folder, basin, scenario string, keys plumeKeys) (RowWriter, error) {
	name, err := f.plumeName(ctx, folder, basin, scenario)
	if err != nil {
		return nil, err
	}
	p, err := f.create(ctx, name)
	if err != nil {
		return nil, err
	}
	w := &rowWriter{pending: p, buffer: bufio.NewWriterSize(p, 64<<10), keys: keys, basin: basin, scenario: scenario}
	// An error stays in the buffer and comes back with the next write.
	w.buffer.WriteString(strings.Join(plumeColumns(), ",") + "\n")
	return w, nil
}

func (f *Folder) plumeName(ctx context.Context, folder, basin, scenario string) (string, error) {
	if err := checkIDs(basin, scenario); err != nil {
		return "", err
	}
	name := path.Join(folder, basin, scenario+".csv")
	return name, f.begin(ctx, name)
}

func (w *rowWriter) Write(row plume.Row) error {
	if w.pending.done {
		return fs.ErrClosed // the buffer would take it
	}
	if err := checkRow(&row); err != nil {
		return err
	}
	if row.RiverMile == 0 {
		row.RiverMile = 0 // the sign of a negative zero would be in the key
	}
	w.partition = w.keys.partition(&row, w.partition[:0], w.basin, w.scenario)
	w.key = w.keys.row(&row, w.key[:0])
	if !w.open.is(w.partition) {
		w.open.open(w.partition)
	}
	if err := w.open.add(w.key); err != nil {
		return err
	}
	w.line = appendLine(w.line[:0], w.partition, w.key, &row)
	if _, err := w.buffer.Write(w.line); err != nil {
		return err
	}
	w.rows++
	return nil
}

// appendLine adds a row that checkRow accepts, with its keys, as a line of CSV.
func appendLine[T string | []byte](b []byte, partition, key T, row *plume.Row) []byte {
	b = append(append(b, partition...), ',')
	b = append(append(b, key...), ',')
	b = append(append(b, row.River...), ',')
	b = append(strconv.AppendFloat(b, row.RiverMile, 'g', -1, 64), ',')
	b = append(strconv.AppendInt(b, int64(row.Branch), 10), ',')
	b = append(strconv.AppendInt(b, int64(row.Grid), 10), ',')
	b = append(row.Time.UTC().AppendFormat(b, time.RFC3339Nano), ',')
	b = append(strconv.AppendFloat(b, row.ElapsedHours, 'g', -1, 64), ',')
	b = append(strconv.AppendFloat(b, row.ConcentrationMgL, 'g', -1, 64), ',')
	return append(append(b, row.JobID...), '\n')
}

func (w *rowWriter) Commit() (rows int, err error) {
	if err := w.buffer.Flush(); err != nil {
		w.Abort()
		return 0, err
	}
	if err := w.pending.Commit(); err != nil {
		return 0, err
	}
	return w.rows, nil
}

func (w *rowWriter) Abort() { w.pending.Abort() }

func (f *Folder) readPlume(ctx context.Context, folder, basin, scenario string) iter.Seq2[PlumeEntity, error] {
	return func(yield func(PlumeEntity, error) bool) {
		name, err := f.plumeName(ctx, folder, basin, scenario)
		if err != nil {
			yield(PlumeEntity{}, err)
			return
		}
		file, _, err := f.open(name)
		if err != nil {
			yield(PlumeEntity{}, err)
			return
		}
		defer file.Close()
		for entity, err := range ReadPlume(bufio.NewReaderSize(file, 64<<10)) {
			switch {
			case ctx.Err() != nil:
				err = context.Cause(ctx)
			case err != nil && len(reason.Faults(err)) > 0:
				err = reason.InFile(err, path.Base(name))
			case err != nil:
				err = readFailure(name, err)
			}
			if !yield(entity, err) || err != nil {
				return
			}
		}
	}
}

// ReadPlume reads a plume table in CSV as the folder store writes it. The first
// error ends it: a *reason.Fault, or what r returned.
func ReadPlume(r io.Reader) iter.Seq2[PlumeEntity, error] {
	return func(yield func(PlumeEntity, error) bool) {
		records := csv.NewReader(r)
		records.ReuseRecord = true
		records.FieldsPerRecord = len(plumeColumns())
		header, err := records.Read()
		if err == nil && !slices.Equal(header, plumeColumns()) {
			err = &reason.Fault{Line: 1, Problem: "not the header of a plume table"}
		}
		if err != nil {
			yield(PlumeEntity{}, csvError(err))
			return
		}
		for {
			record, err := records.Read()
			if err == io.EOF {
				return
			}
			var entity PlumeEntity
			if err == nil {
				entity, err = parseEntity(record)
			}
			if fault, ok := errors.AsType[*reason.Fault](err); ok {
				fault.Line, _ = records.FieldPos(0)
			}
			if !yield(entity, csvError(err)) || err != nil {
				return
			}
		}
	}
}

// csvError turns what encoding/csv says of a text into a fault.
func csvError(err error) error {
	if err == io.EOF {
		return &reason.Fault{Line: 1, Problem: "plume table without a header"}
	}
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		problem := "not a CSV record"
		if errors.Is(err, csv.ErrFieldCount) {
			problem = "wrong number of columns"
		}
		return &reason.Fault{Line: parse.Line, Column: parse.Column, Problem: problem}
	}
	return err
}

// parseEntity reads one record; it has the right number of fields.
func parseEntity(record []string) (PlumeEntity, error) {
	e := PlumeEntity{PartitionKey: strings.Clone(record[0]), RowKey: strings.Clone(record[1])}
	e.River, e.JobID = strings.Clone(record[2]), strings.Clone(record[9])
	var errs [6]error
	e.RiverMile, errs[0] = strconv.ParseFloat(record[3], 64)
	e.Branch, errs[1] = strconv.Atoi(record[4])
	e.Grid, errs[2] = strconv.Atoi(record[5])
	e.Time, errs[3] = time.Parse(time.RFC3339Nano, record[6])
	e.ElapsedHours, errs[4] = strconv.ParseFloat(record[7], 64)
	e.ConcentrationMgL, errs[5] = strconv.ParseFloat(record[8], 64)
	for i, err := range errs {
		if err != nil {
			return PlumeEntity{}, &reason.Fault{Field: plumeColumns()[3+i], Problem: "not a value of this column",
				Text: strings.Clone(record[3+i])}
		}
	}
	e.Time = e.Time.UTC()
	if err := checkRow(&e.Row); err != nil {
		return PlumeEntity{}, err
	}
	return e, nil
}
