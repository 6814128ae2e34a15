//go:build !windows

package deploytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A place is a checkout with the scripts in it, under a name with a blank, and
// what stands for the rest of the world.
type place struct {
	t       *testing.T
	root    string // of the checkout
	home    string // of the stand-ins
	temp    string // TMPDIR of the scripts
	path    string
	answers []answer
}

// tools are all that a script may need besides the stand-ins: the machine of the
// tests may have an az of its own.
var tools = []string{"bash", "git", "awk", "sed", "grep", "sort", "cut", "tr", "head", "tail", "wc", "base64", "cat", "cp", "mv", "rm", "mkdir", "mktemp",
	"dirname", "basename", "date", "sleep"}

func newPlace(t *testing.T, answers ...[]answer) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{t: t, root: filepath.Join(dir, "a checkout"), home: filepath.Join(dir, "home"), temp: filepath.Join(dir, "temp"), answers: slices.Concat(answers...)}
	bin := filepath.Join(dir, "bin")
	p.path = bin
	for _, d := range []string{filepath.Join(p.root, "scripts"), filepath.Join(p.root, "bicep"), p.home, p.temp, bin} {
		check(t, os.MkdirAll(d, 0o755))
	}
	self, err := os.Executable()
	check(t, err)
	for _, name := range standins {
		check(t, os.Symlink(self, filepath.Join(bin, name)))
	}
	for _, name := range tools {
		tool, err := exec.LookPath(name)
		check(t, err)
		check(t, os.Symlink(tool, filepath.Join(bin, name)))
	}
	for _, name := range []string{"azure.sh", "parameters.sh", "deploy.sh", "start.sh", "logs.sh", "teardown.sh"} {
		data, err := os.ReadFile(filepath.Join("../../scripts", name))
		check(t, err)
		check(t, os.WriteFile(filepath.Join(p.root, "scripts", name), data, 0o755))
	}
	for name, text := range map[string]string{"VERSION": "0.1.0\n", "Dockerfile": "FROM scratch\n", ".gitignore": "/bin/\n",
		"bicep/main.bicep": template(t), "bicep/main.bicepparam": "using 'main.bicep'\n"} {
		check(t, os.WriteFile(filepath.Join(p.root, name), []byte(text), 0o644))
	}
	p.git("init", "--quiet")
	p.git("add", "--all")
	p.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "all")
	return p
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func (p *place) git(args ...string) string {
	p.t.Helper()
	c := exec.Command("git", append([]string{"-C", p.root}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := c.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *place) commit() string { p.t.Helper(); return p.git("rev-parse", "HEAD") }

// A run is what became of one run of a script.
type run struct {
	t           *testing.T
	out, errors string
	exit        int
	calls       []call
}

// run runs a script with what an operator types.
func (p *place) run(input, script string, args ...string) *run {
	p.t.Helper()
	data, err := json.Marshal(p.answers)
	check(p.t, err)
	check(p.t, os.WriteFile(filepath.Join(p.home, "answers"), data, 0o600))
	if err := os.Remove(filepath.Join(p.home, "calls")); err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	var out, errs bytes.Buffer
	c := exec.Command("bash", append([]string{filepath.Join(p.root, "scripts", script)}, args...)...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = p.temp, strings.NewReader(input), &out, &errs
	c.Env = []string{"PATH=" + p.path, "HOME=" + p.home, "TMPDIR=" + p.temp, home + "=" + p.home, "LC_ALL=C.UTF-8",
		"GORACE=atexit_sleep_ms=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	r := &run{t: p.t}
	if err := c.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			p.t.Fatal(err)
		}
	}
	r.out, r.errors, r.exit = out.String(), errs.String(), c.ProcessState.ExitCode()
	r.calls, err = recorded(p.home)
	check(p.t, err)
	p.clean(r)
	return r
}

// clean checks what holds for every run: each call was known, none got or said a
// secret, and nothing is left behind.
func (p *place) clean(r *run) {
	p.t.Helper()
	secret := regexp.MustCompile(`(?i)--account-key|--connection-string|--sas-token|--password|--expose-token|get-access-token|list-keys`)
	for _, c := range r.calls {
		if c.Answer < 0 {
			p.t.Errorf("nothing is known of this call: %q", c.Args)
		}
		if secret.MatchString(c.String()) {
			p.t.Errorf("a secret in the list of processes: %s", c)
		}
		if len(c.Args) > 1 && c.Args[0] == "az" && c.Args[1] == "storage" && c.value("--auth-mode") != "login" {
			p.t.Errorf("reaches data without the login: %s", c)
		}
	}
	left, err := os.ReadDir(p.temp)
	check(p.t, err)
	for _, f := range left {
		if strings.HasPrefix(f.Name(), "rsms.") {
			p.t.Errorf("%s is left in the folder for temporary files", f.Name())
		}
	}
}

// ends checks the exit code, and that the error output says all of this.
func (r *run) ends(exit int, says ...string) *run {
	r.t.Helper()
	if r.exit != exit {
		r.t.Errorf("exit %d, want %d", r.exit, exit)
	}
	for _, s := range says {
		if !strings.Contains(r.errors, s) {
			r.t.Errorf("does not say %q", s)
		}
	}
	if r.t.Failed() {
		r.t.Fatalf("output:\n%s\nerrors:\n%s\ncalls:\n%v", r.out, r.errors, r.calls)
	}
	return r
}

// called is the calls that begin with these words.
func (r *run) called(words string) []call {
	var list []call
	for _, c := range r.calls {
		if strings.HasPrefix(c.String()+" ", words+" ") {
			list = append(list, c)
		}
	}
	return list
}

// changing are the beginnings of the calls that change something.
var changing = []string{"az deployment group create", "az group create", "az acr import", "az acr build", "az acr login", "az storage message put",
	"az containerapp job start", "az resource delete", "az role assignment delete", "docker push", "make"}

// changes are the calls that change something, by their first words.
func (r *run) changes() []string {
	list := []string{}
	for _, c := range r.calls {
		for _, words := range changing {
			if strings.HasPrefix(c.String()+" ", words+" ") {
				list = append(list, words)
			}
		}
	}
	return list
}

func (r *run) want(changes ...string) *run {
	r.t.Helper()
	if got := r.changes(); !slices.Equal(got, changes) {
		r.t.Errorf("changed by %q\nwant %q", got, changes)
	}
	return r
}
