package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rsmsjob/internal/config"
	"rsmsjob/internal/message"
	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

func (a *app) enqueueCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "enqueue BASIN SCENARIO",
		Short: "put one message on the queue",
		Long: "enqueue puts one message on the queue, sets the scenario to Queued and prints the job id,\n" +
			"by which the job can be followed and cancelled from then on. Where a worker runs the\n" +
			"scenario already, the new job waits behind it.",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return a.enqueue(c, args[0], args[1]) },
	}
	settings(c.Flags())
	c.Flags().String("job-id", "", "id of the job (default a new one)")
	c.Flags().Bool("base64", false, "send base64 of the JSON, as the Functions of Azure do")
	c.Flags().Bool("force", false, "run the scenario although its result is current")
	c.Flags().Int("timeout", 0, "limit of this job in seconds, capped by RSMS_JOB_TIMEOUT_SEC (default that)")
	c.Flags().StringArray("set", nil, "add `name=value` to the message, kept in the run record; a value that is JSON, but for a string, is sent as such")
	c.Flags().Bool("json", false, "print one JSON document")
	return c
}

// queuedDocument is the answer of enqueue.
type queuedDocument struct {
	JobID     string `json:"job_id"`
	MessageID string `json:"message_id"`
	Basin     string `json:"riverbasin_id"`
	Scenario  string `json:"scenario_id"`
	Queue     string `json:"queue"`
	// State is Queued, or Running where the job waits behind another one.
	State      runs.State `json:"state"`
	RunningJob string     `json:"running_job_id,omitempty"`
}

func (a *app) enqueue(c *cobra.Command, basin, scenario string) error {
	m, text, err := order(c, basin, scenario)
	if err != nil {
		return err
	}
	if err := a.configure(c, config.Need{Queue: true}); err != nil {
		return err
	}
	azure, err := a.openAzure()
	if err != nil {
		return err
	}
	defer azure.Close()
	if err := a.hasScenario(c.Context(), azure, basin, scenario); err != nil {
		return err
	}
	sent, err := a.put(c.Context(), azure, m, text)
	if err != nil {
		return err
	}
	return a.tellQueued(c, sent)
}

func (a *app) tellQueued(c *cobra.Command, sent *queuedDocument) error {
	asJSON, err := c.Flags().GetBool("json")
	if err != nil {
		return err
	}
	if asJSON {
		a.told(a.printJSON(sent))
		return nil
	}
	behind := ""
	if sent.RunningJob != "" {
		behind = "; it waits behind job " + sent.RunningJob + ", which runs the scenario now"
	}
	_, err = fmt.Fprintf(a.stdout, "queued %s %s as job %s%s\n", sent.Basin, sent.Scenario, sent.JobID, behind)
	a.told(err)
	return nil
}

// order is the message that the flags ask for, and its text for the queue.
func order(c *cobra.Command, basin, scenario string) (*message.Message, string, error) {
	m, err := scenarioMessage(basin, scenario)
	if err != nil {
		return nil, "", err
	}
	wish, err := readWish(c)
	if err != nil {
		return nil, "", err
	}
	m.JobID, m.Force, m.Timeout = wish.jobID, wish.force, time.Duration(wish.seconds)*time.Second
	if m.JobID == "" {
		m.JobID = strings.ToLower(rand.Text())
	}
	if m.Metadata, err = metadata(wish.pairs); err != nil {
		return nil, "", err
	}
	text, err := m.Encode()
	if err != nil {
		return nil, "", usage("%s; see %s -h", reason.Detail(err), c.CommandPath())
	}
	if wish.base64 {
		return m, base64.StdEncoding.EncodeToString(text), nil
	}
	return m, string(text), nil
}

// wish is what the flags of enqueue say.
type wish struct {
	jobID         string
	base64, force bool
	pairs         []string // name=value
	seconds       int      // 0: no limit given
}

// maxTimeout is the longest limit that a message may ask for, in seconds.
const maxTimeout = 86400

func readWish(c *cobra.Command) (w wish, err error) {
	flags := c.Flags()
	for _, get := range []func() error{
		func() (err error) { w.jobID, err = flags.GetString("job-id"); return err },
		func() (err error) { w.base64, err = flags.GetBool("base64"); return err },
		func() (err error) { w.force, err = flags.GetBool("force"); return err },
		func() (err error) { w.pairs, err = flags.GetStringArray("set"); return err },
		func() (err error) { w.seconds, err = flags.GetInt("timeout"); return err },
	} {
		if err := get(); err != nil {
			return wish{}, err
		}
	}
	if flags.Changed("timeout") && (w.seconds < 1 || w.seconds > maxTimeout) {
		return wish{}, usage("--timeout must be from 1 to %d", maxTimeout)
	}
	return w, nil
}

// scenarioMessage is the message that names a scenario, whose ids follow the
// rules.
func scenarioMessage(basin, scenario string) (*message.Message, error) {
	m := &message.Message{Type: message.TypeRun, Version: message.Version, Basin: basin, Scenario: scenario}
	if _, err := m.Encode(); err != nil {
		return nil, usage("BASIN SCENARIO: %s", reason.Detail(err))
	}
	return m, nil
}

// metadata reads the pairs of --set.
func metadata(pairs []string) (map[string]any, error) {
	var all map[string]any
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usage("--set %s: name=value is wanted", pair)
		}
		if _, twice := all[name]; twice {
			return nil, usage("--set: %s is given twice", name)
		}
		if all == nil {
			all = map[string]any{}
		}
		all[name] = metadataValue(text)
	}
	return all, nil
}

// metadataValue is what text says as JSON; text that is no JSON, or a JSON
// string, stands for itself.
func metadataValue(text string) any {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return text
	}
	if _, isText := value.(string); isText {
		return text
	}
	if _, err := dec.Token(); err != io.EOF {
		return text
	}
	return value
}

// first makes the first call to a store. An answer of Azure Storage is waited
// for, and what is missing there is a mistake of the settings.
func (a *app) first(ctx context.Context, s store, try func(ctx context.Context) error) error {
	if _, ok := s.(*storage.Azure); !ok {
		return try(ctx)
	}
	err := a.patience().Start(ctx, try)
	none, ok := errors.AsType[*pipeline.NoStart](err)
	switch {
	case !ok:
		return err
	case storage.Missing(err):
		return named(err, "")
	}
	switch reason.Of(none.Err) {
	case reason.StorageUnavailable, reason.StorageDenied:
		return err
	}
	return none.Err // an answer, if not the one that was hoped for
}

// hasScenario sees that the scenario row exists.
func (a *app) hasScenario(ctx context.Context, s store, basin, scenario string) error {
	return scenarioError(basin, scenario, a.first(ctx, s, func(ctx context.Context) error {
		_, err := s.Scenario(ctx, basin, scenario)
		return err
	}))
}

// scenarioError gives an error of reading a scenario row its reason. Ids that
// the store cannot keep are a mistake of the arguments.
func scenarioError(basin, scenario string, err error) error {
	if errors.Is(err, storage.ErrNotFound) {
		return reason.New(reason.ScenarioNotFound, "basin %s has no scenario %s in the table of scenarios; "+
			"the API writes it, or rsms-job init --from DIR loads it from a folder store", basin, scenario)
	}
	for _, f := range reason.Faults(err) {
		if f.Field == "riverbasin_id" || f.Field == "scenario_id" {
			return usage("BASIN SCENARIO: %w", f)
		}
	}
	if len(reason.Faults(err)) > 0 {
		return reason.Wrap(reason.InvalidScenario, err, "")
	}
	return err
}

// unseen is how long a new message stays hidden if nobody shows it before.
const unseen = 30 * time.Second

// put puts a message on the queue and tells its scenario. Until that is done
// the message is hidden: no row says Queued without a message, and no worker is
// done with it before the row says so. An error leaves the row as it was.
func (a *app) put(ctx context.Context, azure *storage.Azure, m *message.Message, text string) (*queuedDocument, error) {
	queue := azure.Queue(a.config.QueueName)
	sent, err := a.send(ctx, queue, text, unseen)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), unseen*2/3,
		reason.New(reason.StorageUnavailable, "the scenario row could not be set to Queued in time"))
	defer cancel()
	d, err := a.tellRow(ctx, azure, m, sent)
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unseen/3)
		defer cancel()
		if gone := queue.Delete(ctx, sent.ID, sent.Receipt); gone != nil {
			a.log.Warn("the message could not be taken back and will be run", "message_id", sent.ID, "job_id", m.Identity(sent.ID), "error", gone)
		}
		return nil, scenarioError(m.Basin, m.Scenario, err)
	}
	a.show(ctx, queue, sent)
	return d, nil
}

// send sends a text. Where the answer is missing nobody knows whether it
// arrived, so it is not sent again.
func (a *app) send(ctx context.Context, queue *storage.Queue, text string, hidden time.Duration) (*storage.QueueMessage, error) {
	sent, err := queue.Send(ctx, text, hidden)
	switch {
	case err == nil:
		return sent, nil
	case storage.Missing(err):
		return nil, named(err, "RSMS_WORKER_QUEUE_NAME")
	case ctx.Err() != nil, reason.Of(err) == reason.StorageUnavailable:
		return nil, fmt.Errorf("the message may be on queue %s or not; look with rsms-job status in a minute before you send it again: %w", queue.Name(), err)
	}
	return nil, reason.Wrap(reason.InvalidMessage, err, "")
}

// tellRow sets the scenario of a message that was sent to Queued.
func (a *app) tellRow(ctx context.Context, azure *storage.Azure, m *message.Message, sent *storage.QueueMessage) (*queuedDocument, error) {
	d := &queuedDocument{JobID: m.Identity(sent.ID), MessageID: sent.ID, Basin: m.Basin, Scenario: m.Scenario, Queue: a.config.QueueName}
	kept, err := keptMetadata(m)
	if err != nil {
		return nil, err
	}
	record, err := runs.Queue(ctx, azure, m.Basin, m.Scenario, d.JobID, kept)
	if err != nil {
		return nil, err
	}
	if d.State = record.State; record.State == runs.Running {
		d.RunningJob = record.JobID
	}
	return d, nil
}

// keptMetadata is the metadata of a message as the run record has it.
func keptMetadata(m *message.Message) (string, error) {
	if len(m.Metadata) == 0 {
		return "", nil
	}
	text, err := json.Marshal(m.Metadata)
	return string(text), err
}

// show makes a message visible that was sent hidden.
func (a *app) show(ctx context.Context, queue *storage.Queue, sent *storage.QueueMessage) {
	if _, err := queue.Update(ctx, sent.ID, sent.Receipt, sent.Text, 0); err != nil {
		a.log.Warn("the message is on the queue and hidden for a while", "message_id", sent.ID, "seconds", unseen.Seconds(), "error", err)
	}
}
