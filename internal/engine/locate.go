package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"rsmsjob/internal/reason"
)

// notThere says that no file of a name was found.
type notThere struct {
	name   string
	looked []string // the names that were looked for
	dir    string   // where
}

// Error says what was looked for, where, and what is there instead.
func (e *notThere) Error() string {
	return fmt.Sprintf("%s was not found; looked for %s in any case in %s; there is: %s",
		shownName(e.name), strings.Join(e.looked, ", "), e.dir, there(e.dir))
}

// Unwrap gives it its reason.
func (e *notThere) Unwrap() error { return reason.New(reason.EngineMissing, "%s", e.Error()) }

// locate finds the file that a relative path below dir means: each part in any
// case, the last with or without .exe. Slashes may lean either way.
func locate(dir, name string) (string, error) {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "." })
	if len(parts) == 0 {
		return "", &notThere{name, []string{name}, dir}
	}
	for _, part := range parts[:len(parts)-1] {
		next, err := pick(dir, part, true)
		if err != nil {
			return "", err
		}
		if next == "" {
			return "", &notThere{name, []string{part + "/"}, dir}
		}
		dir = next
	}
	looked := spellings(parts[len(parts)-1])
	for _, spelling := range looked {
		if path, err := pick(dir, spelling, false); path != "" || err != nil {
			return path, err
		}
	}
	for _, spelling := range looked {
		if path, _ := pick(dir, spelling, true); path != "" {
			return "", reason.New(reason.EngineMissing, "%s is a folder; the file to start is wanted", path)
		}
	}
	return "", &notThere{name, looked, dir}
}

// spellings are the names that an executable may have, the best one first.
func spellings(name string) []string {
	stem, had := name, false
	if at := len(name) - len(".exe"); at > 0 && strings.EqualFold(name[at:], ".exe") {
		stem, had = name[:at], true
	}
	exe := stem + ".exe"
	switch {
	case had:
		exe = name
	case strings.ToUpper(stem) == stem:
		exe = stem + ".EXE"
	}
	if had || runtime.GOOS == "windows" {
		return []string{exe, stem}
	}
	return []string{stem, exe}
}

// pick returns the path of the file, or the folder, of a name in dir: the one
// that is spelt so, or else the one that differs in case, "" for none.
func pick(dir, name string, folder bool) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", &reason.Error{Code: unreadable(err), Err: err, Detail: fmt.Sprintf("folder %s cannot be read", dir)}
	}
	var found []string
	for _, e := range entries {
		if !strings.EqualFold(e.Name(), name) {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if err != nil || folder && !info.IsDir() || !folder && !info.Mode().IsRegular() {
			continue
		}
		if e.Name() == name {
			return filepath.Join(dir, name), nil
		}
		found = append(found, e.Name())
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return filepath.Join(dir, found[0]), nil
	}
	return "", reason.New(reason.EngineMissing, "%s may mean %s in %s; keep one of them", shownName(name), strings.Join(found, " or "), dir)
}

// inside sees that a path of a set does not lead out of its folder by a link: a
// set that describes itself is whole, wherever its folder is copied.
func inside(dir, path string) error {
	from, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return &reason.Error{Code: unreadable(err), Err: err, Detail: fmt.Sprintf("folder %s cannot be read", dir)}
	}
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return &reason.Error{Code: unreadable(err), Err: err, Detail: fmt.Sprintf("%s cannot be read", path)}
	}
	if rel, err := filepath.Rel(from, to); err != nil || !filepath.IsLocal(rel) {
		return reason.New(reason.EngineMissing, "%s is a link that leads out of EXE_DIR; put the file itself there", path)
	}
	return nil
}

// mostNames bounds how many names an error lists.
const mostNames = 10

// there lists what is in a folder, for an error.
func there(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "what cannot be read"
	}
	var names []string
	for i, e := range entries {
		if i == mostNames {
			names = append(names, fmt.Sprintf("and %d more", len(entries)-i))
			break
		}
		name := shownName(e.Name())
		if e.IsDir() {
			name += "/"
		} else if _, err := os.Stat(filepath.Join(dir, e.Name())); err != nil {
			name += " (a link that leads nowhere)"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// shownName is a file name that can be shown anywhere.
func shownName(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.QuoteToASCII(name)
	}
	return name
}
