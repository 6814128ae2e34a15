package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/joho/godotenv"

	"rsmsjob/internal/reason"
)

// maxEnvFile bounds a settings file, in bytes.
const maxEnvFile = 1 << 20

// File reads a settings file: a .env file, or a local.settings.json whose
// "Values" object holds the variables. Errors name the file and, for what stands
// in it, the line; never its content.
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
		return nil, fmt.Errorf("--env-file %w", reason.InFile(err, path))
	}
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}, nil
}

// parse reads the variables; an error is a fault with its line.
func parse(data []byte) (map[string]string, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		return parseSettings(data)
	}
	values, ok := parseEnv(data)
	if !ok {
		return nil, &reason.Fault{Line: badLine(data), Problem: "not of the form NAME=value",
			Hint: "a value of several words or lines stands between quotes"}
	}
	return values, nil
}

// parseEnv reads a .env file. A line without a name is none.
func parseEnv(data []byte) (values map[string]string, ok bool) {
	values, err := godotenv.UnmarshalBytes(data)
	_, nameless := values[""]
	return values, err == nil && !nameless
}

// parseSettings reads a local.settings.json.
func parseSettings(data []byte) (map[string]string, error) {
	var file struct{ Values map[string]string }
	err := json.Unmarshal(data, &file)
	const wanted = `a JSON object with an object "Values" of strings is wanted`
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, &reason.Fault{Line: lineAt(data, kind.Offset), Problem: "not a string", Hint: wanted}
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, &reason.Fault{Line: lineAt(data, syntax.Offset), Problem: "not JSON", Hint: wanted}
	}
	if err != nil || file.Values == nil {
		return nil, &reason.Fault{Line: 1, Problem: `has no object "Values"`, Hint: wanted}
	}
	return file.Values, nil
}

// lineAt is the line of the last of the first n bytes that were read.
func lineAt(data []byte, n int64) int {
	return 1 + bytes.Count(data[:max(0, min(n, int64(len(data)))-1)], []byte{'\n'})
}

// badLine is the line of a .env file with which the setting begins that cannot be
// read: the first from which on no number of lines is one.
func badLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		lines, size := setting(data)
		if lines == 0 {
			break
		}
		line, data = line+lines, data[size:]
	}
	return line
}

// mostLines is the longest value that is looked for, longer than any key: to try
// every end of a quote that has none would take too long.
const mostLines = 200

// setting measures the setting, comment or blank line with which data begins: one
// line, or those of a value between quotes; 0 where there is none.
func setting(data []byte) (lines, size int) {
	for part := range bytes.Lines(data) {
		if lines == mostLines {
			break
		}
		lines, size = lines+1, size+len(part)
		if _, ok := parseEnv(append(data[:size:size], '\n')); ok {
			return lines, size
		}
	}
	return 0, 0
}
