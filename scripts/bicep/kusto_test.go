package bicepcheck

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// wrongQueries are mistakes in a query that the service must find, each with
// what it says.
var wrongQueries = []struct{ old, new, want string }{
	{`line["time"]`, `line.time`, "'time'"},
	{"where Reason startswith", "where Reason_s startswith", "'Reason_s'"},
	{"'ContainerAppSystemLogs |", "'ContainerAppSystemLog |", "'ContainerAppSystemLog'"},
	{"where waited >= ${maxMessageAgeMinutes}", "where waited => ${maxMessageAgeMinutes}", ""},
	{`OperationName == "PutMessage"), gone`, `OperationName == "PutMessage", gone`, ""},
	{"join(map(jobNames, job => '\"${job}\"'), ', ')", "join(map(jobNames, job => '\"${job}'), ', ')", ""},
	{"summarize failures = sum(", "summarize failures = summ(", "'summ'"},
}

// TestKusto: every query of the alerts and of logs.sh is one, and every mistake is
// found, so that an alert that can never fire is not deployed.
func TestKusto(t *testing.T) {
	b := templates(t)
	var names, texts []string
	for _, q := range b.Queries() {
		names, texts = append(names, q.Name), append(texts, q.Text)
	}
	for _, how := range []string{"execution=job-abc", "job_id=probe-1", "words=(antietam 1970-03-24)"} {
		names, texts = append(names, "logs.sh with "+how), append(texts, logsQuery(t, how))
	}
	right := len(texts)
	for _, w := range wrongQueries {
		changed, problems := change(t, b, broken{file: alertsFile, old: w.old, new: w.new})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var all []string
		for _, q := range changed.Queries() {
			if !slices.Contains(texts[:right], q.Text) {
				all = append(all, q.Text)
			}
		}
		if len(all) == 0 {
			t.Fatalf("no query has %q", w.old)
		}
		texts = append(texts, all[0])
	}
	found, err := Kusto(texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, problems := range found[:right] {
		if len(problems) > 0 {
			t.Errorf("%s:\n%s\n%s", names[i], strings.Join(problems, "\n"), texts[i])
		}
	}
	for i, w := range wrongQueries {
		if all := strings.Join(found[right+i], "\n"); all == "" || !strings.Contains(all, w.want) {
			t.Errorf("%s: found %q, want something of %q", w.new, all, w.want)
		}
	}
	if len(b.Queries()) < 8 {
		t.Errorf("only %d queries", len(b.Queries()))
	}
}

// logsQuery has the function of logs.sh print its query.
func logsQuery(t *testing.T, how string) string {
	t.Helper()
	out, err := exec.Command("bash", "-euc", `eval "$(sed -n '/^query() {/,/^}/p' ../logs.sh)"
event_job=rsms-job manual_job=rsms-job-manual since=7d execution='' job_id='' words=()
`+how+"\nquery").Output()
	if err != nil || !strings.Contains(string(out), "ContainerAppConsoleLogs") {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
