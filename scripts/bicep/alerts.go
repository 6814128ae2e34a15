package bicepcheck

import (
	"regexp"
	"slices"
	"strings"
)

func alertRules() []Rule {
	return []Rule{{"somebody is told (C46)", told}, {"alerts wanted (C42, C46)", alertsWanted}, {"columns of logs", columns}}
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
// its reference has them.
var tables = map[string][]string{
	"ContainerAppConsoleLogs": {"ContainerGroupName", "ContainerName", "JobName", "Log", "TimeGenerated", "_ResourceId"},
	"ContainerAppSystemLogs":  {"JobName", "Log", "Reason", "ReplicaName", "TimeGenerated", "_ResourceId"},
	"StorageQueueLogs":        {"AccountName", "OperationName", "StatusCode", "TimeGenerated", "Uri"},
}

var (
	quoted = regexp.MustCompile(`@?"[^"]*"`)
	column = regexp.MustCompile(`\b_?[A-Z]\w*`)
	source = regexp.MustCompile(`\b(Container|Storage)\w+Logs(_CL)?\b`)
	made   = regexp.MustCompile(`\b(\w+) = `)
)

// columns: a query uses tables and columns that there are. A query that is put
// together from variables is judged as a whole.
func columns(b *Bundle) []Problem {
	var found finding
	for _, f := range b.Templates() {
		for _, v := range f.Vars {
			if !strings.HasSuffix(v.Name, "Query") {
				continue
			}
			query := quoted.ReplaceAllString(f.flat(v.Value), "")
			var known []string
			for _, table := range source.FindAllString(query, -1) {
				if tables[table] == nil {
					found.add(f, v.Line, "%s asks %s, which is not filled", v.Name, table)
				}
				known = append(append(known, table), tables[table]...)
			}
			for _, m := range made.FindAllStringSubmatch(query, -1) {
				known = append(known, m[1])
			}
			for _, name := range column.FindAllString(query, -1) {
				if !slices.Contains(known, name) {
					found.add(f, v.Line, "%s uses %s, which its tables do not have", v.Name, name)
				}
			}
		}
	}
	return found
}

// flat is the text of strings, with the variables in them in their places, one
// after the other.
func (f *File) flat(e *Expr) string {
	switch {
	case e == nil:
		return ""
	case e.Kind == Name && f.Var(e.Text) != nil:
		return f.flat(f.Var(e.Text).Value)
	case e.Kind == String:
		text := e.Text
		for _, item := range e.Items {
			text = strings.Replace(text, "${"+item.Src+"}", f.flat(item), 1)
		}
		return text
	case e.Kind == Name || e.Kind == Operator || e.Kind == Call && e.Text == "map":
		return "0"
	}
	var parts []string
	for _, item := range e.Items {
		parts = append(parts, f.flat(item))
	}
	return strings.Join(parts, "\n")
}
