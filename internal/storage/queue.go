package storage

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
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

// never is a time to live without an end.
const never = -1

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

func (q *Queue) receive(ctx context.Context, n int32, visibility time.Duration) ([]QueueMessage, error) {
	r, err := q.client.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: &n, VisibilityTimeout: to.Ptr(seconds(visibility))})
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
	r, err := q.client.UpdateMessage(ctx, id, receipt, text, &azqueue.UpdateMessageOptions{VisibilityTimeout: to.Ptr(seconds(visibility))})
	if err != nil {
		return "", q.messageFailure(ctx, "update a message of", err)
	}
	return value(r.PopReceipt), nil
}

// Delete removes a received message; ErrNotFound as in Update.
func (q *Queue) Delete(ctx context.Context, id, receipt string) error {
	_, err := q.client.DeleteMessage(brief(ctx), id, receipt, nil)
	return q.messageFailure(ctx, "delete a message of", err)
}

func (q *Queue) messageFailure(ctx context.Context, verb string, err error) error {
	if queueerror.HasCode(err, queueerror.PopReceiptMismatch, queueerror.MessageNotFound) {
		return ErrNotFound
	}
	return azureFailure(ctx, verb, q.what(), err)
}

// Send adds a message that never expires and stays hidden for a while, 0 s to
// 7 days. The message that is returned is received: it can be updated and
// deleted. It is tried once: a second try after a lost answer would double it.
func (q *Queue) Send(ctx context.Context, text string, hidden time.Duration) (*QueueMessage, error) {
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
	r, err := q.client.PeekMessages(brief(ctx), &azqueue.PeekMessagesOptions{NumberOfMessages: to.Ptr(int32(n))})
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
