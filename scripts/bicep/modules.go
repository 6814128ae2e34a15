package bicepcheck

import (
	"slices"
	"strconv"
	"strings"
)

func moduleRules() []Rule {
	return []Rule{
		{"modules used", modulesUsed}, {"module parameters", moduleParameters}, {"module outputs", moduleOutputs},
		{"maybe missing", maybeMissing}, {"parameter file", parameterFile},
	}
}

// modulesUsed: every file but main is a module of another, and every module is
// a file.
func modulesUsed(b *Bundle) []Problem {
	var found finding
	used := map[string]bool{mainPath: true}
	for _, f := range b.Templates() {
		for _, m := range f.Modules {
			used[m.Source] = true
			if b.Files[m.Source] == nil {
				found.add(f, m.Line, "there is no %s", m.Source)
			}
		}
	}
	for _, f := range b.Templates() {
		if !used[f.Path] {
			found.add(f, 1, "no file uses it as a module")
		}
	}
	return found
}

// moduleParameters: what is passed exists, and what is required is passed.
func moduleParameters(b *Bundle) []Problem {
	var found finding
	b.calls(func(f *File, m *Module, of *File) {
		passed := m.Object.Get("params")
		if passed == nil {
			passed = &Expr{Kind: Object}
		}
		for _, key := range passed.Keys {
			if of.Param(key) == nil {
				found.add(f, m.Line, "%s has no parameter %s", m.Source, key)
			}
		}
		for _, p := range of.Params {
			if p.Value == nil && !slices.Contains(passed.Keys, p.Name) {
				found.add(f, m.Line, "%s needs parameter %s", m.Source, p.Name)
			}
		}
	})
	return found
}

// calls yields the uses of modules whose file is there.
func (b *Bundle) calls(visit func(f *File, m *Module, of *File)) {
	for _, f := range b.Templates() {
		for _, m := range f.Modules {
			if of := b.Files[m.Source]; of != nil {
				visit(f, m, of)
			}
		}
	}
}

// moduleOutputs: an output that is read exists.
func moduleOutputs(b *Bundle) []Problem {
	var found finding
	for _, f := range b.Templates() {
		f.Exprs(func(e *Expr) {
			name, members := e.Root()
			m := f.Module(name)
			if m == nil || e.Kind != Member || len(members) != 2 || members[0] != "outputs" {
				return
			}
			if of := b.Files[m.Source]; of != nil && of.Output(members[1]) == nil {
				found.add(f, e.Line, "%s has no output %s", m.Source, members[1])
			}
		})
	}
	return found
}

// maybeMissing: what has a condition is read as something that may be missing,
// and only then.
func maybeMissing(b *Bundle) []Problem {
	var found finding
	for _, f := range b.Templates() {
		f.Exprs(func(e *Expr) {
			if e.Kind != Member || e.Items[0].Kind != Name || e.Text != "outputs" && e.Text != "properties" {
				return
			}
			conditional := slices.ContainsFunc(f.bodies(), func(b *Body) bool { return b.Name == e.Items[0].Text && b.Condition != nil })
			if conditional && !e.Sure {
				found.add(f, e.Line, "%s may be missing: write %s!.%s where it is not", e.Items[0].Text, e.Items[0].Text, e.Text)
			}
		})
	}
	return found
}

// parameterFile: it sets parameters that exist, once, to values they may have.
func parameterFile(b *Bundle) []Problem {
	var found finding
	for _, f := range b.Parameters() {
		of := b.Files[f.Using]
		if of == nil {
			found.add(f, 1, "it is for %q, which is not there", f.Using)
			continue
		}
		set := map[string]bool{}
		for _, d := range f.Params {
			p := of.Param(d.Name)
			switch {
			case p == nil:
				found.add(f, d.Line, "%s has no parameter %s", of.Path, d.Name)
			case set[d.Name]:
				found.add(f, d.Line, "%s is set twice", d.Name)
			default:
				if problem := unfit(p, d.Value); problem != "" {
					found.add(f, d.Line, "%s %s", d.Name, problem)
				}
			}
			set[d.Name] = true
		}
	}
	for _, f := range b.Templates() {
		for _, p := range f.Params {
			if problem := unfit(p, p.Value); p.Value != nil && problem != "" {
				found.add(f, p.Line, "%s %s by default", p.Name, problem)
			}
		}
	}
	return found
}

// unfit says why a literal is no value of the parameter, "" where it is one.
func unfit(p *Decl, value *Expr) string {
	if !plain(value) {
		return ""
	}
	if allowed := p.Decorators["allowed"]; allowed != nil {
		if !slices.ContainsFunc(allowed.Items[0].Items, func(e *Expr) bool { return e.Text == value.Text }) {
			return "is none of the values that are allowed"
		}
	}
	n := len(value.Text)
	low, high := bound(p, "minLength"), bound(p, "maxLength")
	if p.Type == "int" {
		var err error
		if n, err = strconv.Atoi(value.Text); err != nil {
			return "is no number"
		}
		low, high = bound(p, "minValue"), bound(p, "maxValue")
	}
	if low != nil && n < *low || high != nil && n > *high {
		return "is too small or too large"
	}
	return ""
}

// plain reports whether a value is a literal without interpolation.
func plain(e *Expr) bool {
	return e != nil && (e.Kind == Literal || e.Kind == String && !strings.Contains(e.Text, "${"))
}

func bound(p *Decl, decorator string) *int {
	call := p.Decorators[decorator]
	if call == nil {
		return nil
	}
	n, err := strconv.Atoi(call.Items[0].Text)
	if err != nil {
		return nil
	}
	return &n
}
