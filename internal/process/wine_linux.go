package process

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// wineServers are the processes that the first program in a Wine prefix has
// started and all programs in it need, those of other runs too. They end by
// themselves after the last program.
func wineServers() []string {
	return []string{
		"services.exe", "winedevice.exe", "plugplay.exe", "svchost.exe", "rpcss.exe", "explorer.exe",
		"wineboot.exe", // starts the others: cut short, they would be missing
	}
}

// sharedServer reports whether a process is one of Wine's own. It goes by what
// the process is, for where it stands and in which group says nothing: an
// engine can start programs in any folder, and Wine puts those without a
// console into a session of their own.
func sharedServer(pid int) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	program, err := os.Readlink(proc + "/exe")
	if err != nil {
		return false
	}
	switch name := filepath.Base(program); {
	case name == "wineserver", name == "wineserver32", name == "wineserver64":
		return true
	case !strings.HasPrefix(name, "wine"):
		return false
	}
	line, err := os.ReadFile(proc + "/cmdline")
	if err != nil {
		return false
	}
	windows, _, _ := bytes.Cut(line, []byte{0})
	return isWineServer(string(windows))
}

// isWineServer reports whether a Windows program is one of Wine's own by the
// path that it was started by.
func isWineServer(path string) bool {
	name, ours := strings.CutPrefix(strings.ToLower(path), `c:\windows\system32\`)
	return ours && slices.Contains(wineServers(), name)
}
