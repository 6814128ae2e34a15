package bicepcheck

import (
	"regexp"
	"slices"
)

// functions are those of the language that the templates use. A new one is
// added here once its signature was looked up.
var functions = []string{
	"concat", "empty", "environment", "guid", "items", "join", "json", "map", "resourceGroup",
	"resourceId", "string", "subscription", "subscriptionResourceId", "take", "union", "uniqueString",
}

func nameRules() []Rule {
	return []Rule{{"described", described}, {"declared", declared}, {"unused", unused}, {"secrets", secrets}}
}

// described: every parameter and output says what it is.
func described(b *Bundle) []Problem {
	var found finding
	for _, f := range b.Templates() {
		for _, d := range slices.Concat(f.Params, f.Outputs) {
			if call := d.Decorators["description"]; call == nil || len(call.Items) != 1 || call.Items[0].Text == "" {
				found.add(f, d.Line, "%s has no description", d.Name)
			}
		}
	}
	return found
}

// scope is what names mean at one place.
type scope struct {
	file  *File
	local []string
	found *finding
	used  map[string]bool
}

// declared: every name is declared, once, and every function is known.
func declared(b *Bundle) []Problem {
	var found finding
	for _, f := range b.Templates() {
		(&scope{file: f, found: &found, used: map[string]bool{}}).all()
		seen := map[string]int{}
		for _, s := range symbols(f) {
			if first, twice := seen[s.name]; twice {
				found.add(f, s.line, "%s is declared in line %d as well", s.name, first)
			}
			seen[s.name] = s.line
		}
	}
	return found
}

// unused: what is declared is used, but for resources and modules, which are
// there for their own sake. Outputs are of others.
func unused(b *Bundle) []Problem {
	var found finding
	for _, f := range b.Templates() {
		s := &scope{file: f, found: &finding{}, used: map[string]bool{}}
		s.all()
		for _, d := range slices.Concat(f.Params, f.Vars) {
			if !s.used[d.Name] {
				found.add(f, d.Line, "%s is not used", d.Name)
			}
		}
		for _, r := range f.Resources {
			if r.Existing && !s.used[r.Name] {
				found.add(f, r.Line, "%s is looked at for nothing", r.Name)
			}
		}
	}
	return found
}

type symbol struct {
	name string
	line int
}

func symbols(f *File) []symbol {
	var list []symbol
	for _, d := range slices.Concat(f.Params, f.Vars) {
		list = append(list, symbol{d.Name, d.Line})
	}
	for _, r := range f.bodies() {
		list = append(list, symbol{r.Name, r.Line})
	}
	return list
}

func (s *scope) all() {
	for _, list := range [][]*Decl{s.file.Params, s.file.Vars, s.file.Outputs} {
		for _, d := range list {
			s.see(d.Value)
		}
	}
	for _, b := range s.file.bodies() {
		if b.Loop != nil {
			s.see(b.Loop)
			continue
		}
		s.see(b.Condition)
		s.see(b.Object)
	}
}

func (s *scope) see(e *Expr) {
	if e == nil {
		return
	}
	switch e.Kind {
	case Name:
		s.name(e)
	case Call:
		if !slices.Contains(functions, e.Text) {
			s.found.add(s.file, e.Line, "function %s is not known", e.Text)
		}
	case For:
		s.see(e.Items[0])
		s.with(e.Names).see(e.Items[1])
		return
	case Lambda:
		s.with(e.Names).see(e.Items[0])
		return
	}
	for _, item := range e.Items {
		s.see(item)
	}
}

func (s *scope) with(names []string) *scope {
	inner := *s
	inner.local = slices.Concat(s.local, names)
	return &inner
}

func (s *scope) name(e *Expr) {
	if slices.Contains(s.local, e.Text) {
		return
	}
	s.used[e.Text] = true
	if !slices.ContainsFunc(symbols(s.file), func(d symbol) bool { return d.name == e.Text }) {
		s.found.add(s.file, e.Line, "%s is not declared", e.Text)
	}
}

var (
	secretName     = regexp.MustCompile(`(?i)(secret|password|sharedkey|accountkey|accesskey|primarykey|connectionstring|sastoken)`)
	secretProperty = regexp.MustCompile(`(?i)^(secrets?|secretRef|password|passwordSecretRef|sharedKey|accountKey|connectionString|workspaceKey)$`)
	secretCall     = regexp.MustCompile(`^(list[A-Z]\w*|getSecret)$`)
)

// secrets: there are none, so nothing can leak (C44).
func secrets(b *Bundle) []Problem {
	var found finding
	for _, f := range slices.Concat(b.Templates(), b.Parameters()) {
		for _, d := range slices.Concat(f.Params, f.Vars, f.Outputs) {
			if secretName.MatchString(d.Name) || d.Decorators["secure"] != nil {
				found.add(f, d.Line, "%s is a secret by its name or decorator: use an identity", d.Name)
			}
		}
		f.Exprs(func(e *Expr) {
			if (e.Kind == Call || e.Kind == Method) && secretCall.MatchString(e.Text) {
				found.add(f, e.Line, "%s reads a secret: use an identity", e.Text)
			}
			for _, key := range e.Keys {
				if secretProperty.MatchString(key) {
					found.add(f, e.Line, "property %s takes a secret: use an identity", key)
				}
			}
		})
	}
	return found
}
