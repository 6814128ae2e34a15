package bicepcheck

import (
	"slices"
	"strconv"
)

// cores is what a subscription may use in one environment before it asks for
// more.
const cores = 100

// shortest is what the platform needs around a job, in seconds: start deadline,
// grace, and some of both for itself.
const shortest = 120

func jobRules() []Rule {
	return []Rule{
		{"scale rule (C06, C07, C38)", scaleRule}, {"no idle executions (C29)", noIdle}, {"no retry by the platform (C15)", noRetry},
		{"replica timeout (C14)", replicaTimeout}, {"cores (C04)", withinCores}, {"memory", pairs}, {"one template (C08)", oneTemplate},
	}
}

// scaleRule: the queue starts the job, by identity, and every field is said.
func scaleRule(b *Bundle) []Problem {
	var found finding
	if len(b.events()) == 0 {
		found.add(b.Main(), 1, "no job has triggerType Event")
	}
	for _, j := range b.events() {
		rules := j.get("eventTriggerConfig", "scale", "rules")
		if rules == nil || len(rules.Items) != 1 {
			found.add(j.file, j.resource.Line, "%s needs one scale rule", j.resource.Name)
			continue
		}
		rule := rules.Items[0]
		want := func(e *Expr, name, value string) {
			if e == nil || value != "" && !e.Is(value) {
				found.add(j.file, rule.Line, "%s is missing or not %q", name, value)
			}
		}
		want(rule.Get("type"), "type", "azure-queue")
		want(rule.Get("identity"), "identity", "")
		want(rule.Get("metadata", "accountName"), "metadata.accountName", "")
		want(rule.Get("metadata", "queueName"), "metadata.queueName", "")
		want(rule.Get("metadata", "queueLength"), "metadata.queueLength", "1")
		want(rule.Get("metadata", "queueLengthStrategy"), "metadata.queueLengthStrategy", "all")
		if length := rule.Get("metadata", "queueLength"); length != nil && length.Kind != String {
			found.add(j.file, length.Line, "metadata.queueLength is no string")
		}
		for _, key := range []string{"maxExecutions", "pollingInterval"} {
			want(j.get("eventTriggerConfig", "scale", key), key, "")
		}
		sameQueue(b, j, rule, &found)
	}
	return found
}

// sameQueue: the rule looks at the queue that the worker takes messages from.
func sameQueue(b *Bundle, j job, rule *Expr, found *finding) {
	settings := b.settings(j)
	for key, name := range map[string]string{"accountName": "AZURE_STORAGE_ACCOUNT_NAME", "queueName": "RSMS_WORKER_QUEUE_NAME"} {
		seen := b.origins(j.file, rule.Get("metadata", key))
		if set, ok := settings[name]; ok && len(seen) == 1 && seen[0].expr.Src != set.file.Resolve(set.expr).Src {
			found.add(j.file, rule.Line, "metadata.%s is not what %s says", key, name)
		}
	}
}

// noIdle: nothing runs where there is nothing to do, and one execution takes
// one message.
func noIdle(b *Bundle) []Problem {
	var found finding
	for _, j := range b.jobs() {
		trigger, kind := j.get("eventTriggerConfig"), "eventTriggerConfig"
		if trigger == nil {
			trigger, kind = j.get("manualTriggerConfig"), "manualTriggerConfig"
		}
		for _, key := range []string{"parallelism", "replicaCompletionCount"} {
			if !j.file.At(trigger, key).Is("1") {
				found.add(j.file, j.resource.Line, "%s.%s must be 1", kind, key)
			}
		}
		if kind == "eventTriggerConfig" && !j.get(kind, "scale", "minExecutions").Is("0") {
			found.add(j.file, j.resource.Line, "minExecutions must be 0")
		}
	}
	return found
}

// noRetry: the queue alone delivers again.
func noRetry(b *Bundle) []Problem {
	var found finding
	for _, j := range b.jobs() {
		if !j.get("replicaRetryLimit").Is("0") {
			found.add(j.file, j.resource.Line, "replicaRetryLimit of %s must be 0", j.resource.Name)
		}
	}
	return found
}

// replicaTimeout: it is the limit of the job and a margin, whatever the limit
// is, and the program is told of both.
func replicaTimeout(b *Bundle) []Problem {
	var found finding
	for _, j := range b.jobs() {
		settings := b.settings(j)
		for _, o := range b.origins(j.file, j.get("replicaTimeout")) {
			limit := settings["RSMS_JOB_TIMEOUT_SEC"]
			if !isSumAbove(o.file, o.expr, shown(limit)) {
				found.add(o.file, o.expr.Line, "%s must be RSMS_JOB_TIMEOUT_SEC and at least %d more", o.expr.Src, shortest)
			}
			if told := shown(settings["RSMS_REPLICA_TIMEOUT_SEC"]); told == nil || o.file.Resolve(told).Src != o.expr.Src {
				found.add(o.file, o.expr.Line, "RSMS_REPLICA_TIMEOUT_SEC is not %s", o.expr.Src)
			}
		}
		if j.get("replicaTimeout") == nil {
			found.add(j.file, j.resource.Line, "%s has no replicaTimeout", j.resource.Name)
		}
	}
	return found
}

// shown is the number in string(number).
func shown(o origin) *Expr {
	if o.expr == nil || o.expr.Kind != Call || o.expr.Text != "string" {
		return nil
	}
	return o.expr.Items[0]
}

// isSumAbove reports whether a sum is part and a margin that is long enough.
func isSumAbove(f *File, sum, part *Expr) bool {
	if part == nil || sum.Kind != Operator || sum.Text != "+" || len(sum.Items) != 2 || sum.Items[0].Src != part.Src {
		return false
	}
	margins := []*Expr{f.Resolve(sum.Items[1])}
	if margins[0].Kind == Ternary {
		margins = margins[0].Items[1:]
	}
	return !slices.ContainsFunc(margins, func(m *Expr) bool {
		n, err := strconv.Atoi(m.Text)
		return m.Kind != Literal || err != nil || n < shortest
	})
}

// withinCores: as many executions as may run at a time have their processors,
// by default and with every parameter file.
func withinCores(b *Bundle) []Problem {
	var found finding
	for _, f := range append(b.Parameters(), b.Main()) {
		value := func(name string) string {
			for _, in := range []*File{f, b.Main()} {
				if d := in.Param(name); d != nil && plain(d.Value) {
					return d.Value.Text
				}
			}
			return ""
		}
		most, err := strconv.Atoi(value("maxExecutions"))
		cpu, wrong := strconv.ParseFloat(value("cpu"), 64)
		switch {
		case err != nil || wrong != nil:
			found.add(f, 1, "maxExecutions and cpu are not numbers")
		case float64(most)*cpu > cores:
			found.add(f, 1, "%d executions of %v processors are more than %d cores", most, cpu, cores)
		}
	}
	return found
}

// pairs: whatever processors may be asked for, the memory is the one that goes
// with them, and nobody can ask for another.
func pairs(b *Bundle) []Problem {
	var found finding
	cpu := b.Main().Param("cpu")
	for _, j := range b.jobs() {
		containers := j.file.At(j.resource.Object, "properties", "template", "containers")
		if containers == nil || len(containers.Items) == 0 || cpu == nil || cpu.Decorators["allowed"] == nil {
			found.add(j.file, j.resource.Line, "%s has no container, or cpu no values that are allowed", j.resource.Name)
			continue
		}
		for _, o := range b.origins(j.file, j.file.At(containers.Items[0], "resources", "memory")) {
			if o.expr.Kind != Index || o.expr.Items[1].Src != "cpu" {
				found.add(o.file, o.expr.Line, "memory of %s is not looked up by cpu", j.resource.Name)
				continue
			}
			sizes := o.file.Resolve(o.expr.Items[0])
			for _, allowed := range cpu.Decorators["allowed"].Items[0].Items {
				n, err := strconv.ParseFloat(allowed.Text, 64)
				if want := strconv.FormatFloat(2*n, 'f', -1, 64) + "Gi"; err != nil || !sizes.Get(allowed.Text).Is(want) {
					found.add(o.file, o.expr.Line, "memory of %s processors is not %s", allowed.Text, want)
				}
			}
		}
	}
	return found
}

// oneTemplate: jobs differ in their trigger only, so that what people start by
// hand is what the queue starts.
func oneTemplate(b *Bundle) []Problem {
	var found finding
	jobs := b.jobs()
	for _, j := range jobs {
		for _, key := range []string{"template", "environmentId", "workloadProfileName"} {
			mine, first := j.resource.Object.Get("properties", key), jobs[0].resource.Object.Get("properties", key)
			if mine == nil || first == nil || mine.Src != first.Src || key == "template" && mine.Kind != Name {
				found.add(j.file, j.resource.Line, "%s of %s is its own", key, j.resource.Name)
			}
		}
	}
	return found
}
