package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sethvargo/go-envconfig"
)

// Environment looks a variable up in the environment of the process.
func Environment(name string) (string, bool) { return os.LookupEnv(name) }

// Lookup finds the value of a variable.
type Lookup func(name string) (value string, ok bool)

// Load reads the settings from the sources, the first that knows a variable
// wins, and returns one error that names every bad variable and everything that
// is needed and missing. Empty values count as not set.
func Load(need Need, sources ...Lookup) (*Config, error) {
	get := func(name string) string {
		for _, source := range sources {
			if v, ok := source(name); ok && strings.TrimSpace(v) != "" {
				return strings.TrimSpace(v)
			}
		}
		return ""
	}
	r := &review{get: get, bad: map[string]bool{}}
	for name, f := range settings() {
		if problem := wrong(f, name, get(name)); problem != "" {
			r.add(name, "%s", problem)
		}
	}
	// What is bad is left out from here on, so that the rest is judged as well.
	var c Config
	if err := process(&c, func(name string) string {
		if r.bad[name] {
			return ""
		}
		return get(name)
	}); err != nil {
		return nil, err
	}
	c.LogLevel, c.LogFormat = strings.ToLower(c.LogLevel), strings.ToLower(c.LogFormat)
	c.PoisonQueueName = c.PoisonQueue()
	if c.ConnectionString != "" {
		var err error
		if c.Connection, err = ParseConnection(c.ConnectionString.Reveal()); err != nil {
			return nil, err
		}
	}
	r.config = &c
	r.together(need)
	if err := errors.Join(r.problems...); err != nil {
		return nil, err
	}
	return &c, nil
}

func process(c *Config, get func(string) string) error {
	return envconfig.ProcessWith(context.Background(), &envconfig.Config{Target: c, Lookuper: lookuper(get)})
}

// lookuper adapts a function to the library's interface.
type lookuper func(string) string

func (l lookuper) Lookup(name string) (string, bool) {
	if name == "DEFAULT_GRACE" {
		return defaultGrace(), true
	}
	v := l(name)
	return v, v != ""
}

// BadVariable is one setting that cannot be used. The value is left out: it
// may be a secret. Flag is "" where the variable has none.
type BadVariable struct{ Name, Flag, Problem string }

func (b *BadVariable) Error() string { return called(b.Name, b.Flag) + " " + b.Problem }

// called is how errors call a variable.
func called(name, flag string) string {
	if flag == "" {
		return name
	}
	return fmt.Sprintf("%s (--%s)", name, flag)
}
