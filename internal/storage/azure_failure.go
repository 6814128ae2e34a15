package storage

import (
	"context"
	"errors"
	"net/http"
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
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*reason.Error](err); ok {
		return err
	}
	if response, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return refused(verb, what, response)
	}
	if NoCredential(err) {
		return &reason.Error{Code: reason.StorageUnavailable, Detail: "no credential to " + verb + " " + what, Err: err}
	}
	return &reason.Error{Code: reason.StorageUnavailable, Detail: "no answer from Azure Storage to " + verb + " " + what, Err: err}
}

// NoCredential reports whether err says that no token could be had.
func NoCredential(err error) bool {
	if _, ok := errors.AsType[*azidentity.AuthenticationFailedError](err); ok {
		return true
	}
	// The error of a chain of credentials has no exported type.
	return err != nil && strings.Contains(err.Error(), "DefaultAzureCredential")
}

// refused maps an answer of the service.
func refused(verb, what string, r *azcore.ResponseError) error {
	status, code := r.StatusCode, safeCode(r.ErrorCode)
	if status == http.StatusAccepted { // a table transaction; the code stands in the body
		status, code = transactionFailure(r)
	}
	named := ""
	if code != "" {
		named = " (" + code + ")"
	}
	is := func(codes ...string) bool {
		for _, c := range codes {
			if strings.EqualFold(c, code) {
				return true
			}
		}
		return false
	}
	switch {
	case is("QueueNotFound", "TableNotFound", "ContainerNotFound", "QueueBeingDeleted", "TableBeingDeleted", "ContainerBeingDeleted"):
		return &reason.Error{Code: reason.StorageUnavailable, Err: &missing{r},
			Detail: what + " cannot be used" + named + "; rsms-job init creates what is missing"}
	case status == http.StatusNotFound, is("PopReceiptMismatch"):
		return ErrNotFound
	case status == http.StatusConflict, status == http.StatusPreconditionFailed:
		return ErrConflict
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return &reason.Error{Code: reason.StorageDenied, Err: r,
			Detail: "no right to " + verb + " " + what + named + "; does the identity have its role?"}
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= 500:
		return &reason.Error{Code: reason.StorageUnavailable, Err: r,
			Detail: "Azure Storage was too busy or broken to " + verb + " " + what + named}
	}
	return &reason.Error{Code: reason.Internal, Err: r, Detail: "Azure Storage refused to " + verb + " " + what + named}
}

// missing is the answer of a service that a queue, table or container is not
// there.
type missing struct{ error }

func (m *missing) Unwrap() error { return m.error }

// Missing reports whether err says that a queue, table or container does not
// exist.
func Missing(err error) bool { _, ok := errors.AsType[*missing](err); return ok }

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
	m := regexp.MustCompile(`"code"\s*:\s*"([A-Za-z]{1,64})"`).FindStringSubmatch(text)
	if m == nil {
		return http.StatusInternalServerError, ""
	}
	code = m[1]
	switch code {
	case "TableNotFound", "ResourceNotFound", "EntityNotFound":
		status = http.StatusNotFound
	case "EntityAlreadyExists", "UpdateConditionNotSatisfied", "ConditionNotMet":
		status = http.StatusPreconditionFailed
	case "AuthorizationFailure", "AuthorizationPermissionMismatch", "AuthenticationFailed", "InsufficientAccountPermissions":
		status = http.StatusForbidden
	case "ServerBusy", "OperationTimedOut", "InternalError", "TemporarilyUnavailable":
		status = http.StatusServiceUnavailable
	default:
		status = http.StatusBadRequest
	}
	return status, code
}
