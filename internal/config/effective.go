package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
)

// Setting is one variable and the value that counts, a secret masked.
type Setting struct {
	Name  string
	Value any
}

// Settings encode as one JSON object, in their order.
type Settings []Setting

// Settings returns every setting but the message, which is not ours to show, in
// the order of Config; those of launch only where they are given.
func (c *Config) Settings() Settings {
	var list Settings
	v := reflect.ValueOf(c).Elem()
	for name, f := range settings() {
		if name == messageText || f.Tag.Get("only") != "" && c.LaunchImage == "" {
			continue
		}
		value := v.FieldByIndex(f.Index).Interface()
		if secret, ok := value.(Secret); ok {
			value = secret.String()
		}
		list = append(list, Setting{name, value})
	}
	return list
}

// Effective returns the same as arguments of a log line.
func (c *Config) Effective() []any {
	var list []any
	for _, s := range c.Settings() {
		list = append(list, s.Name, s.Value)
	}
	return list
}

// MarshalJSON implements json.Marshaler.
func (s Settings) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range s {
		name, err := json.Marshal(one.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(one.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.Name, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Platform returns what Container Apps says about this process, as arguments of
// a log line (C19); nothing elsewhere.
func Platform() []any {
	var list []any
	for _, name := range []string{"CONTAINER_APP_JOB_NAME", "CONTAINER_APP_JOB_EXECUTION_NAME", "CONTAINER_APP_REPLICA_NAME"} {
		if v := os.Getenv(name); v != "" {
			list = append(list, name, v)
		}
	}
	return list
}
