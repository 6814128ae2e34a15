package storage

import (
	"context"
	"errors"
	"iter"
)

// PlumeByTime begins the rows of a scenario in PlumeByTime.
func (a *Azure) PlumeByTime(ctx context.Context, basin, scenario string) (RowWriter, error) {
	return nil, errors.ErrUnsupported
}

// PlumeByMile begins the rows of a scenario in PlumeByMile.
func (a *Azure) PlumeByMile(ctx context.Context, basin, scenario string) (RowWriter, error) {
	return nil, errors.ErrUnsupported
}

// ReadPlumeByTime returns the rows of a scenario in PlumeByTime, in key order.
func (a *Azure) ReadPlumeByTime(ctx context.Context, basin, scenario string) iter.Seq2[PlumeEntity, error] {
	return nil
}

// ReadPlumeByMile is ReadPlumeByTime for PlumeByMile.
func (a *Azure) ReadPlumeByMile(ctx context.Context, basin, scenario string) iter.Seq2[PlumeEntity, error] {
	return nil
}

// CountRows returns how many rows the scenario has in each plume table.
func (a *Azure) CountRows(ctx context.Context, basin, scenario string) (byTime, byMile int, err error) {
	return 0, 0, errors.ErrUnsupported
}
