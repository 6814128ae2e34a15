package daflow

import "fmt"

// sentence joins fixed words and numbers, as the Problem of a fault allows.
func sentence(parts ...any) string {
	s := fmt.Sprintln(parts...)
	return s[:len(s)-1]
}
