package main

import (
	"context"
	"path/filepath"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"rsmsjob/internal/config"
	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

// store is what a run reads from and writes to.
type store interface {
	pipeline.Inputs
	pipeline.Results
	pipeline.Published
	runs.Store
	Close() error
}

// openStore opens the store that the settings name: a folder, or an account of
// Azure Storage, where nothing is sent yet.
func (a *app) openStore() (store, error) {
	if a.config.StoreDir != "" {
		return a.openFolder()
	}
	return a.openAzure()
}

func (a *app) openFolder() (*storage.Folder, error) {
	dir, err := filepath.Abs(a.config.StoreDir)
	if err != nil {
		return nil, usage("RSMS_STORE_DIR (--store): %w", err)
	}
	folder, err := storage.OpenFolder(dir)
	if err != nil {
		return nil, usage("RSMS_STORE_DIR (--store): %w", err)
	}
	return folder, nil
}

func (a *app) openAzure() (*storage.Azure, error) {
	layout := storage.Layout{Basins: a.config.BasinContainer, Results: a.config.ResultsContainer, Cache: a.config.CacheContainer, Scenarios: a.config.ScenariosTable,
		Runs: a.config.RunsTable, PlumeByTime: a.config.PlumeByTimeTable, PlumeByMile: a.config.PlumeByMileTable,
		PublishConcurrency: a.config.PublishConcurrency}
	if a.config.Connection != nil {
		return storage.OpenConnection(a.config.Connection, layout)
	}
	credential, err := a.identity()
	if err != nil {
		return nil, err
	}
	return storage.OpenIdentity(a.config.AccountName, a.config.EndpointSuffix, credential, layout)
}

// identity is who this program is.
func (a *app) identity() (azcore.TokenCredential, error) {
	endpoint, _ := config.Environment("IDENTITY_ENDPOINT")
	header, _ := config.Environment("IDENTITY_HEADER")
	return storage.Identity(storage.IdentityOptions{ClientID: a.config.ClientID, PrincipalID: a.config.PrincipalID,
		Endpoint: endpoint, Header: config.Secret(header)})
}

// notifier sends done-notices; nil where none are wanted.
func (a *app) notifier(s store) func(ctx context.Context, text string) error {
	azure, ok := s.(*storage.Azure)
	if !ok || a.config.DoneQueueName == "" {
		return nil
	}
	queue := azure.Queue(a.config.DoneQueueName)
	return func(ctx context.Context, text string) error {
		_, err := queue.Send(ctx, text, 0)
		return err
	}
}

// patience is how long a first answer of Azure Storage is waited for.
func (a *app) patience() pipeline.Patience {
	return pipeline.Patience{Deadline: a.config.StartDeadline(), LateRoles: a.config.Connection == nil, Log: a.log}
}

// answers waits for the first answer of a store in Azure; what is missing there
// is a mistake of the settings.
func (a *app) answers(ctx context.Context, s store) error {
	azure, ok := s.(*storage.Azure)
	if !ok {
		return nil
	}
	return a.patience().Start(ctx, func(ctx context.Context) error { return a.namedStore(azure.Ready(ctx)) })
}
