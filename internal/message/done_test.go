package message

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/reason"
)

func TestDone(t *testing.T) {
	d := Done{Basin: "ohio", Scenario: "0042", JobID: "j-1", RunKey: "abc", State: "Failed", Reason: reason.InvalidBasin,
		Detail: "FLOW.IN line 9: <is> no number", Attempt: 2, StartedAt: sent, FinishedAt: failed.Add(time.Nanosecond), Commit: "c0ffee"}
	text := d.Encode()
	const want = `{"version":1,"type":"rsms.done","riverbasin_id":"ohio","scenario_id":"0042","job_id":"j-1","state":"Failed","reason":"invalid_basin",` +
		`"detail":"FLOW.IN line 9: <is> no number","attempt":2,"started_at":"2026-01-02T03:04:05Z","finished_at":"2026-01-02T04:00:00Z","run_key":"abc","commit":"c0ffee"}`
	if got := unwrap(t, text); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	d.FinishedAt = failed
	if got, err := DecodeDone(text); err != nil || !reflect.DeepEqual(*got, d) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, d)
	}
	completed := Done{Basin: "b", Scenario: "s", State: "Completed"}
	if got, err := DecodeDone(completed.Encode()); err != nil || !reflect.DeepEqual(*got, completed) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, completed)
	}
}

// C77: a notice holds nothing that XML could not, and always fits.
func TestDoneIsHarmless(t *testing.T) {
	for _, detail := range []string{"\x00\x1f<&>]]>", "é中😀\ufffe", "\xff", strings.Repeat("\x01", 1<<20), strings.Repeat("😀", 1<<20)} {
		d := Done{Basin: strings.Repeat("b", 63), Scenario: strings.Repeat("s", 63), JobID: strings.Repeat("j", 64),
			RunKey: strings.Repeat("k", 64), State: "Failed", Reason: reason.Internal, Detail: detail, Commit: strings.Repeat("c", 64)}
		text := d.Encode()
		if !harmless(text) || len(text) > 65536 {
			t.Errorf("%.20q: %d bytes, %.60s", detail, len(text), text)
		}
		got, err := DecodeDone(text)
		if err != nil {
			t.Fatal(err)
		}
		if clean := jsonString(detail); !strings.HasPrefix(clean, got.Detail) || got.Detail != clean && len(got.Detail) < maxDoneDetail-4 {
			t.Errorf("%.20q: %d bytes are left of it", detail, len(got.Detail))
		}
	}
}

func TestDecodeDoneRefuses(t *testing.T) {
	p := Poison{Reason: reason.Busy, Original: "hunter2"}
	poison, _ := p.Encode()
	for name, text := range map[string]string{"empty": "", "C74 words": "msg2", "a message": b64(plain), "not wrapped": plain, "a poison copy": poison,
		"another type": b64(strings.Replace(unwrap(t, (&Done{State: "hunter2"}).Encode()), TypeDone, "rsms.run", 1))} {
		d, err := DecodeDone(text)
		if d != nil || reason.Of(err) != reason.Undecodable || !strings.HasPrefix(reason.Detail(err), "the text is not a notice of a finished job: ") ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

func FuzzDecodeDone(f *testing.F) {
	f.Add(seed((&Done{Basin: "b", Scenario: "s", State: "Completed", StartedAt: sent}).Encode()))
	f.Add([]byte(plain))
	f.Fuzz(func(t *testing.T, json []byte) {
		d, err := DecodeDone(b64(string(json)))
		if err != nil {
			if d != nil || reason.Of(err) != reason.Undecodable {
				t.Fatalf("%v besides %v", d, err)
			}
			return
		}
		d.Detail = cut(d.Detail, maxDoneDetail)
		text := d.Encode()
		if len(text) > maxQueueText {
			return
		}
		if again, err := DecodeDone(text); err != nil || !reflect.DeepEqual(d, again) {
			t.Fatalf("decode of encode: %+v, %v, want %+v", again, err, d)
		}
	})
}
