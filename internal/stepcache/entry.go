package stepcache

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"rsmsjob/internal/remove"
	"rsmsjob/internal/storage"
)

// An entry is a tar archive, compressed by gzip: the files of a step, and behind
// them a list of them under a name that no file of a run folder has.
const (
	listName  = "rsms-step/list.json"
	format    = "rsms step 2"
	mostFiles = 20_000
	maxList   = 8 << 20 // bytes
	buffer    = 256 << 10
)

// list is what an entry says of itself.
type list struct {
	Format string   `json:"format"`
	Key    string   `json:"key"`
	Files  []listed `json:"files"`
}

type listed struct {
	Name   string      `json:"name"`
	Size   int64       `json:"size"`
	Mode   fs.FileMode `json:"mode"` // who may do what with it
	SHA256 string      `json:"sha256"`
}

// unkept says why files are not kept; the store is not to blame.
type unkept struct{ why string }

func (u *unkept) Error() string { return "the step is not kept in the cache: " + u.why }

// damage says why what is stored is no entry that can be used.
type damage struct {
	what string
	err  error
}

func (d *damage) Error() string {
	if d.err == nil {
		return d.what
	}
	return d.what + ": " + d.err.Error()
}

func (d *damage) Unwrap() error { return d.err }

// noRoom is what the folder refused, which neither the entry nor its store is to
// blame for.
type noRoom struct{ error }

func (n *noRoom) Unwrap() error { return n.error }

// errThere says that a file of an entry is in the folder already.
var errThere = errors.New("a file of the entry is there already")

// mostUnpacked is what the files of an entry may have together, bytes: more than a
// run folder may.
const mostUnpacked = 64 << 30

// pack writes an entry. The error is *unkept where a file is not what it was, or
// they are too many or too large.
func pack(ctx context.Context, w io.Writer, key string, dir *os.Root, files map[string]fs.FileInfo) error {
	total := int64(0)
	for name, info := range files {
		if total += info.Size(); !portable(name) {
			return &unkept{"a file of it has a name that cannot be kept"}
		}
		if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
			return &unkept{"a file of it runs with the rights of its owner"}
		}
	}
	if total > mostUnpacked || len(files) > mostFiles {
		return &unkept{"its files are too large, or too many"}
	}
	// BestSpeed is about as fast as a disk, and makes engine text 10 to 25 times
	// smaller.
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out, all := tar.NewWriter(zip), list{Format: format, Key: key}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum, err := packFile(ctx, out, dir, name, files[name])
		if err != nil {
			return err
		}
		all.Files = append(all.Files, listed{name, files[name].Size(), files[name].Mode().Perm(), sum})
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	err = out.WriteHeader(&tar.Header{Name: listName, Size: int64(len(text)), Mode: 0o600})
	if err == nil {
		_, err = out.Write(text)
	}
	if err == nil {
		err = out.Close()
	}
	if err == nil {
		err = zip.Close()
	}
	return err
}

// packFile writes one file and returns its SHA-256.
func packFile(ctx context.Context, out *tar.Writer, dir *os.Root, name string, was fs.FileInfo) (string, error) {
	changed := &unkept{"a file of it was changed after its end"}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return "", changed
	}
	defer f.Close()
	if is, err := f.Stat(); err != nil || !same(was, is) {
		return "", changed
	}
	if err := out.WriteHeader(&tar.Header{Name: name, Size: was.Size(), Mode: 0o600}); err != nil {
		return "", err
	}
	sum, from := sha256.New(), &source{ctx: ctx, r: f, alive: func() {}}
	_, err = io.CopyBuffer(plainWriter{io.MultiWriter(out, sum)}, io.LimitReader(from, was.Size()), make([]byte, buffer))
	if from.err != nil && ctx.Err() == nil {
		return "", &unkept{"a file of it cannot be read"}
	}
	if err != nil {
		return "", err
	}
	// Only now is it known that what was read is what the step left.
	if is, err := f.Stat(); err != nil || !same(was, is) {
		return "", changed
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// plainWriter and plainReader keep io.Copy to buffers of the given size.
type plainWriter struct{ io.Writer }

type plainReader struct{ io.Reader }

func same(was, is fs.FileInfo) bool {
	return is.Mode().IsRegular() && os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
}

// taking begins the names of files that are not whole yet.
const taking = ".rsms-taking-"

// portable reports whether name is that of a file in the run folder itself, on
// every system.
func portable(name string) bool {
	return filepath.IsLocal(name) && name != "." && !strings.ContainsAny(name, `/\:`) && !strings.HasPrefix(name, taking)
}

// unpack reads an entry and puts its files into dir, under their names only when
// all of them are there and are what the list says. The error is *damage where
// the entry is to blame, errThere where a file is in dir already, and *noRoom where
// dir takes none.
func unpack(ctx context.Context, from *source, key string, dir *os.Root, limit int64) (files map[string]string, err error) {
	u := &unpacking{dir: dir, limit: limit}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.undo())
		}
	}()
	zip, err := gzip.NewReader(bufio.NewReaderSize(from, buffer))
	if err == nil {
		in := readAhead(zip)
		err = u.all(tar.NewReader(in), key)
		in.Close()
	}
	switch {
	case from.err != nil:
		return nil, from.err
	case u.local != nil:
		return nil, &noRoom{u.local}
	case err != nil:
		return nil, &damage{"it is damaged", err}
	}
	return u.finish(ctx)
}

// unpacking is an entry on its way into a folder.
type unpacking struct {
	dir   *os.Root
	limit int64
	files []listed // so far; each has the temporary name of its number
	moved int      // how many of them have their own name
	local error    // of the folder
}

// all reads all files and holds them against the list.
func (u *unpacking) all(in *tar.Reader, key string) error {
	total := int64(0)
	for {
		h, err := in.Next()
		if err != nil {
			return err // also at its end: the list comes first
		}
		if h.Name == listName {
			return u.check(in, key)
		}
		if total += h.Size; h.Typeflag != tar.TypeReg || !portable(h.Name) || h.Size < 0 || total > u.limit || len(u.files) == mostFiles {
			return errors.New("it has what no step leaves, or more than it may")
		}
		if err := u.file(in, h); err != nil {
			return err
		}
	}
}

func (u *unpacking) file(in io.Reader, h *tar.Header) error {
	u.files = append(u.files, listed{Name: h.Name})
	f, err := u.dir.OpenFile(u.temporary(len(u.files)-1), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		u.local = err
		return err
	}
	sum := sha256.New()
	n, err := io.CopyBuffer(plainWriter{io.MultiWriter(&localWriter{f, &u.local}, sum)}, plainReader{in}, make([]byte, buffer))
	if closed := f.Close(); u.local == nil {
		u.local = closed
	}
	u.files[len(u.files)-1] = listed{Name: h.Name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}
	return errors.Join(err, u.local)
}

// localWriter keeps what goes wrong in the folder apart from what is wrong with
// the entry.
type localWriter struct {
	w   io.Writer
	err *error
}

func (l *localWriter) Write(b []byte) (int, error) {
	n, err := l.w.Write(b)
	if err != nil {
		*l.err = err
	}
	return n, err
}

// check holds the files against the list, which in is at.
func (u *unpacking) check(in io.Reader, key string) error {
	var all list
	if err := json.NewDecoder(io.LimitReader(in, maxList)).Decode(&all); err != nil {
		return err
	}
	switch {
	case all.Format != format || all.Key != key:
		return errors.New("it is an entry of another key")
	case len(all.Files) == 0 || !slices.EqualFunc(all.Files, u.files, listed.is):
		return errors.New("its files are not those of its list")
	}
	u.files = all.Files
	return nil
}

// is reports whether a file in an entry is the one of its list, which alone says
// its mode.
func (l listed) is(file listed) bool {
	file.Mode = l.Mode
	return l == file && l.Mode == l.Mode.Perm()
}

// finish gives the files their modes and names, and returns their hashes.
func (u *unpacking) finish(ctx context.Context) (map[string]string, error) {
	sums := map[string]string{}
	for i, f := range u.files {
		// Now, and not before the first: two names may be the same file here.
		if _, err := u.dir.Lstat(f.Name); !errors.Is(err, fs.ErrNotExist) {
			return nil, errThere
		}
		info, err := u.dir.Lstat(u.temporary(i))
		if err == nil && info.Mode().Perm() != f.Mode {
			err = u.dir.Chmod(u.temporary(i), f.Mode)
		}
		if err == nil {
			err = storage.RetryInUse(ctx, func() error { return u.dir.Rename(u.temporary(i), f.Name) })
		}
		if err != nil {
			return nil, &noRoom{err}
		}
		u.moved = i + 1
		sums[f.Name] = f.SHA256
	}
	return sums, nil
}

// undo removes all that was put into the folder.
func (u *unpacking) undo() error {
	var errs []error
	for i, f := range u.files {
		name := u.temporary(i)
		if i < u.moved {
			name = f.Name
		}
		if err := remove.At(u.dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (u *unpacking) temporary(i int) string { return taking + strconv.Itoa(i) }
