package storage

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"rsmsjob/internal/config"
	"rsmsjob/internal/reason"
)

// IdentityOptions say who a program is. All of it may be empty.
type IdentityOptions struct {
	// ClientID is that of a user-assigned identity (AZURE_CLIENT_ID).
	ClientID string
	// PrincipalID is the object id of the identity of a Windows container group in
	// Container Instances (RSMS_IDENTITY_PRINCIPAL_ID).
	PrincipalID string
	// Endpoint and Header are what the platform sets as IDENTITY_ENDPOINT and
	// IDENTITY_HEADER. Only a Windows container group needs them here: azidentity
	// reads those of the other platforms by itself.
	Endpoint string
	Header   config.Secret
}

// inContainerGroup reports whether the identity is that of a Windows container
// group: it is named by its principal id or, on Windows, by nothing at all.
func (o IdentityOptions) inContainerGroup(goos string) bool {
	return o.PrincipalID != "" || goos == "windows" && o.ClientID == "" && o.Endpoint != "" && o.Header != ""
}

// Identity returns the credential of a program that holds no secret; it sends
// nothing.
//
// With a client id it is the workload identity, where a cluster has set one up,
// or else the managed identity of that id, and never anybody else: the default
// chain would prefer a secret that is left in the environment, go on with
// another login when the identity is late and then keep it, and look for the id
// in the environment only (C40, C44). A Windows container group of Container
// Instances has a protocol of its own (C52). Without any of them it is the
// default chain: the machine's own identity or, for a developer, az login.
//
// A token that could not be had is asked for again by the next call: nothing
// remembers a failure. One call tries for some seconds and then says
// storage_unavailable, with NoCredential true of its error; whoever starts up
// tries again until its deadline (C49 to C51).
func Identity(o IdentityOptions) (azcore.TokenCredential, error) {
	if o.inContainerGroup(runtime.GOOS) {
		c, err := newContainerIdentity(o)
		if err != nil {
			return nil, err
		}
		return &identity{c, c.hint(), nil}, nil
	}
	options := azcore.ClientOptions{Retry: tokenRetry()}
	if o.ClientID == "" {
		c, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: options})
		if err != nil {
			return nil, noIdentity(err)
		}
		return &identity{c, "no token from Azure: run az login, or set AZURE_CLIENT_ID to a user-assigned identity", nil}, nil
	}
	// It is refused where the cluster has not set its variables.
	workload, notWorkload := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{ClientOptions: options, ClientID: o.ClientID})
	if notWorkload == nil {
		return &identity{workload, "no token for the workload identity of AZURE_CLIENT_ID; is it federated with this service account?", nil}, nil
	}
	managed, err := azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{ClientOptions: options, ID: azidentity.ClientID(o.ClientID)})
	if err != nil {
		return nil, noIdentity(err)
	}
	return &identity{managed, "no token for the managed identity of AZURE_CLIENT_ID; is it assigned here? az login needs that variable unset", notWorkload}, nil
}

func noIdentity(err error) error {
	return &reason.Error{Code: reason.StorageUnavailable, Detail: "no identity to open Azure Storage with; see AZURE_CLIENT_ID and AZURE_TOKEN_CREDENTIALS", Err: &noToken{err}}
}

// tokenRetry is for one request for a token: about 5 s while it is refused. An
// endpoint that never answers takes as long as the call that wants the token.
func tokenRetry() policy.RetryOptions {
	return policy.RetryOptions{MaxRetries: 3, TryTimeout: 10 * time.Second, RetryDelay: 300 * time.Millisecond, MaxRetryDelay: 10 * time.Second}
}

// identity gives the errors of a credential a type and a hint.
type identity struct {
	azcore.TokenCredential
	hint string
	also error // why it is not another credential; nil where there is no other
}

func (i *identity) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := i.TokenCredential.GetToken(ctx, options)
	if err != nil {
		err = &reason.Error{Code: reason.StorageUnavailable, Detail: i.hint, Err: &noToken{errors.Join(err, i.also)}}
	}
	return token, err
}

// noToken is an error of any credential of Identity: azidentity has no exported
// type for some of them.
type noToken struct{ error }

func (n *noToken) Unwrap() error { return n.error }
