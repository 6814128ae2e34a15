package engine

import (
	"debug/pe"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// runner is what stands before the executable of a step.
func (s *Step) runner() []string {
	if s.Path == s.Executable {
		return nil
	}
	words := append([]string{s.Path}, s.Args...)
	return words[:max(slices.Index(words, s.Executable), 1)]
}

// underWine reports whether Wine is what starts the engines, be it behind
// another program: env, nice, xvfb-run.
func (s *Set) underWine() bool {
	return slices.ContainsFunc(s.Steps, func(step Step) bool { return isWine(step.runner()) })
}

// isWine reports whether a runner has Wine among its words.
func isWine(runner []string) bool {
	return slices.ContainsFunc(runner, func(word string) bool { return strings.HasPrefix(filepath.Base(word), "wine") })
}

// wineTemporary are the variables that make dir, an absolute path, the temporary
// folder of programs under Wine. It takes the usual ones from the registry of its
// prefix, and where there are none from these. TMPDIR stays: the socket of
// Wine's server is there, and all runs in a prefix must find the same one.
func wineTemporary(dir string) []string {
	dir = "Z:" + strings.ReplaceAll(dir, "/", `\`)
	return []string{"WINETEMP=" + dir, "WINETMP=" + dir}
}

// winePrefix is the folder of a Wine prefix with the libraries of 64 bits or, of
// an old one, of 32.
type winePrefix string

// findPrefix is the prefix that an environment means.
func findPrefix(lookup func(name string) (string, bool)) winePrefix {
	if dir, ok := lookup("WINEPREFIX"); ok && dir != "" {
		return winePrefix(dir)
	}
	home, _ := lookup("HOME")
	return winePrefix(filepath.Join(home, ".wine"))
}

// refuses says why programs for a machine do not start in the prefix, "" where
// they do, and where that cannot be known: a prefix that is still to be made.
func (p winePrefix) refuses(machine uint16) string {
	library := func(folder string) uint16 {
		m, _ := machineOf(filepath.Join(string(p), "drive_c", "windows", folder, "kernel32.dll"))
		return m
	}
	switch own := library("system32"); {
	case own == 0 || own == machine:
		return ""
	case own == pe.IMAGE_FILE_MACHINE_AMD64 && machine == pe.IMAGE_FILE_MACHINE_I386:
		if library("syswow64") == machine {
			return ""
		}
		return fmt.Sprintf("it is a program of 32 bits, and the Wine prefix %s has 64 only; install wine32 and make the prefix anew, or build the program with 64 bits", p)
	default:
		return fmt.Sprintf("it is a program for %s, and the Wine prefix %s is for %s; build it for that one", machineName(machine), p, machineName(own))
	}
}
