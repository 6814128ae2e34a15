//go:build !windows

package deploytest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var quick = []string{"--resource-group", "water works", "--yes", "--poll", "0", "--timeout", "0"}

// with is the arguments of a quick run and more.
func with(more ...string) []string { return append(slices.Clone(quick), more...) }

// The first deployment: registry first, then the image, then the jobs. The
// second one finds the registry and the image.
func TestDeploy(t *testing.T) {
	t.Parallel()
	p := newPlace(t, loggedIn, builders, works, empty)
	commit := p.commit()
	image := "rsmsreg.azurecr.io/rsms-job:" + commit
	r := p.run("", "deploy.sh", with("--set", "maxExecutions=3", "--set", `alertEmails=["ü@example.org"]`)...).ends(0)
	r.want("az deployment group create", "make", "az acr login", "docker push", "az deployment group create", "az storage message put")
	for i, c := range r.called("az deployment group create") {
		for _, arg := range []string{[]string{"stage=foundation", "stage=all"}[i], []string{"image=", "image=" + image}[i], "commit=" + commit, "namePrefix=rsms",
			"maxExecutions=3", `alertEmails=["ü@example.org"]`, "operatorPrincipalId=00000000-0000-0000-0000-00000000000a", "operatorPrincipalType=User",
			filepath.Join(p.root, "bicep/main.bicepparam"), "water works"} {
			if !slices.Contains(c.Args, arg) {
				t.Errorf("%s lacks %q", c, arg)
			}
		}
	}
	if c := r.called("make")[0]; !slices.Contains(c.Args, "IMAGE="+image) || !slices.Contains(c.Args, "COMMIT="+commit) {
		t.Errorf("built by %s", c)
	}
	if !strings.Contains(r.out, "runs commit "+commit) {
		t.Errorf("output %s", r.out)
	}
	for _, c := range r.calls {
		if strings.Contains(c.String(), "latest") {
			t.Errorf("latest: %s", c)
		}
	}

	p.answers = slices.Concat([]answer{{To: "az acr repository show", Out: "sha256:1\n"}}, loggedIn, builders, works, deployed)
	again := p.run("", "deploy.sh", quick...).ends(0, "is there")
	again.want("az deployment group create", "az storage message put")
	if c := again.called("az deployment group create")[0]; !slices.Contains(c.Args, "stage=all") {
		t.Errorf("%s", c)
	}
}

// What goes wrong is said with what to do about it, and what comes after it is
// not done. Each deployment here is one of many.
func TestDeployFails(t *testing.T) {
	failed := func(to, text string) answer { return answer{To: to, Err: "ERROR: " + text + "\n", Exit: 1} }
	all := []string{"make", "az acr login", "docker push", "az deployment group create", "az storage message put"}
	for _, c := range []struct {
		name    string
		answer  answer
		args    []string
		exit    int
		says    []string
		changed []string
	}{
		{"no login", failed("az account show", "Please run 'az login'"), nil, 1, []string{"az: ERROR: Please run", "no login to Azure: az login"}, nil},
		{"unknown subscription", failed("az account show", "not found"), []string{"--subscription", "other"}, 1, []string{"that knows subscription other"}, nil},
		{"old az", answer{To: "az version", Out: "2.9.1\n"}, nil, 1, []string{"the Azure CLI is 2.9.1, 2.76.0 is needed: az upgrade"}, nil},
		{"no right to see groups", failed("az group exists", "AuthorizationFailed"), nil, 1, []string{"cannot see whether", "AuthorizationFailed"}, nil},
		{"no group", answer{To: "az group exists", Out: "false\n"}, nil, 1, []string{"there is no resource group water works; --location REGION"}, nil},
		{"group refused", failed("az group create", "Forbidden"), []string{"--location", "eu"}, 1, []string{"could not be made: the login needs"}, []string{"az group create"}},
		{"no object id", failed("az ad signed-in-user show", "Insufficient privileges"), nil, 1, []string{"--set operatorPrincipalId=ID", "Insufficient privileges"}, nil},
		{"what-if", failed("az deployment group what-if", "InvalidTemplate"), nil, 1, []string{"InvalidTemplate", "what-if of rsms-job", "nothing was changed"}, all[:3]},
		{"build", answer{To: "make", Err: "no Go\n", Exit: 2}, nil, 1, []string{"no Go", "the image could not be built"}, all[:1]},
		{"registry login", failed("az acr login", "denied"), nil, 1, []string{"the login needs AcrPush"}, all[:2]},
		{"push", answer{To: "docker push", Err: "denied\n", Exit: 1}, nil, 1, []string{"could not be pushed"}, all[:3]},
		{"too many requests", failed("az deployment group create", "(TooManyRequests) 429"), nil, 1,
			[]string{"429", "Correct it and run this again", "az deployment operation group list --resource-group water works --name rsms-job"}, all[:4]},
		{"C38 no identity", answer{To: "az resource show", Out: jobState + "None\n"}, nil, 1, []string{"rule.identity is 'None'", "nothing would ever start"}, all[:4]},
		{"C38 system identity", answer{To: "az resource show", Out: jobState + "system\n"}, nil, 1, []string{"rule.identity is 'system'"}, all[:4]},
		{"C07 metadata lost", answer{To: "az resource show", Out: "{{image}}\nazure-queue\nNone\nrsms-jobs\nNone\nNone\n0\n0\n" + identity + "\n"}, nil, 1,
			[]string{"rule.accountName is 'None', not 'rsmsdata'", "rule.queueLength is 'None', not '1'", "rule.queueLengthStrategy is 'None', not 'all'"}, all[:4]},
		{"C35 other image", answer{To: "az resource show", Out: "x/y:1\nazure-queue\nrsmsdata\nrsms-jobs\n1\nall\n0\n3\n" + identity + "\n"}, nil, 1,
			[]string{"image is 'x/y:1'", "replicaRetryLimit is '3', not '0'"}, all[:4]},
		{"no read back", failed("az resource show", "gone"), nil, 1, []string{"job rsms-job cannot be read back", "gone"}, all[:4]},
		{"no right to send", failed("az storage message put", "AuthorizationPermissionMismatch"), nil, 1,
			[]string{"AuthorizationPermissionMismatch", "no probe could be sent to queue rsms-jobs of rsmsdata", "Storage Queue Data Message Sender"}, all},
		{"no answer", failed("az storage entity show", "ResourceNotFound"), nil, 1,
			[]string{"ResourceNotFound", "Executions of rsms-job", "no run record of probe probe-", "scripts/logs.sh --resource-group water works --prefix rsms"}, all},
		{"old answer", answer{To: "az storage entity show", Out: "probe-of-yesterday\nCompleted\n{{commit}}\n\n\n"}, nil, 1, []string{"no run record of probe"}, all},
		{"C18 other commit", answer{To: "az storage entity show", Out: "{{probe}}\nCompleted\nabc\n\n\n"}, nil, 1, []string{"answered by commit abc, not by", "old executions"}, all},
		{"probe failed", answer{To: "az storage entity show", Out: "{{probe}}\nFailed\n{{commit}}\nstorage_denied\nqueue: the role is missing\ndisk: 1 MB left\n"}, nil, 1,
			[]string{"(storage_denied)", "  queue: the role is missing\n  disk: 1 MB left\n", "a job could not run in it"}, all},
		{"no such image", failed("az acr repository show", "no such image"), []string{"--skip-image"}, 1, []string{"is not in the registry"}, nil},
		{"import", failed("az acr import", "denied"), []string{"--import", "ghcr.io/x/rsms-job:" + sha}, 1, []string{"it must be public"}, []string{"az acr import"}},
		{"tag is no commit", answer{}, []string{"--image", "x/y:v1"}, 2, []string{"the tag of x/y:v1 is no commit"}, nil},
		{"two images", answer{}, []string{"--image", "x/y:v1", "--import", "x/y:v1"}, 2, []string{"only one of them"}, nil},
		{"commit alone", answer{}, []string{"--commit", sha}, 2, []string{"--commit goes with"}, nil},
		{"set of a fixed one", answer{}, []string{"--set", "stage=all"}, 2, []string{"the script sets this one"}, nil},
		{"set of nothing", answer{}, []string{"--set", "x"}, 2, []string{"'x' is no NAME=VALUE"}, nil},
		{"no file", answer{}, []string{"-f", "none.bicepparam"}, 2, []string{"no parameter file none.bicepparam"}, nil},
		{"no value", answer{}, []string{"--timeout"}, 2, []string{"--timeout needs a value"}, nil},
		{"no number", answer{}, []string{"--timeout", "1m"}, 2, []string{"'1m' is no number of seconds"}, nil},
		{"rebuild of nothing", answer{}, []string{"--rebuild", "--skip-image"}, 2, []string{"--rebuild builds"}, nil},
		{"last parameters", failed("az deployment group show", "AuthorizationFailed"), nil, 1, []string{"the parameters of the last deployment rsms-job cannot be read", "AuthorizationFailed"}, nil},
		{"unregistered", answer{To: "az provider list", Out: "Microsoft.App\n"}, nil, 1,
			[]string{"az provider register --namespace Microsoft.Storage --wait", "az provider register --namespace Microsoft.Insights --wait"}, nil},
		{"unregistered for Windows", answer{}, []string{"--set", "windowsImage=x/y:1"}, 1, []string{"az provider register --namespace Microsoft.ContainerInstance --wait"}, nil},
		{"another registry now", answer{To: "az deployment group show", With: jobQuery, Out: "rsms-job\nrsmsdata\nrsms-jobs\nRuns\nother.azurecr.io\n"}, nil, 1,
			[]string{"the image is in rsmsreg.azurecr.io, but the job pulls from other.azurecr.io"}, all[:4]},
		{"all of it failed", answer{To: "az deployment group show", With: jobQuery}, nil, 1, []string{"the last deployment rsms-job failed"}, all[:4]},
		{"unknown option", answer{}, []string{"--frce"}, 2, []string{"what is '--frce'?"}, nil},
		{"bad prefix", answer{}, []string{"--prefix", "A b"}, 2, []string{"--prefix 'A b'"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			answers := slices.Concat([]answer{c.answer}, loggedIn, builders, works, deployed)
			if c.name == "group refused" {
				answers = append([]answer{{To: "az group exists", Out: "false\n"}}, answers...)
			}
			newPlace(t, answers).run("", "deploy.sh", with(c.args...)...).ends(c.exit, c.says...).want(append([]string{}, c.changed...)...)
		})
	}
}

const sha = "0123456789abcdef0123456789abcdef01234567"

// What fails once is tried again: a role that does not work yet, a record that
// is not there yet, an execution of the version before (C18).
func TestProbeAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, []answer{
		{To: "az storage message put", Err: "ERROR: AuthorizationPermissionMismatch\n", Exit: 1, Times: 2},
		{To: "az storage entity show", Err: "ERROR: 429 TooManyRequests\n", Exit: 1, Times: 2},
		{To: "az storage entity show", Out: "{{probe}}\nCompleted\nabc\n\n\n", Times: 1},
	}, loggedIn, builders, works, deployed)
	r := p.run("", "deploy.sh", "-g", "water works", "--yes", "--poll", "0", "--timeout", "60").ends(0, "commit abc has answered, an execution from before")
	if n := len(r.called("az storage message put")); n != 4 {
		t.Errorf("%d probes", n)
	}
}

// Without Docker the registry builds, and gets nothing but what the image is
// made of.
func TestDeployWithoutDocker(t *testing.T) {
	t.Parallel()
	p := newPlace(t, []answer{{To: "docker version", Exit: 1}}, loggedIn, builders, works, deployed)
	check(t, os.WriteFile(filepath.Join(p.root, "bin.env"), []byte("secret"), 0o600))
	r := p.run("", "deploy.sh", with("--allow-dirty")...).ends(0, "the registry in Azure will build the image")
	r.want("make", "az acr build", "az deployment group create", "az storage message put")
	build := r.called("az acr build")[0]
	var files []string
	for name := range build.Files {
		files = append(files, name)
	}
	slices.Sort(files)
	if want := []string{"Dockerfile", "bin/image/linux/etc/ssl/certs/ca-certificates.crt", "bin/image/linux/rsms-job"}; !slices.Equal(files, want) {
		t.Errorf("sent %q", files)
	}

	// What an earlier build has left is not taken for what this one could not make.
	p.answers = append([]answer{{To: "make", Exit: 2}}, p.answers...)
	p.run("", "deploy.sh", with("--allow-dirty")...).ends(1, "is not whole").want("make")
}

// A tree with changes has no commit that would say what is deployed.
func TestDirty(t *testing.T) {
	t.Parallel()
	p := newPlace(t, loggedIn, builders, works, deployed)
	check(t, os.WriteFile(filepath.Join(p.root, "new"), nil, 0o600))
	p.run("", "deploy.sh", quick...).ends(1, "the tree has changes").want()
	r := p.run("", "deploy.sh", with("--allow-dirty")...).ends(0)
	tag := regexp.MustCompile(`^commit=` + p.commit() + `-dirty-\d{14}$`)
	if c := r.called("az deployment group create")[0]; !slices.ContainsFunc(c.Args, tag.MatchString) {
		t.Errorf("%s", c)
	}
	check(t, os.RemoveAll(filepath.Join(p.root, ".git")))
	p.run("", "deploy.sh", quick...).ends(1, "is no git repository").want()
}

// An image that was built elsewhere: in the registry, copied into it, or used
// where it is. So is an older version rolled back to.
func TestImages(t *testing.T) {
	for _, c := range []struct {
		name, image string
		args        []string
		changes     []string
	}{
		{"roll back", "rsmsreg.azurecr.io/rsms-job:" + sha, []string{"--skip-image", "--commit", sha}, nil},
		{"import", "rsmsreg.azurecr.io/rsms-job:" + sha, []string{"--import", "ghcr.io/river/rsms-job:" + sha}, []string{"az acr import"}},
		{"elsewhere", "other.azurecr.io/a/b@sha256:1", []string{"--image", "other.azurecr.io/a/b@sha256:1", "--commit", sha}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, loggedIn, works, deployed)
			if c.name == "roll back" {
				p.answers = append([]answer{{To: "az acr repository show", Out: "sha256:1\n"}}, p.answers...)
			}
			r := p.run("", "deploy.sh", with(c.args...)...).ends(0)
			r.want(append(slices.Clone(c.changes), "az deployment group create", "az storage message put")...)
			if d := r.called("az deployment group create")[0]; !slices.Contains(d.Args, "image="+c.image) || !slices.Contains(d.Args, "commit="+sha) {
				t.Errorf("%s", d)
			}
		})
	}
}

// A dry run says every command that would change anything, as a shell reads it,
// and changes nothing, on the first deployment and on a later one.
func TestDeployDryRun(t *testing.T) {
	for name, group := range map[string][]answer{"first": append([]answer{{To: "az group exists", Out: "false\n"}}, empty...), "later": deployed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, group, loggedIn, builders, works)
			r := p.run("", "deploy.sh", "-g", "water works", "-l", "eu", "--dry-run", "--set", "doneQueueName=it's $HOME").ends(0, "nothing was changed").want()
			want := []string{"make", "az acr login", "docker push", "az deployment group create", "az storage message put"}
			if name == "first" {
				want = append([]string{"az group create", "az deployment group create"}, want...)
			}
			var got []string
			for l := range strings.Lines(r.out) {
				if l, ok := strings.CutPrefix(l, "would run: "); ok {
					i := slices.IndexFunc(want, func(w string) bool { return strings.HasPrefix(l, w+" ") })
					if i >= 0 {
						got = append(got, want[i])
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("would run %q\nwant %q\n%s", got, want, r.out)
			}
			if !strings.Contains(r.out, `doneQueueName=it\'s\ \$HOME`) || !strings.Contains(r.out, `--resource-group water\ works`) {
				t.Errorf("not as a shell reads it:\n%s", r.out)
			}
		})
	}
}

// Nothing is changed before somebody has seen what it is and said yes.
func TestDeployAsks(t *testing.T) {
	t.Parallel()
	p := newPlace(t, []answer{{To: "az acr repository show", Out: "sha256:1\n"}}, loggedIn, builders, works, deployed)
	args := []string{"-g", "water works", "--poll", "0"}
	p.run("", "deploy.sh", args...).ends(1, "nobody answered", "--yes").want()
	p.run("n\n", "deploy.sh", args...).ends(1, "Deploy that? [y/N]", "stopped").want()
	r := p.run("y\n", "deploy.sh", args...).ends(0)
	if i := slices.IndexFunc(r.calls, func(c call) bool { return strings.HasPrefix(c.String(), "az deployment group what-if") }); i < 0 {
		t.Error("no what-if")
	}
	p.answers = append([]answer{{To: "az group exists", Out: "false\n"}}, p.answers...)
	p.run("n\n", "deploy.sh", append(args, "-l", "eu")...).ends(1, "Make it? [y/N]").want()
}

// Who deploys may be a program: a service principal.
func TestServicePrincipal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, []answer{{To: "az account show", Out: "Water Works\nid\nservicePrincipal\napp-id\n"}}, loggedIn, builders, works, deployed)
	c := p.run("", "deploy.sh", quick...).ends(0).called("az deployment group create")[0]
	if !slices.Contains(c.Args, "operatorPrincipalId=00000000-0000-0000-0000-00000000000b") || !slices.Contains(c.Args, "operatorPrincipalType=ServicePrincipal") {
		t.Errorf("%s", c)
	}
	r := p.run("", "deploy.sh", with("--set", "operatorPrincipalId=me", "--subscription", "sub 1")...).ends(0)
	if r.called("az ad") != nil {
		t.Error("asked who it is")
	}
	for _, c := range r.calls {
		if s := c.value("--subscription"); c.Args[0] == "az" && s != "sub 1" && c.Args[1] != "version" {
			t.Errorf("in another subscription: %s", c)
		}
	}
}

// A parameter file may be one of JSON, and its name have blanks.
func TestParameterFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, loggedIn, builders, works, deployed)
	check(t, os.WriteFile(filepath.Join(p.temp, "my file.json"), []byte("{}"), 0o600))
	c := p.run("", "deploy.sh", with("-f", "my file.json")...).ends(0).called("az deployment group create")[0]
	if c.value("--template-file") != filepath.Join(p.root, "bicep/main.bicep") || c.value("--parameters") != "@"+filepath.Join(p.temp, "my file.json") {
		t.Errorf("%s", c)
	}
}

// Tools that are not there are named with where to get them.
func TestMissingTools(t *testing.T) {
	t.Parallel()
	p := newPlace(t, loggedIn, builders, works, deployed)
	for _, c := range []struct{ tool, says string }{{"go", "the image is built with Go"}, {"make", "the image is built by make"}, {"az", "the Azure CLI (az) is missing"}} {
		check(t, os.Remove(filepath.Join(filepath.Dir(p.root), "bin", c.tool)))
		p.run("", "deploy.sh", quick...).ends(1, c.says).want()
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, script := range []string{"deploy.sh", "start.sh", "logs.sh", "teardown.sh"} {
		r := p.run("", script, "-h").ends(0)
		if !strings.Contains(r.out, script+" --resource-group NAME") || !strings.Contains(r.out, "--dry-run") || strings.Contains(r.out, "#") {
			t.Errorf("%s:\n%s", script, r.out)
		}
		p.run("", script).ends(2, "which resource group?")
	}
}
