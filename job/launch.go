package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"rsmsjob/internal/config"
	"rsmsjob/internal/launch"
	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/reason"
)

func (a *app) launchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "launch",
		Short: "run one message in a Windows container group of Container Instances",
		Long: "launch does what run does, but for the run itself: it takes one message from the queue, starts\n" +
			"one Windows container group for it, holds the message while that runs, deletes the group and\n" +
			"ends the message as the run record says. It goes on with a group that an earlier launch left\n" +
			"running. Where there is no room for a group the message waits, and no attempt is spent.\n\n" +
			"The container gets the message in RSMS_MESSAGE and the settings of this command; its engines\n" +
			"are those of its image.",
	}
	settings(c.Flags(), "launch")
	c.Flags().Bool("json", false, "print the answer as one JSON document")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.launch(c) }
	return c
}

func (a *app) launch(c *cobra.Command) error {
	if err := a.configure(c, config.Need{Launch: true}); err != nil {
		return err
	}
	var err error
	if a.groups, err = a.openGroups(); err != nil {
		return err
	}
	a.place = &groupsPlace{a}
	return a.runHere(c)
}

// openGroups opens Container Instances with the settings; nothing is sent.
func (a *app) openGroups() (*launch.Groups, error) {
	credential, err := a.identity()
	if err != nil {
		return nil, err
	}
	c := a.config
	groups, err := launch.Open(launch.Options{Credential: credential, Endpoint: c.ARMEndpoint, Subscription: c.LaunchSubscription,
		ResourceGroup: c.LaunchGroup, Location: c.LaunchLocation, Image: c.LaunchImage, CPU: c.LaunchCPU, MemoryGB: c.LaunchMemoryGB,
		IdentityID: c.LaunchIdentity, Grace: c.Grace() / 2, Poll: c.LaunchPoll(), Env: a.containerEnv(), Log: a.log})
	if err != nil {
		return nil, &usageError{err: err}
	}
	return groups, nil
}

// passed are the settings that a container has from who launched it. What the
// image brings along, its engines and folders, is not among them.
var passed = []string{
	"AZURE_STORAGE_ACCOUNT_NAME", "RSMS_STORAGE_ENDPOINT_SUFFIX", "RSMS_REQUIRE_IDENTITY",
	"RSMS_WORKER_QUEUE_NAME", "RSMS_WORKER_POISON_QUEUE_NAME", "RSMS_DONE_QUEUE_NAME", // the first two are not used, but must differ
	"RSMS_WORKER_VISIBILITY_TIMEOUT_SEC", "RSMS_JOB_TIMEOUT_SEC", "RSMS_ENGINE_STEP_TIMEOUT_SEC", "RSMS_RIVERBASIN_BLOB_CONTAINER",
	"RSMS_RESULTS_BLOB_CONTAINER", "RSMS_SCENARIOS_TABLE", "RSMS_RUNS_TABLE", "RSMS_PLUME_BY_TIME_TABLE", "RSMS_PLUME_BY_MILE_TABLE",
	"RSMS_CONCENTRATION_TOLERANCE", "RSMS_PUBLISH_CONCURRENCY", "LOG_LEVEL",
	"RSMS_ENSEMBLE", "RSMS_ENSEMBLE_SEED", "RSMS_VARY_DISPERSION", "RSMS_VARY_FLOW", "RSMS_VARY_RELEASE_HOURS",
}

// containerStart is how long a container waits for its first answer at least: a
// Windows container often has no network in its first half minute, and an
// identity later than that (C49, C50).
const containerStart = 3 * time.Minute

// containerEnv is the environment of every container.
func (a *app) containerEnv() []launch.Variable {
	c, values := a.config, map[string]string{}
	for _, s := range c.Settings() {
		values[s.Name] = fmt.Sprint(s.Value)
	}
	var env []launch.Variable
	add := func(name, value string) {
		if value != "" {
			env = append(env, launch.Variable{Name: name, Value: value})
		}
	}
	for _, name := range passed {
		add(name, values[name])
	}
	if c.Connection != nil { // an emulator
		env = append(env, launch.Variable{Name: "AZURE_STORAGE_CONNECTION_STRING", Value: c.ConnectionString.Reveal(), Secret: true})
	} else {
		add("AZURE_CLIENT_ID", c.LaunchClientID)
		add("RSMS_IDENTITY_PRINCIPAL_ID", c.LaunchPrincipalID)
	}
	add("RSMS_START_DEADLINE_SEC", strconv.Itoa(int(max(containerStart, c.StartDeadline()).Seconds())))
	add("LOG_FORMAT", "json")
	// A container that ends with an error may be started again, whatever its
	// restart policy says; what it came to is in the run record.
	add("RSMS_EXIT_ZERO", "true")
	return env
}

// groupsPlace has jobs run in container groups.
type groupsPlace struct{ *app }

// job is the container group of an errand.
func (p *groupsPlace) job(e *pipeline.Errand) launch.Job {
	account := p.config.AccountName
	if c := p.config.Connection; c != nil {
		account = c.Account
	}
	j := launch.Job{Name: launch.GroupName(account, p.config.RunsTable, e.Basin, e.Scenario, e.JobID),
		// What a message says besides its own fields is for nobody else's eyes.
		Env:  []launch.Variable{{Name: "RSMS_MESSAGE", Value: e.Message, Secret: true}},
		Tags: map[string]string{"rsms-riverbasin": e.Basin, "rsms-scenario": e.Scenario, "rsms-job": e.JobID}}
	if e.Delivery != nil {
		j.Env = append(j.Env, launch.Variable{Name: "RSMS_DELIVERY", Value: e.Delivery.Encode()})
	}
	return j
}

// leftover is how old the groups are, that nobody has deleted, when they are:
// older than any launcher can take to do so itself.
const leftover = time.Hour

func (p *groupsPlace) Run(ctx context.Context, e *pipeline.Errand) (pipeline.Departed, error) {
	if n, err := p.groups.Sweep(ctx, leftover); err != nil {
		p.log.Warn("container groups that were left behind are not deleted", "error", err)
	} else if n > 0 {
		p.log.Info("container groups that were left behind are deleted", "groups", n)
	}
	end, err := p.groups.Run(ctx, p.job(e))
	return pipeline.Departed{Joined: end.Adopted, Exit: end.ExitCode, Log: []byte(end.Tail)}, notPlaced(err)
}

func (p *groupsPlace) Running(ctx context.Context, e *pipeline.Errand) (bool, error) {
	runs, err := p.groups.Running(ctx, p.job(e).Name)
	return runs, notSeen(ctx, err)
}

func (p *groupsPlace) Remove(ctx context.Context, e *pipeline.Errand) error {
	return notSeen(ctx, p.groups.Remove(ctx, p.job(e).Name))
}

// notPlaced turns the error of a group that could not be made into one of a job
// that keeps its attempt.
func notPlaced(err error) error {
	var after time.Duration
	room, full := errors.AsType[*launch.NoRoom](err)
	if full {
		after = room.After
	}
	if _, not := errors.AsType[*launch.NotStarted](err); !full && !not || reason.Of(err) == reason.InvalidMessage {
		return err
	}
	return keepsAttempt(err, min(after, config.MaxRetryDelay))
}

// notSeen does the same for a group that could not be looked at, which says
// nothing about the job.
func notSeen(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return keepsAttempt(err, 0)
}

func keepsAttempt(err error, after time.Duration) error {
	return &pipeline.NotPlaced{Err: &reason.Error{Code: reason.StorageUnavailable, Detail: reason.Detail(err), Err: err}, After: after}
}

// groupsReady sees that container groups can be looked at.
func (a *app) groupsReady(ctx context.Context) error {
	if a.groups == nil {
		return nil
	}
	err := a.groups.Ready(ctx)
	if _, wrong := errors.AsType[*launch.Setting](err); wrong {
		return &usageError{err: err}
	}
	return err
}

// checkGroups makes the check of Container Instances, where they are used.
func (a *app) checkGroups(ctx context.Context, l *checklist) {
	if a.config.LaunchImage == "" {
		return
	}
	l.add("container groups", func() (string, error) {
		var err error
		if a.groups == nil {
			a.groups, err = a.openGroups()
		}
		if err == nil {
			err = a.patience().Start(ctx, a.groupsReady)
		}
		return "resource group " + a.config.LaunchGroup + ", image " + a.config.LaunchImage, err
	})
}
