package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"rsmsjob/internal/reason"
)

// manifestName is the file that describes a set of engines, in any case.
const manifestName = "engine.json"

const (
	maxManifest  = 1 << 20 // bytes
	defaultLimit = 8192    // MB in the run folder
)

// manifest is what engine.json says of a set.
type manifest struct {
	name, version string
	runner        []string
	environment   []string // as process.MinimalEnv takes it
	limitMB       int
	steps         []manifestStep

	tree *tree // of the file; nil where there is none
	at   int   // offset of runner in it
}

// manifestStep is what it says of a step.
type manifestStep struct {
	name       string
	executable string
	args       []string
	stdin      []string
	outputs    []string
	exitCodes  []int
	timeout    time.Duration // 0 for none
	success    string
	reads      []string // nil where it is not said: anything
	cache      bool

	at int // offset of the executable, or of the step that leaves it out
}

// plainManifest stands for a folder without engine.json.
func plainManifest() *manifest {
	m := &manifest{name: "EXE_DIR", limitMB: defaultLimit}
	for _, o := range outputs {
		m.steps = append(m.steps, manifestStep{name: o.name, executable: strings.ToUpper(o.name), outputs: o.files, exitCodes: []int{0}, cache: true})
	}
	return m
}

// parseManifest reads engine.json. The manifest holds what is right of it, so
// that the rest can be looked at as well; the faults are in its tree.
func parseManifest(data []byte, file string) (*manifest, error) {
	t, err := parseTree(data, file)
	if err != nil {
		return nil, err
	}
	t.check(t.root, manifestShape(), "")
	m := &manifest{tree: t, name: t.root.member("name").text("EXE_DIR"), version: t.root.member("version").text(""),
		runner: t.root.member("runner").texts(), environment: t.root.member("environment").texts(),
		limitMB: t.root.member("output_limit_mb").whole(defaultLimit)}
	if n := t.root.member("runner"); n != nil {
		m.at = n.offset
	}
	steps := t.root.member("steps")
	for _, o := range outputs {
		n := steps.member(o.name)
		if n == nil {
			continue
		}
		s := manifestStep{name: o.name, at: n.offset, executable: n.member("executable").text(strings.ToUpper(o.name)),
			args: n.member("arguments").texts(), stdin: n.member("stdin").texts(), success: n.member("success_text").text(""),
			reads: n.member("reads").texts(), cache: n.member("cache").truth(true),
			outputs: o.files, exitCodes: []int{0}, timeout: time.Duration(n.member("timeout_seconds").whole(0)) * time.Second}
		if e := n.member("executable"); e != nil {
			s.at = e.offset
		} else if slices.ContainsFunc(n.members, func(m member) bool { return m.name == "executable" }) {
			s.executable = "" // it is wrong, and was said to be
		}
		if l := n.member("outputs"); l != nil {
			s.outputs = l.texts()
		}
		if l := n.member("exit_codes"); l != nil {
			s.exitCodes = nil
			for _, item := range l.items {
				s.exitCodes = append(s.exitCodes, item.whole(0))
			}
		}
		m.steps = append(m.steps, s)
	}
	if t.faults.Len() == 0 {
		m.checkOutputs()
		m.checkReads()
	}
	return m, nil
}

// checkOutputs sees that every output has one step to make it, and that what
// the job itself reads has one.
func (m *manifest) checkOutputs() {
	maker := map[string]string{} // by the name in lower case: a file system may not tell cases apart
	steps := m.tree.root.member("steps")
	for _, s := range m.steps {
		n := steps.member(s.name).member("outputs")
		for i, name := range s.outputs {
			lower := strings.ToLower(name)
			if usual := standard(name); n != nil && usual != name {
				m.tree.add(n.items[i].offset, "steps."+s.name+".outputs", &reason.Fault{Problem: "must be spelt " + usual + ", as who reads it does", Text: name})
			}
			if other, ok := maker[lower]; ok {
				offset := s.at
				if n != nil {
					offset = n.items[i].offset
				}
				problem := "an output has two steps to make it, " + other + " and " + s.name + "; name it in the one that does"
				if other == s.name {
					problem = "an output is named twice, in capitals and not; name it once"
				}
				m.tree.add(offset, "steps."+s.name+".outputs", &reason.Fault{Problem: problem, Text: name})
			}
			maker[lower] = s.name
		}
	}
	for _, o := range outputs {
		for _, name := range o.files {
			if slices.Contains(final(), name) && maker[strings.ToLower(name)] == "" {
				m.tree.add(steps.offset, "steps", &reason.Fault{Problem: fmt.Sprintf("no step has %s among its outputs, which the job reads; as a rule it is %s that makes it", name, o.name)})
			}
		}
	}
}

// checkReads sees that a step that says what it reads names files that there are:
// one that is misspelt would not count when the step is looked for in the cache.
func (m *manifest) checkReads() {
	there := inputs()
	for _, s := range m.steps {
		n := m.tree.root.member("steps").member(s.name).member("reads")
		for i, name := range s.reads {
			if !slices.Contains(there, name) {
				m.tree.add(n.items[i].offset, "steps."+s.name+".reads", &reason.Fault{
					Problem: "is neither an input of the run nor an output of an earlier step; inputs are " + strings.Join(inputs(), ", "), Text: name})
			}
		}
		there = append(there, s.outputs...)
	}
}

// standard is the name of an output as the readers of it spell it.
func standard(name string) string {
	for _, o := range outputs {
		for _, file := range o.files {
			if strings.EqualFold(file, name) {
				return file
			}
		}
	}
	return name
}

// manifestShape is what engine.json must be.
func manifestShape() *shape {
	steps := &shape{kind: objectKind, wants: "an object with the steps " + strings.Join(Names(), ", "), about: "What is run, in this order: " + strings.Join(Names(), ", ") + "."}
	for _, o := range outputs {
		steps.fields = append(steps.fields, &field{o.name, true, stepShape(o.name, o.files)})
	}
	return &shape{kind: objectKind, wants: "an object with the engines of the folder",
		about: "The engines of an EXE_DIR. Standard file names are those of the bundled engines: see rsms-job engine -h.",
		fields: []*field{
			{"$schema", false, &shape{kind: textKind, wants: "a string", about: "For editors; not read."}},
			{"name", false, &shape{kind: textKind, pattern: regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,39}$`), never: regexp.MustCompile("^" + anyCase("bundled") + "$"), initial: "EXE_DIR",
				wants: "1 to 40 letters, digits, blanks and . _ + -, a letter or digit first, and not bundled", about: "What the set is called in results and logs."}},
			{"version", false, &shape{kind: textKind, pattern: regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,39}$`),
				wants: "1 to 40 letters, digits, blanks and . _ + -, a letter or digit first", about: "Version of the set, beside its name."}},
			{"runner", false, &shape{kind: listKind, low: 1, high: 20, item: &shape{kind: textKind, low: 1, high: 1000, pattern: regexp.MustCompile(`^[^\x00]+$`), wants: "a string that is not empty"},
				wants: "a list of 1 to 20 strings: a program and its arguments",
				about: "Put before every command line, e.g. [\"wine\"]: a program of the PATH, or one inside EXE_DIR when it has a slash. RSMS_ENGINE_RUNNER counts instead where it is set."}},
			{"environment", false, &shape{kind: listKind, high: 50, unique: true, item: environmentShape(), wants: "a list of at most 50 strings NAME or NAME=value",
				about: "Variables of the engines besides the few that every engine has. NAME is passed on from the job's own environment, NAME=value is set."}},
			{"output_limit_mb", false, &shape{kind: wholeKind, low: 1, high: 1 << 20, initial: defaultLimit, wants: "a whole number from 1 to 1048576",
				about: "What all files of a run may have together, in MB. An engine that goes beyond is stopped."}},
			{"steps", true, steps},
		}}
}

func stepShape(name string, files []string) *shape {
	return &shape{kind: objectKind, wants: "an object that describes the step; {} takes what is usual", about: "The step " + name + ".",
		fields: []*field{
			{"executable", false, &shape{kind: textKind, low: 1, high: 200, pattern: regexp.MustCompile(`^[^/\\:*?"<>|\x00-\x1f][^:*?"<>|\x00-\x1f]*$`), never: regexp.MustCompile(`(^|[/\\])\.\.([/\\]|$)|[/\\]$`), initial: strings.ToUpper(name),
				wants: "a file name or a relative path inside EXE_DIR, neither absolute nor with ..", about: "What is started: found in any case, with or without .exe."}},
			{"arguments", false, &shape{kind: listKind, high: 100, item: &shape{kind: textKind, high: 1000, pattern: regexp.MustCompile(`^[^\x00]*$`), wants: "a string of at most 1000 characters"},
				wants: "a list of at most 100 strings", initial: []string{}, about: "Arguments behind the executable, each as it is: no shell reads them."}},
			{"stdin", false, &shape{kind: listKind, high: 1000, item: &shape{kind: textKind, high: 1000, pattern: regexp.MustCompile(`^[^\x00\r\n]*$`), wants: "a line of at most 1000 characters, without line breaks"},
				wants: "a list of at most 1000 lines", initial: []string{}, about: "Lines for standard input, for programs that ask for file names. Behind them the input ends."}},
			{"outputs", false, &shape{kind: listKind, high: 50, unique: true, item: outputShape(), wants: "a list of at most 50 file names", initial: files,
				about: "Files that the step must leave, whole and new, in the folder it is started in. The job reads " + strings.Join(final(), ", ") + ": one step must have each."}},
			{"exit_codes", false, &shape{kind: listKind, low: 1, high: 50, unique: true, item: &shape{kind: wholeKind, high: 1<<31 - 1, wants: "a whole number from 0 to 2147483647"},
				wants: "a list of 1 to 50 whole numbers", initial: []int{0}, about: "Exit codes that mean success."}},
			{"timeout_seconds", false, &shape{kind: wholeKind, low: 1, high: 86400, wants: "a whole number from 1 to 86400",
				about: "Time limit of the step, in seconds; RSMS_ENGINE_STEP_TIMEOUT_SEC counts where it is less."}},
			{"success_text", false, &shape{kind: textKind, low: 1, high: 200, pattern: regexp.MustCompile(`^[^\x00\r\n]+$`), wants: "a text of 1 to 200 characters, without line breaks",
				about: "Text that the step must print, on standard output or standard error, when it succeeds; for programs whose exit code says nothing."}},
			{"reads", false, &shape{kind: listKind, low: 1, high: 50, unique: true, item: &shape{kind: textKind, low: 1, high: 100, pattern: regexp.MustCompile(`^[^/\\:*?"<>|\x00-\x1f]+$`), wants: "a bare file name"},
				wants: "a list of 1 to 50 file names", about: "All files of the run folder that what the step computes depends on: inputs of the run and outputs of earlier steps. " +
					"A step that was given the same before is taken from the cache; without this, every file of the folder counts."}},
			{"cache", false, &shape{kind: boolKind, initial: true, wants: "true or false",
				about: "Whether the step may be taken from the cache; false for a program that reads more than EXE_DIR and the run folder, such as a clock, a registry or a server."}},
		}}
}

// outputShape is the name of an output: bare, good on every system, and not
// that of a file that is there before.
func outputShape() *shape {
	var taken []string
	for _, name := range inputs() {
		taken = append(taken, anyCase(name))
	}
	for _, name := range Names() {
		taken = append(taken, anyCase(name+stdoutSuffix), anyCase(name+stderrSuffix))
	}
	return &shape{kind: textKind, low: 1, high: 100, pattern: regexp.MustCompile(`^[^/\\:*?"<>|\x00-\x1f]*[^/\\:*?"<>|\x00-\x1f .]$`), never: regexp.MustCompile("^(" + strings.Join(taken, "|") + ")$"),
		wants: "a bare file name, and not that of an input or a log of the run"}
}

// environmentShape is NAME or NAME=value. What names a credential is refused:
// engines get none.
func environmentShape() *shape {
	secret := []string{"^(" + strings.Join([]string{anyCase("AZURE"), anyCase("RSMS"), anyCase("IDENTITY"), anyCase("MSI")}, "|") + ")"}
	for _, word := range []string{"SECRET", "PASSWORD", "PASSWD", "TOKEN", "CREDENTIAL", "CONNECTION_STRING", "ACCOUNT_KEY", "ACCESS_KEY"} {
		secret = append(secret, "^[^=]*"+anyCase(word))
	}
	return &shape{kind: textKind, low: 1, high: 1000, pattern: regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(=[^\x00]*)?$`), never: regexp.MustCompile(strings.Join(secret, "|")),
		wants: "NAME or NAME=value, and no name of a credential or of a setting of the job"}
}

// anyCase is a pattern of a word in any case that every dialect of patterns
// understands.
func anyCase(word string) string {
	var b strings.Builder
	for _, r := range word {
		if lower, upper := unicode.ToLower(r), unicode.ToUpper(r); lower != upper {
			fmt.Fprintf(&b, "[%c%c]", upper, lower)
		} else {
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}
