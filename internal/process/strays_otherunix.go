//go:build unix && !linux

package process

// adopt does nothing: only Linux gives orphans to another parent.
func adopt() {}

// killStrays does nothing: what left the group is out of sight.
func killStrays() {}
