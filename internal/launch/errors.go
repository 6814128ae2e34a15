package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// NoRoom says that no group can be made now, because of a quota, a limit of
// calls or a region without machines: the message is to be handed back without
// an attempt spent (C30, C54). Its reason is storage_unavailable.
type NoRoom struct {
	Err   error
	After time.Duration // what the service says to wait; 0 = it does not
}

func (n *NoRoom) Error() string { return n.Err.Error() }
func (n *NoRoom) Unwrap() error { return n.Err }

// NotStarted says that the container did not start and would not the next time,
// as things are: a setting, a role or the image is wrong. Its reason is
// storage_unavailable or, where the job itself cannot be run, invalid_message.
type NotStarted struct {
	Err      error
	Variable string // which setting names what is wrong; empty = none alone
}

func (n *NotStarted) Error() string { return n.Err.Error() }
func (n *NotStarted) Unwrap() error { return n.Err }

// Setting says that a variable is missing or names something that is not there.
type Setting struct {
	Variable, Problem string
	Err               error // may be nil
}

func (s *Setting) Error() string {
	text := s.Variable + " " + s.Problem
	if s.Err != nil {
		text += ": " + s.Err.Error()
	}
	return text
}
func (s *Setting) Unwrap() error { return s.Err }

// kind is what a failure means to who wants a group.
type kind int

const (
	passing  kind = iota // no answer, or one that may be another the next time
	absent               // there is no such group
	changing             // the group is on its way to another state
	noRoom
	refused // what to do about it is said by remedy
)

// failure is a call that failed. Its text is one line.
type failure struct {
	kind   kind
	status int
	code   string
	after  time.Duration
	err    error // an *azcore.ResponseError where there was an answer
}

func (f *failure) Error() string {
	response, ok := errors.AsType[*azcore.ResponseError](f.err)
	if !ok || f.status == 0 {
		return f.err.Error()
	}
	text := fmt.Sprintf("status %d", f.status)
	if f.code != "" {
		text += " " + f.code
	}
	if said := message(response.RawResponse); said != "" {
		text += ": " + said
	}
	return text
}

func (f *failure) Unwrap() error { return f.err }

// failure sorts an error of a client; nil for nil. What a code says goes before
// the status: one quota has the status 400, another 409.
func (g *Groups) failure(err error) *failure {
	if err == nil {
		return nil
	}
	response, ok := errors.AsType[*azcore.ResponseError](err)
	// What a source of tokens answered may stand in an error too.
	if !ok || storage.NoCredential(err) {
		return &failure{kind: passing, err: err}
	}
	f := &failure{kind: refused, status: response.StatusCode, code: safeCode(response.ErrorCode), after: retryAfter(response.RawResponse), err: err}
	switch f.code {
	case "ContainerGroupQuotaReached", "QuotaExceeded", "ResourceQuotaExceeded", "InsufficientCapacity", "ServiceUnavailable", "TooManyRequests",
		"SubscriptionRequestsThrottled", "ResourceRequestsThrottled", "OperationThrottled":
		f.kind = noRoom
		return f
	case "ResourceNotFound":
		f.kind = absent
		return f
	case "MissingSubscriptionRegistration", "ScopeLocked", "ReadOnlyDisabledSubscription", "ResourceGroupBeingDeleted", "ResourceGroupNotFound", "SubscriptionNotFound":
		return f
	}
	switch {
	case f.status == http.StatusTooManyRequests, f.status == http.StatusServiceUnavailable:
		f.kind = noRoom
	case f.status == http.StatusConflict:
		f.kind = changing // ContainerGroupTransitioning above all
	case f.status == http.StatusRequestTimeout, f.status >= http.StatusInternalServerError, f.status == http.StatusNotFound:
		f.kind = passing // a 404 without a code of ours is a proxy's
	}
	return f
}

// remedy is what to do about a refusal: a variable, or a sentence.
func (g *Groups) remedy(f *failure) (variable, text string) {
	switch {
	case f.code == "ResourceGroupNotFound":
		return "RSMS_ACI_RESOURCE_GROUP", "names a resource group that is not there; create it, or name another"
	case f.code == "SubscriptionNotFound", f.code == "InvalidSubscriptionId":
		return "RSMS_ACI_SUBSCRIPTION_ID", "names a subscription that is not there for this identity"
	case f.code == "MissingSubscriptionRegistration":
		return "RSMS_ACI_SUBSCRIPTION_ID", "names a subscription that does not know Container Instances yet; run az provider register -n Microsoft.ContainerInstance"
	case f.code == "ReadOnlyDisabledSubscription":
		return "RSMS_ACI_SUBSCRIPTION_ID", "names a subscription that is disabled"
	case f.code == "ResourceGroupBeingDeleted":
		return "RSMS_ACI_RESOURCE_GROUP", "names a resource group that is being deleted; name another"
	case f.code == "ScopeLocked":
		return "RSMS_ACI_RESOURCE_GROUP", "names a resource group that is locked; remove the lock, or name another"
	case f.code == "LocationNotAvailableForResourceType", f.code == "LocationRequired":
		return "RSMS_ACI_LOCATION", "names a region without Container Instances"
	case f.code == "InaccessibleImage", f.code == "InvalidImage", f.code == "RegistryErrorResponse", strings.EqualFold(f.code, "OsVersionNotSupported"):
		return "RSMS_ACI_IMAGE", "names an image that cannot be run: it must be there, be built on Windows ltsc2019 or ltsc2022, and the identity of RSMS_ACI_IDENTITY_ID needs the role AcrPull on its registry"
	case f.code == "LinkedAuthorizationFailed":
		return "", "the identity needs the role Managed Identity Operator on the identity of RSMS_ACI_IDENTITY_ID"
	case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden:
		return "", "the identity needs the role Azure Container Instances Contributor Role on the resource group of RSMS_ACI_RESOURCE_GROUP"
	}
	return "", "see RSMS_ACI_LOCATION, RSMS_ACI_IMAGE, RSMS_ACI_CPU, RSMS_ACI_MEMORY_GB and RSMS_ACI_IDENTITY_ID"
}

// notReady is a failure of a call that only looks.
func (g *Groups) notReady(f *failure) error {
	variable, text := g.remedy(f)
	switch {
	case f.kind != refused:
		return late(f)
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		return withReason(reason.StorageDenied, "no right to look at container groups"+named(f)+"; "+text, f)
	case variable == "":
		return withReason(reason.Internal, "Azure Resource Manager refused to list container groups"+named(f)+"; "+text, f)
	}
	return &Setting{variable, text, f}
}

// late is a failure that may pass.
func late(f *failure) error {
	if _, ok := errors.AsType[*reason.Error](f.err); ok {
		return f.err // no token, and what to do about it
	}
	return withReason(reason.StorageUnavailable, "no answer from Azure Resource Manager"+named(f)+"; see RSMS_ARM_ENDPOINT", f)
}

// notMade is the failure of making a group.
func (g *Groups) notMade(f *failure) error {
	variable, text := g.remedy(f)
	switch {
	case f.kind == noRoom:
		return &NoRoom{withReason(reason.StorageUnavailable, "no room for a container group now"+named(f)+
			"; the quota of the region or the limit of calls is reached, or the region has no machine free", f), f.after}
	case f.kind != refused:
		return &NoRoom{withReason(reason.StorageUnavailable, "no container group was made in "+createPatience.String()+": no answer from Azure Resource Manager"+named(f), f), f.after}
	case variable != "":
		text = variable + " " + text
	}
	return &NotStarted{withReason(reason.StorageUnavailable, "the container group was refused"+named(f)+"; "+text, f), variable}
}

func withReason(code reason.Code, detail string, err error) error {
	return &reason.Error{Code: code, Detail: detail, Err: err}
}

// named is the code of a failure in brackets.
func named(f *failure) string {
	switch {
	case f.code != "":
		return " (" + f.code + ")"
	case f.status != 0:
		return " (status " + strconv.Itoa(f.status) + ")"
	}
	return ""
}

// safeCode is an error code of the service, "" for anything else.
func safeCode(code string) string {
	if !regexp.MustCompile(`^[A-Za-z]{1,64}$`).MatchString(code) {
		return ""
	}
	return code
}

// message is the sentence in an answer.
func message(r *http.Response) string {
	var answer struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if r == nil {
		return ""
	}
	body, err := runtime.Payload(r)
	if err != nil || json.Unmarshal(body, &answer) != nil {
		return ""
	}
	return oneLine(answer.Error.Message)
}

// retryAfter is how long an answer says to wait; 0 = it does not.
func retryAfter(r *http.Response) time.Duration {
	if r == nil {
		return 0
	}
	text := r.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
