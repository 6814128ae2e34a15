package stepcache

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/storage"
)

// Of many that want the same, one makes it and the others take it.
func TestOneMakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newCache(newShelf(), Options{})
		var made, took atomic.Int32
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				dir := folder(t, nil)
				sums, done := c.Take(t.Context(), key("a"), dir)
				defer done()
				if len(sums) > 0 {
					if !maps.Equal(read(t, dir), sample()) {
						t.Error("another thing was taken")
					}
					took.Add(1)
					return
				}
				made.Add(1)
				time.Sleep(time.Minute) // the engine runs
				put(t, c, key("a"), sample())
			})
		}
		began := time.Now()
		wg.Wait()
		if made.Load() != 1 || took.Load() != 9 || time.Since(began) != time.Minute {
			t.Errorf("%d made it, %d took it, in %v", made.Load(), took.Load(), time.Since(began))
		}
	})
}

// Where the first one fails, the others make it themselves, at the same time.
func TestNobodyWaitsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newCache(newShelf(), Options{})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				_, done := c.Take(t.Context(), key("a"), folder(t, nil))
				defer done()
				time.Sleep(time.Minute)
			})
		}
		began := time.Now()
		wg.Wait()
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("that took %v", took)
		}
	})
}

// Who waits for another one ends with its context.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newCache(newShelf(), Options{})
		_, done := c.Take(t.Context(), key("a"), folder(t, nil))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		sums, other := c.Take(ctx, key("a"), folder(t, nil))
		other()
		if len(sums) > 0 || ctx.Err() == nil {
			t.Error("it did not wait")
		}
		done()
		done()
	})
}

// Two that write the same key at once leave one entry, whole; other keys wait for
// nobody.
func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	log, text := logged()
	open := func() *Cache { // as another process has it
		folder, err := storage.OpenFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { folder.Close() })
		return New(folder.StepCache(), Options{Log: log})
	}
	c, other := open(), open()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { put(t, []*Cache{c, other}[i%2], key("a"), sample()) })
		wg.Go(func() {
			if files, sums := taken(t, other, key("a")); len(sums) > 0 && !maps.Equal(files, sample()) {
				t.Error("half an entry was taken")
			}
		})
	}
	wg.Wait()
	if files, _ := taken(t, c, key("a")); !maps.Equal(files, sample()) {
		t.Errorf("%d files\n%s", len(files), text)
	}
}

// archives are such as nobody here writes; each says that it is an entry.
func archives(t *testing.T) map[string][]byte {
	t.Helper()
	big := bytes.Repeat([]byte{0}, 3<<20)
	return map[string][]byte{
		"a file outside":       archive(t, key("c"), &tar.Header{Name: "../A", Typeflag: tar.TypeReg}, nil),
		"an absolute name":     archive(t, key("c"), &tar.Header{Name: "/tmp/A", Typeflag: tar.TypeReg}, nil),
		"a folder":             archive(t, key("c"), &tar.Header{Name: "A/", Typeflag: tar.TypeDir}, nil),
		"a file in a folder":   archive(t, key("c"), &tar.Header{Name: "A/B", Typeflag: tar.TypeReg}, nil),
		"a link":               archive(t, key("c"), &tar.Header{Name: "A", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, nil),
		"a temporary name":     archive(t, key("c"), &tar.Header{Name: taking + "0", Typeflag: tar.TypeReg}, nil),
		"more than it may":     archive(t, key("c"), &tar.Header{Name: "A", Typeflag: tar.TypeReg}, big),
		"no list":              archive(t, "", &tar.Header{Name: "A", Typeflag: tar.TypeReg}, nil),
		"another key":          archive(t, key("d"), &tar.Header{Name: "A", Typeflag: tar.TypeReg}, nil),
		"other files":          archive(t, key("c"), &tar.Header{Name: "A", Typeflag: tar.TypeReg}, []byte("x")),
		"nothing":              {},
		"something else":       []byte("not an archive"),
		"a blob of much blank": gzipped(t, big),
	}
}

// archive has one file, and a list that says it is empty; no list for no key.
func archive(t *testing.T, key string, h *tar.Header, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	h.Size = int64(len(text))
	if err := out.WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write(text); err != nil {
		t.Fatal(err)
	}
	if key != "" {
		list, err := json.Marshal(list{Format: format, Key: key, Files: []listed{{Name: h.Name, Mode: 0o600, SHA256: emptySum}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := out.WriteHeader(&tar.Header{Name: listName, Size: int64(len(list))}); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(list); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return gzipped(t, b.Bytes())
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := zip.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Whatever stands in an entry, it is taken whole or leaves nothing behind.
func FuzzUnpack(f *testing.F) {
	store := newShelf()
	c, _ := newCache(store, Options{})
	put(f, c, key("a"), map[string]string{"A": "text\n", "B": ""})
	f.Add(store.entries[key("a")].data)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := folder(t, nil)
		from := &source{ctx: t.Context(), r: bytes.NewReader(data), alive: func() {}}
		sums, err := unpack(t.Context(), from, key("a"), dir, 1<<20)
		if n := len(look(t, dir)); n != len(sums) || err == nil != (n > 0) {
			t.Errorf("%d files, %d sums, %v", n, len(sums), err)
		}
	})
}
