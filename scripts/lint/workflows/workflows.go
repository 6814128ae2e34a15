// Package workflows judges workflow files of GitHub by the rules of this house.
// Invariant: what breaks a rule is named with its line.
package workflows

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// The rules.
const (
	Syntax      = "Syntax"      // YAML with jobs, a trigger, and steps that run or use something
	Permissions = "Permissions" // the file gives no right to write, a job only what it says
	Pinned      = "Pinned"      // actions by commit, with their version behind it; machines and images by version
	Timeout     = "Timeout"     // every job ends
	Switch      = "Switch"      // an owner has it run, nobody else
	Shell       = "Shell"       // bash, which stops at the first failure, also in a pipe
	Injection   = "Injection"   // no expression in a script: what it stands for may be a command
	LineEnds    = "LineEnds"    // a checkout on Windows leaves files as they are
	Credentials = "Credentials" // checkout leaves no token behind, and no secret is used
)

// A Finding is a rule that is broken.
type Finding struct {
	Rule string
	Line int
	Text string
}

func (f Finding) String() string { return fmt.Sprintf("line %d: %s: %s", f.Line, f.Rule, f.Text) }

// variable is what an owner sets to have the workflows run.
const variable = "vars.RSMS_WORKFLOWS == 'true'"

var (
	commit  = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)
	version = regexp.MustCompile(`^# v\d+\.\d+\.\d+$`)
	latest  = regexp.MustCompile(`(?i)[:-]latest\b`)
	machine = regexp.MustCompile(`^(ubuntu|windows|macos)-\d+(\.\d+)?$`)
)

// Check returns what is wrong in a workflow file.
func Check(data []byte) []Finding {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return []Finding{{Syntax, 0, err.Error()}}
	}
	if len(doc.Content) == 0 {
		return []Finding{{Syntax, 0, "it is empty"}}
	}
	c := &checker{}
	c.file(doc.Content[0])
	slices.SortFunc(c.findings, func(a, b Finding) int { return a.Line - b.Line })
	return c.findings
}

type checker struct{ findings []Finding }

func (c *checker) add(rule string, n *yaml.Node, format string, args ...any) {
	line := 0
	if n != nil {
		line = n.Line
	}
	c.findings = append(c.findings, Finding{rule, line, fmt.Sprintf(format, args...)})
}

// get is a member of a mapping, nil where there is none.
func get(n *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		i := 0
		for ; i+1 < len(n.Content) && n.Content[i].Value != name; i += 2 {
		}
		if i+1 >= len(n.Content) {
			return nil
		}
		n = n.Content[i+1]
	}
	return n
}

func value(n *yaml.Node, names ...string) string {
	if n = get(n, names...); n == nil {
		return ""
	}
	return n.Value
}

func (c *checker) file(root *yaml.Node) {
	jobs := get(root, "jobs")
	if jobs == nil || jobs.Kind != yaml.MappingNode || get(root, "on") == nil {
		c.add(Syntax, root, "no jobs, or nothing that starts them")
		return
	}
	c.rights(root)
	if value(root, "defaults", "run", "shell") != "bash" {
		c.add(Shell, root, "defaults.run.shell is not bash")
	}
	c.everywhere(root)
	for i := 0; i+1 < len(jobs.Content); i += 2 {
		c.job(jobs.Content[i].Value, jobs.Content[i+1])
	}
}

// rights looks at those that every job of the file has.
func (c *checker) rights(root *yaml.Node) {
	rights := get(root, "permissions")
	if rights == nil || rights.Kind != yaml.MappingNode {
		c.add(Permissions, root, "no permissions, so a job has whatever the repository gives")
		return
	}
	for i := 1; i < len(rights.Content); i += 2 {
		if v := rights.Content[i].Value; v != "read" && v != "none" {
			c.add(Permissions, rights.Content[i], "every job may %s %s: give it to the job that needs it", v, rights.Content[i-1].Value)
		}
	}
}

// everywhere looks at each text of the file.
func (c *checker) everywhere(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		if latest.MatchString(n.Value) {
			c.add(Pinned, n, "%s is another one tomorrow", latest.FindString(n.Value))
		}
		if strings.Contains(n.Value, "secrets.") {
			c.add(Credentials, n, "a secret of the repository; the token of the run is github.token")
		}
	}
	for _, child := range n.Content {
		c.everywhere(child)
	}
}

func (c *checker) job(name string, job *yaml.Node) {
	if v := value(job, "permissions"); strings.HasPrefix(v, "write") {
		c.add(Permissions, job, "job %s may write everything", name)
	}
	if called := value(job, "uses"); called != "" {
		// What it calls is a file of its own, with its own limits.
		if !strings.HasPrefix(called, "./") {
			c.add(Pinned, job, "job %s is a workflow of others", name)
		}
		return
	}
	if !strings.Contains(value(job, "if"), variable) {
		c.add(Switch, job, "job %s does not ask for %s", name, variable)
	}
	if !machine.MatchString(value(job, "runs-on")) {
		c.add(Pinned, job, "job %s runs on '%s', not on a version", name, value(job, "runs-on"))
	}
	if value(job, "timeout-minutes") == "" {
		c.add(Timeout, job, "job %s has no timeout-minutes", name)
	}
	steps := get(job, "steps")
	if steps == nil || len(steps.Content) == 0 {
		c.add(Syntax, job, "job %s has no steps", name)
		return
	}
	asIs := !strings.HasPrefix(value(job, "runs-on"), "windows")
	for _, step := range steps.Content {
		c.step(step)
		asIs = asIs || value(step, "run") == "git config --global core.autocrlf false"
		if !asIs && strings.HasPrefix(value(step, "uses"), "actions/checkout@") {
			c.add(LineEnds, step, "on Windows git config --global core.autocrlf false comes before checkout")
		}
	}
}

func (c *checker) step(step *yaml.Node) {
	uses, run := get(step, "uses"), get(step, "run")
	switch {
	case (uses == nil) == (run == nil):
		c.add(Syntax, step, "a step runs something or uses something")
	case run != nil:
		if strings.Contains(run.Value, "${{") {
			c.add(Injection, run, "an expression in a script: give it by env")
		}
	case !commit.MatchString(uses.Value):
		c.add(Pinned, uses, "%s is not pinned by its commit", uses.Value)
	case !version.MatchString(uses.LineComment):
		c.add(Pinned, uses, "which version is %s? # v1.2.3 behind it", uses.Value)
	case strings.HasPrefix(uses.Value, "actions/checkout@") && value(step, "with", "persist-credentials") != "false":
		c.add(Credentials, step, "checkout without persist-credentials: false")
	}
}
