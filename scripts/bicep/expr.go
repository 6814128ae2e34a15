package bicepcheck

import "strings"

// Kind says what an expression is.
type Kind int

// Kinds of expressions. What each holds is said at the fields of Expr.
const (
	Literal  Kind = iota // a number, true, false or null: Text
	String               // Text without quotes, interpolations as ${…}; Items are these
	Name                 // Text
	Object               // Keys and Items, side by side
	Array                // Items
	Call                 // Text is the function; Items are the arguments
	Method               // as Call, of an object, which comes first in Items
	Member               // Items[0].Text; Sure with an exclamation mark or a question mark
	Index                // Items[0][Items[1]]
	Ternary              // Items: condition, then, else
	Operator             // Text between Items
	For                  // Names in Items[0], each gives Items[1]
	If                   // Items: condition, then
	Lambda               // Names => Items[0]
)

// Expr is an expression of a template.
type Expr struct {
	Kind  Kind
	Text  string
	Names []string
	Keys  []string
	Items []*Expr
	Sure  bool
	Line  int    // from 1
	Src   string // as it stands in the file, spaces made single
}

// Get follows the keys of objects; nil where one is missing.
func (e *Expr) Get(path ...string) *Expr {
	for _, key := range path {
		if e == nil || e.Kind != Object {
			return nil
		}
		var found *Expr
		for i, k := range e.Keys {
			if k == key {
				found = e.Items[i]
			}
		}
		e = found
	}
	return e
}

// Is reports whether the expression is the literal, a string without quotes.
func (e *Expr) Is(literal string) bool {
	return e != nil && (e.Kind == Literal || e.Kind == String && len(e.Items) == 0) && e.Text == literal
}

// Walk calls visit for the expression and everything in it, outermost first.
func (e *Expr) Walk(visit func(*Expr)) {
	if e == nil {
		return
	}
	visit(e)
	for _, item := range e.Items {
		item.Walk(visit)
	}
}

// Root is the name that a chain of members begins with, and the members after
// it: a.b.c gives a and b, c. "" where it does not begin with a name.
func (e *Expr) Root() (name string, members []string) {
	for e != nil {
		switch e.Kind {
		case Name:
			return e.Text, members
		case Member:
			members = append([]string{e.Text}, members...)
		case Index:
		default:
			return "", nil
		}
		e = e.Items[0]
	}
	return "", nil
}

// single makes every run of spaces one space.
func single(s string) string { return strings.Join(strings.Fields(s), " ") }
