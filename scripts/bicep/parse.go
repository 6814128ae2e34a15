package bicepcheck

import (
	"path"
	"regexp"
	"strings"

	bicep "github.com/tree-sitter-grammars/tree-sitter-bicep/bindings/go"
	ts "github.com/tree-sitter/go-tree-sitter"
)

// assignment is a parameter of a parameter file. The grammar wants a type
// there, so it is shown variables instead, of the same length.
var assignment = regexp.MustCompile(`(?m)^param(\s+\w+\s*=)`)

// Parse reads one file. Problems are of its syntax, with rule "syntax".
func Parse(name string, src []byte) (*File, []Problem) {
	assigns := strings.HasSuffix(name, ".bicepparam")
	if assigns {
		src = assignment.ReplaceAll(src, []byte("var  $1"))
	}
	parser := ts.NewParser()
	defer parser.Close()
	if err := parser.SetLanguage(ts.NewLanguage(bicep.Language())); err != nil {
		return nil, []Problem{{"syntax", name, 1, "the grammar does not fit the parser: " + err.Error()}}
	}
	tree := parser.Parse(src, nil)
	defer tree.Close()
	r := &reader{file: &File{Path: name}, src: src}
	r.errors(tree.RootNode())
	if len(r.problems) == 0 {
		r.statements(tree.RootNode())
	}
	if assigns {
		r.file.Params, r.file.Vars = r.file.Vars, nil
	}
	return r.file, r.problems
}

// reader turns the tree of one file into declarations.
type reader struct {
	file     *File
	src      []byte
	problems []Problem
}

func (r *reader) errors(n *ts.Node) {
	if n.IsError() || n.IsMissing() {
		r.problems = append(r.problems, Problem{"syntax", r.file.Path, line(n), "this is not Bicep: " + single(n.Utf8Text(r.src))})
		return
	}
	for _, c := range children(n) {
		r.errors(c)
	}
}

func line(n *ts.Node) int { return int(n.StartPosition().Row) + 1 }

func children(n *ts.Node) []*ts.Node {
	list := make([]*ts.Node, n.ChildCount())
	for i := range list {
		list[i] = n.Child(uint(i))
	}
	return list
}

// parts are the children that are not punctuation, words of the language or
// comments.
func parts(n *ts.Node) []*ts.Node {
	var list []*ts.Node
	for _, c := range children(n) {
		if c.IsNamed() && c.Kind() != "comment" && c.Kind() != "diagnostic_comment" {
			list = append(list, c)
		}
	}
	return list
}

func (r *reader) text(n *ts.Node) string { return n.Utf8Text(r.src) }

func (r *reader) statements(root *ts.Node) {
	decorators := map[string]*Expr{}
	for _, n := range parts(root) {
		if n.Kind() == "decorators" {
			for _, d := range parts(n) {
				call := r.expr(parts(d)[0])
				decorators[call.Text] = call
			}
			continue
		}
		r.statement(n, decorators)
		decorators = map[string]*Expr{}
	}
}

func (r *reader) statement(n *ts.Node, decorators map[string]*Expr) {
	p := parts(n)
	d := &Decl{Line: line(n), Decorators: decorators}
	switch n.Kind() {
	case "using_statement":
		r.file.Using = r.expr(p[0]).Text
	case "parameter_declaration":
		d.Name, d.Type = r.text(p[0]), r.text(p[1])
		if len(p) > 2 {
			d.Value = r.expr(p[2])
		}
		r.file.Params = append(r.file.Params, d)
	case "variable_declaration":
		d.Name, d.Value = r.text(p[0]), r.expr(p[1])
		r.file.Vars = append(r.file.Vars, d)
	case "output_declaration":
		d.Name, d.Type, d.Value = r.text(p[0]), r.text(p[1]), r.expr(p[2])
		r.file.Outputs = append(r.file.Outputs, d)
	case "resource_declaration":
		kind, version, _ := strings.Cut(r.expr(p[1]).Text, "@")
		r.file.Resources = append(r.file.Resources, &Resource{Body: r.body(p), Type: kind, Version: version, Existing: r.has(n, "existing")})
	case "module_declaration":
		r.file.Modules = append(r.file.Modules, &Module{Body: r.body(p), Source: path.Join(path.Dir(r.file.Path), r.expr(p[1]).Text)})
	case "metadata_declaration", "target_scope_assignment":
	default:
		r.problems = append(r.problems, Problem{"syntax", r.file.Path, line(n), "these checks do not know " + n.Kind()})
	}
}

func (r *reader) has(n *ts.Node, word string) bool {
	for _, c := range children(n) {
		if c.Kind() == word {
			return true
		}
	}
	return false
}

// body takes loop and condition off the object of a resource or module.
func (r *reader) body(p []*ts.Node) Body {
	b := Body{Name: r.text(p[0]), Object: r.expr(p[2]), Line: line(p[0])}
	if b.Object.Kind == For {
		b.Loop, b.Object = b.Object, b.Object.Items[1]
	}
	if b.Object.Kind == If {
		b.Condition, b.Object = b.Object.Items[0], b.Object.Items[1]
	}
	return b
}
