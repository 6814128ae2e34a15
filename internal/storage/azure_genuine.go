package storage

import (
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"rsmsjob/internal/reason"
)

// inBetween is the error of an answer that Azure Storage does not give: a proxy
// or a sign-in page did.
func inBetween(verb, what string, err error) error {
	return &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "something in between answered for Azure Storage to " + verb + " " + what +
		"; is it the right endpoint, and can it be reached without a proxy or a sign-in?"}
}

// genuine takes an answer of success for that of Azure Storage only where it
// looks like one. Any other would be read as an input of the user, or as a write
// that was done; it may be tried again, as no answer at all.
type genuine struct{}

func (genuine) Do(r *policy.Request) (*http.Response, error) {
	response, err := r.Next()
	if err != nil || response.StatusCode >= http.StatusBadRequest || fromStorage(response) {
		return response, err
	}
	response.Body.Close()
	return nil, &stranger{response.StatusCode}
}

// fromStorage reports whether an answer has what every answer of the service
// has.
func fromStorage(r *http.Response) bool {
	return r != nil && (r.Header.Get("X-Ms-Request-Id") != "" || r.Header.Get("X-Ms-Version") != "")
}

// stranger is an answer of success of something else, by its status.
type stranger struct{ status int }

func (s *stranger) Error() string {
	return fmt.Sprintf("status %d of something else than Azure Storage", s.status)
}
