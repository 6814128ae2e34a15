package storage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/river"
)

// Limits of the table service.
const (
	maxTextUnits   = 32_768  // of a string, UTF-16 units
	maxEntitySize  = 1 << 20 // of a row, bytes as the service counts them
	maxColumnName  = 255     // characters
	maxColumnCount = 252     // besides the keys and the time of change
)

// Columns that the service keeps for itself.
const (
	partitionColumn = "PartitionKey"
	rowColumn       = "RowKey"
	changeColumn    = "Timestamp"
)

// typeSuffix behind the name of a column names the type of its value.
const typeSuffix = "@odata.type"

// Types that the JSON of a value does not show. A number without one is an
// Int32 if it is whole (C81).
const (
	typeDouble = "Edm.Double"
	typeInt64  = "Edm.Int64"
	typeTime   = "Edm.DateTime"
)

// entity is a row in the JSON of the table service: columns and, under their
// names with typeSuffix, their types.
type entity map[string]any

func newEntity(partition, row string) entity {
	return entity{partitionColumn: partition, rowColumn: row}
}

// decodeEntity reads a row as the service sends it, with all metadata. It keeps
// the columns and the type of each, so that they can be written back as they
// were; what the service adds by itself is left out.
func decodeEntity(text []byte) (entity, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var e entity
	if err := dec.Decode(&e); err != nil {
		return nil, err
	}
	for name, value := range e {
		column := strings.TrimSuffix(name, typeSuffix)
		if strings.HasPrefix(name, "odata.") || column == changeColumn || value == nil {
			e.remove(name)
			continue
		}
		number, ok := value.(json.Number)
		if _, typed := e[name+typeSuffix]; ok && !typed && strings.ContainsAny(number.String(), ".eE") {
			e[name+typeSuffix] = typeDouble // 3.0 must not become 3, an Int32
		}
	}
	return e, nil
}

// columns returns the columns without the keys, as Scenario does.
func (e entity) columns() map[string]any {
	columns := make(map[string]any, len(e))
	for name, value := range e {
		if name != partitionColumn && name != rowColumn && !strings.HasSuffix(name, typeSuffix) {
			columns[name] = e.plain(name, value)
		}
	}
	return columns
}

// plain is a value without what only the service's JSON needs: numbers are
// json.Number, times are RFC 3339 text in UTC.
func (e entity) plain(name string, value any) any {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	switch e[name+typeSuffix] {
	case typeInt64:
		if isText {
			return json.Number(text)
		}
	case typeTime:
		if at, err := time.Parse(time.RFC3339Nano, text); isText && err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	case typeDouble:
		// 48.0 and 48 are one number and must give one run key.
		if x, err := number.Float64(); isNumber && err == nil {
			return json.Number(encodeDouble(x))
		}
	}
	return value
}

// has reports whether the row has a column of that name.
func (e entity) has(name string) bool {
	_, ok := e[name]
	return ok
}

// remove takes a column out of the row.
func (e entity) remove(name string) {
	delete(e, name)
	delete(e, name+typeSuffix)
}

// merge takes over the columns of changes.
func (e entity) merge(changes entity) {
	for name := range changes {
		if !strings.HasSuffix(name, typeSuffix) {
			e.remove(name)
		}
	}
	maps.Copy(e, changes)
}

// setAll sets columns of the types that MergeScenario takes; nil ones are left
// out. A column that no table can hold is a *reason.Fault.
func (e entity) setAll(columns map[string]any) error {
	if _, err := encodeColumns(columns); err != nil {
		return err
	}
	for name, value := range columns {
		if value == nil {
			continue
		}
		if problem := e.set(name, value); problem != "" {
			return &reason.Fault{Field: name, Problem: problem}
		}
	}
	return nil
}

// set sets one column and returns what is wrong with the value, "" for nothing.
func (e entity) set(name string, value any) (problem string) {
	e.remove(name)
	switch v := value.(type) {
	case bool:
		e[name] = v
	case string:
		if units := textUnits(v); units > maxTextUnits {
			return fmt.Sprintf("text of %d UTF-16 units is longer than the %d of a table column", units, maxTextUnits)
		}
		e[name] = v
	case int:
		e.setInteger(name, int64(v))
	case int64:
		e.setInteger(name, v)
	case float64:
		return e.setDouble(name, v)
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil && !doubleColumn(name) {
			e.setInteger(name, n)
			break
		}
		x, err := v.Float64()
		if err != nil {
			return "number beyond the range of a table column"
		}
		return e.setDouble(name, x)
	case time.Time:
		at := v.UTC()
		if at.Year() < 1601 || at.Year() > 9999 {
			return "year is not from 1601 to 9999"
		}
		// The service keeps 100 ns.
		e[name], e[name+typeSuffix] = at.Format("2006-01-02T15:04:05.0000000Z"), typeTime
	default:
		return "a value that no column can hold"
	}
	return ""
}

func (e entity) setInteger(name string, n int64) {
	switch {
	case doubleColumn(name):
		e.setDouble(name, float64(n))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		e[name] = json.Number(strconv.FormatInt(n, 10))
	default:
		e[name], e[name+typeSuffix] = strconv.FormatInt(n, 10), typeInt64
	}
}

func (e entity) setDouble(name string, x float64) (problem string) {
	if !finite(x) {
		return "not a finite number"
	}
	e[name], e[name+typeSuffix] = json.Number(encodeDouble(x)), typeDouble
	return ""
}

func encodeDouble(x float64) string {
	text, _ := json.Marshal(x) // finite
	return string(text)
}

// doubleColumn reports whether every number of the column is a double, so that
// its type does not change with its value. All numbers that a scenario gives
// are doubles by the contract.
func doubleColumn(name string) bool {
	return name == "Progress" || slices.Contains(river.ScenarioColumns(), name)
}

// encode returns the JSON of the row that what names; a *reason.Fault when the
// service cannot hold as much.
func (e entity) encode(what string) ([]byte, error) {
	columns := 0
	size := 4
	for name, value := range e {
		if strings.HasSuffix(name, typeSuffix) {
			continue
		}
		columns++
		size += 8 + 2*len(name) + 8
		if text, ok := value.(string); ok {
			size += 2 * textUnits(text)
		}
	}
	if columns > maxColumnCount+2 || size > maxEntitySize {
		return nil, rowTooLarge(what)
	}
	return json.Marshal(e)
}

func rowTooLarge(what string) error {
	return &reason.Fault{File: what, Problem: fmt.Sprintf("row is larger than the %d columns and %d bytes of a table", maxColumnCount, maxEntitySize)}
}

// textUnits is the length of a text in UTF-16 units.
func textUnits(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// cutText cuts a text into pieces of at most so many UTF-16 units, at least
// one, and never inside a character.
func cutText(s string, units int) []string {
	var pieces []string
	begin, n := 0, 0
	for i, r := range s {
		if n += utf16.RuneLen(r); n > units {
			pieces = append(pieces, s[begin:i])
			begin, n = i, utf16.RuneLen(r)
		}
	}
	return append(pieces, s[begin:])
}
