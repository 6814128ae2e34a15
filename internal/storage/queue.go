package storage

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"rsmsjob/internal/reason"
)

// Queue is one queue of the account.
type Queue struct {
	client *azqueue.QueueClient
	name   string
}

// QueueMessage is one message as the service gives it. Receipt is "" for one
// that was only peeked at.
type QueueMessage struct {
	ID, Receipt string
	Text        string // as it stands in the queue, byte for byte
	// DequeueCount counts how often it was received, this time included.
	DequeueCount          int64
	InsertedAt, ExpiresAt time.Time
}

const (
	never   = -1       // time to live without an end
	maxText = 64 << 10 // of a message, bytes
	maxPeek = 32       // messages
)

// Queue returns the queue of that name; it sends nothing.
func (a *Azure) Queue(name string) *Queue {
	return &Queue{client: a.queues.NewQueueClient(name), name: name}
}

// Name is the name of the queue.
func (q *Queue) Name() string { return q.name }

func (q *Queue) what() string { return "queue " + q.name }

// Receive takes the next message and hides it for the visibility timeout, 1 s
// to 7 days; nil when there is none. It is tried once: a second try after a lost
// answer would take another message.
func (q *Queue) Receive(ctx context.Context, visibility time.Duration) (*QueueMessage, error) {
	list, err := q.receive(ctx, 1, visibility)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// ReceiveBatch takes up to n messages, 32 at most, as Receive does.
func (q *Queue) ReceiveBatch(ctx context.Context, n int, visibility time.Duration) ([]QueueMessage, error) {
	return q.receive(ctx, int32(min(n, maxPeek)), visibility)
}

func (q *Queue) receive(ctx context.Context, n int32, visibility time.Duration) ([]QueueMessage, error) {
	r, err := q.client.DequeueMessages(unrepeated(ctx), &azqueue.DequeueMessagesOptions{NumberOfMessages: &n, VisibilityTimeout: to.Ptr(seconds(visibility))})
	if err != nil {
		return nil, azureFailure(ctx, "receive from", q.what(), err)
	}
	list := make([]QueueMessage, 0, len(r.Messages))
	for _, m := range r.Messages {
		list = append(list, QueueMessage{ID: value(m.MessageID), Receipt: value(m.PopReceipt), Text: value(m.MessageText),
			DequeueCount: value(m.DequeueCount), InsertedAt: value(m.InsertionTime), ExpiresAt: value(m.ExpirationTime)})
	}
	return list, nil
}

// Update hides a received message for the visibility timeout from now on, 0 s
// to 7 days, and returns its new receipt; the old one is void. The text is
// written with it and must be the one that was received. ErrNotFound when the
// receipt is not the current one or the message is gone. It is tried once: see
// Receive.
func (q *Queue) Update(ctx context.Context, id, receipt, text string, visibility time.Duration) (newReceipt string, err error) {
	if err := checkReceived(receipt); err != nil {
		return "", err
	}
	if err := checkText(text); err != nil {
		return "", err
	}
	r, err := q.client.UpdateMessage(ctx, id, receipt, text, &azqueue.UpdateMessageOptions{VisibilityTimeout: to.Ptr(seconds(visibility))})
	if err != nil {
		return "", azureFailure(ctx, "update a message of", q.what(), err)
	}
	return value(r.PopReceipt), nil
}

// Delete removes a received message; ErrNotFound as in Update, and also when
// the message was removed and the answer was lost.
func (q *Queue) Delete(ctx context.Context, id, receipt string) error {
	if err := checkReceived(receipt); err != nil {
		return err
	}
	_, err := q.client.DeleteMessage(brief(ctx), id, receipt, nil)
	return azureFailure(ctx, "delete a message of", q.what(), err)
}

// checkReceived keeps a message that was only peeked at from being changed (C63).
func checkReceived(receipt string) error {
	if receipt == "" {
		return reason.New(reason.Internal, "a message that was only looked at cannot be changed; receive it first")
	}
	return nil
}

// checkText returns a fault for a text that no queue can hold (C77): the
// service speaks XML, and the client would put another character for what XML
// does not have.
func checkText(text string) error {
	if len(text) > maxText {
		return &reason.Fault{Field: "message", Problem: fmt.Sprintf("text of %d bytes is larger than the %d of a queue message", len(text), maxText)}
	}
	bad := strings.IndexFunc(text, func(c rune) bool {
		return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xFFFE || c == 0xFFFF
	})
	if bad >= 0 || !utf8.ValidString(text) {
		return &reason.Fault{Field: "message", Problem: "text has bytes that a queue message cannot hold", Hint: "send it as base64"}
	}
	return nil
}

// Send adds a message that never expires and stays hidden for a while, 0 s to
// 7 days. The message that is returned is received: it can be updated and
// deleted. It is tried once: a second try after a lost answer would double it.
func (q *Queue) Send(ctx context.Context, text string, hidden time.Duration) (*QueueMessage, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	r, err := q.client.EnqueueMessage(ctx, text, &azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr(int32(never)),
		VisibilityTimeout: to.Ptr(seconds(hidden))})
	if err != nil {
		return nil, azureFailure(ctx, "send to", q.what(), err)
	}
	m := &QueueMessage{Text: text}
	for _, sent := range r.Messages {
		m.ID, m.Receipt = value(sent.MessageID), value(sent.PopReceipt)
		m.InsertedAt, m.ExpiresAt = value(sent.InsertionTime), value(sent.ExpirationTime)
	}
	return m, nil
}

// Peek returns up to n messages, 32 at most, from the head of the queue and
// leaves them as they are.
func (q *Queue) Peek(ctx context.Context, n int) ([]QueueMessage, error) {
	r, err := q.client.PeekMessages(brief(ctx), &azqueue.PeekMessagesOptions{NumberOfMessages: to.Ptr(int32(min(n, maxPeek)))})
	if err != nil {
		return nil, azureFailure(ctx, "look into", q.what(), err)
	}
	var list []QueueMessage
	for _, m := range r.Messages {
		list = append(list, QueueMessage{ID: value(m.MessageID), Text: value(m.MessageText), DequeueCount: value(m.DequeueCount),
			InsertedAt: value(m.InsertionTime), ExpiresAt: value(m.ExpirationTime)})
	}
	return list, nil
}

// Length returns about how many messages the queue has, hidden ones included.
func (q *Queue) Length(ctx context.Context) (int, error) {
	r, err := q.client.GetProperties(brief(ctx), nil)
	if err != nil {
		return 0, azureFailure(ctx, "look at", q.what(), err)
	}
	return int(value(r.ApproximateMessagesCount)), nil
}

// Create makes the queue where it is not there.
func (q *Queue) Create(ctx context.Context) error {
	_, err := q.client.Create(brief(ctx), nil)
	if queueerror.HasCode(err, queueerror.QueueAlreadyExists) {
		return nil
	}
	if isForbidden(err) { // who may not make it need not, where it can be read
		if _, unread := q.Length(ctx); unread == nil {
			return nil
		}
	}
	return azureFailure(ctx, "create", q.what(), err)
}

// seconds are whole, and never less than asked for.
func seconds(d time.Duration) int32 { return int32((d + time.Second - 1) / time.Second) }

// value is what p points to, the zero value for nil.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
