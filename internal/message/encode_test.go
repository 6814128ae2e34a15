package message

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/reason"
)

func TestEncode(t *testing.T) {
	tests := []struct {
		m    Message
		want string
	}{
		{Message{Basin: "ohio", Scenario: "42"}, `{"riverbasin_id":"ohio","scenario_id":"42"}`},
		{Message{Type: TypeRun, Version: 1, Basin: "ohio", Scenario: "0042", JobID: "j", Force: true, Timeout: time.Minute,
			Metadata: map[string]any{"triggeredBy": "<api> & co"}},
			`{"force":true,"job_id":"j","riverbasin_id":"ohio","scenario_id":"0042","timeout_seconds":60,"triggeredBy":"<api> & co"}`},
		{Message{Type: TypeProbe}, `{"type":"worker.probe"}`},
		{Message{Basin: "b", Scenario: "s", Metadata: map[string]any{"C77": "é\u0001\uffff😀\u007f"}},
			`{"C77":"\u00e9\u0001\uffff\ud83d\ude00` + "\u007f" + `","riverbasin_id":"b","scenario_id":"s"}`},
	}
	for _, tt := range tests {
		got, err := tt.m.Encode()
		if err != nil || string(got) != tt.want {
			t.Errorf("%+v\ngot  %s, %v\nwant %s", tt.m, got, err, tt.want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	tests := []struct {
		m      Message
		code   reason.Code
		detail string
	}{
		{Message{Basin: "ohio"}, reason.InvalidMessage, "scenario_id: is missing"},
		{Message{Basin: "ohio", Scenario: "1", Timeout: time.Millisecond}, reason.InvalidMessage, "timeout_seconds: must be whole seconds"},
		{Message{Basin: "ohio", Scenario: "1", Timeout: 25 * time.Hour}, reason.InvalidMessage, "timeout_seconds: must be an integer from 1 to 86400"},
		{Message{Basin: "ohio", Scenario: "1", Metadata: map[string]any{"force": true}}, reason.InvalidMessage, "force: is a field of the contract, not metadata"},
		{Message{Basin: "ohio", Scenario: "1", Metadata: map[string]any{"f": func() {}}}, reason.InvalidMessage, "the metadata cannot be written as JSON"},
		{Message{Type: "rsms.stop"}, reason.UnsupportedCommand, "type: is not a command of this worker, which knows rsms.run and worker.probe"},
		{Message{Version: 2}, reason.UnsupportedCommand, "version: is not a version of this worker, which knows 1"},
	}
	for _, tt := range tests {
		text, err := tt.m.Encode()
		if text != nil || reason.Of(err) != tt.code || reason.Detail(err) != tt.detail {
			t.Errorf("%+v: got %s, %s %q, want %s %q", tt.m, text, reason.Of(err), reason.Detail(err), tt.code, tt.detail)
		}
	}
}

// Metadata is measured as UTF-8 however the sender escaped it, so a message
// that was accepted can be put back on the queue in ASCII.
func TestMetadataLimitIgnoresEscapes(t *testing.T) {
	full := strings.Repeat("é", (maxMetadata-len(`{"x":""}`))/2)
	m := Message{Basin: "b", Scenario: "s", Metadata: map[string]any{"x": full}}
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if len(text) < 3*maxMetadata-100 {
		t.Errorf("%d bytes: the escapes are not there", len(text))
	}
	m.Metadata["x"] = full + "é"
	if _, err := m.Encode(); reason.Of(err) != reason.InvalidMessage {
		t.Errorf("one character more: %v", err)
	}
}

func TestDecodeEncodeProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(letters string, n int) string {
		var s strings.Builder
		for range n {
			s.WriteByte(letters[rng.IntN(len(letters))])
		}
		return s.String()
	}
	const letters = "ABCXYZabcxyz0189"
	var value func(depth int) any
	value = func(depth int) any {
		switch n := rng.IntN(7); {
		case n == 0 && depth > 0:
			return map[string]any{pick(letters, 3): value(depth - 1), "": value(depth - 1)}
		case n == 1 && depth > 0:
			return []any{value(depth - 1), value(depth - 1)}
		case n == 2:
			return json.Number(fmt.Sprint(rng.Float64()*1e9 - 5e8))
		case n == 3:
			return json.Number(fmt.Sprint(rng.Int64()))
		case n == 4:
			return rng.IntN(2) == 0
		case n == 5:
			return nil
		}
		runes := []rune(pick(letters, 4) + "\"\\/\u0000\n\u2028é中😀\ufffe")
		rng.Shuffle(len(runes), func(i, j int) { runes[i], runes[j] = runes[j], runes[i] })
		return string(runes)
	}
	for range 2000 {
		m := &Message{Type: TypeRun, Version: 1,
			Basin:    pick(letters, 1) + pick(letters+"_-", rng.IntN(maxID)),
			Scenario: pick(letters, 1) + pick(letters+"_-", rng.IntN(maxID)),
			Force:    rng.IntN(2) == 0,
			Timeout:  time.Duration(rng.IntN(maxTimeout+1)) * time.Second,
		}
		if rng.IntN(2) == 0 {
			m.JobID = pick(letters, 1+rng.IntN(maxJobID))
		}
		for i := range rng.IntN(4) {
			if m.Metadata == nil {
				m.Metadata = map[string]any{}
			}
			m.Metadata[fmt.Sprint(pick(letters, 3), i)] = value(3)
		}
		text, err := m.Encode()
		if err != nil {
			t.Fatalf("%+v: %v", m, err)
		}
		if i := slices.IndexFunc(text, func(c byte) bool { return c < 0x20 || c > 0x7f }); i >= 0 {
			t.Fatalf("byte %#x in %s", text[i], text)
		}
		for _, raw := range []string{string(text), b64(string(text))} {
			back, err := Decode([]byte(raw))
			if err != nil || !reflect.DeepEqual(m, back) {
				t.Fatalf("%s\ngot  %+v, %v\nwant %+v", raw, back, err, m)
			}
		}
	}
}

func TestIdentity(t *testing.T) {
	const guid = "0a1b2c3d-0000-4000-8000-123456789abc"
	m := Message{Type: TypeRun, Version: 1, Basin: "ohio", Scenario: "42", JobID: "mine"}
	if got := m.Identity(guid); got != "mine" {
		t.Errorf("given: %q", got)
	}
	m.JobID = ""
	if got := m.Identity(guid); got != guid {
		t.Errorf("from the queue: %q", got)
	}
	// Golden values: an id must not change from one version to the next.
	for queueID, want := range map[string]string{
		"":             "m-52a52e024188a5c7d9395ca6d16b5353",
		"a strange/id": "q-5af0b561554830957361a4331a01db18",
	} {
		if got := m.Identity(queueID); got != want {
			t.Errorf("%q: %q, want %q", queueID, got, want)
		}
	}
}

// By hand, the same payload is the same job however it is written, forced or
// with another time limit as well, and any other payload is another one.
func TestIdentityFollowsThePayload(t *testing.T) {
	identity := func(raw string) string {
		m, err := Decode([]byte(raw))
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		return m.Identity("")
	}
	want := identity(plain)
	for _, same := range []string{b64(plain), `{"scenario_id":42,"riverbasin_id":"ohio","version":1,"type":"rsms.run","force":false}`,
		`{"riverbasin_id":"ohio","scenario_id":"42","force":true}`, `{"riverbasin_id":"ohio","scenario_id":"42","timeout_seconds":5}`} {
		if got := identity(same); got != want {
			t.Errorf("%s: %s, want %s", same, got, want)
		}
	}
	seen := map[string]string{want: plain}
	for _, other := range []string{
		`{"riverbasin_id":"ohio","scenario_id":"43"}`, `{"riverbasin_id":"42","scenario_id":"ohio"}`,
		`{"riverbasin_id":"ohio","scenario_id":"42","a":1}`, `{"riverbasin_id":"ohio","scenario_id":"042"}`,
		`{"type":"worker.probe","riverbasin_id":"ohio","scenario_id":"42"}`,
	} {
		id := identity(other)
		if have, ok := seen[id]; ok {
			t.Errorf("%s and %s are both %s", other, have, id)
		}
		seen[id] = other
	}
}

func TestSchema(t *testing.T) {
	var s struct {
		Schema     string `json:"$schema"`
		Properties map[string]struct {
			Enum             []any
			Minimum, Maximum float64
			Pattern          string
		}
		Defs map[string]struct {
			Pattern string
			Not     struct{ Pattern string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	if s.Schema != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("draft %s", s.Schema)
	}
	want := []string{fieldForce, fieldJobID, fieldBasin, fieldScenario, fieldTimeout, fieldType, fieldVersion}
	if got := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("properties %q, want %q", got, want)
	}
	for name := range s.Properties {
		if !isKnown(name) {
			t.Errorf("%s is not a field", name)
		}
	}
	if got := s.Properties[fieldType].Enum; !reflect.DeepEqual(got, []any{TypeRun, TypeProbe, nil}) {
		t.Errorf("types %v", got)
	}
	if p := s.Properties[fieldTimeout]; p.Minimum != 1 || p.Maximum != maxTimeout {
		t.Errorf("timeout %+v", p)
	}
	// The patterns and the code must give the same verdict.
	id, dots := regexp.MustCompile(s.Defs["id"].Pattern), regexp.MustCompile(s.Defs["id"].Not.Pattern)
	job := regexp.MustCompile(s.Properties[fieldJobID].Pattern)
	for _, text := range []string{"", "a", "0", "-1", ".a", "_a", "a.b", "a..b", "a_b-c", "a b", "a\n", "é", "a/b", "A..",
		strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 65)} {
		if got, want := validID(text), id.MatchString(text) && !dots.MatchString(text); got != want {
			t.Errorf("validID(%q) = %v, the schema says %v", text, got, want)
		}
		if got, want := validJobID(text), job.MatchString(text); got != want {
			t.Errorf("validJobID(%q) = %v, the schema says %v", text, got, want)
		}
	}
}
