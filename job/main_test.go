package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be rsms-job where it is started by that name:
// by a script, by the job as an engine, and by the job as a supervisor.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rsms-job": func() {
		endAtOnce()
		os.Exit(run())
	}})
}
