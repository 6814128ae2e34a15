package stepcache

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/storage"
)

var _ engine.Cache = (*Cache)(nil)

// shelf is a store in memory.
type shelf struct {
	mu      sync.Mutex
	entries map[string]kept
	gets    int
	skew    time.Duration // of its clock
	// fault, where it is set, is what a call comes to.
	fault func(ctx context.Context, call string) error
}

type kept struct {
	data []byte
	at   time.Time
}

func newShelf() *shelf { return &shelf{entries: map[string]kept{}} }

func (s *shelf) failed(ctx context.Context, call string) error {
	if s.fault != nil {
		return s.fault(ctx, call)
	}
	return nil
}

func (s *shelf) Get(ctx context.Context, key string) (io.ReadCloser, storage.CacheEntry, error) {
	if err := s.failed(ctx, "get"); err != nil {
		return nil, storage.CacheEntry{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets++
	e, ok := s.entries[key]
	if !ok {
		return nil, storage.CacheEntry{}, storage.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(e.data)), storage.CacheEntry{Key: key, Size: int64(len(e.data)), Time: e.at}, nil
}

func (s *shelf) Put(ctx context.Context, key string, write func(io.Writer) error) error {
	if err := s.failed(ctx, "put"); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[key] = kept{b.Bytes(), s.now()}
	return nil
}

// now is the time of the store, in whole seconds.
func (s *shelf) now() time.Time { return time.Now().Add(s.skew).Truncate(time.Second) }

func (s *shelf) Delete(ctx context.Context, key string) error {
	if err := s.failed(ctx, "delete"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries, key)
	return nil
}

func (s *shelf) List(ctx context.Context, page func([]storage.CacheEntry)) error {
	s.mu.Lock()
	entries := maps.Clone(s.entries)
	s.mu.Unlock()
	for key, e := range entries { // each is a page
		if err := s.failed(ctx, "list"); err != nil {
			return err
		}
		page([]storage.CacheEntry{{Key: key, Size: int64(len(e.data)), Time: e.at}})
	}
	return nil
}

func key(digit string) string { return strings.Repeat(digit, 64) }

// logged is a log and what it was told.
func logged() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelInfo})), &b
}

func newCache(store Store, o Options) (*Cache, *bytes.Buffer) {
	var text *bytes.Buffer
	o.Log, text = logged()
	return New(store, o), text
}

// folder is a folder with files in it.
func folder(t testing.TB, files map[string]string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	for name, text := range files {
		if err := root.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// look is what the files of a folder are.
func look(t testing.TB, dir *os.Root) map[string]fs.FileInfo {
	t.Helper()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		t.Fatal(err)
	}
	infos := map[string]fs.FileInfo{}
	for _, e := range entries {
		if infos[e.Name()], err = dir.Lstat(e.Name()); err != nil {
			t.Fatal(err)
		}
	}
	return infos
}

func read(t testing.TB, dir *os.Root) map[string]string {
	t.Helper()
	files := map[string]string{}
	for name := range look(t, dir) {
		text, err := dir.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return files
}

// emptySum is the SHA-256 of nothing.
const emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func sample() map[string]string {
	return map[string]string{"BLTM.FLW": strings.Repeat("  1  2  3.456\n", 50_000), "FLOW.OUT": "report\n", "daflow.stdout": "", "grün é.dat": "\x00\xff"}
}

// put keeps files under a key.
func put(t testing.TB, c *Cache, key string, files map[string]string) {
	t.Helper()
	dir := folder(t, files)
	c.Keep(t.Context(), key, dir, look(t, dir))
}

func taken(t testing.TB, c *Cache, key string) (map[string]string, map[string]string) {
	t.Helper()
	dir := folder(t, nil)
	sums, done := c.Take(t.Context(), key, dir)
	done()
	return read(t, dir), sums
}

func TestKeepAndTake(t *testing.T) {
	c, log := newCache(newShelf(), Options{})
	if files, sums := taken(t, c, key("a")); len(files) != 0 || len(sums) != 0 {
		t.Errorf("an empty cache has %v", sums)
	}
	put(t, c, key("a"), sample())
	files, sums := taken(t, c, key("a"))
	if !maps.Equal(files, sample()) || len(sums) != 4 || sums["daflow.stdout"] != emptySum {
		t.Errorf("%d files, %v", len(files), sums)
	}
	if files, _ := taken(t, c, key("b")); len(files) != 0 {
		t.Error("another key is taken")
	}
	c.Drop(t.Context(), key("a"))
	if files, _ := taken(t, c, key("a")); len(files) != 0 {
		t.Error("what was dropped is taken")
	}
	if log.Len() > 0 {
		t.Errorf("told of nothing:\n%s", log)
	}
}

// Whatever byte of an entry is another, or missing: it is taken as it was kept, or
// not at all and dropped; nothing of it stays in the folder.
func TestDamage(t *testing.T) {
	store := newShelf()
	c, _ := newCache(store, Options{})
	want := map[string]string{"A": strings.Repeat("some text\n", 100), "B": "more"}
	put(t, c, key("a"), want)
	whole := store.entries[key("a")].data
	for n := range len(whole) + 1 {
		for _, spoilt := range [][]byte{whole[:n], spoil(whole, n, 0x01), spoil(whole, n, 0xff), slices.Concat(whole[:n], []byte{7}, whole[n:])} {
			store.entries[key("a")] = kept{spoilt, time.Now()}
			files, sums := taken(t, c, key("a"))
			_, there := store.entries[key("a")]
			switch {
			case len(sums) > 0 && !maps.Equal(files, want):
				t.Fatalf("byte %d: %q was taken", n, files)
			case len(sums) == 0 && (len(files) > 0 || there):
				t.Fatalf("byte %d: left %v, entry there: %v", n, slices.Collect(maps.Keys(files)), there)
			}
		}
	}
}

func spoil(b []byte, n int, with byte) []byte {
	b = bytes.Clone(b)
	if n < len(b) {
		b[n] ^= with
	}
	return b
}

// An entry under the key of another, and archives that nobody here wrote.
func TestForeignEntries(t *testing.T) {
	store := newShelf()
	c, log := newCache(store, Options{MaxBytes: 2 << 20})
	put(t, c, key("a"), sample())
	store.entries[key("b")] = store.entries[key("a")]
	if files, sums := taken(t, c, key("b")); len(files)+len(sums) > 0 {
		t.Error("the entry of another key was taken")
	}
	for name, archive := range archives(t) {
		store.entries[key("c")] = kept{archive, time.Now()}
		if files, sums := taken(t, c, key("c")); len(files)+len(sums) > 0 {
			t.Errorf("%s was taken", name)
		}
		if _, there := store.entries[key("c")]; there {
			t.Errorf("%s is still there", name)
		}
	}
	if n := strings.Count(log.String(), "cannot be used and is removed"); n != 1+len(archives(t)) {
		t.Errorf("told %d times:\n%s", n, log)
	}
}

// A file that is there is not replaced, and is no fault of the entry.
func TestFileIsThere(t *testing.T) {
	store := newShelf()
	c, log := newCache(store, Options{})
	put(t, c, key("a"), sample())
	dir := folder(t, map[string]string{"FLOW.OUT": "mine\n"})
	if sums, _ := c.Take(t.Context(), key("a"), dir); len(sums) > 0 || !maps.Equal(read(t, dir), map[string]string{"FLOW.OUT": "mine\n"}) {
		t.Errorf("%v, %v", sums, read(t, dir))
	}
	if _, there := store.entries[key("a")]; !there || log.Len() > 0 {
		t.Errorf("there: %v\n%s", there, log)
	}
}

// What is changed after the step, as it is kept or before, is not kept; nor what
// has a name that no file of every system has, or is too much.
func TestNotKept(t *testing.T) {
	for name, do := range map[string]func(dir *os.Root){
		"removed": func(dir *os.Root) { dir.Remove("A") },
		"longer":  func(dir *os.Root) { dir.WriteFile("A", []byte("another"), 0o600) },
		"another": func(dir *os.Root) { dir.Remove("A"); dir.WriteFile("A", []byte("text"), 0o600) },
		"a folder": func(dir *os.Root) {
			dir.Remove("A")
			dir.Mkdir("A", 0o700)
		},
		"touched": func(dir *os.Root) { dir.Chtimes("A", time.Time{}, time.Now().Add(time.Hour)) },
	} {
		store := newShelf()
		c, log := newCache(store, Options{})
		dir := folder(t, map[string]string{"A": "text"})
		infos := look(t, dir)
		do(dir)
		if c.Keep(t.Context(), key("a"), dir, infos); len(store.entries) > 0 || !strings.Contains(log.String(), "a file of it was changed") {
			t.Errorf("%s: %d entries\n%s", name, len(store.entries), log)
		}
	}
	store := newShelf()
	c, log := newCache(store, Options{MaxBytes: 10})
	put(t, c, key("a"), map[string]string{"A": "more than ten"})
	put(t, c, key("b"), map[string]string{"A": "ten bytes."}) // but more with all that belongs to it
	put(t, c, key("c"), map[string]string{"A:B": "x"})
	if len(store.entries) > 0 || strings.Count(log.String(), "not kept") != 3 {
		t.Errorf("%d entries\n%s", len(store.entries), log)
	}
}

// The limit is for what is stored, not for the files as they are; and who has a
// smaller one does not call the entries of others damaged.
func TestLimitIsOfWhatIsStored(t *testing.T) {
	store := newShelf()
	text := map[string]string{"A": strings.Repeat("the same again\n", 1<<16)}
	c, log := newCache(store, Options{MaxBytes: 1 << 16})
	if put(t, c, key("a"), text); len(store.entries) != 1 {
		t.Errorf("a megabyte that packs to %d bytes is not kept\n%s", 1<<16, log)
	}
	small, log := newCache(store, Options{MaxBytes: 1})
	if files, _ := taken(t, small, key("a")); len(files) != 1 || len(store.entries) != 1 || log.Len() > 0 {
		t.Errorf("%d files, %d entries\n%s", len(files), len(store.entries), log)
	}
}

// An old entry is not used.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newShelf()
		c, _ := newCache(store, Options{MaxAge: 24 * time.Hour})
		put(t, c, key("a"), sample())
		time.Sleep(23 * time.Hour)
		if files, _ := taken(t, c, key("a")); len(files) == 0 {
			t.Error("it is gone")
		}
		time.Sleep(2 * time.Hour)
		if files, _ := taken(t, c, key("a")); len(files) > 0 {
			t.Error("an old entry was taken")
		}
	})
}

// A run that is to do all anew takes nothing from before it was asked to, whatever
// the clocks of its machine and of the store say: a store has whole seconds.
func TestAnew(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, 0, time.Hour} { // of the store
		synctest.Test(t, func(t *testing.T) {
			store := newShelf()
			store.skew = skew
			before, _ := newCache(store, Options{})
			put(t, before, key("a"), sample())
			time.Sleep(100 * time.Millisecond)
			asked := store.now() // by the clock of the store, as a queue message has it
			time.Sleep(time.Minute)
			byHand, _ := newCache(store, Options{Anew: true})
			queued, _ := newCache(store, Options{Anew: true, NotBefore: asked})
			for name, c := range map[string]*Cache{"by hand": byHand, "from the queue": queued} {
				if files, _ := taken(t, c, key("a")); len(files) > 0 {
					t.Errorf("%v, %s: what is older was taken", skew, name)
				}
			}
			// An earlier attempt of the same job, and a worker that nobody knows.
			other, _ := newCache(store, Options{})
			put(t, other, key("b"), sample())
			if files, _ := taken(t, byHand, key("b")); len(files) > 0 {
				t.Errorf("%v, by hand: the work of another run was taken", skew)
			}
			if files, _ := taken(t, queued, key("b")); len(files) == 0 {
				t.Errorf("%v, from the queue: the work of an earlier attempt is not taken", skew)
			}
			put(t, byHand, key("a"), sample())
			if files, _ := taken(t, byHand, key("a")); len(files) == 0 {
				t.Errorf("%v: what the run has kept itself is not taken", skew)
			}
		})
	}
}

// Too old ones go, then the oldest until the rest is within the limit.
func TestTrim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newShelf()
		c, log := newCache(store, Options{MaxAge: 10 * time.Hour, MaxBytes: 2 << 20})
		fill := func() {
			for i, size := range []int{10, 900 << 10, 900 << 10, 300 << 10} {
				store.entries[key(string('a'+rune(i)))] = kept{make([]byte, size), time.Now().Add(-time.Duration(4-i) * time.Hour)}
			}
			store.entries[key("f")] = kept{make([]byte, 1), time.Now().Add(-11 * time.Hour)}
		}
		fill()
		c.Trim(t.Context())
		if len(store.entries) != 5 {
			t.Error("a run that kept nothing removed something")
		}
		put(t, c, key("e"), map[string]string{"A": "x"})
		c.Trim(t.Context())
		if got := slices.Sorted(maps.Keys(store.entries)); !slices.Equal(got, []string{key("c"), key("d"), key("e")}) {
			t.Errorf("left: %q\n%s", got, log)
		}
		if !strings.Contains(log.String(), "old entries of the step cache removed") || !strings.Contains(log.String(), "entries=3") {
			t.Errorf("log:\n%s", log)
		}
	})
}
