package message

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/reason"
)

const plain = `{"riverbasin_id": "ohio", "scenario_id": "42"}`

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestDecode(t *testing.T) {
	ohio42 := Message{Type: TypeRun, Version: 1, Basin: "ohio", Scenario: "42"}
	wrapped := b64(plain)
	tests := []struct {
		name string
		raw  string
		want Message
	}{
		{"plain", plain, ohio42},
		{"C73 base64", wrapped, ohio42},
		{"C80 base64 pasted with line breaks", "\r\n" + wrapped[:20] + "\r\n" + wrapped[20:40] + "\n" + wrapped[40:] + "\n", ohio42},
		{"spaces around", " \t\r\n" + plain + " \n", ohio42},
		{"byte order mark", "\xef\xbb\xbf" + plain, ohio42},
		{"byte order mark between spaces", "\n\xef\xbb\xbf \n" + plain, ohio42},
		{"byte order mark in base64", b64("\xef\xbb\xbf" + plain + "\n"), ohio42},
		{"ids as integers", `{"riverbasin_id":7,"scenario_id":42}`,
			Message{Type: TypeRun, Version: 1, Basin: "7", Scenario: "42"}},
		{"H07 leading zeros stay", `{"riverbasin_id":"007","scenario_id":"0042"}`,
			Message{Type: TypeRun, Version: 1, Basin: "007", Scenario: "0042"}},
		{"H07 big integers keep every digit", `{"riverbasin_id":9007199254740993,"scenario_id":123456789012345678901234567890}`,
			Message{Type: TypeRun, Version: 1, Basin: "9007199254740993", Scenario: "123456789012345678901234567890"}},
		{"all fields", `{"type":"rsms.run","version":1,"riverbasin_id":"a.b-c_d","scenario_id":"X","job_id":"j-1_A","force":true,"timeout_seconds":90}`,
			Message{Type: TypeRun, Version: 1, Basin: "a.b-c_d", Scenario: "X", JobID: "j-1_A", Force: true, Timeout: 90 * time.Second}},
		{"null is absent", `{"type":null,"version":null,"riverbasin_id":"ohio","scenario_id":"42","job_id":null,"force":null,"timeout_seconds":null}`, ohio42},
		{"longest ids", `{"riverbasin_id":"` + strings.Repeat("a", 63) + `","scenario_id":"` + strings.Repeat("9", 63) + `","job_id":"` + strings.Repeat("j", 64) + `"}`,
			Message{Type: TypeRun, Version: 1, Basin: strings.Repeat("a", 63), Scenario: strings.Repeat("9", 63), JobID: strings.Repeat("j", 64)}},
		{"escaped name of a field", `{"riverbasin\u005fid":"ohio","scenario_id":"42"}`, ohio42},
		{"bounds of the timeout", `{"riverbasin_id":"ohio","scenario_id":"42","timeout_seconds":86400}`,
			Message{Type: TypeRun, Version: 1, Basin: "ohio", Scenario: "42", Timeout: 24 * time.Hour}},
		{"metadata", `{"riverbasin_id":"ohio","scenario_id":"42","triggeredBy":"api","n":1.50,"deep":{"a":[1,null]}}`,
			Message{Type: TypeRun, Version: 1, Basin: "ohio", Scenario: "42", Metadata: map[string]any{
				"triggeredBy": "api", "n": json.Number("1.50"), "deep": map[string]any{"a": []any{json.Number("1"), nil}}}}},
		{"names in other case are metadata", `{"riverbasin_id":"ohio","scenario_id":"42","Force":true,"JOB_ID":"x"}`,
			Message{Type: TypeRun, Version: 1, Basin: "ohio", Scenario: "42", Metadata: map[string]any{"Force": true, "JOB_ID": "x"}}},
		{"probe needs no ids", `{"type":"worker.probe"}`, Message{Type: TypeProbe, Version: 1}},
		{"probe with ids", `{"type":"worker.probe","riverbasin_id":"ohio"}`, Message{Type: TypeProbe, Version: 1, Basin: "ohio"}},
		{"deepest nesting", `{"riverbasin_id":"ohio","scenario_id":"42","x":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`,
			Message{Type: TypeRun, Version: 1, Basin: "ohio", Scenario: "42", Metadata: map[string]any{"x": nested(63)}}},
		{"brackets in strings are no nesting", `{"riverbasin_id":"ohio","scenario_id":"42","x":"\"` + strings.Repeat("[{", 99) + `"}`,
			Message{Type: TypeRun, Version: 1, Basin: "ohio", Scenario: "42", Metadata: map[string]any{"x": `"` + strings.Repeat("[{", 99)}}},
		{"48 KiB of JSON", plain[:len(plain)-1] + strings.Repeat(" ", maxJSON-len(plain)) + "}", ohio42},
		{"48 KiB of JSON in base64", b64(plain[:len(plain)-1] + strings.Repeat(" ", maxJSON-len(plain)) + "}"), ohio42},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode([]byte(tt.raw))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", *got, tt.want)
			}
		})
	}
}

func nested(levels int) []any {
	inner := []any{}
	for range levels - 1 {
		inner = []any{inner}
	}
	return inner
}

func TestDecodeRefuses(t *testing.T) {
	const (
		badID    = "must be 1 to 63 characters of A-Z a-z 0-9 . _ -, begin with a letter or digit and hold no two dots in a row"
		badJobID = "must be 1 to 64 characters of A-Z a-z 0-9 _ - and begin with a letter or digit"
		badTime  = "timeout_seconds: must be an integer from 1 to 86400"
		tooMuch  = "metadata: is more than 8192 bytes: the fields that are not of the contract, together"
		neither  = "the message is neither JSON nor base64 of JSON"
		notJSON  = "the message begins like JSON but is not"
		wrapped  = "the message is base64, but not of JSON"
	)
	with := func(more string) string { return `{"riverbasin_id":"ohio","scenario_id":"42",` + more + `}` }
	tests := []struct {
		name   string
		raw    string
		code   reason.Code
		detail string
	}{
		{"empty", "", reason.Undecodable, "the message is empty"},
		{"blank", " \n\xef\xbb\xbf \n", reason.Undecodable, "the message is empty"},
		{"C72 words", "hello there", reason.Undecodable, neither},
		{"C74 text that is base64 by accident", "msg2", reason.Undecodable, wrapped + ": it is not UTF-8"},
		{"C74 base64 of words", b64("hello"), reason.Undecodable, wrapped},
		{"C78 an envelope is not unwrapped", `{"id":"1","data":{"riverbasin_id":"ohio","scenario_id":"42"}}`, reason.InvalidMessage,
			"riverbasin_id: is missing\nscenario_id: is missing"},
		{"C78 nor one in base64", b64(`{"id":"1","data":{"riverbasin_id":"ohio","scenario_id":"42"}}`), reason.InvalidMessage,
			"riverbasin_id: is missing\nscenario_id: is missing"},
		{"base64 twice", b64(b64(plain)), reason.Undecodable, wrapped},
		{"base64 without padding", strings.TrimRight(b64(plain+" "), "="), reason.Undecodable, neither},
		{"base64 with a space inside", b64(plain)[:8] + " " + b64(plain)[8:], reason.Undecodable, neither},
		{"base64 with stray bits", "e31=", reason.Undecodable, neither},
		{"base64 of the URL alphabet", base64.URLEncoding.EncodeToString([]byte(`{"a":"???>>>"}`)), reason.Undecodable, neither},
		{"base64 with trailing text", b64(plain) + "!", reason.Undecodable, neither},
		{"array", "[1]", reason.Undecodable, neither},
		{"array in base64", b64("[1]"), reason.InvalidMessage, "the message is not a JSON object"},
		{"cut short", `{"riverbasin_id":"ohio"`, reason.Undecodable, notJSON},
		{"trailing data", plain + plain, reason.Undecodable, notJSON},
		{"trailing comma", `{"riverbasin_id":"ohio","scenario_id":"42",}`, reason.Undecodable, notJSON},
		{"single quotes", `{'riverbasin_id':'ohio'}`, reason.Undecodable, notJSON},
		{"invalid UTF-8", `{"riverbasin_id":"ohi` + "\xff" + `"}`, reason.Undecodable, notJSON + ": it is not UTF-8"},
		{"C77 raw control character", "{\"riverbasin_id\":\"o\x01\"}", reason.Undecodable, notJSON},
		{"NaN", with(`"x":NaN`), reason.Undecodable, notJSON},

		{"over 48 KiB", plain[:len(plain)-1] + strings.Repeat(" ", maxJSON-len(plain)+1) + "}", reason.InvalidMessage, "the message has more than 49152 bytes of JSON"},
		{"over 48 KiB in base64", b64(plain[:len(plain)-1] + strings.Repeat(" ", maxJSON-len(plain)+1) + "}"), reason.InvalidMessage, "the message has more than 49152 bytes of JSON"},
		{"too deep", with(`"x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64)), reason.InvalidMessage, "the message is nested deeper than 64 levels"},
		{"nesting bomb", strings.Repeat(`{"a":`, 9000), reason.InvalidMessage, "the message is nested deeper than 64 levels"},
		{"nothing in it", `{}`, reason.InvalidMessage, "riverbasin_id: is missing\nscenario_id: is missing"},
		{"null ids", `{"riverbasin_id":null,"scenario_id":null}`, reason.InvalidMessage, "riverbasin_id: is missing\nscenario_id: is missing"},
		{"names in other case", `{"RiverBasin_ID":"ohio","scenario_id":"42"}`, reason.InvalidMessage, "riverbasin_id: is missing"},
		{"twice", `{"riverbasin_id":"ohio","scenario_id":"42","scenario_id":"43"}`, reason.InvalidMessage, "scenario_id: is given twice"},
		{"twice, one of them escaped", `{"riverbasin_id":"ohio","scenario_id":"42","scenario\u005fid":"42"}`, reason.InvalidMessage, "scenario_id: is given twice"},
		{"metadata twice", with(`"secret":1,"secret":2`), reason.InvalidMessage, "metadata: is given twice"},
		{"float id", `{"riverbasin_id":"ohio","scenario_id":1.0}`, reason.InvalidMessage, "scenario_id: must be a string or an integer"},
		{"exponent id", `{"riverbasin_id":"ohio","scenario_id":1e3}`, reason.InvalidMessage, "scenario_id: must be a string or an integer"},
		{"negative id", `{"riverbasin_id":"ohio","scenario_id":-1}`, reason.InvalidMessage, "scenario_id: " + badID},
		{"minus zero", `{"riverbasin_id":"ohio","scenario_id":-0}`, reason.InvalidMessage, "scenario_id: " + badID},
		{"bool id", `{"riverbasin_id":true,"scenario_id":[]}`, reason.InvalidMessage, "riverbasin_id: must be a string or an integer\nscenario_id: must be a string or an integer"},
		{"empty id", `{"riverbasin_id":"","scenario_id":"1"}`, reason.InvalidMessage, "riverbasin_id: " + badID},
		{"path in id", `{"riverbasin_id":"../etc","scenario_id":"a/b"}`, reason.InvalidMessage, "riverbasin_id: " + badID + "\nscenario_id: " + badID},
		{"two dots", `{"riverbasin_id":"a..b","scenario_id":"1"}`, reason.InvalidMessage, "riverbasin_id: " + badID},
		{"dot first", `{"riverbasin_id":".a","scenario_id":"1"}`, reason.InvalidMessage, "riverbasin_id: " + badID},
		{"space after", `{"riverbasin_id":"ohio ","scenario_id":"1\n"}`, reason.InvalidMessage, "riverbasin_id: " + badID + "\nscenario_id: " + badID},
		{"letter beyond ASCII", `{"riverbasin_id":"öhio","scenario_id":"1"}`, reason.InvalidMessage, "riverbasin_id: " + badID},
		{"id too long", `{"riverbasin_id":"` + strings.Repeat("a", 64) + `","scenario_id":` + strings.Repeat("9", 64) + `}`, reason.InvalidMessage, "riverbasin_id: " + badID + "\nscenario_id: " + badID},
		{"job id with a dot", with(`"job_id":"a.b"`), reason.InvalidMessage, "job_id: " + badJobID},
		{"job id too long", with(`"job_id":"` + strings.Repeat("a", 65) + `"`), reason.InvalidMessage, "job_id: " + badJobID},
		{"job id as a number", with(`"job_id":7`), reason.InvalidMessage, "job_id: must be a string"},
		{"force as a number", with(`"force":1`), reason.InvalidMessage, "force: must be true or false"},
		{"force as text", with(`"force":"true"`), reason.InvalidMessage, "force: must be true or false"},
		{"timeout 0", with(`"timeout_seconds":0`), reason.InvalidMessage, badTime},
		{"timeout too long", with(`"timeout_seconds":86401`), reason.InvalidMessage, badTime},
		{"timeout beyond any integer", with(`"timeout_seconds":99999999999999999999`), reason.InvalidMessage, badTime},
		{"timeout with fraction", with(`"timeout_seconds":1.5`), reason.InvalidMessage, badTime},
		{"timeout as text", with(`"timeout_seconds":"60"`), reason.InvalidMessage, badTime},
		{"too much metadata", with(`"x":"` + strings.Repeat("a", maxMetadata) + `"`), reason.InvalidMessage, tooMuch},
		{"type of the wrong type", with(`"type":1`), reason.InvalidMessage, "type: must be a string"},
		{"version with fraction", with(`"version":1.0`), reason.InvalidMessage, "version: must be an integer"},
		{"version as text", with(`"version":"1"`), reason.InvalidMessage, "version: must be an integer"},
		{"unknown type", `{"type":"rsms.stop","scenario_id":[]}`, reason.UnsupportedCommand, "type: is not a command of this worker, which knows rsms.run and worker.probe"},
		{"type in other case", with(`"type":"RSMS.RUN"`), reason.UnsupportedCommand, "type: is not a command of this worker, which knows rsms.run and worker.probe"},
		{"unknown version", with(`"version":2`), reason.UnsupportedCommand, "version: is not a version of this worker, which knows 1"},
		{"all at once", `{"riverbasin_id":[],"job_id":"?","force":0,"timeout_seconds":-1}`, reason.InvalidMessage,
			"riverbasin_id: must be a string or an integer\nscenario_id: is missing\njob_id: " + badJobID + "\nforce: must be true or false\n" + badTime},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Decode([]byte(tt.raw))
			if m != nil || err == nil {
				t.Fatalf("accepted: %+v", m)
			}
			if _, ok := errors.AsType[*reason.Error](err); !ok {
				t.Errorf("%T is not a *reason.Error", err)
			}
			if got := reason.Of(err); got != tt.code {
				t.Errorf("reason %s, want %s", got, tt.code)
			}
			if got := reason.Detail(err); got != tt.detail {
				t.Errorf("detail\n%s\nwant\n%s", got, tt.detail)
			}
		})
	}
}

// An error must never repeat what a message holds: neither in the detail,
// which goes to the poison queue, nor in the text for the log.
func TestErrorsHoldNoValues(t *testing.T) {
	const secret = "hunter2"
	for _, raw := range []string{
		secret, b64(secret), `{"` + secret, `{"x":` + secret + `}`,
		`{"riverbasin_id":"` + secret + `/","scenario_id":["` + secret + `"],"job_id":"` + secret + `.","force":"` + secret + `","timeout_seconds":"` + secret + `"}`,
		`{"type":"` + secret + `"}`, `{"version":"` + secret + `"}`,
		`{"` + secret + `":1,"` + secret + `":2}`,
	} {
		_, err := Decode([]byte(raw))
		if err == nil {
			t.Errorf("%s: accepted", raw)
			continue
		}
		if strings.Contains(err.Error(), secret) || strings.Contains(reason.Detail(err), secret) {
			t.Errorf("%s: the error repeats it: %v", raw, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{plain, b64(plain), "msg2", "", "{}", "\xef\xbb\xbf" + plain, `{"type":"worker.probe"}`,
		`{"riverbasin_id":1,"scenario_id":"0042","x":{"a":[1e3,"\ud800",null]},"timeout_seconds":60}`,
		`{"riverbasin_id":"a","riverbasin_id":"b"}`, "[[[[", "e30=", `{"x":"é😀<&>"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := Decode(raw)
		if err != nil {
			switch reason.Of(err) {
			case reason.Undecodable, reason.InvalidMessage, reason.UnsupportedCommand:
			default:
				t.Fatalf("reason %s of %v", reason.Of(err), err)
			}
			if reason.Detail(err) == "" || m != nil {
				t.Fatalf("no detail, or a message besides the error: %v", m)
			}
			return
		}
		if m.Type == TypeRun && (!validID(m.Basin) || !validID(m.Scenario)) || !validJobID(m.Identity("")) || !validJobID(m.Identity("?")) {
			t.Fatalf("invalid ids: %+v", m)
		}
		text, err := m.Encode()
		if err != nil {
			t.Fatalf("encode %+v: %v", m, err)
		}
		again, err := Decode(text)
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Fatalf("decode of encode: %+v, %v, want %+v", again, err, m)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	raw := []byte(b64(`{"riverbasin_id": "ohio", "scenario_id": "42", "job_id": "optional", "triggeredBy": "api"}`))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// What can be told of a message that is refused is told; nothing is guessed.
func TestSalvage(t *testing.T) {
	tests := []struct {
		name, text           string
		basin, scenario, job string
		ok                   bool
	}{
		{"wrong type of a field", `{"riverbasin_id":"ohio","scenario_id":42,"job_id":"j","force":"yes"}`, "ohio", "42", "j", true},
		{"base64", "eyJyaXZlcmJhc2luX2lkIjoib2hpbyIsInNjZW5hcmlvX2lkIjoiNDIiLCJmb3JjZSI6MX0=", "ohio", "42", "", true},
		{"another version", `{"type":"rsms.run","version":2,"riverbasin_id":"ohio","scenario_id":"42"}`, "ohio", "42", "", true},
		{"job id of no form", `{"riverbasin_id":"ohio","scenario_id":"42","job_id":"a/b"}`, "ohio", "42", "", true},
		{"job id twice", `{"riverbasin_id":"ohio","scenario_id":"42","job_id":"a","job_id":"b"}`, "ohio", "42", "", true},
		{"something else twice", `{"riverbasin_id":"ohio","scenario_id":"42","x":1,"x":2}`, "ohio", "42", "", true},
		{"basin twice", `{"riverbasin_id":"ohio","riverbasin_id":"ohio","scenario_id":"42"}`, "", "", "", false},
		{"scenario of no form", `{"riverbasin_id":"ohio","scenario_id":"../42"}`, "", "", "", false},
		{"no scenario", `{"riverbasin_id":"ohio"}`, "", "", "", false},
		{"another command", `{"type":"rsms.stop","riverbasin_id":"ohio","scenario_id":"42"}`, "", "", "", false},
		{"command of no form", `{"type":1,"riverbasin_id":"ohio","scenario_id":"42"}`, "", "", "", false},
		{"command twice", `{"type":"rsms.run","type":"rsms.run","riverbasin_id":"ohio","scenario_id":"42"}`, "", "", "", false},
		{"no object", `["ohio"]`, "", "", "", false},
		{"no JSON", `{"riverbasin_id":"ohio","scenario_id":"42"`, "", "", "", false},
	}
	for _, tt := range tests {
		m, ok := Salvage([]byte(tt.text))
		if ok != tt.ok || ok && (m.Basin != tt.basin || m.Scenario != tt.scenario || m.JobID != tt.job || m.Type != TypeRun) {
			t.Errorf("%s: %+v, %v", tt.name, m, ok)
		}
	}
}

func TestWithIdentity(t *testing.T) {
	for _, raw := range []string{`{"riverbasin_id":"ohio","scenario_id":42,"force":true,"by":"api"}`,
		base64.StdEncoding.EncodeToString([]byte(`{"riverbasin_id":"ohio","scenario_id":"42"}`)), `{"type":"worker.probe"}`} {
		text := WithIdentity(raw, "n1")
		before, errBefore := Decode([]byte(raw))
		after, errAfter := Decode([]byte(text))
		if errBefore != nil || errAfter != nil || after.Identity("another") != "n1" {
			t.Fatalf("%s: %v, %v", text, errBefore, errAfter)
		}
		if after.JobID = ""; !reflect.DeepEqual(before, after) {
			t.Errorf("%+v became %+v", before, after)
		}
	}
	for _, raw := range []string{`{"riverbasin_id":"ohio","scenario_id":"42","job_id":"j"}`, "garbage", ""} {
		if text := WithIdentity(raw, "n1"); text != raw {
			t.Errorf("%q became %q", raw, text)
		}
	}
}
