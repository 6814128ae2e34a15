package message

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"rsmsjob/internal/reason"
)

// Poison is a message that was put aside, with what is known about it (contract
// section 2). The zero time stands for a time that is not known.
type Poison struct {
	Reason reason.Code
	Detail string
	// Original is the text as it stood in the queue; any bytes.
	Original     string
	MessageID    string // of the original
	DequeueCount int64
	InsertedAt   time.Time // when the original was sent
	FailedAt     time.Time
	JobID        string // "" where none is known
}

// How Original stands in the envelope; "" is the text itself.
const (
	inBase64 = "base64" // for bytes that are not UTF-8
	inGzip   = "gzip"   // base64 of gzip, for a text that would not fit
)

const fieldOriginalEncoding = "original_encoding"

// poisonJSON is the envelope; the order is that of the contract.
type poisonJSON struct {
	Version          int         `json:"version"`
	Reason           reason.Code `json:"reason"`
	Detail           string      `json:"detail"`
	Original         string      `json:"original"`
	OriginalEncoding string      `json:"original_encoding,omitempty"`
	MessageID        string      `json:"message_id"`
	DequeueCount     int64       `json:"dequeue_count"`
	InsertedAt       string      `json:"inserted_at"`
	FailedAt         string      `json:"failed_at"`
	JobID            string      `json:"job_id"`
}

// Encode returns p as text for the poison queue: the envelope in base64, with
// the original compressed where it would not fit otherwise. Where it does not
// fit even so, text is the original alone, which is worth more than what is
// known about it, and whole is false.
func (p *Poison) Encode() (text string, whole bool) {
	if len(p.Original) > maxQueueText {
		return p.Original, false
	}
	plain, encoding := p.Original, ""
	if !utf8.ValidString(plain) {
		plain, encoding = base64.StdEncoding.EncodeToString([]byte(plain)), inBase64
	}
	if text = p.envelope(plain, encoding); len(text) <= maxQueueText {
		return text, true
	}
	if text = p.envelope(zipped(p.Original), inGzip); len(text) <= maxQueueText {
		return text, true
	}
	return p.Original, false
}

func (p *Poison) envelope(original, encoding string) string {
	return inEnvelope(&poisonJSON{Version: Version, Reason: p.Reason, Detail: jsonString(p.Detail),
		Original: original, OriginalEncoding: encoding, MessageID: jsonString(p.MessageID), DequeueCount: p.DequeueCount,
		InsertedAt: timeText(p.InsertedAt), FailedAt: timeText(p.FailedAt), JobID: jsonString(p.JobID)})
}

// DecodePoison reads what Encode wrote as an envelope. Any other text, an
// original that stands alone too, gives a *reason.Error with Undecodable; it
// holds nothing of the text.
func DecodePoison(text string) (*Poison, error) {
	e, err := openEnvelope(text, "a poison copy")
	if err != nil {
		return nil, err
	}
	p := &Poison{Reason: e.reason("reason", false), Detail: e.str("detail"), Original: e.original(),
		MessageID: e.str("message_id"), DequeueCount: e.number("dequeue_count"),
		InsertedAt: e.moment("inserted_at"), FailedAt: e.moment("failed_at"), JobID: e.str(fieldJobID)}
	if err := e.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// original reads the original as its encoding says.
func (e *envelope) original() string {
	text, encoding := e.str("original"), ""
	if _, ok := e.members[fieldOriginalEncoding]; ok {
		encoding = e.str(fieldOriginalEncoding)
	}
	if encoding == "" {
		return text
	}
	data, err := base64.StdEncoding.DecodeString(text)
	switch {
	case encoding == inGzip && err == nil:
		data, err = unzipped(data)
	case encoding != inGzip && encoding != inBase64:
		e.wrong(fieldOriginalEncoding, "must be base64 or gzip")
		return ""
	}
	if err != nil {
		e.wrong("original", "is not what original_encoding says")
		return ""
	}
	return string(data)
}

// zipped returns base64 of s in gzip.
func zipped(s string) string {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = io.WriteString(w, s)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("message: gzip in memory: " + err.Error()) // the level is one of gzip's, a buffer takes everything
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// unzipped is bounded: an original is never longer than what a queue holds.
func unzipped(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read gzip: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, maxQueueText+1))
	if err != nil {
		return nil, fmt.Errorf("read gzip: %w", err)
	}
	if len(out) > maxQueueText {
		return nil, errors.New("read gzip: more than a queue holds")
	}
	return out, nil
}
