package launch

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLastLines(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""}, {"abcd", "abcd"}, {"x\nabc", "abc"}, {"xyzabcd", "abcd"}, {"zabc\n", "abc\n"}, {"xééa", "éa"},
	} {
		if got := lastLines(tt.text, 4); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""}, {" a\r\n\tb\x00 ", "a b"}, {strings.Repeat("x", 300), strings.Repeat("x", 300)},
		{strings.Repeat("x", 299) + "é", strings.Repeat("x", 299) + "…"},
	} {
		if got := oneLine(tt.text); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for text, want := range map[string]time.Duration{"": 0, "x": 0, "-1": 0, "30": 30 * time.Second,
			time.Now().Add(time.Minute).UTC().Format(http.TimeFormat): time.Minute, time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat): 0} {
			if got := retryAfter(&http.Response{Header: http.Header{"Retry-After": {text}}}); got != want {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
		if got := retryAfter(nil); got != 0 {
			t.Errorf("no answer: %v", got)
		}
	})
}
