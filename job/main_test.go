package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"rsmsjob/internal/storage/azurite"
)

// TestMain lets the test binary be rsms-job where it is started by that name:
// by a script, by the job as an engine, and by the job as a supervisor. Where it
// is the tests, they have a storage emulator.
func TestMain(m *testing.M) {
	testscript.Main(emulated{m}, map[string]func(){"rsms-job": func() {
		endAtOnce()
		os.Exit(run())
	}})
}

// emulated are tests with a storage emulator.
type emulated struct{ m *testing.M }

func (e emulated) Run() int { return azurite.Main(e.m) }
