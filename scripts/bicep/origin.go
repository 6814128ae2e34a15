package bicepcheck

import "slices"

// origin is a value and the file that it is written in.
type origin struct {
	file *File
	expr *Expr
}

// origins follows a value of a file to where it comes from: through variables,
// and through parameters to every module call that passes them.
func (b *Bundle) origins(f *File, e *Expr) []origin {
	e = f.Resolve(e)
	if e == nil {
		return nil
	}
	if e.Kind != Name || f.Param(e.Text) == nil || f == b.Main() {
		return []origin{{f, e}}
	}
	var list []origin
	b.calls(func(caller *File, m *Module, of *File) {
		if of == f {
			list = append(list, b.origins(caller, m.Object.Get("params", e.Text))...)
		}
	})
	return list
}

// identities are the symbols in main whose identity a value is or holds.
func (b *Bundle) identities(f *File, e *Expr) []string {
	var list []string
	for _, o := range b.origins(f, e) {
		o.expr.Walk(func(e *Expr) {
			name, members := e.Root()
			if e.Kind == Member && len(members) > 0 && slices.Contains([]string{"id", "principalId", "clientId"}, members[len(members)-1]) && !slices.Contains(list, name) {
				list = append(list, name)
			}
		})
	}
	return list
}

// job is a job of Container Apps with its parts looked up.
type job struct {
	file     *File
	resource *Resource
	config   *Expr
}

func (b *Bundle) jobs() []job {
	var list []job
	for _, f := range b.Templates() {
		for _, r := range f.Resources {
			if r.Type == "Microsoft.App/jobs" && !r.Existing {
				list = append(list, job{f, r, f.At(r.Object, "properties", "configuration")})
			}
		}
	}
	return list
}

func (j job) get(path ...string) *Expr { return j.file.At(j.config, path...) }

// events are the jobs that a queue starts.
func (b *Bundle) events() []job {
	return slices.DeleteFunc(b.jobs(), func(j job) bool { return !j.get("triggerType").Is("Event") })
}

// settings are the variables of the container of a job by name, each with the
// file that gives its value.
func (b *Bundle) settings(j job) map[string]origin {
	list := map[string]origin{}
	containers := j.file.At(j.resource.Object, "properties", "template", "containers")
	if containers == nil || containers.Kind != Array {
		return list
	}
	for _, c := range containers.Items {
		env := j.file.At(c, "env")
		if env == nil {
			continue
		}
		for _, item := range env.Items {
			if name := item.Get("name"); name != nil {
				list[name.Text] = origin{j.file, item.Get("value")}
			}
			if item.Kind != Call || item.Text != "items" {
				continue
			}
			for _, o := range b.origins(j.file, item.Items[0]) {
				for i, key := range o.expr.Keys {
					list[key] = origin{o.file, o.expr.Items[i]}
				}
			}
		}
	}
	return list
}
