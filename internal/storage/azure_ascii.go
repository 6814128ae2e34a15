package storage

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
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
	if err := r.SetBody(streaming.NopCloser(bytes.NewReader(escapeJSON(text))), kind); err != nil {
		return nil, err
	}
	return r.Next()
}

// escapeJSON returns the same JSON in ASCII: other characters stand in strings
// only, where an escape may stand for each.
func escapeJSON(text []byte) []byte {
	var out []byte
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			out = append(out, text[i])
			i++
			continue
		}
		c, n := utf8.DecodeRune(text[i:])
		for _, unit := range utf16.AppendRune(nil, c) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
		i += n
	}
	return out
}
