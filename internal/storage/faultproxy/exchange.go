package faultproxy

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// exchange is one request on its way through the proxy and its answer.
type exchange struct {
	proxy   *Proxy
	target  *url.URL
	w       http.ResponseWriter
	request *http.Request // its body has been read
	body    []byte
	entry   *Request // of the log; see Proxy.note
	answer  *answer  // nil before there is one
}

// answer is what the program will be told.
type answer struct {
	status int
	header http.Header
	body   []byte
	half   bool // the connection ends after half of the body
}

// run asks the faults that are due, in the order in which they were added,
// until one of them has an answer; then the emulator, where none has.
func (e *exchange) run() {
	var acting []Action
	for _, f := range e.proxy.current() {
		if e.answer != nil {
			break
		}
		if e.proxy.due(f, e) {
			acting = append(acting, f.rule.Action)
			f.rule.Action.begin(e)
		}
	}
	if e.answer == nil {
		e.forward()
		for _, a := range acting {
			a.finish(e)
		}
	}
	e.reply()
}

// forward lets the emulator execute the request. It does so even where the
// program has gone away meanwhile, as a network does.
func (e *exchange) forward() {
	out := e.request.Clone(e.proxy.ended)
	out.RequestURI = ""
	out.URL.Scheme, out.URL.Host = e.target.Scheme, e.target.Host
	out.Body, out.ContentLength = http.NoBody, int64(len(e.body))
	// When a kept connection ends without an answer the transport repeats a
	// request that only reads; not one whose body it cannot have again, be it empty.
	if len(e.body) > 0 || out.Method == http.MethodGet || out.Method == http.MethodHead {
		out.Body = io.NopCloser(bytes.NewReader(e.body))
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", "") // or the transport adds its own
	}
	response, err := e.proxy.transport.RoundTrip(out)
	if err != nil {
		cut()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		cut()
	}
	response.Header.Del("Connection") // that of the proxy to the emulator
	response.Header.Del("Keep-Alive")
	e.answer = &answer{status: response.StatusCode, header: response.Header, body: body}
	e.proxy.note(func() { e.entry.Executed = response.StatusCode })
}

func (e *exchange) reply() {
	for name, values := range e.answer.header {
		e.w.Header()[name] = values
	}
	body := e.answer.body
	if e.answer.half {
		e.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		body = body[:len(body)/2]
	}
	e.proxy.note(func() { e.entry.Status = e.answer.status })
	e.w.WriteHeader(e.answer.status)
	if len(body) > 0 {
		e.w.Write(body) // an error means that the program has gone away
	}
	if e.answer.half {
		http.NewResponseController(e.w).Flush()
		cut()
	}
}

// cut closes the connection to the program; it does not return.
func cut() { panic(http.ErrAbortHandler) }
