package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/joho/godotenv"
)

// maxEnvFile bounds a settings file, in bytes.
const maxEnvFile = 1 << 20

// File reads a settings file: a .env file, or a local.settings.json whose
// "Values" object holds the variables. Errors name the file, never its content.
func File(path string) (Lookup, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("--env-file %s: it cannot be read: %w", path, err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxEnvFile {
		return nil, fmt.Errorf("--env-file %s: it must be a file of at most %d bytes", path, maxEnvFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--env-file %s: it cannot be read: %w", path, err)
	}
	values, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("--env-file %s: %w", path, err)
	}
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}, nil
}

func parse(data []byte) (map[string]string, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		var settings struct{ Values map[string]string }
		if err := json.Unmarshal(trimmed, &settings); err != nil {
			return nil, fmt.Errorf(`it must be JSON with an object "Values" of strings`)
		}
		return settings.Values, nil
	}
	values, err := godotenv.UnmarshalBytes(data)
	if err != nil {
		return nil, fmt.Errorf("it must have lines of the form NAME=value")
	}
	return values, nil
}
