package bicepcheck

import (
	"fmt"
	"slices"
)

// File is one template or parameter file.
type File struct {
	Path      string
	Using     string // of a parameter file
	Params    []*Decl
	Vars      []*Decl
	Resources []*Resource
	Modules   []*Module
	Outputs   []*Decl
}

// Decl is a parameter, a variable or an output.
type Decl struct {
	Name       string
	Type       string
	Value      *Expr // of a parameter: the default, nil where it is required
	Decorators map[string]*Expr
	Line       int
}

// Body is what resources and modules have in common.
type Body struct {
	Name      string
	Object    *Expr
	Condition *Expr // nil = always
	Loop      *Expr // the For around it; nil = one
	Line      int
}

// Resource is a resource; Existing = it is only looked at.
type Resource struct {
	Body
	Type, Version string
	Existing      bool
}

// Module is the use of another file; Source is its path from the root.
type Module struct {
	Body
	Source string
}

// Problem is a rule that is broken somewhere.
type Problem struct {
	Rule string
	Path string
	Line int
	Text string
}

func (p Problem) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", p.Path, p.Line, p.Rule, p.Text)
}

// Var returns the variable of a name; nil where there is none.
func (f *File) Var(name string) *Decl { return named(f.Vars, name) }

// Param returns the parameter of a name; nil where there is none.
func (f *File) Param(name string) *Decl { return named(f.Params, name) }

// Output returns the output of a name; nil where there is none.
func (f *File) Output(name string) *Decl { return named(f.Outputs, name) }

func named(list []*Decl, name string) *Decl {
	if i := slices.IndexFunc(list, func(d *Decl) bool { return d.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// Resource returns the resource of a name; nil where there is none.
func (f *File) Resource(name string) *Resource {
	if i := slices.IndexFunc(f.Resources, func(r *Resource) bool { return r.Name == name }); i >= 0 {
		return f.Resources[i]
	}
	return nil
}

// Module returns the module of a name; nil where there is none.
func (f *File) Module(name string) *Module {
	if i := slices.IndexFunc(f.Modules, func(m *Module) bool { return m.Name == name }); i >= 0 {
		return f.Modules[i]
	}
	return nil
}

// Exprs yields every expression of the file.
func (f *File) Exprs(visit func(*Expr)) {
	for _, list := range [][]*Decl{f.Params, f.Vars, f.Outputs} {
		for _, d := range list {
			d.Value.Walk(visit)
		}
	}
	for _, b := range f.bodies() {
		b.Walk(visit)
	}
}

// Walk calls visit for everything in the body, loop and condition included.
func (b *Body) Walk(visit func(*Expr)) {
	if b.Loop != nil {
		b.Loop.Walk(visit)
		return
	}
	b.Condition.Walk(visit)
	b.Object.Walk(visit)
}

func (f *File) bodies() []*Body {
	var list []*Body
	for _, r := range f.Resources {
		list = append(list, &r.Body)
	}
	for _, m := range f.Modules {
		list = append(list, &m.Body)
	}
	return list
}

// Resolve follows names of variables, and joins the objects of union: what is
// left is an object, or an expression that is none. Of a choice it takes both
// sides, as one object.
func (f *File) Resolve(e *Expr) *Expr {
	switch {
	case e == nil:
		return nil
	case e.Kind == Name:
		if v := f.Var(e.Text); v != nil {
			return f.Resolve(v.Value)
		}
	case e.Kind == Call && e.Text == "union":
		return f.join(e, e.Items)
	case e.Kind == Ternary:
		a, b := f.Resolve(e.Items[1]), f.Resolve(e.Items[2])
		if a != nil && b != nil && a.Kind == Object && b.Kind == Object {
			return f.join(e, []*Expr{a, b})
		}
	}
	return e
}

func (f *File) join(at *Expr, parts []*Expr) *Expr {
	all := &Expr{Kind: Object, Line: at.Line, Src: at.Src}
	for _, part := range parts {
		if o := f.Resolve(part); o != nil && o.Kind == Object {
			all.Keys = append(all.Keys, o.Keys...)
			all.Items = append(all.Items, o.Items...)
		}
	}
	return all
}

// At resolves the expression, then the one that each key leads to.
func (f *File) At(e *Expr, path ...string) *Expr {
	e = f.Resolve(e)
	for _, key := range path {
		e = f.Resolve(e.Get(key))
	}
	return e
}
