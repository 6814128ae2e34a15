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

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

func (a *app) enqueueCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "enqueue BASIN SCENARIO",
		Short: "put one message on the queue",
		Long: "enqueue puts one message on the queue, sets the scenario to Queued and prints the job id.\n" +
			"status shows the job and cancel stops it. Where a worker runs the scenario already, the new\n" +
			"job waits behind it.",
		Args: cobra.ExactArgs(2),
	}
	settings(c.Flags())
	var w wish
	c.Flags().StringVar(&w.jobID, "job-id", "", "id of the job (default a new one)")
	c.Flags().BoolVar(&w.base64, "base64", false, "send base64 of the JSON, as the Functions of Azure do")
	c.Flags().BoolVar(&w.force, "force", false, "run the scenario although its result is current")
	c.Flags().IntVar(&w.seconds, "timeout", 0, "limit of this job in seconds, capped by RSMS_JOB_TIMEOUT_SEC (default that)")
	c.Flags().StringArrayVar(&w.pairs, "set", nil, "add `name=value` to the message, kept in the run record; a value that is JSON, but for a string, is sent as such")
	asJSON := c.Flags().Bool("json", false, "print one JSON document")
	c.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("timeout") && (w.seconds < 1 || w.seconds > maxTimeout) {
			return usage("--timeout must be from 1 to %d", maxTimeout)
		}
		m, text, err := w.order(args[0], args[1])
		if err != nil {
			return err
		}
		return a.onQueue(c, func(ctx context.Context, azure *storage.Azure) error { return a.enqueue(ctx, azure, m, text, *asJSON) })
	}
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

func (a *app) enqueue(ctx context.Context, azure *storage.Azure, m *message.Message, text string, asJSON bool) error {
	if err := a.hasScenario(ctx, azure, m.Basin, m.Scenario); err != nil {
		return err
	}
	sent, err := a.put(ctx, azure, m, text)
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

// wish is what the flags of enqueue say.
type wish struct {
	jobID         string
	base64, force bool
	pairs         []string // name=value
	seconds       int      // 0: no limit given
}

// maxTimeout is the longest limit that a message may ask for, in seconds.
const maxTimeout = 86400

// order is the message that the flags ask for, and its text for the queue.
func (w *wish) order(basin, scenario string) (*message.Message, string, error) {
	m, err := scenarioMessage(basin, scenario)
	if err != nil {
		return nil, "", err
	}
	m.JobID, m.Force, m.Timeout = w.jobID, w.force, time.Duration(w.seconds)*time.Second
	if m.JobID == "" {
		m.JobID = strings.ToLower(rand.Text())
	}
	if m.Metadata, err = metadata(w.pairs); err != nil {
		return nil, "", err
	}
	text, err := m.Encode()
	if err != nil {
		return nil, "", usage("%s; see rsms-job enqueue -h", reason.Detail(err))
	}
	if w.base64 {
		return m, base64.StdEncoding.EncodeToString(text), nil
	}
	return m, string(text), nil
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
// for, and what is missing there is a mistake of the settings: of the variable, or
// of whichever names a table or container.
func (a *app) first(ctx context.Context, s store, variable string, try func(ctx context.Context) error) error {
	if _, ok := s.(*storage.Azure); !ok {
		return try(ctx)
	}
	err := a.patience().Start(ctx, try)
	if variable == "" {
		return a.namedStore(err)
	}
	return named(err, variable)
}

// hasScenario sees that the scenario row exists.
func (a *app) hasScenario(ctx context.Context, s store, basin, scenario string) error {
	return a.scenarioError(basin, scenario, a.first(ctx, s, "RSMS_SCENARIOS_TABLE", func(ctx context.Context) error {
		_, err := s.Scenario(ctx, basin, scenario)
		return err
	}))
}

// scenarioError gives an error of reading a scenario row its reason. Ids that
// the store cannot keep are a mistake of the arguments.
func (a *app) scenarioError(basin, scenario string, err error) error {
	if errors.Is(err, storage.ErrNotFound) {
		where := "the table of scenarios; the API writes it, or rsms-job init --from DIR loads it from a folder store"
		if a.config.StoreDir != "" {
			where = "the folder, where tables/Scenarios/" + basin + "/" + scenario + ".json is looked for"
		}
		return reason.New(reason.ScenarioNotFound, "basin %s has no scenario %s in %s", basin, scenario, where)
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
// the message is hidden: no worker is done with it before the row says Queued.
// An error leaves the row as it was and takes the message back. Once the row may
// say Queued the message stays, whatever else fails: a worker copes with any
// record, and nobody with a row that waits for a message that is not there.
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
	if mayBeTold(ctx, azure, d, err) {
		a.log.Warn("the job is on the queue, but its run record is not written; the worker that takes it does that",
			"message_id", sent.ID, "job_id", d.JobID, "error", err)
		err = nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), unseen/3)
	defer stop()
	if err != nil {
		if gone := queue.Delete(ctx, sent.ID, sent.Receipt); gone != nil {
			a.log.Warn("the message could not be taken back and will be run", "message_id", sent.ID, "job_id", d.JobID, "error", gone)
		}
		return nil, a.scenarioError(m.Basin, m.Scenario, err)
	}
	a.show(ctx, queue, sent)
	return d, nil
}

// mayBeTold reports whether the scenario row may say that the job is queued,
// although runs.Queue has failed. Where something was denied, the row itself
// tells whether it was that, or the record.
func mayBeTold(ctx context.Context, azure *storage.Azure, d *queuedDocument, err error) bool {
	if !errors.Is(err, runs.ErrToldOnly) || reason.Of(err) != reason.StorageDenied {
		return errors.Is(err, runs.ErrToldOnly)
	}
	row, unread := azure.Scenario(ctx, d.Basin, d.Scenario)
	return unread != nil || row["Status"] == string(runs.Queued) && row["JobId"] == d.JobID
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

// tellRow sets the scenario of a message that was sent to Queued. What it
// returns names the job beside an error, too.
func (a *app) tellRow(ctx context.Context, azure *storage.Azure, m *message.Message, sent *storage.QueueMessage) (*queuedDocument, error) {
	d := &queuedDocument{JobID: m.Identity(sent.ID), MessageID: sent.ID, Basin: m.Basin, Scenario: m.Scenario,
		Queue: a.config.QueueName, State: runs.Queued}
	kept, err := keptMetadata(m)
	if err != nil {
		return d, err
	}
	record, err := runs.Queue(ctx, azure, m.Basin, m.Scenario, d.JobID, kept, sent.InsertedAt)
	if err != nil {
		return d, err
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
