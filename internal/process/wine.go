//go:build unix

package process

import (
	"regexp"
	"strconv"
	"strings"
)

// dllNotFound is what is left of STATUS_DLL_NOT_FOUND in the exit code of a
// Unix process.
const dllNotFound = 0xC0000135 & 0xff

// wineMissesLibrary reports whether Wine said that a program was not started
// for want of a library. It says so with WINEDEBUG=err+module only.
func wineMissesLibrary(code int, tail string) bool {
	return code == dllNotFound && strings.Contains(tail, "err:module:import_dll Library ")
}

// wineException is the name of the exception that ended a program under Wine,
// which says it in words; "" where none did.
func wineException(tail string) string {
	_, said, ended := strings.Cut(tail, "wine: Unhandled ")
	if !ended {
		return ""
	}
	if found := regexp.MustCompile(`^exception 0x([0-9a-f]{1,8}) `).FindStringSubmatch(said); found != nil {
		status, err := strconv.ParseUint(found[1], 16, 32)
		if err == nil {
			return exceptionName(uint32(status))
		}
	}
	for _, known := range []struct {
		words  string
		status uint32
	}{
		{"page fault", 0xC0000005},
		{"stack overflow", 0xC00000FD},
		{"division by zero", 0xC0000094},
		{"overflow", 0xC0000095},
		{"array bounds", 0xC000008C},
		{"illegal instruction", 0xC000001D},
		{"privileged instruction", 0xC0000096},
	} {
		if strings.HasPrefix(said, known.words) {
			return exceptionName(known.status)
		}
	}
	return ""
}
