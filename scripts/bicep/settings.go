package bicepcheck

import (
	"regexp"
	"slices"

	"rsmsjob/internal/config"
)

func settingRules() []Rule {
	return []Rule{{"variables", variables}, {"variables needed (C40)", variablesNeeded}, {"defaults", defaults}}
}

var variable = regexp.MustCompile(`^(RSMS|AZURE|LOG|EXE)_[A-Z_]+$`)

func known(name string) (config.Variable, bool) {
	list := config.Variables()
	i := slices.IndexFunc(list, func(v config.Variable) bool { return v.Env == name })
	if i < 0 {
		return config.Variable{}, false
	}
	return list[i], true
}

// variables: what looks like one of the program is one, and takes no secret.
func variables(b *Bundle) []Problem {
	var found finding
	for _, f := range slices.Concat(b.Templates(), b.Parameters()) {
		see := func(name string, line int) {
			if !variable.MatchString(name) {
				return
			}
			switch v, ok := known(name); {
			case !ok:
				found.add(f, line, "the program knows no %s", name)
			case v.Secret:
				found.add(f, line, "%s is a secret: use an identity", name)
			}
		}
		f.Exprs(func(e *Expr) {
			for i, key := range e.Keys {
				see(key, e.Items[i].Line)
			}
			if e.Kind == String {
				see(e.Text, e.Line)
			}
		})
	}
	return found
}

// variablesNeeded: without these a worker does not start, or not as it should.
func variablesNeeded(b *Bundle) []Problem {
	var found finding
	for _, j := range b.jobs() {
		settings := b.settings(j)
		for _, name := range []string{
			"AZURE_CLIENT_ID", "AZURE_STORAGE_ACCOUNT_NAME", "RSMS_JOB_TIMEOUT_SEC", "RSMS_REPLICA_TIMEOUT_SEC",
			"RSMS_REQUIRE_IDENTITY", "RSMS_STORAGE_ENDPOINT_SUFFIX", "RSMS_WORKER_QUEUE_NAME", "RSMS_WORKER_POISON_QUEUE_NAME",
		} {
			if _, ok := settings[name]; !ok {
				found.add(j.file, j.resource.Line, "%s is not set for %s", name, j.resource.Name)
			}
		}
	}
	return found
}

// defaults: a parameter that sets a variable has the default of the variable.
func defaults(b *Bundle) []Problem {
	var found finding
	for _, j := range b.events() {
		for name, o := range b.settings(j) {
			value := o.expr
			if inner := shown(o); inner != nil {
				value = inner
			}
			if value.Kind != Name || o.file.Param(value.Text) == nil {
				continue
			}
			p := o.file.Param(value.Text)
			if v, ok := known(name); ok && plain(p.Value) && p.Value.Text != v.Default {
				found.add(o.file, p.Line, "%s is %q by default, but %s is %q", p.Name, p.Value.Text, name, v.Default)
			}
		}
	}
	return found
}
