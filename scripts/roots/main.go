// Command roots prints the root certificates that Mozilla trusts, in PEM, as of
// the version in go.mod. The images take them from here and not from the machine
// that builds: its store may hold certificates of its owner.
package main

import (
	"encoding/pem"
	"io"
	"log"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	if err := write(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// write leaves out roots that are trusted under a condition: a file cannot say it.
func write(w io.Writer) error {
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return err
		}
	}
	return nil
}
