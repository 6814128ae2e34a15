package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"rsmsjob/internal/compare"
)

// pageFile is the file of --html, "" where none is wanted.
type pageFile string

// pageFlag reads --html. It refuses what cannot be written before anything is
// compared.
func pageFlag(flags *pflag.FlagSet) (pageFile, error) {
	name, err := flags.GetString("html")
	if err != nil || !flags.Changed("html") {
		return "", err
	}
	if name == "" {
		return "", usage("--html: the file is not named")
	}
	if full, err := filepath.EvalSymlinks(name); err == nil {
		name = full // what the link leads to is replaced, not the link
	}
	return pageFile(name), pageFile(name).free()
}

// free refuses a name under which something else than an earlier page stands.
func (p pageFile) free() error {
	info, err := os.Stat(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(string(p)); err == nil {
			return usage("--html: %s is a link that leads nowhere", string(p))
		}
		if info, err := os.Stat(filepath.Dir(string(p))); err != nil || !info.IsDir() {
			return usage("--html: there is no folder %s to write the page in", filepath.Dir(string(p)))
		}
		return nil
	}
	if err != nil {
		return usage("--html: %w", err)
	}
	if !info.Mode().IsRegular() {
		return usage("--html: %s is no file", string(p))
	}
	head, err := headOf(string(p))
	if err != nil {
		return usage("--html: %w", err)
	}
	if !compare.IsPage(head) {
		return usage("--html: %s is there and is no page of a comparison; remove it, or name another file", string(p))
	}
	return nil
}

func headOf(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, compare.PageHead))
}

// write writes the page, all of it or nothing.
func (p pageFile) write(report *compare.Report) error {
	if p == "" {
		return nil
	}
	// Somebody may have put another file there since.
	if err := p.free(); err != nil {
		return err
	}
	if err := writeWhole(string(p), report.HTML); err != nil {
		return usage("--html: the page cannot be written: %w", err)
	}
	return nil
}
