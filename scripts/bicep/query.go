package bicepcheck

import (
	"maps"
	"slices"
	"strings"
)

// A Query is what a variable named ...Query says, as Kusto. What a deployment
// gives stands in it as 0. A variable that chooses gives one for each choice.
type Query struct {
	Name, Text string
	file       *File
	line       int
}

// Queries lists those of the templates.
func (b *Bundle) Queries() []Query {
	var list []Query
	for _, f := range b.Templates() {
		for _, v := range f.Vars {
			if !strings.HasSuffix(v.Name, "Query") {
				continue
			}
			for _, text := range (wording{file: f}).texts(v.Value) {
				list = append(list, Query{v.Name, text, f, v.Line})
			}
		}
	}
	return list
}

// escapes are those of Bicep that the templates use.
var escapes = strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\n`, "\n")

// wording works out what strings say; known are the variables of functions.
type wording struct {
	file  *File
	known map[string]string
}

// texts are all that an expression can say, an array joined by lines.
func (w wording) texts(e *Expr) []string {
	switch {
	case e.Kind == Ternary:
		return slices.Concat(w.texts(e.Items[1]), w.texts(e.Items[2]))
	case e.Kind == Name && w.known[e.Text] != "":
		return []string{w.known[e.Text]}
	case e.Kind == Name && w.file.Var(e.Text) != nil:
		return w.texts(w.file.Var(e.Text).Value)
	case e.Kind == String:
		list := []string{escapes.Replace(e.Text)}
		for _, item := range e.Items {
			list = product(list, w.texts(item), func(text, part string) string {
				return strings.Replace(text, "${"+item.Src+"}", part, 1)
			})
		}
		return list
	case e.Kind == Call && e.Text == "join":
		return w.joined(e.Items[0], escapes.Replace(e.Items[1].Text))
	case e.Kind == Literal:
		return []string{e.Text}
	}
	return []string{"0"}
}

// joined are the items of an array with something between them; a map gives one.
func (w wording) joined(e *Expr, between string) []string {
	if e.Kind == Call && e.Text == "map" && e.Items[1].Kind == Lambda {
		inner := wording{w.file, maps.Clone(w.known)}
		if inner.known == nil {
			inner.known = map[string]string{}
		}
		inner.known[e.Items[1].Names[0]] = "0"
		return inner.texts(e.Items[1].Items[0])
	}
	list := []string{""}
	for i, item := range e.Items {
		list = product(list, w.texts(item), func(text, part string) string {
			if i > 0 {
				text += between
			}
			return text + part
		})
	}
	return list
}

func product(some, others []string, join func(a, b string) string) []string {
	var list []string
	for _, a := range some {
		for _, b := range others {
			list = append(list, join(a, b))
		}
	}
	return list
}
