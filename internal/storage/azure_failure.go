package storage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"rsmsjob/internal/reason"
)

// azureFailure is where every error of Azure Storage becomes one of ours. verb
// and what say what was done to which thing, such as "write" and "table Runs".
// ErrNotFound and ErrConflict come back as such; the cause of ctx where it has
// ended; all else carries a reason.
func azureFailure(ctx context.Context, verb, what string, err error) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*fenced](err); ok {
		return f.error
	}
	if address, ok := errors.AsType[*url.Error](err); ok {
		address.URL, _, _ = strings.Cut(address.URL, "?") // a signature may stand there
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*reason.Error](err); ok {
		return err
	}
	// Asked first: what a source of tokens answered may stand in the error too.
	if NoCredential(err) {
		return &reason.Error{Code: reason.StorageUnavailable, Detail: "no credential to " + verb + " " + what, Err: err}
	}
	if response, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return refused(verb, what, response)
	}
	if _, ok := errors.AsType[*stranger](err); ok {
		return inBetween(verb, what, err)
	}
	return &reason.Error{Code: reason.StorageUnavailable, Detail: "no answer from Azure Storage to " + verb + " " + what, Err: err}
}

// NoCredential reports whether err says that no token could be had.
func NoCredential(err error) bool {
	if _, ok := errors.AsType[*noToken](err); ok {
		return true
	}
	_, ok := errors.AsType[*azidentity.AuthenticationFailedError](err)
	return ok
}

// refused maps an answer of the service. What is not there and what somebody
// else has changed are known by their codes alone: a proxy in between has a
// status 404 as well.
func refused(verb, what string, r *azcore.ResponseError) error {
	status, code := r.StatusCode, safeCode(r.ErrorCode)
	if status == http.StatusAccepted { // a table transaction; the code stands in the body
		status, code = transactionFailure(r)
	}
	named := ""
	if code != "" {
		named = " (" + code + ")"
	}
	switch code {
	case "QueueNotFound", "TableNotFound", "ContainerNotFound":
		return &reason.Error{Code: reason.StorageUnavailable, Err: &missing{r, what},
			Detail: what + " cannot be used" + named + "; rsms-job init creates what is missing"}
	case "QueueBeingDeleted", "TableBeingDeleted", "ContainerBeingDeleted":
		return &reason.Error{Code: reason.StorageUnavailable, Err: &missing{r, what},
			Detail: what + " cannot be used" + named + "; rsms-job init creates it again in a minute"}
	case "BlobNotFound", "ResourceNotFound", "EntityNotFound", "MessageNotFound", "PopReceiptMismatch":
		return fmt.Errorf("%s: %w", what, ErrNotFound)
	case "EntityAlreadyExists", "UpdateConditionNotSatisfied", "ConditionNotMet", "BlobAlreadyExists":
		return fmt.Errorf("%s: %w", what, ErrConflict)
	case "AuthenticationFailed", "InvalidAuthenticationInfo":
		return &reason.Error{Code: reason.StorageDenied, Err: r,
			Detail: "Azure Storage does not know who asks to " + verb + " " + what + named + "; is the key or the token of this account, and is the clock right?"}
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return &reason.Error{Code: reason.StorageDenied, Err: r,
			Detail: "no right to " + verb + " " + what + named + "; the identity needs the role " + role(what) +
				", and the network of the account must let it in"}
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= http.StatusInternalServerError:
		return &reason.Error{Code: reason.StorageUnavailable, Err: r,
			Detail: "Azure Storage was too busy or broken to " + verb + " " + what + named}
	case status == http.StatusNotFound, status == http.StatusConflict, status == http.StatusPreconditionFailed:
		return &reason.Error{Code: reason.StorageUnavailable, Err: r,
			Detail: "Azure Storage cannot " + verb + " " + what + " now" + named + "; is it the right endpoint, and is the thing locked or of another kind?"}
	}
	if status < http.StatusBadRequest || r.StatusCode != http.StatusAccepted && !fromStorage(r.RawResponse) {
		return inBetween(verb, what, r)
	}
	return &reason.Error{Code: reason.Internal, Err: r, Detail: "Azure Storage refused to " + verb + " " + what + named}
}

// role is what an identity needs to work on a thing.
func role(what string) string {
	switch {
	case strings.Contains(what, "queue "):
		return "Storage Queue Data Contributor"
	case strings.Contains(what, "table "):
		return "Storage Table Data Contributor"
	case strings.Contains(what, cacheKind):
		return "Storage Blob Data Contributor"
	}
	return "Storage Blob Data Reader for inputs, Storage Blob Data Contributor for results"
}

// missing is the answer of a service that a queue, table or container is not
// there.
type missing struct {
	error
	what string
}

func (m *missing) Unwrap() error { return m.error }

// Missing reports whether err says that a queue, table or container does not
// exist.
func Missing(err error) bool { _, ok := errors.AsType[*missing](err); return ok }

// WhatIsMissing names each such queue, table or container of err: its kind and
// its name at the end of a text.
func WhatIsMissing(err error) (all []string) {
	switch e := err.(type) {
	case *missing:
		return []string{e.what}
	case interface{ Unwrap() error }:
		return WhatIsMissing(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, WhatIsMissing(one)...)
		}
	}
	return all
}

// safeCode is an error code of the service, "" for anything else.
func safeCode(code string) string {
	if !regexp.MustCompile(`^[A-Za-z]{1,64}$`).MatchString(code) {
		return ""
	}
	return code
}

// transactionFailure finds what went wrong in a table transaction in the text
// of its answer: aztables reports it with the status of the envelope, 202, and
// without a code.
func transactionFailure(r *azcore.ResponseError) (status int, code string) {
	text := r.Error()
	found := regexp.MustCompile(`"code"\s*:\s*"([A-Za-z]{1,64})"`).FindStringSubmatch(text)
	if found == nil {
		return http.StatusInternalServerError, ""
	}
	code = found[1]
	switch code {
	case "AuthorizationFailure", "AuthorizationPermissionMismatch", "InsufficientAccountPermissions":
		return http.StatusForbidden, code
	case "ServerBusy", "OperationTimedOut", "InternalError", "TemporarilyUnavailable":
		return http.StatusServiceUnavailable, code
	}
	return http.StatusBadRequest, code // where the code alone does not say all
}
