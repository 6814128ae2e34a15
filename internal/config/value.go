package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// wrong says what is wrong with the value of one variable by itself, "" for
// nothing.
func wrong(f reflect.StructField, name, value string) string {
	var one Config
	err := process(&one, func(n string) string {
		if n == name {
			return value
		}
		return ""
	})
	if err != nil {
		return "has the wrong form: " + wanted(f.Type.Kind())
	}
	v := reflect.ValueOf(one).FieldByIndex(f.Index)
	switch {
	case f.Tag.Get("oneof") != "":
		return noWord(f.Tag.Get("oneof"), v.String())
	case f.Tag.Get("range") != "":
		return outside(f.Tag.Get("range"), v)
	case f.Tag.Get("name") != "" && v.String() != "":
		return noName(f.Tag.Get("name"), v.String())
	case name == connectionString && one.ConnectionString != "":
		if _, err := ParseConnection(one.ConnectionString.Reveal()); err != nil {
			return err.Error()
		}
	}
	return ""
}

// wanted says what a variable of a kind takes.
func wanted(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false is wanted"
	case reflect.Int:
		return "a whole number is wanted"
	}
	return "a number is wanted"
}

func noWord(words, value string) string {
	for w := range strings.FieldsSeq(words) {
		if strings.EqualFold(value, w) {
			return ""
		}
	}
	return "must be one of " + strings.ReplaceAll(words, " ", ", ")
}

func outside(bounds string, v reflect.Value) string {
	low, high, _ := strings.Cut(bounds, ",")
	lo, _ := strconv.ParseFloat(low, 64)
	hi, _ := strconv.ParseFloat(high, 64)
	var x float64
	if v.CanInt() {
		x = float64(v.Int())
	} else {
		x = v.Float()
	}
	if math.IsNaN(x) || x < lo || x > hi {
		return "must be from " + low + " to " + high
	}
	return ""
}

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// noName says what is wrong with a name of Azure. kind may be followed by the
// greatest length, where it is not the one of Azure.
func noName(kind, value string) string {
	kind, most, _ := strings.Cut(kind, ",")
	if most == "" {
		most = "63"
	}
	long, _ := strconv.Atoi(most)
	switch kind {
	case "queue", "container":
		if !consists(value, 3, long, lower+digits+"-") || strings.HasPrefix(value, "-") || strings.HasSuffix(value, "-") || strings.Contains(value, "--") {
			return fmt.Sprintf("must be 3 to %d lowercase letters, digits and single hyphens, no hyphen first or last", long)
		}
	case "table":
		if !consists(value, 3, long, lower+upper+digits) || strings.Contains(digits, value[:1]) {
			return fmt.Sprintf("must be 3 to %d letters and digits, a letter first", long)
		}
		if strings.EqualFold(value, "tables") {
			return "must not be tables, a name that Azure keeps for itself"
		}
	case "account":
		if !consists(value, 3, 24, lower+digits) {
			return "must be the name of a storage account, 3 to 24 lowercase letters and digits"
		}
	case "guid":
		if len(value) != 36 || strings.Contains(value, "x") || strings.Map(guidShape, value) != "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" {
			return "must be a client id, 32 hexadecimal digits in five groups; the name or resource id of the identity will not do"
		}
	case "host":
		if !consists(value, 1, 200, lower+digits+"-.") || strings.Trim(value, "-.") != value {
			return "must be the end of a host name, such as " + DefaultEndpointSuffix
		}
	}
	return ""
}

// guidShape maps every hexadecimal digit to x.
func guidShape(r rune) rune {
	if strings.ContainsRune(digits+"abcdefABCDEF", r) {
		return 'x'
	}
	return r
}

// consists reports whether s has low to high bytes, all of them of letters.
func consists(s string, low, high int, letters string) bool {
	return len(s) >= low && len(s) <= high && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(letters, r) })
}
