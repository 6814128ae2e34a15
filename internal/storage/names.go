package storage

import (
	"fmt"
	"strings"

	"rsmsjob/internal/reason"
)

// Names of the contract, section 2, and of the files of a basin or a result.
// The store holds every id to what each system can keep as a file name, so
// that a folder can be moved from one to another.
const (
	maxIDLength   = 63  // of a basin or a scenario
	maxJobLength  = 64  // of a job id
	maxNameLength = 128 // of one part of a file name
	maxNameDepth  = 8   // parts of a result name
)

// tempPrefix and lockPrefix begin the names of files that are the store's own.
const (
	tempPrefix = ".tmp-"
	lockPrefix = ".lock-"
)

func checkIDs(basin, scenario string) error {
	if err := checkID("riverbasin_id", basin); err != nil {
		return err
	}
	return checkID("scenario_id", scenario)
}

// checkID returns a fault when id is not ^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$,
// has two dots in a row, or cannot be a file name everywhere.
func checkID(field, id string) error {
	if len(id) < 1 || len(id) > maxIDLength || !alphanumeric(id[0]) || !only(id, "._-") || strings.Contains(id, "..") {
		return &reason.Fault{Field: field, Problem: "not an id", Text: id,
			Hint: fmt.Sprintf("an id has 1 to %d letters, digits, dots, hyphens and underscores, begins with a letter or digit and has no two dots in a row", maxIDLength)}
	}
	return checkPortable(field, id)
}

// checkJobID returns a fault when id is not ^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$.
func checkJobID(id string) error {
	if len(id) < 1 || len(id) > maxJobLength || !alphanumeric(id[0]) || !only(id, "_-") {
		return &reason.Fault{Field: "job_id", Problem: "not a job id", Text: id}
	}
	return nil
}

// checkName returns a fault when name is not one or more parts of letters,
// digits, dots, hyphens and underscores, separated by slashes, or when a part
// is a name of the store's own or cannot be a file name everywhere.
func checkName(name string) error {
	parts := strings.Split(name, "/")
	if len(parts) > maxNameDepth {
		return &reason.Fault{Field: "name", Problem: "too many folders in a file name", Text: name}
	}
	for _, part := range parts {
		if len(part) < 1 || len(part) > maxNameLength || !only(part, "._-") || strings.Contains(part, "..") ||
			strings.HasPrefix(part, tempPrefix) || strings.HasPrefix(part, lockPrefix) {
			return &reason.Fault{Field: "name", Problem: "not a file name of the store", Text: name}
		}
		if err := checkPortable("name", part); err != nil {
			return err
		}
	}
	return nil
}

// checkPortable returns a fault for a name that Windows takes for a device or
// shortens by its last dot.
func checkPortable(field, name string) error {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	device := false
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		device = true
	default:
		if len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")) {
			device = stem[3] >= '0' && stem[3] <= '9'
		}
	}
	if device || strings.HasSuffix(name, ".") {
		return &reason.Fault{Field: field, Problem: "a name that Windows keeps for itself or cannot hold", Text: name,
			Hint: "a folder store takes no device names such as CON or NUL and no dot at the end"}
	}
	return nil
}

// checkColumnName returns a fault for a name that no table takes, be it in a
// folder or in the service.
func checkColumnName(name string) error {
	letter := name != "" && alphanumeric(name[0]) && (name[0] < '0' || name[0] > '9')
	if !letter || !only(name, "_") || len(name) > maxColumnName {
		return &reason.Fault{Field: "column", Problem: "not a column name of a table", Text: name,
			Hint: "a letter and then letters, digits and underscores, 255 at most"}
	}
	if name == partitionColumn || name == rowColumn || name == changeColumn {
		return &reason.Fault{Field: name, Problem: "a column that the table service keeps for itself"}
	}
	return nil
}

// only reports whether s has nothing but ASCII letters, digits and others.
func only(s, others string) bool {
	for i := range len(s) {
		if !alphanumeric(s[i]) && strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
