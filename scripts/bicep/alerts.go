package bicepcheck

import (
	"regexp"
	"slices"
	"strings"
)

func alertRules() []Rule {
	return []Rule{
		{"somebody is told (C46)", told}, {"alerts wanted (C31, C42, C46)", alertsWanted}, {"columns of logs", columns},
		{"numbers of logs", numbers}, {"exit codes", exitCodes},
	}
}

const queryRule = "Microsoft.Insights/scheduledQueryRules"

// told: every alert goes to an action group.
func told(b *Bundle) []Problem {
	var found finding
	rules := 0
	for _, f := range b.Templates() {
		for _, r := range f.Resources {
			if r.Type != queryRule {
				continue
			}
			rules++
			groups := f.At(r.Object, "properties", "actions", "actionGroups")
			if groups == nil || !slices.ContainsFunc(groups.Items, func(e *Expr) bool {
				name, _ := e.Root()
				group := f.Resource(name)
				return group != nil && group.Type == "Microsoft.Insights/actionGroups"
			}) {
				found.add(f, r.Line, "%s tells no action group", r.Name)
			}
		}
	}
	if rules == 0 {
		found.add(b.Main(), 1, "there are no alerts")
	}
	return found
}

// signals are what the alerts must look for, each as it stands in the logs.
var signals = []string{
	"DeadlineExceeded", "exit code", "ImagePull", "KEDAScalerFailed", "message claimed", "message put into the poison queue", "PutMessage",
}

// alertsWanted: each signal is in the query of an alert.
func alertsWanted(b *Bundle) []Problem {
	var found finding
	var all strings.Builder
	var file *File
	for _, f := range b.Templates() {
		if slices.ContainsFunc(f.Resources, func(r *Resource) bool { return r.Type == queryRule }) {
			file = f
			f.Exprs(func(e *Expr) {
				if e.Kind == String {
					all.WriteString(e.Text + "\n")
				}
			})
		}
	}
	for _, signal := range signals {
		if file != nil && !strings.Contains(all.String(), signal) {
			found.add(file, 1, "no alert looks for %q", signal)
		}
	}
	return found
}

// tables are those of Azure Monitor that the queries use, with their columns as
// its reference has them. Count is not among them: the query that uses it bears its
// absence.
var tables = map[string]map[string]string{
	"ContainerAppConsoleLogs": {"ContainerGroupName": "string", "ContainerName": "string", "JobName": "string", "Log": "string",
		"TimeGenerated": "datetime", "_ResourceId": "string"},
	"ContainerAppSystemLogs": {"JobName": "string", "Log": "string", "Reason": "string", "ReplicaName": "string",
		"TimeGenerated": "datetime", "_ResourceId": "string"},
	"StorageQueueLogs": {"AccountName": "string", "OperationName": "string", "StatusCode": "string", "TimeGenerated": "datetime", "Uri": "string"},
}

var source = regexp.MustCompile(`\b(Container|Storage)\w+Logs(_CL)?\b`)

// columns: a query asks tables that are filled. Columns are looked up where the
// query is read as Kusto, which is not a rule: it needs Node.js.
func columns(b *Bundle) []Problem {
	var found finding
	for _, q := range b.Queries() {
		for _, table := range source.FindAllString(q.Text, -1) {
			if tables[table] == nil {
				found.add(q.file, q.line, "%s asks %s, which is not filled", q.Name, table)
			}
		}
	}
	return found
}

var (
	notIn   = regexp.MustCompile(`([^\s(]+(?:\([^()]*\))?) !in \(([^()]*)\)`)
	convert = regexp.MustCompile(`^toint\((.*)\)$`)
)

// numbers: what is no number is in no list, so a line without one would be a hit.
func numbers(b *Bundle) []Problem {
	var found finding
	for _, q := range b.Queries() {
		for _, at := range notIn.FindAllStringSubmatchIndex(q.Text, -1) {
			value := convert.ReplaceAllString(q.Text[at[2]:at[3]], "$1")
			if !strings.HasSuffix(q.Text[:at[0]], "isnotnull("+value+") and ") {
				found.add(q.file, q.line, "%s takes a line without %s for one of another value: isnotnull(%s) and", q.Name, value, value)
			}
		}
	}
	return found
}

// noFailure are the exit codes of contract.md that tell of no failure.
const noFailure = "0, 12, 14, 130, 143"

func exitCodes(b *Bundle) []Problem {
	var found finding
	for _, q := range b.Queries() {
		for _, m := range notIn.FindAllStringSubmatch(q.Text, -1) {
			if m[2] != noFailure {
				found.add(q.file, q.line, "%s takes %s for no failures, not %s", q.Name, m[2], noFailure)
			}
		}
	}
	return found
}
