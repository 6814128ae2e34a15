// Package launch runs one job in a Windows container group of Azure Container
// Instances. Invariant: a group that a Run has made or adopted is deleted when
// that Run returns, but where its message belongs to somebody else by then.
package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerinstance/armcontainerinstance/v2"
)

// Options say where groups are made and what they look like.
type Options struct {
	Credential azcore.TokenCredential
	// Endpoint is Azure Resource Manager, over https; it is the audience of the
	// tokens as well.
	Endpoint                              string
	Subscription, ResourceGroup, Location string
	// Image is host/name:tag. Where the host is an Azure registry, the identity
	// pulls it.
	Image         string
	CPU, MemoryGB float64
	// IdentityID is the resource id of the user-assigned identity of the groups;
	// empty = none.
	IdentityID string
	// Grace is how long a group may take to be stopped and deleted once the
	// context of a Run has ended.
	Grace time.Duration
	// Poll is how often the state of a group is asked for; 0 = every 10 s. A
	// subscription has 25 reads a second for all that works in it.
	Poll time.Duration
	Env  []Variable // of every group
	Log  *slog.Logger
	// Transport is nil but in tests.
	Transport policy.Transporter
}

// Variable is one environment variable of a container. The value of a secret is
// never told to who looks at the group.
type Variable struct {
	Name, Value string
	Secret      bool
}

// Job is one run of the container.
type Job struct {
	Name string     // of its group; see GroupName
	Env  []Variable // behind those of every group
	Tags map[string]string
}

// End is what a container came to.
type End struct {
	Adopted bool // the group was there already
	Started bool // the container has run
	// ExitCode is -1 where none is known.
	ExitCode int
	// State is Terminated or, where the container says nothing of its end, the
	// state of the group, or Gone. Detail is a word of Container Instances for it, such as
	// Completed or Error.
	State, Detail         string
	StartedAt, FinishedAt time.Time // zero where they are not known
	// Tail is the end of what the container wrote, maxTail bytes at most.
	Tail string
}

// Gone is the state of a group that somebody else deleted.
const Gone = "Gone"

const (
	defaultPoll = 10 * time.Second
	// tryTimeout bounds one call to Azure Resource Manager, which is not repeated
	// by the client: a poll is repeated by the next, and who creates a group must
	// know of a second try.
	tryTimeout = 15 * time.Second
	// tag marks groups of ours; its value is when they were made.
	tag = "rsms-launched-at"
	// container is the name of the only container of a group.
	container = "rsms-job"
)

// Groups makes container groups. Any number of goroutines may use it.
type Groups struct {
	o          Options
	groups     *armcontainerinstance.ContainerGroupsClient
	containers *armcontainerinstance.ContainersClient
}

// Open sends nothing. The error holds a *Setting for each option that is missing
// or cannot be.
func Open(o Options) (*Groups, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Poll = cmp.Or(o.Poll, defaultPoll)
	endpoint := strings.TrimSuffix(o.Endpoint, "/")
	options := &arm.ClientOptions{DisableRPRegistration: true, ClientOptions: policy.ClientOptions{
		Cloud: cloud.Configuration{Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: endpoint, Audience: endpoint}}},
		Retry:     policy.RetryOptions{MaxRetries: -1, TryTimeout: tryTimeout},
		Telemetry: policy.TelemetryOptions{ApplicationID: "rsms-job"},
		Transport: o.Transport,
	}}
	factory, err := armcontainerinstance.NewClientFactory(o.Subscription, o.Credential, options)
	if err != nil {
		return nil, fmt.Errorf("open Azure Resource Manager: %w", err)
	}
	return &Groups{o, factory.NewContainerGroupsClient(), factory.NewContainersClient()}, nil
}

func (o *Options) check() error {
	var wrong []error
	for _, v := range []struct{ name, value string }{{"RSMS_ACI_SUBSCRIPTION_ID", o.Subscription}, {"RSMS_ACI_RESOURCE_GROUP", o.ResourceGroup},
		{"RSMS_ACI_LOCATION", o.Location}, {"RSMS_ACI_IMAGE", o.Image}} {
		if v.value == "" {
			wrong = append(wrong, &Setting{Variable: v.name, Problem: "is not set"})
		}
	}
	if u, err := url.Parse(o.Endpoint); err != nil || u.Scheme != "https" || u.Host == "" {
		wrong = append(wrong, &Setting{Variable: "RSMS_ARM_ENDPOINT", Problem: "must be an address with https, such as https://management.azure.com"})
	}
	if !(o.CPU > 0) {
		wrong = append(wrong, &Setting{Variable: "RSMS_ACI_CPU", Problem: "must be above 0"})
	}
	if !(o.MemoryGB > 0) {
		wrong = append(wrong, &Setting{Variable: "RSMS_ACI_MEMORY_GB", Problem: "must be above 0"})
	}
	return errors.Join(wrong...)
}

// Ready asks for something that costs nothing, so that a missing role or network
// shows before a message is taken. What may pass, be it a late identity or a
// late network, is storage_unavailable, and a role that is missing
// storage_denied; a *Setting is for ever.
func (g *Groups) Ready(ctx context.Context) error {
	_, err := g.groups.NewListByResourceGroupPager(g.o.ResourceGroup, nil).NextPage(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return g.notReady(g.failure(err))
}
