package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is text that must not be seen: however it is printed, logged or
// encoded, it shows as three asterisks, or as nothing where it is empty.
type Secret string

// Reveal returns the text itself, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }

// String returns what there is to see.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// Format covers every verb: fmt shows the text itself for one that does not fit
// a string, such as %d.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler, for JSON and text logs.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
