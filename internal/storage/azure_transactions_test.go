package storage

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// Only what the retries of the client have not seen is tried again by submit.
func TestInAnswer(t *testing.T) {
	tests := []struct {
		err  error
		want bool
	}{
		{&azcore.ResponseError{StatusCode: http.StatusAccepted}, true},
		{fmt.Errorf("download: %w", io.ErrUnexpectedEOF), true},
		{&azcore.ResponseError{StatusCode: http.StatusServiceUnavailable}, false},
		{&url.Error{Op: "Post", Err: io.EOF}, false},
		{&stranger{http.StatusOK}, false},
		{&fenced{errors.New("lease lost")}, false},
		{&azidentity.AuthenticationFailedError{}, false},
	}
	for _, test := range tests {
		if got := inAnswer(test.err); got != test.want {
			t.Errorf("%v: %t, want %t", test.err, got, test.want)
		}
	}
}
