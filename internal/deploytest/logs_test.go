//go:build !windows

package deploytest

import (
	"strings"
	"testing"
)

const logsQuery = "properties.outputs.[not_null(jobName.value, ''), not_null(manualJobName.value, ''), not_null(workspaceCustomerId.value, '')]"

var logs = []answer{
	{To: "az deployment group show", With: logsQuery, Out: "rsms-job\nrsms-manual\n11111111-2222-3333-4444-555555555555\n"},
	{To: "az containerapp job execution list", With: "rsms-job", Out: "2026-05-01T10:00:00+00:00\nrsms-job-old\n"},
	{To: "az containerapp job execution list", With: "rsms-manual", Out: "2026-05-01T10:00:01+00:00\nrsms-manual-new\n"},
	{To: "az monitor log-analytics query", Out: "2026-05-01T10:00:02Z\trsms-manual-new-x1\t{\"msg\":\"start\"}\n"},
	{To: "az containerapp job show", Out: "rsms-job\n"},
	{To: "az containerapp job logs show", Out: "a line\n"},
}

func TestLogs(t *testing.T) {
	p := newPlace(t, loggedIn, logs)
	for _, c := range []struct {
		name string
		args []string
		asks []string
	}{
		{"latest", nil, []string{"ContainerGroupName startswith 'rsms-manual-new-'", "execution = 'rsms-manual-new'", "ago(7d)"}},
		{"execution", []string{"rsms-job-ab12"}, []string{"ContainerGroupName startswith 'rsms-job-ab12-'"}},
		{"scenario", []string{"antietam", "1970-03-24"}, []string{"riverbasin_id) == 'antietam'", "scenario_id) == '1970-03-24'"}},
		{"job", []string{"--job-id", "probe-1", "--since", "90m"}, []string{"job_id) == 'probe-1'", "ago(90m)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.t = t
			r := p.run("", "logs.sh", append([]string{"-g", "g"}, c.args...)...).ends(0).want()
			if !strings.Contains(r.out, `{"msg":"start"}`) {
				t.Errorf("output %q", r.out)
			}
			query := r.called("az monitor log-analytics query")[0]
			for _, part := range append(c.asks, "dynamic(['rsms-job', 'rsms-manual'])", "ContainerAppConsoleLogs |", "ContainerAppSystemLogs |") {
				if !strings.Contains(query.value("--analytics-query"), part) {
					t.Errorf("does not ask for %s:\n%s", part, query.value("--analytics-query"))
				}
			}
			if query.value("--workspace") != "11111111-2222-3333-4444-555555555555" {
				t.Errorf("%s", query)
			}
		})
	}
}

func TestLogsFail(t *testing.T) {
	failed := func(to, text string) answer { return answer{To: to, Err: "ERROR: " + text + "\n", Exit: 1} }
	for _, c := range []struct {
		name   string
		answer answer
		args   []string
		exit   int
		says   []string
	}{
		{"not deployed", failed("az deployment group show", "DeploymentNotFound"), nil, 1, []string{"no deployment rsms-job"}},
		{"no extension", answer{To: "az extension list"}, nil, 1, []string{"no extension log-analytics: az extension add --name log-analytics"}},
		{"no extension to follow", answer{To: "az extension list"}, []string{"--live"}, 1, []string{"az extension add --name containerapp"}},
		{"no right to list", failed("az containerapp job execution list", "AuthorizationFailed"), nil, 1, []string{"the executions of rsms-job cannot be listed"}},
		{"no execution", answer{To: "az containerapp job execution list"}, nil, 1, []string{"no execution yet"}},
		{"no right to query", failed("az monitor log-analytics query", "InsufficientAccess"), nil, 1, []string{"InsufficientAccess", "Log Analytics Reader"}},
		{"C45 no log yet", answer{To: "az monitor log-analytics query"}, nil, 1, []string{"no log in the last 7d", "also in the results"}},
		{"ended", failed("az containerapp job logs show", "no replica"), []string{"--live", "rsms-job-a"}, 1, []string{"cannot be followed", "no replica"}},
		{"quote", answer{}, []string{"a' or 1 == 1"}, 2, []string{"is no name of"}},
		{"age", answer{}, []string{"--since", "1w"}, 2, []string{"--since '1w'"}},
		{"words", answer{}, []string{"a", "b", "c"}, 2, []string{"EXECUTION, or BASIN SCENARIO"}},
		{"both", answer{}, []string{"a", "--job-id", "b"}, 2, []string{"no other words"}},
		{"live scenario", answer{}, []string{"--live", "a", "b"}, 2, []string{"--live follows one execution"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			newPlace(t, []answer{c.answer}, loggedIn, logs).run("", "logs.sh", append([]string{"-g", "g"}, c.args...)...).ends(c.exit, c.says...)
		})
	}
}

func TestLogsLive(t *testing.T) {
	t.Parallel()
	p := newPlace(t, loggedIn, logs)
	for args, job := range map[string]string{"--live": "rsms-manual", "--live rsms-job-ab12": "rsms-job", "--live rsms-manual-ab12": "rsms-manual"} {
		r := p.run("", "logs.sh", append([]string{"-g", "g"}, strings.Fields(args)...)...).ends(0)
		if c := r.called("az containerapp job logs show")[0]; c.value("--name") != job || c.value("--container") != "rsms-job" || r.out != "a line\n" {
			t.Errorf("%s", c)
		}
	}
}

func TestLogsDryRun(t *testing.T) {
	t.Parallel()
	r := newPlace(t, loggedIn, logs).run("", "logs.sh", "-g", "g", "--dry-run", "rsms-job-a").ends(0)
	if !strings.HasPrefix(r.out, "would run: az monitor log-analytics query --workspace") || r.called("az monitor") != nil {
		t.Errorf("%s\n%v", r.out, r.calls)
	}
}

// After a deployment that failed there are no outputs, and logs are wanted most.
func TestLogsAfterFailure(t *testing.T) {
	t.Parallel()
	p := newPlace(t, []answer{{To: "az deployment group show"}, {To: "az monitor log-analytics workspace show", Out: "11111111-2222-3333-4444-555555555555\n"}}, loggedIn, logs)
	r := p.run("", "logs.sh", "-g", "g", "rsms-job-ab12").ends(0, "The last deployment failed")
	query := r.called("az monitor log-analytics query")[0]
	if query.value("--workspace") != "11111111-2222-3333-4444-555555555555" || !strings.Contains(query.value("--analytics-query"), "['rsms-job', 'rsms-job-manual']") {
		t.Errorf("%s", query)
	}
	p.answers = append([]answer{{To: "az monitor log-analytics workspace show", Err: "ERROR: ResourceNotFound\n", Exit: 3}}, p.answers...)
	p.run("", "logs.sh", "-g", "g", "rsms-job-ab12").ends(1, "there is no workspace rsms-logs", "scripts/deploy.sh again")
}
