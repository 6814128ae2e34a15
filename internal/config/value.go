package config

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
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

	letters = lower + upper
)

// noName says what is wrong with a name of Azure. kind may be followed by the
// greatest length, where it is not the one of Azure, or by what a guid is.
func noName(kind, value string) string {
	kind, more, _ := strings.Cut(kind, ",")
	long := 63
	if n, err := strconv.Atoi(more); err == nil {
		long = n
	}
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
			return "must be a " + cmp.Or(more, "client id") + ", 32 hexadecimal digits in five groups; a name or resource id will not do"
		}
	case "resource group":
		if !consists(value, 1, 90, letters+digits+"-_.()") || strings.HasSuffix(value, ".") {
			return "must be the name of a resource group, 1 to 90 letters, digits and -_.(), no dot last"
		}
	case "region":
		if !consists(value, 1, 60, lower+digits) {
			return "must be the short name of a region, such as eastus2"
		}
	case "image":
		if host, name, _ := strings.Cut(value, "/"); !consists(value, 1, 400, letters+digits+"-_./:@") || host == "" || name == "" || !tagged(name) {
			return "must be an image with its tag or digest, such as myregistry.azurecr.io/rsms-job-windows:1.0"
		}
	case "identity":
		if !consists(value, 1, 500, letters+digits+"-_./()") || !identityID(value) {
			return "must be the resource id of a user-assigned identity, /subscriptions/…/providers/Microsoft.ManagedIdentity/userAssignedIdentities/…"
		}
	case "https":
		if u, err := url.Parse(value); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return "must be the address of a host, such as https://management.azure.com"
		}
	case "host":
		if !consists(value, 1, 200, lower+digits+"-.") || strings.Trim(value, "-.") != value {
			return "must be the end of a host name, such as " + DefaultEndpointSuffix
		}
	}
	return ""
}

// tagged reports whether a name of an image says which one: latest is another
// one tomorrow.
func tagged(name string) bool {
	if _, digest, ok := strings.Cut(name, "@"); ok {
		return strings.HasPrefix(digest, "sha256:")
	}
	_, tag, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	return tag != "" && tag != "latest"
}

// identityID reports whether a resource id is one of a user-assigned identity.
func identityID(id string) bool {
	parts := strings.Split(strings.ToLower(id), "/")
	return len(parts) == 9 && parts[1] == "subscriptions" && parts[3] == "resourcegroups" &&
		parts[6] == "microsoft.managedidentity" && parts[7] == "userassignedidentities" && parts[8] != ""
}

// guidShape maps every hexadecimal digit to x.
func guidShape(r rune) rune {
	if strings.ContainsRune(digits+"abcdefABCDEF", r) {
		return 'x'
	}
	return r
}

// consists reports whether s has low to high bytes, all of them allowed.
func consists(s string, low, high int, allowed string) bool {
	return len(s) >= low && len(s) <= high && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(allowed, r) })
}
