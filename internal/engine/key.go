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
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// keyFormat changes with what goes into a key and with what is kept of a step.
const keyFormat = "rsms step 2"

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
	if err := c.addPrograms(ctx, g, step); err != nil {
		return "", err
	}
	g.add("stdin", string(step.Stdin))
	g.add("outputs", step.Outputs...)
	g.add("success", step.Success)
	for _, code := range step.ExitCodes {
		g.add("exit", strconv.Itoa(code))
	}
	g.add("environment", c.env...)
	files, err := c.reads(root, step, there)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := "" // it is not there
		if files[name] != nil {
			if sum, err = c.sum(ctx, root, name, files[name]); err != nil {
				return "", err
			}
		}
		g.add("file", name, sum)
	}
	return hex.EncodeToString(g.sum.Sum(nil)), nil
}

// reads are the files of the run folder that a step may read, nil for one that is
// not there: those that it says, and of those that our own engine of its name reads
// the ones that are there; where it does not say, all. A folder among them may hold
// anything.
func (c *resume) reads(root *os.Root, step Step, there map[string]fs.FileInfo) (map[string]fs.FileInfo, error) {
	files := maps.Clone(there)
	if step.Reads != nil {
		files = map[string]fs.FileInfo{}
	}
	for _, name := range step.Reads {
		info, err := spelt(root, there, name)
		if err != nil {
			return nil, err
		}
		files[name] = info
	}
	for _, o := range outputs {
		for _, name := range o.reads {
			if o.name != step.Name {
				continue
			}
			if info, err := spelt(root, there, name); err != nil {
				return nil, err
			} else if info != nil {
				files[name] = info
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if info := files[name]; info != nil && !info.Mode().IsRegular() {
			return nil, &uncached{shownName(name) + " in the run folder is no file"}
		}
	}
	return files, nil
}

// spelt looks at the file that who opens name finds, nil for none. Where a file
// system does not tell capitals from small letters, it has another name in there.
func spelt(root *os.Root, there map[string]fs.FileInfo, name string) (fs.FileInfo, error) {
	if info := there[name]; info != nil {
		return info, nil
	}
	info, err := root.Lstat(name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return info, err
	}
	for other := range there { // Wine does not tell them apart, whatever the file system does
		if folded(other) == folded(name) {
			return nil, &uncached{shownName(name) + " in the run folder is called " + shownName(other)}
		}
	}
	return nil, nil
}

// folded is the same for names that differ by capitals only.
func folded(name string) string { return strings.ToLower(strings.ToUpper(name)) }

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
	files, spellings := make(map[string]fs.FileInfo, len(entries)), make(map[string]string, len(entries))
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
		// Which of two Wine finds is not known, and on Windows there cannot be both.
		if other := spellings[folded(e.Name())]; other != "" {
			return nil, &uncached{"the run folder has " + shownName(other) + " and " + shownName(e.Name()) + ", which differ by capitals only"}
		}
		files[e.Name()], spellings[folded(e.Name())] = info, e.Name()
	}
	return files, nil
}
