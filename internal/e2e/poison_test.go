//go:build unix

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage/faultproxy"
)

// canary is a value of messages that must be seen nowhere.
const canary = "xcanaryx"

// useless are messages that can never be done.
func useless() []struct {
	name, text string
	reason     reason.Code
	detail     string // that the poison message must have
	settings   []string
} {
	folded := base64.StdEncoding.EncodeToString([]byte(`{"riverbasin_id":"` + canary + `/"}`))
	return []struct {
		name, text string
		reason     reason.Code
		detail     string
		settings   []string
	}{
		{"no JSON", canary + " é \u2028 <&>]]>", reason.Undecodable, "neither JSON nor base64", nil},
		{"JSON that breaks off", `{"riverbasin_id":"` + canary, reason.Undecodable, "begins like JSON", nil},
		{"base64 of bytes", base64.StdEncoding.EncodeToString([]byte{0xff, 0, 1}), reason.Undecodable, "not of JSON", nil},
		{"empty", " ", reason.Undecodable, "empty", nil},
		{"no ids", `{"note":"` + canary + `"}`, reason.InvalidMessage, "riverbasin_id", nil},
		{"bad values, base64 in lines", folded[:12] + "\r\n" + folded[12:] + "\n", reason.InvalidMessage, "riverbasin_id", nil},
		{"field twice", `{"riverbasin_id":"tiny","scenario_id":"s1","scenario_id":"` + canary + `"}`, reason.InvalidMessage, "scenario_id", nil},
		{"foreign type", `{"type":"` + canary + `","riverbasin_id":"tiny","scenario_id":"s1"}`, reason.UnsupportedCommand, "type", nil},
		{"foreign version", `{"version":2,"riverbasin_id":"tiny","scenario_id":"s1"}`, reason.UnsupportedCommand, "version", nil},
		{"unknown scenario", order("nowhere"), reason.ScenarioNotFound, "nowhere", nil},
		{"unknown basin", `{"riverbasin_id":"nowhere","scenario_id":"s1","job_id":"job-s1"}`, reason.BasinNotFound, "nowhere", nil},
		{"bad scenario", order("bad"), reason.InvalidScenario, "SpillMile", nil},
		{"bad basin", `{"riverbasin_id":"broken","scenario_id":"s1","job_id":"job-s1"}`, reason.InvalidBasin, "FLOW.IN", nil},
		{"basin without an index", `{"riverbasin_id":"half","scenario_id":"s1","job_id":"job-s1"}`, reason.InvalidBasin, "RiverMileIndex.csv", nil},
		{"no flows", order("flows"), reason.InvalidFlows, "NFQ.csv", nil},
		{"no engine", order("s1"), reason.EngineMissing, "EXE_DIR", []string{"EXE_DIR=empty"}},
	}
}

// C67, C72, C73, C74, C77: a message that can never be done is in the poison
// queue after one attempt, byte for byte, with a reason that says nothing of
// its values.
func TestUselessMessages(t *testing.T) {
	t.Parallel()
	for i, tt := range useless() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.broken()
			begin := time.Now().Truncate(time.Second)
			sent := w.send(tt.text)
			code := 0
			if i%2 == 1 {
				tt.settings, code = append(tt.settings, "RSMS_EXIT_ON_FAILURE=true"), 11
			}
			k := w.run(append(tt.settings, "LOG_LEVEL=debug")...)
			k.exits(code)
			if said := k.said("message moved to poison"); said["reason"] != string(tt.reason) || said["exit"] != float64(code) {
				t.Errorf("the log says %v", said)
			}
			if k.said("engine done") != nil {
				t.Error("an engine has run")
			}
			if n := w.length(w.queue); n != 0 {
				t.Errorf("%d messages are left", n)
			}
			w.tidy()
			list := w.peek(w.poison)
			if len(list) != 1 {
				t.Fatalf("%d poison messages", len(list))
			}
			if list[0].ExpiresAt.Year() < 9999 {
				t.Errorf("the poison message expires at %v", list[0].ExpiresAt)
			}
			envelope(t, list[0].Text)
			p, err := message.DecodePoison(list[0].Text)
			check(t, err)
			if p.Reason != tt.reason || !strings.Contains(p.Detail, tt.detail) || p.Original != tt.text || p.MessageID != sent.ID || p.DequeueCount != 1 ||
				!p.InsertedAt.Equal(sent.InsertedAt.Truncate(time.Second)) || p.FailedAt.Before(begin) || time.Since(p.FailedAt) > time.Minute {
				t.Errorf("the poison message is %+v of %+v", p, sent)
			}
			m, err := message.Decode([]byte(tt.text))
			if err == nil && p.JobID != m.Identity(sent.ID) || err != nil && p.JobID != "" && p.JobID != sent.ID {
				t.Errorf("the poison message is of job %q", p.JobID)
			}
			if row := w.row("s1"); err != nil && tt.reason != reason.UnsupportedCommand && row["Status"] != nil {
				t.Errorf("a message that names no scenario for sure has told one: %v", row)
			}
			if strings.Contains(p.Detail, canary) || strings.Contains(k.stderr.String()+k.stdout.String(), canary) {
				t.Errorf("a value of the message is told: %s %s", p.Detail, k.stderr.String())
			}
			if tt.name != "foreign version" { // that one names a job
				w.toldOfFailure(m, err, tt.reason)
			}
		})
	}
}

// A message that is wrong about something else than its ids has a scenario, and
// somebody who waits; one whose ids are in doubt has neither.
func TestInvalidMessageOfAJob(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		job        string // "" is that of the message id
		doubt      bool
	}{
		{"force is a string", `{"riverbasin_id":"tiny","scenario_id":"s1","job_id":"job-s1","force":"yes"}`, jobOf("s1"), false},
		{"time is negative", `{"riverbasin_id":"tiny","scenario_id":"s1","job_id":"job-s1","timeout_seconds":-1}`, jobOf("s1"), false},
		{"metadata twice", `{"riverbasin_id":"tiny","scenario_id":"s1","job_id":"job-s1","note":1,"note":2}`, jobOf("s1"), false},
		{"base64", base64.StdEncoding.EncodeToString([]byte(`{"riverbasin_id":"tiny","scenario_id":"s1","job_id":"job-s1","force":1}`)), jobOf("s1"), false},
		{"no job", `{"riverbasin_id":"tiny","scenario_id":"s1","force":"yes"}`, "", false},
		{"job is no job", `{"riverbasin_id":"tiny","scenario_id":"s1","job_id":"-"}`, "", false},
		{"scenario twice", `{"riverbasin_id":"tiny","scenario_id":"s1","scenario_id":"s1","job_id":"job-s1"}`, "", true},
		{"basin twice", `{"riverbasin_id":"tiny","riverbasin_id":"other","scenario_id":"s1","job_id":"job-s1"}`, "", true},
		{"foreign type", `{"type":"other","riverbasin_id":"tiny","scenario_id":"s1","job_id":"job-s1","force":"yes"}`, "", true},
		{"no scenario", `{"riverbasin_id":"tiny","job_id":"job-s1","force":"yes"}`, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			sent := w.send(tt.text)
			w.run().exits(0)
			list := w.poisoned()
			if len(list) != 1 || list[0].Original != tt.text || w.length(w.queue) != 0 {
				t.Fatalf("%d messages, poison %+v", w.length(w.queue), list)
			}
			row, all := w.row("s1"), w.notices()
			if tt.doubt {
				if row["Status"] != nil || len(all) > 0 {
					t.Errorf("the row says %v, the notices %+v", row, all)
				}
				return
			}
			if tt.job == "" {
				tt.job = sent.ID
			}
			if list[0].Reason != reason.InvalidMessage || list[0].JobID != tt.job {
				t.Errorf("poison %+v, want job %s", list[0], tt.job)
			}
			if row["Status"] != "Failed" || row["Reason"] != string(reason.InvalidMessage) || row["JobId"] != tt.job || row["StatusDetail"] != list[0].Detail {
				t.Errorf("the row says %v", row)
			}
			if r := w.record("s1"); r.State != "Failed" || r.Reason != reason.InvalidMessage || r.JobID != tt.job || len(r.Notices) > 0 {
				t.Errorf("the record says %+v", r)
			}
			if told := all[tt.job]; len(all) != 1 || len(told) != 1 || told[0].State != "Failed" || told[0].Reason != reason.InvalidMessage {
				t.Errorf("the notices are %+v", all)
			}
		})
	}
}

// toldOfFailure checks that whoever waits for a job was told that it failed, and
// nobody where no job is known.
func (w *world) toldOfFailure(m *message.Message, undecodable error, why reason.Code) {
	w.Helper()
	all := w.notices()
	if undecodable != nil {
		if len(all) > 0 {
			w.Errorf("done-notices %+v of a message that names no job", all)
		}
		return
	}
	if list := all[m.JobID]; len(all) != 1 || len(list) != 1 || list[0].State != "Failed" || list[0].Reason != why || list[0].Attempt < 1 {
		w.Errorf("the done-notices are %+v", all)
	}
}

// broken adds what useless messages ask for.
func (w *world) broken() {
	w.Helper()
	ctx := w.Context()
	w.scenario("s1", nil)
	w.scenario("bad", map[string]any{"SpillMile": 99.5})
	w.scenario("flows", map[string]any{"FlowSource": "nfq", "SpillTime": time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)})
	row := w.row("s1")
	for _, b := range []string{"broken", "half"} {
		columns := map[string]any{"SpillMile": row["SpillMile"], "SpillRiver": "Main", "SpillMassKg": 100.0, "SpillTime": time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
		check(w, w.store.PutScenario(ctx, b, "s1", columns))
	}
	index, err := w.store.Basin(ctx, basin, "RiverMileIndex.csv")
	check(w, err)
	flow, err := w.store.Basin(ctx, basin, "FLOW.IN")
	check(w, err)
	check(w, w.store.PutBasin(ctx, "broken", "RiverMileIndex.csv", index))
	check(w, w.store.PutBasin(ctx, "broken", "FLOW.IN", []byte("This is no river.\n")))
	check(w, w.store.PutBasin(ctx, "half", "FLOW.IN", flow))
	check(w, os.Mkdir(filepath.Join(w.work, "empty"), 0o755))
}

// envelope checks that the text is base64 of a JSON object with the fields of
// the contract and no other.
func envelope(t *testing.T, text string) {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	check(t, err)
	fields := map[string]any{}
	check(t, json.Unmarshal(data, &fields))
	for _, name := range []string{"version", "reason", "detail", "original", "message_id", "dequeue_count", "inserted_at", "failed_at", "job_id"} {
		if _, there := fields[name]; !there {
			t.Errorf("the poison message has no %s: %s", name, data)
		}
		delete(fields, name)
	}
	if len(fields) > 0 {
		t.Errorf("the poison message has more than the contract says: %v", fields)
	}
}

// C67: there is one copy, though the answer to the first was lost, or the worker
// died before it deleted the original.
func TestOneCopyIsPoison(t *testing.T) {
	t.Parallel()
	copied := func(w *world) faultproxy.Match {
		return faultproxy.Match{Operation: faultproxy.QueueSend, Path: "/" + w.names.Poison + "/"}
	}
	for _, tt := range []struct {
		name  string
		match func(w *world) faultproxy.Match
		kill  bool
	}{
		{"answer lost", copied, false},
		{"killed behind the copy", copied, true},
		{"killed before the delete", func(w *world) faultproxy.Match { return faultproxy.Match{Operation: faultproxy.QueueDelete} }, true},
	} {
		for _, text := range []string{"nonsense", order("nowhere")} {
			t.Run(tt.name+" of "+text, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.send(text)
				p := w.proxy()
				rule := faultproxy.Rule{Match: tt.match(w), Times: 1, Action: faultproxy.DropResponse()}
				started := make(chan *worker, 1)
				if tt.kill {
					kill := func() { (<-started).kill() }
					rule.Action = faultproxy.CallAfter(kill)
					if rule.Operation == faultproxy.QueueDelete {
						rule.Action = faultproxy.Sequence(faultproxy.Call(kill), faultproxy.DropRequest())
					}
				}
				fault := p.Fail(rule)
				k := w.start(via(p))
				started <- k
				if code := k.wait(); tt.kill == (code == 0) {
					t.Errorf("exit code %d", code)
				}
				w.finish([]int{0}, via(p))
				if list := w.poisoned(); len(list) != 1 || list[0].Original != text || fault.Hits() != 1 {
					t.Errorf("%d faults, poison %+v", fault.Hits(), list)
				}
			})
		}
	}
}
