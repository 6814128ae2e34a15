package stepcache

import (
	"io"
	"sync"
)

// ahead reads in a goroutine of its own what will be wanted next, so that one
// processor unpacks while another hashes and writes.
type ahead struct {
	full, empty chan []byte
	stop        chan struct{}
	done        sync.WaitGroup
	err         error  // of the reader, behind the last full buffer
	buf, rest   []byte // the buffer that is being used, and what is left of it
}

// readAhead returns a reader of r, which nobody else may use until it is closed.
func readAhead(r io.Reader) *ahead {
	const buffers = 4
	a := &ahead{full: make(chan []byte, buffers), empty: make(chan []byte, buffers), stop: make(chan struct{})}
	for range buffers {
		a.empty <- make([]byte, buffer)
	}
	a.done.Go(func() {
		defer close(a.full)
		for {
			select {
			case <-a.stop:
				return
			case b := <-a.empty:
				n, err := io.ReadFull(r, b[:buffer])
				a.full <- b[:n] // never blocks: there are no more buffers than it holds
				if err == io.ErrUnexpectedEOF {
					err = io.EOF
				}
				if err != nil {
					a.err = err
					return
				}
			}
		}
	})
	return a
}

func (a *ahead) Read(b []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.buf != nil {
			a.empty <- a.buf
			a.buf = nil
		}
		var ok bool
		if a.buf, ok = <-a.full; !ok {
			return 0, a.err
		}
		a.rest = a.buf
	}
	n := copy(b, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close ends the reading and waits for that.
func (a *ahead) Close() error {
	close(a.stop)
	a.done.Wait()
	return nil
}
