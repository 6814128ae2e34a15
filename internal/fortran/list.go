package fortran

import (
	"rsmsjob/internal/reason"
)

// List yields the list-directed items of one line from left to right: items
// stand between blanks or single commas, n*value is n times the value, a slash
// ends the line. An item left out (two commas) is a fault: Fortran would keep
// what the variable held before.
type List struct {
	reader *Reader
	next   int // byte index of the first byte not consumed
	column int // 1-based byte column of the current item

	item   []byte
	repeat int // how many more times item stands
	word   string
}

// List starts reading the current line at the byte column from (1-based). The
// value returned is the Reader's own and holds until the next List or Next.
func (r *Reader) List(from int) *List {
	r.list = List{reader: r, next: max(from, 1) - 1, word: r.list.word}
	return &r.list
}

// More reports whether another item stands before the end.
func (l *List) More() bool {
	if l.repeat > 0 {
		return true
	}
	text := l.reader.text
	i := l.skipBlanks()
	return i < len(text) && text[i] != '/'
}

// Column returns the byte column of the item read last.
func (l *List) Column() int { return l.column }

// Int reads the next item as a whole number. A fault names file, line, column
// of the item and name.
func (l *List) Int(name string) (int, error) {
	item, err := l.number(name)
	if err != nil {
		return 0, err
	}
	n, err := ParseInt(item)
	if err != nil {
		return 0, l.reader.place(err, l.column, name)
	}
	return n, nil
}

// Float reads the next item as a real number. A fault names file, line, column
// of the item and name.
func (l *List) Float(name string) (float64, error) {
	item, err := l.number(name)
	if err != nil {
		return 0, err
	}
	v, err := ParseFloat(item)
	if err != nil {
		return 0, l.reader.place(err, l.column, name)
	}
	return v, nil
}

// Word reads the next item as it stands, up to a blank or comma; a star or a
// slash inside has no meaning. A word equal to the one before it is not
// allocated again.
func (l *List) Word(name string) (string, error) {
	if l.repeat == 0 {
		if !l.More() {
			return "", l.missing(name)
		}
		if err := l.token(name, false); err != nil {
			return "", err
		}
	}
	l.repeat = max(l.repeat-1, 0)
	if string(l.item) != l.word {
		l.word = string(l.item)
	}
	return l.word, nil
}

// number returns the text of the next item, its repeat count taken off.
func (l *List) number(name string) ([]byte, error) {
	if l.repeat > 0 {
		l.repeat--
		return l.item, nil
	}
	if !l.More() {
		return nil, l.missing(name)
	}
	if err := l.token(name, true); err != nil {
		return nil, err
	}
	for i, c := range l.item {
		if !isDigit(c) {
			if c != '*' || i == 0 {
				break
			}
			return l.repeated(i, name)
		}
	}
	return l.item, nil
}

// repeated splits the current item n*value at its star.
func (l *List) repeated(star int, name string) ([]byte, error) {
	n, err := ParseInt(l.item[:star])
	if err != nil {
		return nil, l.reader.place(err, l.column, name)
	}
	value := l.item[star+1:]
	if n == 0 || len(value) == 0 {
		return nil, l.reader.Fault(l.column, name, "a repeat count without a value", string(l.item))
	}
	l.item, l.repeat = value, n-1
	l.column += star + 1
	return l.item, nil
}

// token consumes one item and the separator behind it.
func (l *List) token(name string, slashEnds bool) error {
	text := l.reader.text
	start := l.skipBlanks()
	end := start
	for end < len(text) && !blank(text[end]) && text[end] != ',' && !(slashEnds && text[end] == '/') {
		end++
	}
	l.column, l.item, l.next = start+1, text[start:end], end
	if start == end { // a comma with nothing before it
		l.next = end + 1
		return l.reader.Fault(l.column, name, "an item is left out", "")
	}
	if i := l.skipBlanks(); i < len(text) && text[i] == ',' {
		l.next = i + 1
	}
	return nil
}

func (l *List) skipBlanks() int {
	text := l.reader.text
	i := l.next
	for i < len(text) && blank(text[i]) {
		i++
	}
	return i
}

func (l *List) missing(name string) *reason.Fault {
	column := len(l.reader.text) + 1
	return l.reader.Fault(column, name, "the line ends before this item", "")
}
