// Package config turns flags, environment and settings files into one
// validated struct. It is the only reader of the environment. Invariant: a
// Config that Load returned holds no value outside its documented range.
package config

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sethvargo/go-envconfig"
)

// Config holds every setting of the job. The tags are the public names: env is
// the variable, flag the command-line flag, range the bounds of a number, oneof
// the words that are accepted.
type Config struct {
	StoreDir          string  `env:"RSMS_STORE_DIR" flag:"store" help:"folder store instead of Azure Storage"`
	Message           string  `env:"RSMS_MESSAGE" flag:"message" help:"the message itself: JSON, @file, or - for standard input"`
	LeaseSeconds      int     `env:"RSMS_WORKER_VISIBILITY_TIMEOUT_SEC, default=120" flag:"visibility-timeout" range:"3,604800" help:"lease length in seconds, renewed at a third of it"`
	JobTimeoutSeconds int     `env:"RSMS_JOB_TIMEOUT_SEC, default=7200" flag:"job-timeout" range:"1,86400" help:"limit of the whole job in seconds"`
	GraceSeconds      int     `env:"RSMS_SHUTDOWN_GRACE_SEC, default=$DEFAULT_GRACE" flag:"shutdown-grace" range:"1,600" help:"seconds between a stop signal and the end of the process"`
	ExeDir            string  `env:"EXE_DIR" flag:"exe-dir" help:"folder of the engine executables; empty = the bundled engines"`
	EngineRunner      string  `env:"RSMS_ENGINE_RUNNER" flag:"engine-runner" help:"put before every engine command line, e.g. wine"`
	StepSeconds       int     `env:"RSMS_ENGINE_STEP_TIMEOUT_SEC, default=3600" flag:"engine-step-timeout" range:"1,86400" help:"limit of one engine process in seconds"`
	WorkDir           string  `env:"RSMS_WORK_DIR" flag:"work-dir" help:"where run folders live; empty = the system's temp folder"`
	KeepWorkDir       bool    `env:"RSMS_KEEP_WORK_DIR" flag:"keep-work-dir" help:"keep the run folder"`
	Tolerance         float64 `env:"RSMS_CONCENTRATION_TOLERANCE, default=0.001" flag:"tolerance" range:"1e-12,1e6" help:"mg/L; plume rows below are not written"`
	ExitZero          bool    `env:"RSMS_EXIT_ZERO" flag:"exit-zero" help:"turn exit codes 10 to 15 and 143 into 0"`
	LogLevel          string  `env:"LOG_LEVEL, default=info" flag:"log-level" oneof:"debug info warn error" help:"lowest level that is logged"`
	LogFormat         string  `env:"LOG_FORMAT, default=auto" flag:"log-format" oneof:"auto text json" help:"auto = coloured text on a terminal, JSON lines otherwise"`
}

// Lease is how long the run record is held without renewal.
func (c *Config) Lease() time.Duration { return seconds(c.LeaseSeconds) }

// JobTimeout is the limit of the whole job.
func (c *Config) JobTimeout() time.Duration { return seconds(c.JobTimeoutSeconds) }

// Grace is all the time there is between a stop signal and the end.
func (c *Config) Grace() time.Duration { return seconds(c.GraceSeconds) }

// StepTimeout is the limit of one engine process.
func (c *Config) StepTimeout() time.Duration { return seconds(c.StepSeconds) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// Variable describes one setting for help texts and documentation.
type Variable struct {
	Env, Flag, Default, Help string
	Bool                     bool
}

// Variables lists every setting in the order of Config.
func Variables() []Variable {
	var list []Variable
	for f := range reflect.TypeFor[Config]().Fields() {
		name, def, _ := strings.Cut(f.Tag.Get("env"), ", default=")
		if def == "$DEFAULT_GRACE" {
			def = defaultGrace()
		}
		list = append(list, Variable{Env: name, Flag: f.Tag.Get("flag"), Default: def,
			Help: f.Tag.Get("help"), Bool: f.Type.Kind() == reflect.Bool})
	}
	return list
}

// defaultGrace is in seconds: Windows containers get about five in all.
func defaultGrace() string {
	if runtime.GOOS == "windows" {
		return "4"
	}
	return "20"
}

// Environment looks a variable up in the environment of the process.
func Environment(name string) (string, bool) { return os.LookupEnv(name) }

// Lookup finds the value of a variable.
type Lookup func(name string) (value string, ok bool)

// Load reads the settings from the sources, the first that knows a variable
// wins, and returns one error that names every bad variable and every required
// one that is missing. Empty values count as not set.
func Load(required []string, sources ...Lookup) (*Config, error) {
	get := func(name string) string {
		for _, source := range sources {
			if v, ok := source(name); ok && strings.TrimSpace(v) != "" {
				return strings.TrimSpace(v)
			}
		}
		return ""
	}
	var bad []error
	for f := range reflect.TypeFor[Config]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
		if problem := wrong(f, name, get(name), slices.Contains(required, name)); problem != "" {
			bad = append(bad, &BadVariable{Name: name, Flag: f.Tag.Get("flag"), Problem: problem})
		}
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	var c Config
	err := process(&c, get)
	c.LogLevel, c.LogFormat = strings.ToLower(c.LogLevel), strings.ToLower(c.LogFormat)
	return &c, err
}

// Effective returns name and value of every setting but the message, which is
// not ours to log, as arguments of a log line.
func (c *Config) Effective() []any {
	var list []any
	v := reflect.ValueOf(c).Elem()
	for f := range v.Type().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("env"), ","); name != "RSMS_MESSAGE" {
			list = append(list, name, v.FieldByIndex(f.Index).Interface())
		}
	}
	return list
}

// wrong says what is wrong with the value of one variable, "" for nothing.
func wrong(f reflect.StructField, name, value string, required bool) string {
	if value == "" && required {
		return "is not set: " + f.Tag.Get("help")
	}
	var one Config
	err := process(&one, func(n string) string {
		if n == name {
			return value
		}
		return ""
	})
	if err != nil {
		return "has the wrong form: " + wanted(f.Type.Kind())
	}
	return outside(f, reflect.ValueOf(one).FieldByIndex(f.Index))
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
// may be a secret.
type BadVariable struct{ Name, Flag, Problem string }

func (b *BadVariable) Error() string {
	return fmt.Sprintf("%s (--%s) %s", b.Name, b.Flag, b.Problem)
}

// wanted says what a variable of a kind takes.
func wanted(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false is wanted"
	case reflect.Int:
		return "a whole number is wanted"
	}
	return "a number is wanted"
}

// outside says what is wrong with the value of a field, "" for nothing.
func outside(f reflect.StructField, v reflect.Value) string {
	if words := f.Tag.Get("oneof"); words != "" {
		for _, w := range strings.Fields(words) {
			if strings.EqualFold(v.String(), w) {
				return ""
			}
		}
		return "must be one of " + strings.ReplaceAll(words, " ", ", ")
	}
	low, high, ok := strings.Cut(f.Tag.Get("range"), ",")
	if !ok {
		return ""
	}
	lo, _ := strconv.ParseFloat(low, 64)
	hi, _ := strconv.ParseFloat(high, 64)
	var x float64
	if v.CanInt() {
		x = float64(v.Int())
	} else {
		x = v.Float()
	}
	if math.IsNaN(x) || x < lo || x > hi {
		return "must be from " + low + " to " + high
	}
	return ""
}
