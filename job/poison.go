package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

func (a *app) poisonCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "poison",
		Short: "look at the poison queue, and work it off",
		Long: "poison works on the messages that were put aside, because they can never be run or used\n" +
			"up their attempts. ID is the id of the original message as list shows it; the id of the\n" +
			"poison message does as well.",
		RunE: func(c *cobra.Command, _ []string) error {
			return usage("one of list, show, requeue, drop is wanted; see %s -h", c.CommandPath())
		},
	}
	list := &cobra.Command{Use: "list", Short: "list the messages with their reasons", Args: plainArgs(cobra.NoArgs)}
	show := &cobra.Command{
		Use: "show ID", Short: "print the original text of one message, and what is known of it", Args: plainArgs(cobra.ExactArgs(1)),
		Long: "show prints the original text to standard output, byte for byte, and what is known of it to\n" +
			"standard error.",
	}
	requeue := &cobra.Command{
		Use: "requeue ID|--all", Short: "put original messages back on the queue", Args: plainArgs(cobra.MaximumNArgs(1)),
		Long: "requeue puts the original text back on the queue, byte for byte, sets its scenario to Queued\n" +
			"and removes the poison message. A message without an envelope is its own original.",
	}
	drop := &cobra.Command{
		Use: "drop ID", Short: "show one message as show does, and remove it", Args: plainArgs(cobra.ExactArgs(1)),
	}
	for _, sub := range []*cobra.Command{list, show, requeue, drop} {
		settings(sub.Flags())
		c.AddCommand(sub)
	}
	listJSON, showJSON := list.Flags().Bool("json", false, oneDocument), show.Flags().Bool("json", false, oneDocument)
	all := requeue.Flags().Bool("all", false, "every message that is there now")
	list.RunE = func(c *cobra.Command, _ []string) error {
		return a.onPoison(c, func(ctx context.Context, _ *storage.Azure, q *poisonQueue) error {
			return a.poisonList(ctx, q, *listJSON)
		})
	}
	show.RunE = func(c *cobra.Command, args []string) error {
		return a.onPoison(c, func(ctx context.Context, _ *storage.Azure, q *poisonQueue) error {
			return a.poisonShow(ctx, q, args[0], *showJSON)
		})
	}
	requeue.RunE = func(c *cobra.Command, args []string) error {
		if *all == (len(args) == 1) {
			return usage("an ID or --all is wanted; see %s -h", c.CommandPath())
		}
		return a.onPoison(c, func(ctx context.Context, azure *storage.Azure, q *poisonQueue) error {
			if *all {
				return a.requeueAll(ctx, azure, q)
			}
			return a.requeueOne(ctx, azure, q, args[0])
		})
	}
	drop.RunE = func(c *cobra.Command, args []string) error {
		return a.onPoison(c, func(ctx context.Context, _ *storage.Azure, q *poisonQueue) error {
			return a.poisonDrop(ctx, q, args[0])
		})
	}
	return c
}

const oneDocument = "print one JSON document"

// plainArgs makes a mistake in the arguments a usage error.
func plainArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usage("%w; see %s -h", err, c.CommandPath())
		}
		return nil
	}
}

// onPoison reads the settings, opens the poison queue and calls do.
func (a *app) onPoison(c *cobra.Command, do func(ctx context.Context, azure *storage.Azure, q *poisonQueue) error) error {
	return a.onQueue(c, func(ctx context.Context, azure *storage.Azure) error {
		q := &poisonQueue{Queue: azure.Queue(a.config.PoisonQueue()), log: a.log}
		if err := a.first(ctx, azure, "RSMS_WORKER_POISON_QUEUE_NAME", q.measure); err != nil {
			return err
		}
		return do(ctx, azure, q)
	})
}

// poisonDocument is one message of the poison queue. Reason is "?" where it has
// no envelope that would say it.
type poisonDocument struct {
	MessageID    string      `json:"message_id"` // of the original
	PoisonID     string      `json:"poison_id"`
	Reason       reason.Code `json:"reason"`
	Detail       string      `json:"detail"`
	JobID        string      `json:"job_id"`
	DequeueCount int64       `json:"dequeue_count"`
	InsertedAt   *time.Time  `json:"inserted_at"`
	FailedAt     *time.Time  `json:"failed_at"`
	// Original is left out of a list. Where it is not UTF-8 it is base64.
	Original         *string `json:"original,omitempty"`
	OriginalEncoding string  `json:"original_encoding,omitempty"`
}

func (e *entry) document() poisonDocument {
	d := poisonDocument{MessageID: e.id(), PoisonID: e.message.ID, Reason: "?"}
	moment := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	if p := e.poison; p != nil {
		d.Reason, d.Detail, d.JobID, d.DequeueCount = p.Reason, p.Detail, p.JobID, p.DequeueCount
		d.InsertedAt, d.FailedAt = moment(p.InsertedAt), moment(p.FailedAt)
	}
	return d
}

func (a *app) poisonList(ctx context.Context, queue *poisonQueue, asJSON bool) error {
	list, err := queue.list(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(map[string]any{"queue": queue.Name(), "messages": list})
	}
	if len(list) == 0 {
		what := "is empty"
		if queue.length > 0 {
			what = "has no message that can be seen now"
		}
		_, err := fmt.Fprintf(a.stdout, "queue %s %s\n", queue.Name(), what)
		return err
	}
	t := newTable(a.stdout)
	t.row("id", "reason", "job", "deliveries", "failed at", "detail")
	for _, d := range list {
		t.row(d.MessageID, string(d.Reason), dash(d.JobID), strconv.FormatInt(d.DequeueCount, 10), clockOrDash(d.FailedAt), oneLine(d.Detail))
	}
	return t.flush()
}

func (a *app) poisonShow(ctx context.Context, queue *poisonQueue, id string, asJSON bool) error {
	e, err := queue.find(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		d := e.document()
		original := e.original()
		if !utf8.ValidString(original) {
			original, d.OriginalEncoding = base64.StdEncoding.EncodeToString([]byte(original)), "base64"
		}
		d.Original = &original
		return a.printJSON(d)
	}
	return a.printPoison(e)
}

// printPoison prints the original to standard output as it is, and what is
// known of it to standard error.
func (a *app) printPoison(e *entry) error {
	d := e.document()
	t := newTable(a.stderr)
	t.row("message", d.MessageID)
	t.row("reason", string(d.Reason))
	t.row("detail", dash(oneLine(d.Detail)))
	t.row("job", dash(d.JobID))
	t.row("deliveries", strconv.FormatInt(d.DequeueCount, 10))
	t.row("inserted at", clockOrDash(d.InsertedAt))
	t.row("failed at", clockOrDash(d.FailedAt))
	if err := t.flush(); err != nil {
		return err
	}
	_, err := io.WriteString(a.stdout, e.original())
	return err
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func clockOrDash(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return clockSeconds(*t)
}

// oneLine puts a detail of several lines on one.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", "; ") }
