package dockerfiles

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
)

// The rules of the house.
const (
	Pinned     = "Pinned"     // an image has a tag or a digest, and not latest
	NoAdd      = "NoAdd"      // COPY does what is needed, ADD also fetches and unpacks
	NoSecret   = "NoSecret"   // nothing that opens a storage account
	NoDownload = "NoDownload" // programs come from packages or the context
	ExecForm   = "ExecForm"   // the entry point is the program itself: it gets the signals
	NotRoot    = "NotRoot"    // the last USER of the image
	Labels     = "Labels"     // what the image is of
)

var (
	// secretName is what the linter of BuildKit does not know: its rule looks for
	// words such as PASSWORD, TOKEN and KEY. The letters SAS are in other words too.
	secretName = regexp.MustCompile(`(?i)CONNECTION_?STRING|(^|_)SAS(_|$)|SAS_?TOKEN|SIGNATURE`)
	// secretText is how connection strings, signed addresses and keys look.
	secretText = regexp.MustCompile(`(?i)(AccountKey|SharedAccessSignature|SharedAccessKey)=|[?&;]sig=|-----BEGIN [A-Z ]*PRIVATE KEY|[A-Za-z0-9+/]{86}==`)
	// secretFile is what people keep such things in.
	secretFile = regexp.MustCompile(`(?i)(^|[/\\])(\.env(\.[^/\\]*)?|local\.settings\.json|\.netrc|\.npmrc|id_(rsa|ed25519)|[^/\\]*\.(pem|pfx|p12|key))$`)
)

var download = regexp.MustCompile(`(?i)\b(curl|wget|Invoke-WebRequest|iwr|Start-BitsTransfer)\b|git\s+clone`)

var labels = []string{"version", "revision", "source", "licenses"}

// house applies the rules; the image is what the last stage makes.
func house(stages []instructions.Stage, global []instructions.ArgCommand, escape rune, os string) []Finding {
	r := &report{os: os, lex: shell.NewLex(escape), defaults: defaults{}}
	for _, a := range global {
		r.arguments(&a)
		for _, pair := range a.Args {
			if pair.Value != nil {
				r.defaults[pair.Key] = *pair.Value
			}
		}
	}
	earlier := map[string]bool{"scratch": true}
	for _, s := range stages {
		r.base(s, earlier)
		for _, c := range s.Commands {
			r.command(c, earlier)
		}
		earlier[strings.ToLower(s.Name)] = true
	}
	r.image(stages[len(stages)-1])
	return r.findings
}

// defaults are the values of the arguments that stand before the first stage.
type defaults map[string]string

func (d defaults) Get(name string) (string, bool) { v, ok := d[name]; return v, ok }

func (d defaults) Keys() []string {
	var keys []string
	for k := range d {
		keys = append(keys, k)
	}
	return keys
}

type report struct {
	os       string
	lex      *shell.Lex
	defaults defaults
	findings []Finding
}

func (r *report) add(rule string, line int, format string, args ...any) {
	r.findings = append(r.findings, Finding{rule, line, fmt.Sprintf(format, args...)})
}

func line(c interface{ Location() []parser.Range }) int { return c.Location()[0].Start.Line }

// base looks at the FROM of a stage.
func (r *report) base(s instructions.Stage, earlier map[string]bool) {
	r.pinned(s.Location[0].Start.Line, s.BaseName, earlier)
}

// pinned looks at the name of an image, with the arguments at their defaults, or
// of an earlier stage.
func (r *report) pinned(at int, name string, earlier map[string]bool) {
	name, _, err := r.lex.ProcessWord(name, r.defaults)
	if err != nil {
		r.add(Pinned, at, "%v", err)
		return
	}
	if earlier[strings.ToLower(name)] || strings.Contains(name, "@sha256:") {
		return
	}
	_, tag, tagged := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if !tagged || tag == "" || tag == "latest" {
		r.add(Pinned, at, "the image %s has no tag that stays", name)
	}
}

// from looks at what a COPY or a mount takes files from: a stage by name or by
// number, an image, or "" for the context.
func (r *report) from(at int, name string, earlier map[string]bool) {
	if _, err := strconv.Atoi(name); err != nil && name != "" {
		r.pinned(at, name, earlier)
	}
}

func (r *report) command(c instructions.Command, earlier map[string]bool) {
	switch c := c.(type) {
	case *instructions.AddCommand:
		r.add(NoAdd, line(c), "COPY instead of ADD")
	case *instructions.CopyCommand:
		r.from(line(c), c.From, earlier)
		for _, source := range c.SourcePaths {
			if secretFile.MatchString(source) {
				r.add(NoSecret, line(c), "%s would stand in the image for all to read", source)
			}
		}
		for _, source := range c.SourceContents {
			r.text(line(c), source.Path, source.Data)
		}
	case *instructions.ArgCommand:
		r.arguments(c)
	case *instructions.EnvCommand:
		for _, pair := range c.Env {
			r.variable(line(c), pair.Key, pair.Value)
		}
	case *instructions.LabelCommand:
		for _, pair := range c.Labels {
			r.text(line(c), pair.Key, pair.Value)
		}
	case *instructions.RunCommand:
		text := strings.Join(c.CmdLine, " ")
		if download.MatchString(text) {
			r.add(NoDownload, line(c), "%s", text)
		}
		r.text(line(c), "the command", text)
		for _, mount := range instructions.GetMounts(c) {
			r.from(line(c), mount.From, earlier)
		}
	}
}

func (r *report) arguments(c *instructions.ArgCommand) {
	for _, pair := range c.Args {
		value := ""
		if pair.Value != nil {
			value = *pair.Value
		}
		r.variable(line(c), pair.Key, value)
	}
}

func (r *report) variable(line int, name, value string) {
	if secretName.MatchString(name) {
		r.add(NoSecret, line, "%s would stand in the image for all to read", name)
		return
	}
	r.text(line, name, value)
}

// text looks at a text that stands in the image; name says which.
func (r *report) text(line int, name, text string) {
	if secretText.MatchString(text) {
		r.add(NoSecret, line, "what %s has in it would stand in the image for all to read", name)
	}
}

// image looks at the stage that becomes the image.
func (r *report) image(s instructions.Stage) {
	user, userLine, entry := "", 0, false
	have := map[string]bool{}
	for _, c := range s.Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user, userLine = c.User, line(c)
		case *instructions.EntrypointCommand:
			entry = true
			if c.PrependShell || len(c.CmdLine) == 0 {
				r.add(ExecForm, line(c), "the entry point is a shell")
			}
		case *instructions.LabelCommand:
			for _, pair := range c.Labels {
				have[strings.Trim(pair.Key, `"`)] = true
			}
		}
	}
	if !entry {
		r.add(ExecForm, 0, "no ENTRYPOINT")
	}
	if !unprivileged(user, r.os) {
		r.add(NotRoot, userLine, "USER %q", user)
	}
	for _, name := range labels {
		if !have["org.opencontainers.image."+name] {
			r.add(Labels, 0, "no label org.opencontainers.image.%s", name)
		}
	}
}

// unprivileged reports whether a USER is one that may change nothing: on Linux a
// number, since no host can tell what a name stands for.
func unprivileged(user, os string) bool {
	if os == "windows" {
		return strings.EqualFold(user, "ContainerUser")
	}
	uid, _, _ := strings.Cut(user, ":")
	n, err := strconv.Atoi(uid)
	return err == nil && n > 0
}
