package engine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// slowest is how long what an engine is started with may take to be read.
const slowest = 30 * time.Second

var errSlow = errors.New("too slow to be read")

// addPrograms adds what is started: the words of the command line, with the bytes
// of every file that they name, what stands beside the engines, and the system that
// engines which are not our own run on. Where the executable stands does not count.
func (c *resume) addPrograms(ctx context.Context, g *given, step Step) error {
	soon, cancel := context.WithTimeoutCause(ctx, slowest, errSlow)
	defer cancel()
	runner := step.runner()
	for i, word := range append([]string{step.Path}, step.Args...) {
		if i == len(runner) { // in the hash of the set
			g.add("word", "the executable")
			continue
		}
		text := word
		if i == 0 {
			text = filepath.Base(word)
		}
		sums, err := c.word(soon, word, i < len(runner), isWine(runner))
		if err != nil {
			return err
		}
		g.add("word", append([]string{text}, sums...)...)
	}
	for _, entry := range c.Set.Env {
		sums, err := c.named(soon, entry, isWine(runner))
		if err != nil {
			return err
		}
		g.add("variable", sums...)
	}
	if !c.Set.Foreign {
		return nil
	}
	if err := c.addSystem(soon, g, runner); err != nil {
		return err
	}
	if c.Set.beside == nil {
		return &uncached{"the folder of its engines is not known"}
	}
	beside, err := c.Set.beside(ctx)
	if err != nil {
		return err
	}
	beside.add(g)
	return nil
}

// addSystem adds what an engine finds in the system: the packages that are
// installed, where they are listed, the library of C, and Wine behind the runner.
func (c *resume) addSystem(ctx context.Context, g *given, runner []string) error {
	patterns := c.Set.system
	for _, word := range runner {
		if path := programOf(word); path != "" && isWine([]string{word}) {
			patterns = slices.Concat(patterns, wineFiles(path))
		}
	}
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
				continue
			}
			sum, err := c.hash(ctx, path)
			if err != nil {
				return err
			}
			g.add("system", filepath.Base(path), sum)
		}
	}
	return nil
}

// wineFiles are patterns of files that are others in another Wine: path, its
// program, is a script in some systems.
func wineFiles(path string) []string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	above := filepath.Dir(filepath.Dir(path))
	var patterns []string
	for _, below := range []string{"lib*/wine/wine*", "lib*/wine/*-unix/ntdll.so", "lib/*/wine/*-unix/ntdll.so"} {
		patterns = append(patterns, filepath.Join(above, filepath.FromSlash(below)))
	}
	return patterns
}

// word are the hashes of the files that a word of a command line names. One of a
// runner may be another program of the PATH: env wine.
func (c *resume) word(ctx context.Context, word string, runner, wine bool) ([]string, error) {
	if path := programOf(word); runner && path != "" && path != word {
		sum, err := c.hash(ctx, path)
		return []string{sum}, err
	}
	return c.named(ctx, word, wine)
}

// programOf is the path of the program that a word of a runner names, "" for none.
func programOf(word string) string {
	if filepath.IsAbs(word) {
		return word
	}
	if strings.ContainsAny(word, `/\`) {
		return ""
	}
	path, err := exec.LookPath(word)
	if err != nil || !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// named are the hashes of the files that a text names which are neither in EXE_DIR
// nor in the run folder, in their order there. A folder may have anything.
func (c *resume) named(ctx context.Context, text string, wine bool) ([]string, error) {
	var sums []string
	for _, part := range parts(text) {
		path := c.outside(part, wine)
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		switch {
		case err != nil || strings.EqualFold(part, os.DevNull): // there is nothing to read
		case info.Mode().IsRegular():
			sum, err := c.hash(ctx, path)
			if err != nil {
				return nil, err
			}
			sums = append(sums, sum)
		case info.IsDir():
			return nil, &uncached{"it is given the folder " + shownName(part) + ", which is neither in EXE_DIR nor in the run folder"}
		default:
			return nil, &uncached{"it is given " + shownName(part) + ", which is no file"}
		}
	}
	return sums, nil
}

// parts are what may be paths in a text: all of it, and what stands behind, before
// or between the signs that programs put around paths. Variables that name what
// the system has are none.
func parts(text string) []string {
	if name, _, ok := strings.Cut(text, "="); ok && slices.Contains([]string{"PATH", "HOME", "LD_LIBRARY_PATH", "WINEPREFIX"}, name) {
		return nil
	}
	const signs = `=,;@"'`
	all := []string{text}
	for rest := text; ; {
		i := strings.IndexAny(rest, signs)
		if i >= 0 {
			all = append(all, rest[:i])
		}
		all = append(all, rest) // a path may have such a sign itself
		if i < 0 {
			break
		}
		rest = rest[i+1:]
	}
	for _, part := range slices.Clone(all) {
		all = append(all, filepath.SplitList(part)...)
		if strings.HasPrefix(part, "-") && len(part) > 2 {
			all = append(all, part[2:]) // -I/usr/include
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// outside is the path that a part of a text may be, "" where it is none, or one in
// EXE_DIR or in the run folder.
func (c *resume) outside(part string, wine bool) string {
	if wine && regexp.MustCompile(`^[Zz]:[/\\]`).MatchString(part) {
		part = strings.ReplaceAll(part[2:], `\`, "/")
	}
	switch {
	case part == "" || filepath.IsLocal(part):
		return ""
	case filepath.IsAbs(part):
	case os.IsPathSeparator(part[0]): // of the drive
		part = filepath.VolumeName(c.dir) + part
	default:
		part = filepath.Join(c.dir, part)
	}
	for _, dir := range []string{c.Set.dir, c.dir} {
		if below, err := filepath.Rel(dir, part); dir != "" && err == nil && filepath.IsLocal(below) {
			return ""
		}
	}
	return part
}

// hash is the SHA-256 of a file that an engine is started with.
func (c *resume) hash(ctx context.Context, path string) (string, error) {
	info, err := os.Stat(path)
	if known, ok := c.programs[path]; ok && err == nil && same(known.info, info) {
		return known.sum, nil
	}
	sum, info, err := hashFile(ctx, path)
	if err != nil {
		why := "cannot be read"
		if errors.Is(context.Cause(ctx), errSlow) {
			why = "is " + errSlow.Error()
		}
		return "", &uncached{shownName(filepath.Base(path)) + ", which it is started with, " + why}
	}
	known := c.programs[path]
	known.info, known.sum = info, sum
	c.programs[path] = known
	return sum, nil
}

// sameCommand reports whether the files that a step was started with are what its
// key says, but for what stands beside the engines.
func (c *resume) sameCommand() bool {
	for path, known := range c.programs {
		if is, err := os.Stat(path); err != nil || !same(known.info, is) {
			return false
		}
	}
	return c.Set.changed() == ""
}
