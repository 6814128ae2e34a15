package bicepcheck

import (
	"strings"

	ts "github.com/tree-sitter/go-tree-sitter"
)

// expr turns a node of the tree into an expression.
func (r *reader) expr(n *ts.Node) *Expr {
	p := parts(n)
	e := &Expr{Line: line(n), Src: single(r.text(n))}
	switch n.Kind() {
	case "string":
		e.Kind, e.Text = String, strings.Trim(r.text(n), "'")
		for _, c := range p {
			if c.Kind() == "interpolation" {
				e.Items = append(e.Items, r.expr(parts(c)[0]))
			}
		}
	case "number", "boolean", "null":
		e.Kind, e.Text = Literal, r.text(n)
	case "identifier", "property_identifier", "primitive_type":
		e.Kind, e.Text = Name, r.text(n)
	case "parenthesized_expression":
		return r.expr(p[0])
	case "object":
		r.object(e, p)
	case "array":
		e.Kind, e.Items = Array, r.exprs(p)
	case "call_expression":
		r.call(e, n)
	case "member_expression":
		e.Kind, e.Items, e.Text = Member, r.exprs(p[:1]), r.text(p[1])
		e.Sure = r.has(n, "!") || r.has(n, ".?")
	case "subscript_expression":
		e.Kind, e.Items = Index, r.exprs(p)
	case "ternary_expression":
		e.Kind, e.Items = Ternary, r.exprs(p)
	case "binary_expression", "unary_expression":
		e.Kind, e.Text, e.Items = Operator, r.text(n.ChildByFieldName("operator")), r.exprs(p)
	case "for_statement":
		r.loop(e, n, p)
	case "if_statement":
		e.Kind, e.Items = If, r.exprs(p)
	case "lambda_expression":
		e.Kind, e.Items = Lambda, r.exprs(p[1:])
		for _, name := range leaves(p[0], "identifier") {
			e.Names = append(e.Names, r.text(name))
		}
	default:
		r.problems = append(r.problems, Problem{"syntax", r.file.Path, line(n), "these checks do not know " + n.Kind() + ": " + e.Src})
	}
	return e
}

func (r *reader) exprs(nodes []*ts.Node) []*Expr {
	var list []*Expr
	for _, n := range nodes {
		list = append(list, r.expr(n))
	}
	return list
}

func (r *reader) object(e *Expr, properties []*ts.Node) {
	e.Kind = Object
	for _, property := range properties {
		p := parts(property)
		if len(p) != 2 {
			r.problems = append(r.problems, Problem{"syntax", r.file.Path, line(property), "these checks do not know this property: " + single(r.text(property))})
			continue
		}
		key := strings.Trim(r.text(p[0]), "'")
		if k := r.expr(p[0]); k.Kind == String && len(k.Items) > 0 {
			// Interpolated keys have names in them as well.
			e.Keys, e.Items = append(e.Keys, key), append(e.Items, &Expr{Kind: Array, Items: []*Expr{k, r.expr(p[1])}, Line: k.Line, Src: e.Src})
			continue
		}
		e.Keys, e.Items = append(e.Keys, key), append(e.Items, r.expr(p[1]))
	}
}

func (r *reader) call(e *Expr, n *ts.Node) {
	function, arguments := n.ChildByFieldName("function"), n.ChildByFieldName("arguments")
	e.Kind, e.Text = Call, r.text(function)
	if function.Kind() == "member_expression" {
		p := parts(function)
		e.Kind, e.Text, e.Items = Method, r.text(p[1]), r.exprs(p[:1])
	}
	e.Items = append(e.Items, r.exprs(parts(arguments))...)
}

func (r *reader) loop(e *Expr, n *ts.Node, p []*ts.Node) {
	e.Kind = For
	for _, name := range parts(p[0]) {
		e.Names = append(e.Names, r.text(name))
	}
	if len(e.Names) == 0 {
		e.Names = []string{r.text(p[0])}
	}
	e.Items = r.exprs(p[1:])
}

// leaves are the nodes of a kind in n, itself included.
func leaves(n *ts.Node, kind string) []*ts.Node {
	if n.Kind() == kind {
		return []*ts.Node{n}
	}
	var list []*ts.Node
	for _, c := range parts(n) {
		list = append(list, leaves(c, kind)...)
	}
	return list
}
