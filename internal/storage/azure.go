package storage

import (
	"net/http"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"rsmsjob/internal/config"
	"rsmsjob/internal/reason"
)

// Layout names the containers and tables of an account, contract section 4.
type Layout struct {
	Basins, Results, Cache                    string // blob containers
	Scenarios, Runs, PlumeByTime, PlumeByMile string // tables
	PublishConcurrency                        int    // parallel table transactions
}

// Azure is a store in an Azure Storage account. Any number of processes may
// use one account at the same time; an Azure may be used by any number of
// goroutines. Its calls are tried again while the service is busy or does not
// answer, as long as their context lasts; see patience.
type Azure struct {
	layout    Layout
	transport *http.Transport
	traffic

	basins, results, cache          *container.Client
	scenarios, runs, byTime, byMile *aztables.Client
	queues                          *azqueue.ServiceClient
	tables                          *aztables.ServiceClient
}

// OpenConnection opens the account that a connection string names. It sends
// nothing.
func OpenConnection(c *config.Connection, layout Layout) (*Azure, error) {
	a := newAzure(layout)
	options := a.options()
	var blobs *azblob.Client
	var err error
	if c.SAS != "" {
		sas := "?" + c.SAS.Reveal()
		if blobs, err = azblob.NewClientWithNoCredential(c.Blob+"/"+sas, &azblob.ClientOptions{ClientOptions: options}); err == nil {
			a.queues, err = azqueue.NewServiceClientWithNoCredential(c.Queue+"/"+sas, &azqueue.ClientOptions{ClientOptions: options})
		}
		if err == nil {
			a.tables, err = aztables.NewServiceClientWithNoCredential(c.Table+"/"+sas, &aztables.ClientOptions{ClientOptions: options})
		}
		return a.open(blobs, err)
	}
	blobKey, err := azblob.NewSharedKeyCredential(c.Account, c.Key.Reveal())
	if err != nil {
		return a.open(nil, err)
	}
	queueKey, err := azqueue.NewSharedKeyCredential(c.Account, c.Key.Reveal())
	if err != nil {
		return a.open(nil, err)
	}
	tableKey, err := aztables.NewSharedKeyCredential(c.Account, c.Key.Reveal())
	if err != nil {
		return a.open(nil, err)
	}
	if blobs, err = azblob.NewClientWithSharedKeyCredential(c.Blob+"/", blobKey, &azblob.ClientOptions{ClientOptions: options}); err == nil {
		a.queues, err = azqueue.NewServiceClientWithSharedKeyCredential(c.Queue+"/", queueKey, &azqueue.ClientOptions{ClientOptions: options})
	}
	if err == nil {
		a.tables, err = aztables.NewServiceClientWithSharedKey(c.Table, tableKey, &aztables.ClientOptions{ClientOptions: options})
	}
	return a.open(blobs, err)
}

// OpenIdentity opens account at the endpoint suffix, such as core.windows.net,
// with the tokens of a credential. It sends nothing.
func OpenIdentity(account, suffix string, credential azcore.TokenCredential, layout Layout) (*Azure, error) {
	a := newAzure(layout)
	options := a.options()
	at := func(service string) string { return "https://" + account + "." + service + "." + suffix }
	blobs, err := azblob.NewClient(at("blob")+"/", credential, &azblob.ClientOptions{ClientOptions: options})
	if err == nil {
		a.queues, err = azqueue.NewServiceClient(at("queue")+"/", credential, &azqueue.ClientOptions{ClientOptions: options})
	}
	if err == nil {
		a.tables, err = aztables.NewServiceClient(at("table"), credential, &aztables.ClientOptions{ClientOptions: options})
	}
	return a.open(blobs, err)
}

func newAzure(layout Layout) *Azure {
	a := &Azure{layout: layout, transport: http.DefaultTransport.(*http.Transport).Clone()}
	// One connection for each transaction in flight, which is kept for the next:
	// fewer would be shut and made again all the time.
	a.transport.MaxIdleConnsPerHost = max(10, layout.PublishConcurrency)
	a.transport.MaxIdleConns = 0 // no limit but that of each of the three services
	return a
}

func (a *Azure) open(blobs *azblob.Client, err error) (*Azure, error) {
	if err != nil {
		return nil, &reason.Error{Code: reason.StorageUnavailable, Detail: "the clients of Azure Storage cannot be made", Err: err}
	}
	a.basins = blobs.ServiceClient().NewContainerClient(a.layout.Basins)
	a.results = blobs.ServiceClient().NewContainerClient(a.layout.Results)
	a.cache = blobs.ServiceClient().NewContainerClient(a.layout.Cache)
	a.scenarios = a.tables.NewClient(a.layout.Scenarios)
	a.runs = a.tables.NewClient(a.layout.Runs)
	a.byTime = a.tables.NewClient(a.layout.PlumeByTime)
	a.byMile = a.tables.NewClient(a.layout.PlumeByMile)
	return a, nil
}

// Close closes the connections that are idle.
func (a *Azure) Close() error {
	a.transport.CloseIdleConnections()
	return nil
}

// options are those of every client: the fence stands behind the retries, so
// that it is asked before each try.
func (a *Azure) options() policy.ClientOptions {
	return policy.ClientOptions{
		Retry:            once(),
		Transport:        &http.Client{Transport: a.transport},
		Telemetry:        policy.TelemetryOptions{ApplicationID: "rsms-job"},
		PerCallPolicies:  []policy.Policy{&a.calls, asciiJSON{}},
		PerRetryPolicies: []policy.Policy{fence{}, &a.tries, single{}, genuine{}},
	}
}

// traffic counts what was sent.
type traffic struct{ calls, tries counter }

// Traffic returns how many requests the store has sent, and how many of them
// were repetitions.
func (t *traffic) Traffic() (requests, retries int64) {
	calls, tries := t.calls.n.Load(), t.tries.n.Load()
	return tries, max(0, tries-calls)
}

type counter struct{ n atomic.Int64 }

func (c *counter) Do(r *policy.Request) (*http.Response, error) {
	c.n.Add(1)
	return r.Next()
}

// fence stops a request, or another try of it, whose context says that its
// sender may write no more: see Fenced.
type fence struct{}

func (fence) Do(r *policy.Request) (*http.Response, error) {
	ctx := r.Raw().Context()
	if held, ok := ctx.Value(fenceKey{}).(func() error); ok {
		if err := held(); err != nil {
			return nil, &fenced{err}
		}
	}
	return r.Next()
}

// fenced is an error that no retry can mend.
type fenced struct{ error }

func (f *fenced) Unwrap() error { return f.error }
func (f *fenced) NonRetriable() {}
