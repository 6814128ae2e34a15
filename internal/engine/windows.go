package engine

import (
	"debug/pe"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// programProblem says why a file is nothing that Windows, or Wine, starts, "" for
// what is. refuses says so of the machine that a program is for.
func programProblem(path string, refuses func(machine uint16) string) string {
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".bat" || ext == ".cmd" {
		return "" // what reads them comes with the system
	}
	machine, dos := machineOf(path)
	switch {
	case machine != 0:
		return refuses(machine)
	case dos:
		return "it is a program for DOS, or damaged; build it for Windows"
	}
	begin := head(path)
	switch {
	case len(begin) == 0:
		return "the file is empty"
	case elfMachine(begin) != "":
		return "it is a program for Linux, and one for Windows is wanted"
	}
	return "it is no program for Windows"
}

// systemRefuses says why Windows itself does not start programs for a machine.
func systemRefuses(machine uint16) string {
	here := map[string]uint16{"386": pe.IMAGE_FILE_MACHINE_I386, "amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64}[runtime.GOARCH]
	// A system of 64 bits takes those of 32, and one for ARM all.
	if here == 0 || machine == here || machine == pe.IMAGE_FILE_MACHINE_I386 || runtime.GOARCH == "arm64" {
		return ""
	}
	return fmt.Sprintf("it is a program for %s, and this is windows/%s; build it for this one", machineName(machine), runtime.GOARCH)
}

// machineOf is the machine that a Windows program is for, 0 for what is none;
// then dos is set for what begins as one.
func machineOf(path string) (machine uint16, dos bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	var begin [64]byte
	if n, _ := io.ReadFull(f, begin[:]); n < 2 || string(begin[:2]) != "MZ" {
		return 0, false
	}
	var header [6]byte
	if _, err := f.ReadAt(header[:], int64(binary.LittleEndian.Uint32(begin[60:]))); err != nil || string(header[:4]) != "PE\x00\x00" {
		return 0, true
	}
	return binary.LittleEndian.Uint16(header[4:]), false
}

// machineName is a machine of Windows programs as Go calls it.
func machineName(machine uint16) string {
	switch machine {
	case pe.IMAGE_FILE_MACHINE_I386:
		return "386"
	case pe.IMAGE_FILE_MACHINE_AMD64:
		return "amd64"
	case pe.IMAGE_FILE_MACHINE_ARM64:
		return "arm64"
	}
	return fmt.Sprintf("another machine (PE %#x)", machine)
}
