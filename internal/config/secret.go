package config

import "log/slog"

// Secret is text that must not be seen: however it is printed, logged or
// encoded, it shows as three asterisks, or as nothing where it is empty.
type Secret string

// Reveal returns the text itself, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) masked() string {
	if s == "" {
		return ""
	}
	return "***"
}

func (s Secret) String() string               { return s.masked() }
func (s Secret) GoString() string             { return s.masked() }
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.masked()), nil }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(s.masked()) }
