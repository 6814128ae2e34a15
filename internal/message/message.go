// Package message says what a queue message asks for: it decodes, validates
// and names one. Invariant: a Message that Decode returned follows every rule
// of the contract, and no error of this package contains a value of a message.
package message

import "time"

// The commands.
const (
	TypeRun   = "rsms.run"     // run a scenario
	TypeProbe = "worker.probe" // check the deployment from inside
)

// Version is the only version of either command.
const Version = 1

// Message is one decoded and validated message.
type Message struct {
	Type     string
	Version  int
	Basin    string // riverbasin_id; may be "" only for TypeProbe
	Scenario string // scenario_id; likewise
	JobID    string // "" where none was given: see Identity
	Force    bool
	Timeout  time.Duration // 0: none given
	// Metadata is every other field, values as encoding/json decodes them
	// with UseNumber. It is kept, never interpreted and never logged.
	Metadata map[string]any
}
