package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// Delivery is what the holder of a queue message tells the process that runs it
// in its place: which message it is, and how often it was tried.
type Delivery struct {
	MessageID  string    `json:"message_id"`
	Attempt    int       `json:"attempt"`  // deliveries so far that count, from 1
	Attempts   int       `json:"attempts"` // deliveries that it may have
	InsertedAt time.Time `json:"inserted_at"`
}

// Encode returns d as JSON text.
func (d *Delivery) Encode() string {
	text, err := json.Marshal(d)
	if err != nil {
		panic("message: a delivery cannot be written: " + err.Error()) // a year beyond 9999
	}
	return string(text)
}

// ParseDelivery reads what Encode wrote. The error holds nothing of the text.
func ParseDelivery(text string) (*Delivery, error) {
	d := &Delivery{}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	err := dec.Decode(d)
	if err == nil {
		_, err = dec.Token()
	}
	if !errors.Is(err, io.EOF) || d.MessageID == "" || len(d.MessageID) > 64 || d.Attempt < 1 || d.Attempts < 1 || d.InsertedAt.IsZero() {
		return nil, errors.New("it is not what launch writes: message_id, attempt, attempts and inserted_at in a JSON object")
	}
	return d, nil
}
