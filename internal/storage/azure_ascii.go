package storage

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"

	"rsmsjob/internal/message"
)

// asciiJSON escapes what is not ASCII in the JSON bodies of requests. It means
// the same to the service; the emulator (Azurite 3.35) spoils a character whose
// bytes come in two pieces, as happens in any body above 4 KiB.
type asciiJSON struct{}

func (asciiJSON) Do(r *policy.Request) (*http.Response, error) {
	body, kind := r.Body(), r.Raw().Header.Get("Content-Type")
	if body == nil || !strings.HasPrefix(kind, "application/json") {
		return r.Next()
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	if err := r.SetBody(streaming.NopCloser(bytes.NewReader(message.ASCII(text))), kind); err != nil {
		return nil, err
	}
	return r.Next()
}
