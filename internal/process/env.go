package process

import (
	"slices"
	"strings"
)

// passedOn are the variables a program needs to find its way: search path,
// temporary folder, home, character set, and what Windows programs miss first.
func passedOn() []string {
	return []string{"PATH", "HOME", "TMPDIR", "LANG", "LC_CTYPE",
		"PATHEXT", "SystemRoot", "SystemDrive", "windir", "ComSpec",
		"TEMP", "TMP", "USERPROFILE", "HOMEDRIVE", "HOMEPATH"}
}

// fixed are the same for every child: times in UTC, decimal points, and output
// that is there when the child dies.
func fixed() []string {
	return []string{"TZ=UTC", "LC_NUMERIC=C", "PYTHONUNBUFFERED=1", "GFORTRAN_UNBUFFERED_ALL=y"}
}

// MinimalEnv returns the complete environment of a child: what passedOn and
// fixed name, then the extra entries. An extra NAME is passed on where lookup
// has it, an extra NAME=value is set; a later entry replaces an earlier one.
// Nothing else gets through.
func MinimalEnv(lookup func(name string) (string, bool), extra ...string) []string {
	var env []string
	for _, name := range passedOn() {
		if value, ok := lookup(name); ok {
			env = set(env, name, value)
		}
	}
	// LC_ALL would override the decimal point, so it only gives the character
	// set, which is what it is needed for.
	if value, ok := lookup("LC_ALL"); ok && value != "" {
		env = set(env, "LC_CTYPE", value)
	}
	// Wine takes a folder with an accent in its name for another one without.
	if !slices.ContainsFunc(env, saysCharacterSet) {
		env = set(env, "LC_CTYPE", "C.UTF-8")
	}
	for _, entry := range append(fixed(), extra...) {
		name, value, isSet := strings.Cut(entry, "=")
		if !isSet {
			value, isSet = lookup(name)
		}
		if isSet && name != "" {
			env = set(env, name, value)
		}
	}
	return env
}

// saysCharacterSet reports whether an entry gives the character set.
func saysCharacterSet(entry string) bool {
	name, value, _ := strings.Cut(entry, "=")
	return (name == "LANG" || name == "LC_CTYPE") && value != ""
}

func set(env []string, name, value string) []string {
	for i, entry := range env {
		if strings.HasPrefix(entry, name+"=") {
			env[i] = name + "=" + value
			return env
		}
	}
	return append(env, name+"="+value)
}
