package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// keyFormat changes with what goes into a key and with what is kept of a step.
const keyFormat = "rsms step 1"

// given is all that a step is given: what was given the same leaves the same.
type given struct{ sum hash.Hash }

// add adds values under a name. Their lengths are part of it, so that no two
// lists of values look alike.
func (g *given) add(what string, values ...string) {
	fmt.Fprintf(g.sum, "%s %d\n", what, len(values))
	for _, v := range values {
		fmt.Fprintf(g.sum, "%d %s\n", len(v), v)
	}
}

// uncached says why a step is neither taken from the cache nor kept there.
type uncached struct{ why string }

func (u *uncached) Error() string { return "the step is not cached: " + u.why }

// sums are the SHA-256 of files, in hexadecimal, by name, for as long as the
// files are what they were.
type sums map[string]struct {
	info fs.FileInfo
	sum  string
}

// key stands for all that a step is given, in hexadecimal. there are the files of
// the run folder before the step. The error is *uncached, the cause of ctx, or
// that a file cannot be read.
func (c *resume) key(ctx context.Context, root *os.Root, step Step, there map[string]fs.FileInfo) (string, error) {
	if step.Uncached {
		return "", &uncached{"engine.json says so"}
	}
	g := &given{sha256.New()}
	g.add(keyFormat, runtime.GOOS, runtime.GOARCH)
	g.add("step", step.Name)
	g.add("set", c.Set.Hash)
	if err := c.addPrograms(g, step); err != nil {
		return "", err
	}
	g.add("stdin", string(step.Stdin))
	g.add("outputs", step.Outputs...)
	g.add("success", step.Success)
	for _, code := range step.ExitCodes {
		g.add("exit", strconv.Itoa(code))
	}
	g.add("environment", c.env...)
	names, err := c.reads(step, there)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		sum := "" // it is not there
		if there[name] != nil {
			if sum, err = c.sum(ctx, root, name, there[name]); err != nil {
				return "", err
			}
		}
		g.add("file", name, sum)
	}
	return hex.EncodeToString(g.sum.Sum(nil)), nil
}

// reads are the files of the run folder that a step may read: those that it says,
// and of those that our own engine of its name reads the ones that are there;
// where it does not say, all. A folder among them may hold anything.
func (c *resume) reads(step Step, there map[string]fs.FileInfo) ([]string, error) {
	names := slices.Clone(step.Reads)
	for _, o := range outputs {
		for _, name := range o.reads {
			if o.name == step.Name && there[name] != nil {
				names = append(names, name)
			}
		}
	}
	if step.Reads == nil {
		names = slices.Collect(maps.Keys(there))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names {
		if info := there[name]; info != nil && !info.Mode().IsRegular() {
			return nil, &uncached{shownName(name) + " in the run folder is no file"}
		}
	}
	return names, nil
}

// addPrograms adds what is started: the words of the command line, and the bytes
// of every file that they name. Where the executable stands does not count.
func (c *resume) addPrograms(g *given, step Step) error {
	runner := step.runner()
	words := append([]string{step.Path}, step.Args...)
	for i, word := range words {
		text := word
		switch {
		case i == len(runner):
			text = "the executable"
		case i == 0:
			text = filepath.Base(word)
		}
		sum, err := c.program(word, i < len(runner))
		if err != nil {
			return err
		}
		g.add("word", text, sum)
	}
	if c.Set.beside == nil {
		if c.Set.Foreign {
			return &uncached{"the folder of its engines is not known"}
		}
		return nil
	}
	beside, err := c.Set.beside()
	if err != nil {
		return &uncached{err.Error()}
	}
	beside.add(g)
	return nil
}

// program is the hash of the file that a word of a command line names, "" for
// none. A runner may name another program of the PATH: env wine.
func (c *resume) program(word string, runner bool) (string, error) {
	path := word
	if !filepath.IsAbs(path) {
		if !runner || strings.ContainsAny(word, `/\`) {
			return "", nil
		}
		found, err := exec.LookPath(word)
		if err != nil || !filepath.IsAbs(found) {
			return "", nil
		}
		path = found
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	if known, ok := c.programs[path]; ok && same(known.info, info) {
		return known.sum, nil
	}
	sum, info, err := hashFile(path)
	if err != nil {
		return "", &uncached{shownName(filepath.Base(path)) + " of its command line cannot be read"}
	}
	known := c.programs[path]
	known.info, known.sum = info, sum
	c.programs[path] = known
	return sum, nil
}

// untouched reports whether all that a step was started with is what its key
// says.
func (c *resume) untouched() bool {
	for path, known := range c.programs {
		if is, err := os.Stat(path); err != nil || !same(known.info, is) {
			return false
		}
	}
	if c.Set.beside != nil {
		if beside, err := c.Set.beside(); err != nil || !beside.unchanged() {
			return false
		}
	}
	return c.Set.changed() == ""
}

// sum is the hash of a file of the run folder. Most are read by more than one
// step.
func (c *resume) sum(ctx context.Context, root *os.Root, name string, info fs.FileInfo) (string, error) {
	if known, ok := c.sums[name]; ok && same(known.info, info) {
		return known.sum, nil
	}
	f, err := openFile(root, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, whileWanted{ctx, f}); err != nil {
		return "", err
	}
	if info, err = f.Stat(); err != nil {
		return "", err
	}
	known := c.sums[name]
	known.info, known.sum = info, hex.EncodeToString(sum.Sum(nil))
	c.sums[name] = known
	return known.sum, nil
}

// temporary are the variables that name the temporary folder, which is another
// one in every run of some systems, and in which nothing lasts.
func temporary(entry string) bool {
	name, _, _ := strings.Cut(entry, "=")
	return slices.ContainsFunc([]string{"TMPDIR", "TEMP", "TMP"}, func(t string) bool { return strings.EqualFold(t, name) })
}

// filesOf looks at all that a run folder has.
func filesOf(root *os.Root) (map[string]fs.FileInfo, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	if len(entries) > mostFiles {
		return nil, &uncached{fmt.Sprintf("the run folder has more than %d files", mostFiles)}
	}
	files := make(map[string]fs.FileInfo, len(entries))
	for _, e := range entries {
		// Not what stands in the folder: Windows fills in the rest of that when it is
		// asked for.
		info, err := root.Lstat(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[e.Name()] = info
	}
	return files, nil
}
