//go:build !windows

package deploytest

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/message"
)

// awkward is a template as az prints it after the query, with values that YAML,
// JSON and shells read in ways of their own. What is YAML here would be other
// values if it was not quoted: yes, 007, null.
const awkward = `{
  "containers": [
    {
      "env": [
        {"name": "QUOTES", "value": "\" ' \\ $HOME ` + "`id`" + ` & % {x} # no: comment"},
        {"name": "LINES", "value": "one: 1\ntwo:\t2\n"},
        {"name": "UNICODE", "value": "Ünïcødé ☃ 河 😀"},
        {"name": "WORD", "value": "yes"}, {"name": "NUMBER", "value": "007"}, {"name": "EMPTY", "value": ""},
        {"name": "SECRET", "secretRef": "a-secret"},
        {"name": "RSMS_MESSAGE", "value": "@message@"}
      ],
      "image": "rsmsreg.azurecr.io/rsms-job:0123", "name": "rsms-job", "resources": {"cpu": 2.0, "memory": "4Gi"}
    }
  ],
  "initContainers": null
}
`

// job are the answers to the scripts that work with what was deployed.
var job = []answer{
	{To: "az deployment group show", With: manualQuery, Out: "rsms-manual\nrsms-job\n"},
	{To: "az containerapp job show", With: templateQuery, Out: awkward},
	{To: "az containerapp job start", Out: "rsms-manual-x1y2z3\n"},
	{To: "az containerapp job execution show", Out: "Succeeded\n"},
}

// templateQuery has az put the message where the worker looks for it, and leave all
// else as it is. az prints "null" for a job that has no container.
const templateQuery = "merge(properties.template, {containers: [merge(properties.template.containers[0], " +
	"{env: [properties.template.containers[0].env[?name != 'RSMS_MESSAGE'], [{name: 'RSMS_MESSAGE', value: '@message@'}]][]})]})"

const manualQuery = "properties.outputs.[not_null(manualJobName.value, ''), not_null(jobName.value, '')]"

// C08, C32, C33: the manual job is started with the whole template and the
// message in it, whatever is in the message or the template.
func TestStart(t *testing.T) {
	p := newPlace(t, loggedIn, job)
	file := filepath.Join(p.temp, "my message.json")
	long := "{\"riverbasin_id\": \"a\",\r\n \"scenario_id\": 42, \"note\": \"'\\\" $(id) `id` \\u00fc ☃\"}\n"
	check(t, os.WriteFile(file, []byte(long), 0o600))
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"words", `{"riverbasin_id": "antietam", "scenario_id": "1970-03-24"}`, []string{"antietam", "1970-03-24"}},
		{"all", `{"riverbasin_id": "a", "scenario_id": "1", "job_id": "j-1", "force": true}`, []string{"a", "--force", "1", "--job-id", "j-1"}},
		{"message", `{"riverbasin_id":"a","scenario_id":"b","c":"d: 'e' \"f\" ü @message@"}`,
			[]string{"--message", `{"riverbasin_id":"a","scenario_id":"b","c":"d: 'e' \"f\" ü @message@"}`}},
		{"file", long, []string{"--message", "@my message.json"}},
		{"probe", ` {"type":"worker.probe"}`, []string{"--message", ` {"type":"worker.probe"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.t = t
			r := p.run("", "start.sh", append([]string{"-g", "water works"}, c.args...)...).ends(0).want("az containerapp job start")
			if r.out != "rsms-manual-x1y2z3\n" {
				t.Errorf("output %q", r.out)
			}
			start := r.called("az containerapp job start")[0]
			if start.value("--name") != "rsms-manual" || slices.Contains(start.Args, "--image") || slices.Contains(start.Args, "--env-vars") {
				t.Errorf("%s", start)
			}
			if mode := start.Modes[start.value("--yaml")]; mode.Perm() != 0o600 {
				t.Errorf("the template can be read by others: %v", mode)
			}
			sent := start.Files[start.value("--yaml")]
			encoded := messageOf(t, sent)
			if got, err := base64.StdEncoding.DecodeString(encoded); err != nil || string(got) != c.want {
				t.Errorf("message %q, %v\nwant %q", got, err, c.want)
			}
			if m, err := message.Decode([]byte(encoded)); err != nil {
				t.Errorf("the job would not take it: %v, %v", m, err)
			}
			if d := cmp.Diff(parsed(t, strings.Replace(awkward, "@message@", encoded, 1)), parsed(t, sent)); d != "" {
				t.Errorf("the template was changed:\n%s", d)
			}
			for _, call := range r.calls {
				if strings.Contains(call.String(), "antietam") || strings.Contains(call.String(), encoded) {
					t.Errorf("the message is in the list of processes: %s", call)
				}
			}
		})
	}
}

func parsed(tb testing.TB, text string) (v any) {
	tb.Helper()
	check(tb, json.Unmarshal([]byte(text), &v))
	return v
}

func messageOf(tb testing.TB, text string) string {
	tb.Helper()
	var v struct {
		Containers []struct {
			Env []struct{ Name, Value string }
		}
	}
	check(tb, json.Unmarshal([]byte(text), &v))
	for _, e := range v.Containers[0].Env {
		if e.Name == "RSMS_MESSAGE" {
			return e.Value
		}
	}
	tb.Fatalf("no message in %s", text)
	return ""
}

func TestStartFails(t *testing.T) {
	failed := func(to, text string) answer { return answer{To: to, Err: "ERROR: " + text + "\n", Exit: 1} }
	for _, c := range []struct {
		name   string
		answer answer
		args   []string
		exit   int
		says   []string
	}{
		{"no login", failed("az account show", "Please run 'az login'"), []string{"a", "b"}, 1, []string{"no login to Azure"}},
		{"not deployed", failed("az deployment group show", "DeploymentNotFound"), []string{"a", "b", "-p", "river"}, 1,
			[]string{"no deployment river-job in resource group g: scripts/deploy.sh makes it", "DeploymentNotFound"}},
		{"no job", failed("az containerapp job show", "does not exist"), []string{"a", "b"}, 1, []string{"job rsms-manual cannot be read", "does not exist"}},
		{"no container", answer{To: "az containerapp job show", Out: "null\n"}, []string{"a", "b"}, 1, []string{"has no container"}},
		{"start", failed("az containerapp job start", "(TooManyRequests) 429"), []string{"a", "b"}, 1, []string{"was not started", "429"}},
		{"nameless", answer{To: "az containerapp job start"}, []string{"a", "b"}, 1, []string{"az named no execution"}},
		{"failed", answer{To: "az containerapp job execution show", Out: "Failed\n"}, []string{"a", "b", "--wait"}, 1,
			[]string{"execution rsms-manual-x1y2z3: Failed", "scripts/logs.sh --resource-group g --prefix rsms rsms-manual-x1y2z3"}},
		{"stopped", answer{To: "az containerapp job execution show", Out: "Stopped\n"}, []string{"a", "b", "--wait"}, 1, []string{": Stopped"}},
		{"endless", answer{To: "az containerapp job execution show", Out: "Running\n"}, []string{"a", "b", "--wait", "--timeout", "0"}, 1, []string{"has not ended in 0 s; it goes on"}},
		{"one word", answer{}, []string{"a"}, 2, []string{"BASIN SCENARIO, or --message"}},
		{"bad basin", answer{}, []string{`a"b`, "b"}, 2, []string{`'a"b' is no basin`}},
		{"dots", answer{}, []string{"a", "b..c"}, 2, []string{"'b..c' is no scenario"}},
		{"long", answer{}, []string{"a", strings.Repeat("b", 64)}, 2, []string{"is no scenario: 63 of"}},
		{"bad job", answer{}, []string{"a", "b", "--job-id", "x.y"}, 2, []string{"'x.y' is no job id: 64 of"}},
		{"both", answer{}, []string{"a", "b", "--message", "{}"}, 2, []string{"no BASIN SCENARIO with it"}},
		{"message and id", answer{}, []string{"--message", "{}", "--job-id", "x"}, 2, []string{"put job_id and force into it"}},
		{"no file", answer{}, []string{"--message", "@none"}, 2, []string{"no file none"}},
		{"no JSON", answer{}, []string{"--message", "eyJ9"}, 1, []string{"no JSON object"}},
		{"too long", answer{}, []string{"--message", "{" + strings.Repeat(" ", 49152) + "}"}, 1, []string{"more than 48 KiB"}},
		{"unknown", answer{}, []string{"--env-vars", "A=b"}, 2, []string{"what is '--env-vars'?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, []answer{c.answer}, loggedIn, job)
			r := p.run("", "start.sh", append([]string{"-g", "g", "--poll", "0"}, c.args...)...).ends(c.exit, c.says...)
			if c.exit == 2 && len(r.calls) > 0 {
				t.Errorf("called %v", r.calls)
			}
		})
	}
}

// A dry run shows the command and the template.
func TestStartDryRun(t *testing.T) {
	t.Parallel()
	r := newPlace(t, loggedIn, job).run("", "start.sh", "-g", "water works", "--dry-run", "a", "b").ends(0).want()
	line, template, _ := strings.Cut(r.out, "\n")
	if !strings.HasPrefix(line, `would run: az containerapp job start --name rsms-manual --resource-group water\ works --yaml start.yaml`) {
		t.Errorf("%s", line)
	}
	if got, _ := base64.StdEncoding.DecodeString(messageOf(t, template)); string(got) != `{"riverbasin_id": "a", "scenario_id": "b"}` {
		t.Errorf("message %q", got)
	}
}

// C08: without a manual job the event-driven one is started, and it is said what
// that may do.
func TestStartEventJob(t *testing.T) {
	t.Parallel()
	p := newPlace(t, []answer{{To: "az deployment group show", Out: "\nrsms-job\n"}}, loggedIn, job)
	r := p.run("", "start.sh", "-g", "g", "a", "b").ends(0, "no manual job", "still starts by itself")
	if c := r.called("az containerapp job start")[0]; c.value("--name") != "rsms-job" {
		t.Errorf("%s", c)
	}
	r = p.run("", "start.sh", "-g", "g", "--job", "mine", "a", "b").ends(0)
	if c := r.called("az containerapp job start")[0]; c.value("--name") != "mine" || r.called("az deployment") != nil {
		t.Errorf("%v", r.calls)
	}
}

func TestStartWaits(t *testing.T) {
	t.Parallel()
	p := newPlace(t, []answer{
		{To: "az containerapp job execution show", Err: "ERROR: 429\n", Exit: 1, Times: 1},
		{To: "az containerapp job execution show", Out: "Running\n", Times: 3},
	}, loggedIn, job)
	r := p.run("", "start.sh", "-g", "g", "--wait", "--poll", "0", "a", "b").ends(0, "unknown (ERROR: 429)", ": Running", ": Succeeded")
	if n := strings.Count(r.errors, "Running"); n != 1 {
		t.Errorf("says %d times that it runs", n)
	}
}

// After a deployment that failed there are no outputs: the job is the one that it
// usually makes.
func TestStartAfterFailure(t *testing.T) {
	t.Parallel()
	p := newPlace(t, []answer{{To: "az deployment group show"}}, loggedIn, job)
	r := p.run("", "start.sh", "-g", "g", "a", "b").ends(0, "The last deployment failed", "--job")
	if c := r.called("az containerapp job start")[0]; c.value("--name") != "rsms-job-manual" {
		t.Errorf("%s", c)
	}
}
