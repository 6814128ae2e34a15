package engine

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"rsmsjob/internal/reason"
)

// sizeEvery is how often the size of a run folder is looked at.
const sizeEvery = 500 * time.Millisecond

// watchSize returns a context that ends when the files in dir are more than
// limit bytes; 0 is without limit. stop ends the watch and waits for that.
func watchSize(ctx context.Context, dir string, limit int64, step string) (watched context.Context, stop func()) {
	if limit <= 0 {
		return ctx, func() {}
	}
	watched, over := context.WithCancelCause(ctx)
	enough, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(sizeEvery)
		defer tick.Stop()
		for {
			select {
			case <-enough:
				return
			case <-watched.Done():
				return
			case <-tick.C:
				if err := tooMuch(dir, limit, step); err != nil {
					over(err)
					return
				}
			}
		}
	}()
	return watched, func() {
		close(enough)
		<-done
		over(nil)
	}
}

// tooMuch is the error of a folder with more than limit bytes in it.
func tooMuch(dir string, limit int64, step string) error {
	if limit <= 0 || size(dir) <= limit {
		return nil
	}
	return reason.New(reason.EngineOutputInvalid, "engine %s filled the run folder: its files are more than %d MB; "+
		"where a river is that large, raise output_limit_mb in %s, or give the scenario a longer time step", step, limit>>20, manifestName)
}

// size is what the files below dir have together, in bytes. One that goes away
// meanwhile does not count.
func size(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
