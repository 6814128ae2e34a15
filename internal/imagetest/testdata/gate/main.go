// Command gate is an engine runner that never comes to the engine: it notes in
// its folder that it was reached, and that it was asked to end. An image without
// a shell cannot run a script.
package main

import (
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	note("reached")
	<-asked
	note("asked")
	os.Exit(143)
}

// note makes an empty file beside the program.
func note(name string) {
	if err := os.WriteFile(filepath.Join(filepath.Dir(os.Args[0]), name), nil, 0o666); err != nil {
		log.Fatal(err)
	}
}
