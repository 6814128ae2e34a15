package engine

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"rsmsjob/internal/reason"
)

const (
	// sizeEvery is how often the size of a run folder is looked at.
	sizeEvery = 500 * time.Millisecond
	// mostFiles is how many files and folders a run may have: more take too long
	// to look at.
	mostFiles = 20_000
	// atATime is how many names of a folder are read at a time.
	atATime = 256
)

// watchSize returns a context that ends when the files in dir are more than
// limit bytes, or too many; 0 is without limit. stop ends the watch and waits for
// that.
func watchSize(ctx context.Context, dir string, limit int64, step string) (watched context.Context, stop func()) {
	if limit <= 0 {
		return ctx, func() {}
	}
	watched, over := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(sizeEvery)
		defer tick.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-tick.C:
				if err := tooMuch(watched, dir, limit, step); err != nil {
					over(err)
					return
				}
			}
		}
	}()
	return watched, func() {
		over(nil) // a look at many files ends as well
		<-done
	}
}

// tooMuch is the error of a folder with more than limit bytes in it, or with too
// many files; or the cause of ctx, which ends the look.
func tooMuch(ctx context.Context, dir string, limit int64, step string) error {
	if limit <= 0 {
		return nil
	}
	bytes, files, err := measure(ctx, dir, limit)
	switch {
	case err != nil:
		return err
	case files > mostFiles:
		return reason.New(reason.EngineOutputInvalid, "engine %s filled the run folder: it has more than %d files; "+
			"an engine that keeps so many must remove them, or put them into one", step, mostFiles)
	case bytes > limit:
		return reason.New(reason.EngineOutputInvalid, "engine %s filled the run folder: its files are more than %d MB; "+
			"where a river is that large, raise output_limit_mb in %s, or give the scenario a longer time step", step, limit>>20, manifestName)
	}
	return nil
}

// measure is what the files below dir have together, in bytes, and how many
// files and folders there are. It stops where limit or mostFiles is passed. What
// goes away meanwhile does not count. The error is the cause of ctx.
func measure(ctx context.Context, dir string, limit int64) (bytes int64, files int, err error) {
	for folders := []string{dir}; len(folders) > 0; {
		last := len(folders) - 1
		folder := folders[last]
		folders = folders[:last]
		all := eachPart(folder, func(entries []fs.DirEntry) bool {
			for _, e := range entries {
				files++
				if e.IsDir() {
					folders = append(folders, filepath.Join(folder, e.Name()))
				} else if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
					bytes += info.Size()
				}
			}
			return ctx.Err() == nil && bytes <= limit && files <= mostFiles
		})
		if ctx.Err() != nil {
			return 0, 0, context.Cause(ctx)
		}
		if !all {
			break
		}
	}
	return bytes, files, nil
}

// eachPart gives the entries of a folder, some at a time, for as long as more wants
// them, and reports whether it did to the end. One that cannot be read has none.
func eachPart(folder string, more func([]fs.DirEntry) bool) bool {
	// A pipe may stand there by now, which would be waited at.
	f, err := os.OpenFile(folder, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return true
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(atATime)
		if !more(entries) {
			return false
		}
		if err != nil { // io.EOF behind the last
			return true
		}
	}
}
