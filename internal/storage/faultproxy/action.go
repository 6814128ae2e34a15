package faultproxy

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Action is what a rule does to a request.
type Action struct {
	before func(*exchange) // the emulator is asked; may set the answer or cut
	after  func(*exchange) // it has executed the request; may change the answer or cut
}

func (a Action) begin(e *exchange) {
	if a.before != nil {
		a.before(e)
	}
}

func (a Action) finish(e *exchange) {
	if a.after != nil {
		a.after(e)
	}
}

// Sequence does several things to the same request, in order; what follows an
// action that answers or cuts is not done.
func Sequence(actions ...Action) Action {
	return Action{
		before: func(e *exchange) {
			for _, a := range actions {
				if e.answer == nil {
					a.begin(e)
				}
			}
		},
		after: func(e *exchange) {
			for _, a := range actions {
				a.finish(e)
			}
		},
	}
}

// Status answers in the emulator's place, in the form of the service: the
// status, an error code, and where it is not 0 the time after which to try
// again. The service gives whole seconds; less than one, in milliseconds, lets a
// test see the end of all repetitions without their pauses.
func Status(status int, code string, retryAfter time.Duration) Action {
	return Action{before: func(e *exchange) {
		h := http.Header{"X-Ms-Error-Code": {code}, "X-Ms-Version": {e.request.Header.Get("X-Ms-Version")}}
		switch {
		case retryAfter >= time.Second:
			h.Set("Retry-After", strconv.Itoa(int((retryAfter+time.Second-1)/time.Second)))
		case retryAfter > 0:
			h.Set("X-Ms-Retry-After-Ms", strconv.FormatInt(max(1, retryAfter.Milliseconds()), 10))
		}
		e.answer = &answer{status: status, header: h}
		if e.entry.Service == Table {
			h.Set("Content-Type", "application/json;odata=minimalmetadata;streaming=true;charset=utf-8")
			e.answer.body = tableError(code)
		} else {
			h.Set("Content-Type", "application/xml")
			e.answer.body = xmlError(code)
		}
	}}
}

// TransactionStatus answers a table transaction in the emulator's place the way
// the service refuses one of its operations: accepted as a whole, with the
// status and the error code inside.
func TransactionStatus(status int, code string) Action {
	return Action{before: func(e *exchange) {
		inner := string(tableError(code))
		text := fmt.Sprintf("--batchresponse_1\nContent-Type: multipart/mixed; boundary=changesetresponse_1\n\n"+
			"--changesetresponse_1\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n"+
			"HTTP/1.1 %d %s\nContent-Type: application/json\nContent-Length: %d\n\n%s\n"+
			"--changesetresponse_1--\n--batchresponse_1--\n", status, http.StatusText(status), len(inner), inner)
		e.answer = &answer{status: http.StatusAccepted, body: []byte(strings.ReplaceAll(text, "\n", "\r\n")),
			header: http.Header{"Content-Type": {"multipart/mixed; boundary=batchresponse_1"}, "X-Ms-Version": {e.request.Header.Get("X-Ms-Version")}}}
	}}
}

// Stranger answers in the emulator's place as something does that is no storage
// service, such as the sign-in page of a network.
func Stranger(status int, contentType, body string) Action {
	return Action{before: func(e *exchange) {
		e.answer = &answer{status: status, header: http.Header{"Content-Type": {contentType}}, body: []byte(body)}
	}}
}

const byProxy = "Answered by the fault proxy."

func xmlError(code string) []byte {
	type Error struct{ Code, Message string }
	text, _ := xml.Marshal(Error{code, byProxy}) // two strings always can
	return append([]byte(xml.Header), text...)
}

func tableError(code string) []byte {
	text, _ := json.Marshal(map[string]any{"odata.error": map[string]any{"code": code,
		"message": map[string]string{"lang": "en-US", "value": byProxy}}})
	return text
}

// DropRequest cuts the connection; the emulator sees nothing.
func DropRequest() Action { return Action{before: func(*exchange) { cut() }} }

// DropResponse cuts the connection after the emulator has executed the
// request.
func DropResponse() Action { return Action{after: func(*exchange) { cut() }} }

// CutResponse cuts the connection after half of the answer's body. An answer
// without a body is not given at all.
func CutResponse() Action {
	return Action{after: func(e *exchange) {
		if len(e.answer.body) == 0 {
			cut()
		}
		e.answer.half = true
	}}
}

// Delay holds the request up before the emulator gets it, which it does even
// when the program has stopped waiting.
func Delay(d time.Duration) Action {
	return Action{before: func(e *exchange) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		wait(e, timer.C)
	}}
}

// Hold is Delay until a channel is closed.
func Hold(until <-chan struct{}) Action { return Action{before: func(e *exchange) { wait(e, until) }} }

// HoldResponse lets the emulator execute the request and holds the answer up
// until a channel is closed.
func HoldResponse(until <-chan struct{}) Action {
	return Action{after: func(e *exchange) { wait(e, until) }}
}

// wait ends early, with the connection, when the test ends.
func wait[T any](e *exchange, until <-chan T) {
	select {
	case <-until:
	case <-e.proxy.ended.Done():
		cut()
	}
}

// BlackHole takes the request and never answers, as long as the program waits
// and the test runs.
func BlackHole() Action {
	return Action{before: func(e *exchange) {
		select {
		case <-e.request.Context().Done():
		case <-e.proxy.ended.Done():
		}
		cut()
	}}
}

// Call runs f before the emulator gets the request.
func Call(f func()) Action { return Action{before: func(*exchange) { f() }} }

// CallAfter runs f when the emulator has executed the request, before the
// program is told.
func CallAfter(f func()) Action { return Action{after: func(*exchange) { f() }} }
