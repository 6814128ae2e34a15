package message

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/reason"
)

var (
	sent   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	failed = time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
)

// incompressible is text of n characters that gzip cannot make shorter than 3/4.
func incompressible(n int) string {
	rng := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, n)
	for i := range b {
		b[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[rng.IntN(64)]
	}
	return string(b)
}

// harmless reports whether text is of letters that base64 uses.
func harmless(text string) bool {
	return strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") == ""
}

func unwrap(t *testing.T, text string) string {
	t.Helper()
	json, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		t.Fatalf("not base64: %v", err)
	}
	return string(json)
}

func TestPoisonEnvelope(t *testing.T) {
	p := Poison{Reason: reason.InvalidMessage, Detail: "scenario_id: is missing", Original: `{"riverbasin_id": "ohio <&>"}`,
		MessageID: "0a1b", DequeueCount: 3, InsertedAt: sent.In(time.FixedZone("", 3600)), FailedAt: failed.Add(time.Millisecond)}
	for original, want := range map[string]string{
		p.Original: `"original":"{\"riverbasin_id\": \"ohio <&>\"}",`,
		"\xff\x00": `"original":"/wA=","original_encoding":"base64",`,
		"":         `"original":"",`,
	} {
		p.Original = original
		text, whole := p.Encode()
		want = `{"version":1,"reason":"invalid_message","detail":"scenario_id: is missing",` + want +
			`"message_id":"0a1b","dequeue_count":3,"inserted_at":"2026-01-02T03:04:05Z","failed_at":"2026-01-02T04:00:00Z","job_id":""}`
		if got := unwrap(t, text); !whole || got != want {
			t.Errorf("whole %t\ngot  %s\nwant %s", whole, got, want)
		}
	}
}

func TestPoisonRoundTrip(t *testing.T) {
	full := Poison{Reason: reason.EngineFailed, Detail: "daflow ended with exit 3\nit said nothing", MessageID: "id", DequeueCount: 6,
		InsertedAt: sent, FailedAt: failed, JobID: "j-1"}
	for name, original := range map[string]string{
		"plain": plain, "C80 base64": b64(plain), "C74 words": "msg2", "empty": "", "line breaks": "\r\n" + plain + "\n",
		"C77 control characters": "\x00\x01\x1f\x7f\u2028\ufffe", "C77 beyond ASCII": "é中😀\ufffd", "invalid UTF-8": "ab\xff\xfe\xed\xa0\x80",
		"long": strings.Repeat("a", 65536), "long and invalid": strings.Repeat("\xff", 65536),
		"a poison copy": func() string { text, _ := full.Encode(); return text }(),
	} {
		p := full
		p.Original = original
		text, whole := p.Encode()
		if !whole || len(text) > 65536 {
			t.Errorf("%s: whole %t, %d bytes", name, whole, len(text))
			continue
		}
		got, err := DecodePoison(text)
		if err != nil || !reflect.DeepEqual(*got, p) {
			t.Errorf("%s: %v\ngot  %.200q\nwant %.200q", name, err, fmt.Sprint(got), fmt.Sprint(p))
		}
	}
	bare := Poison{Reason: reason.Internal}
	text, _ := bare.Encode()
	if got, err := DecodePoison("\r\n" + text[:60] + "\n" + text[60:]); err != nil || !reflect.DeepEqual(*got, bare) {
		t.Errorf("times that are not known, line breaks: %+v, %v", got, err)
	}
}

// Where the envelope does not fit, the original is compressed; where even that
// does not help, it goes alone, untouched.
func TestPoisonSizes(t *testing.T) {
	p := Poison{Reason: reason.Undecodable, Detail: "d", MessageID: strings.Repeat("m", 36), InsertedAt: sent, FailedAt: failed, JobID: "j"}
	empty, _ := p.Encode()
	room := 49152 - len(unwrap(t, empty))
	for _, tt := range []struct {
		name, original, encoding string
		whole                    bool
	}{
		{"just fits", strings.Repeat("a", room), "", true},
		{"one more", strings.Repeat("a", room+1), inGzip, true},
		{"escapes count", strings.Repeat("\n", room-1), inGzip, true},
		{"just fits in base64", strings.Repeat("\xff", (room-len(`"original_encoding":"base64",`))/4*3), inBase64, true},
		{"48 KiB of JSON in base64", b64(`{"a":"` + strings.Repeat("river ", 8000) + `"}`), inGzip, true},
		{"random text of 48 KiB", incompressible(48 << 10), "", false},
		{"random text of 64 KiB", incompressible(64 << 10), "", false},
		{"more than a queue holds", strings.Repeat("a", 64<<10+1), "", false},
	} {
		p.Original = tt.original
		text, whole := p.Encode()
		if whole != tt.whole {
			t.Errorf("%s: whole %t", tt.name, whole)
			continue
		}
		if !whole {
			if text != tt.original {
				t.Errorf("%s: the original was changed", tt.name)
			}
			continue
		}
		if json := unwrap(t, text); len(text) > 65536 || strings.Contains(json, inGzip) != (tt.encoding == inGzip) ||
			strings.Contains(json, `"base64"`) != (tt.encoding == inBase64) {
			t.Errorf("%s: %d bytes, %.300s", tt.name, len(text), json)
		}
		if got, err := DecodePoison(text); err != nil || got.Original != tt.original {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestDecodePoisonRefuses(t *testing.T) {
	const rest = `"message_id":"","dequeue_count":1,"inserted_at":"","failed_at":"","job_id":""}`
	with := func(original string) string {
		return b64(`{"version":1,"reason":"internal","detail":"",` + original + `,` + rest)
	}
	if _, err := DecodePoison(with(`"original":"x"`)); err != nil {
		t.Fatal(err)
	}
	const start = "the text is not a poison copy: "
	for _, tt := range []struct{ name, text, detail string }{
		{"empty", "", "it is not base64 of JSON"},
		{"C74 words", "msg2", "it is not base64 of JSON"},
		{"an original alone", plain, "it is not base64 of JSON"},
		{"a message", b64(plain), "version: must be 1\nreason: must be a string"},
		{"an envelope that is not wrapped", unwrap(t, with(`"original":"hunter2"`)), "it is not base64 of JSON"},
		{"base64 of words", b64("hunter2"), "it is not base64 of JSON"},
		{"an array", b64(`["hunter2"]`), "it is not one JSON object with every name once"},
		{"a name twice", with(`"original":"hunter2","original":"x"`), "it is not one JSON object with every name once"},
		{"too long", strings.Repeat("A", 65537), "it is longer than 65536 bytes"},
		{"no original", with(`"Original":"hunter2"`), "original: must be a string"},
		{"null", with(`"original":null`), "original: must be a string"},
		{"another encoding", with(`"original":"hunter2","original_encoding":"rot13"`), "original_encoding: must be base64 or gzip"},
		{"no encoding", with(`"original":"hunter2","original_encoding":7`), "original_encoding: must be a string"},
		{"not base64", with(`"original":"hunter2?","original_encoding":"base64"`), "original: is not what original_encoding says"},
		{"not gzip", with(`"original":"aHVudGVyMg==","original_encoding":"gzip"`), "original: is not what original_encoding says"},
		{"gzip cut short", with(`"original":"` + zipped("hunter2")[:24] + `","original_encoding":"gzip"`), "original: is not what original_encoding says"},
		{"a gzip bomb", with(`"original":"` + zipped(strings.Repeat("\x00", 1<<20)) + `","original_encoding":"gzip"`), "original: is not what original_encoding says"},
		{"all at once", b64(`{"version":2,"reason":"hunter2","detail":1,"original":"","message_id":[],"dequeue_count":1.5,"inserted_at":"now","failed_at":"0000-01-01T00:00:00Z","job_id":{}}`),
			"version: must be 1\nreason: must be a reason of the closed list\ndetail: must be a string\nmessage_id: must be a string\ndequeue_count: must be an integer\n" +
				"inserted_at: must be a time of RFC 3339\nfailed_at: must be a time of RFC 3339\njob_id: must be a string"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := DecodePoison(tt.text)
			if p != nil || reason.Of(err) != reason.Undecodable || !strings.HasPrefix(reason.Detail(err), start+tt.detail) {
				t.Errorf("got %+v\n%s\nwant\n%s", p, reason.Detail(err), start+tt.detail)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats the text: %v", err)
			}
		})
	}
}

// C77: whatever went wrong with whatever message, the text holds nothing that
// XML could not, and reads back as it was.
func TestPoisonProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	noise := func(n int) string {
		b := make([]byte, rng.IntN(n))
		for i := range b {
			b[i] = byte(rng.IntN(256))
		}
		if rng.IntN(2) == 0 {
			return strings.ToValidUTF8(string(b), "é")
		}
		return string(b)
	}
	for range 500 {
		p := &Poison{Reason: reason.Codes()[rng.IntN(len(reason.Codes()))], Detail: jsonString(noise(300)), Original: noise(4000),
			MessageID: jsonString(noise(40)), DequeueCount: rng.Int64(), InsertedAt: time.Unix(rng.Int64N(1e11), 0).UTC(),
			FailedAt: time.Unix(rng.Int64N(1e11), 0).UTC(), JobID: jsonString(noise(64))}
		text, whole := p.Encode()
		if !whole || !harmless(text) {
			t.Fatalf("whole %t, %s", whole, text)
		}
		if back, err := DecodePoison(text); err != nil || !reflect.DeepEqual(back, p) {
			t.Fatalf("%v\ngot  %+v\nwant %+v", err, back, p)
		}
	}
}

func FuzzDecodePoison(f *testing.F) {
	for _, original := range []string{plain, "\xff", strings.Repeat("a", 65536), ""} {
		p := Poison{Reason: reason.Busy, Original: original, InsertedAt: sent, JobID: "j"}
		text, _ := p.Encode()
		f.Add(seed(text))
	}
	f.Add([]byte(plain))
	f.Add([]byte(`{"version":1,"reason":"busy","detail":"\ud800","original":"","message_id":"","dequeue_count":-0,"inserted_at":"9999-12-31T23:59:59-01:00","failed_at":"","job_id":""}`))
	f.Fuzz(func(t *testing.T, json []byte) {
		p, err := DecodePoison(b64(string(json)))
		if err != nil {
			if _, ok := errors.AsType[*reason.Error](err); !ok || p != nil || reason.Of(err) != reason.Undecodable {
				t.Fatalf("%v besides %v", p, err)
			}
			return
		}
		if len(p.Original) > maxQueueText {
			t.Fatalf("%d bytes", len(p.Original))
		}
		text, whole := p.Encode()
		if !whole {
			if text != p.Original {
				t.Fatal("the original was changed")
			}
			return
		}
		if again, err := DecodePoison(text); err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("decode of encode: %+v, %v, want %+v", again, err, p)
		}
	})
}

// seed is the JSON of an envelope.
func seed(text string) []byte {
	json, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return []byte(text)
	}
	return json
}
