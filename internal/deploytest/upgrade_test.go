//go:build !windows

package deploytest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// before is what an earlier deployment was given, with what Azure adds to it: the
// defaults of that day.
var before = map[string]string{
	"namePrefix": "rsms", "stage": "all", "image": "old", "commit": "old", "location": "northeurope", "queueName": "mine", "poisonQueueName": "mine-poison",
	"operatorPrincipalId": "somebody", "maxExecutions": "20", "windowsImage": "rsmsreg.azurecr.io/w:1", "alertEmails": `["a@example.org","ü@example.org"]`,
	"manualJob": "false", "pollingInterval": "30", "extraSettings": "{}", "storageAccountName": "given", "cpu": "2", "memory": "4Gi", "registryName": "",
}

// An upgrade forgets nothing that an earlier deployment was told, and what it is
// told itself goes first.
func TestUpgradeKeeps(t *testing.T) {
	t.Parallel()
	p := newPlace(t, loggedIn, builders, works, []answer{lastGiven(t, before)}, deployed)
	r := p.run("", "deploy.sh", with("--set", "maxExecutions=5", "--set", "extraSettings={}")...).ends(0, "kept from the last deployment: storageAccountName=given")
	args := r.called("az deployment group create")[0].Args
	for _, want := range []string{"location=northeurope", "queueName=mine", "storageAccountName=given", "windowsImage=rsmsreg.azurecr.io/w:1", "manualJob=false", "cpu=2",
		`alertEmails=["a@example.org","ü@example.org"]`, "maxExecutions=5", "operatorPrincipalId=00000000-0000-0000-0000-00000000000a"} {
		if !slices.Contains(args, want) {
			t.Errorf("lacks %q", want)
		}
	}
	// What is the default, belongs to the script, or is made from another one is not.
	for _, arg := range args {
		for _, not := range []string{"pollingInterval=", "maxExecutions=20", "poisonQueueName=", "memory=", "image=old", "commit=old", "operatorPrincipalId=somebody", "registryName="} {
			if strings.HasPrefix(arg, not) {
				t.Errorf("has %q", arg)
			}
		}
	}

	// A parameter file and --location say otherwise.
	check(t, os.WriteFile(filepath.Join(p.temp, "my.bicepparam"), []byte("using 'x'\nparam queueName = 'other'\nparam cpu = '1'\nparam windowsImage = ''\n"), 0o600))
	args = p.run("", "deploy.sh", with("-f", "my.bicepparam", "-l", "eu")...).ends(0).called("az deployment group create")[0].Args
	check(t, os.WriteFile(filepath.Join(p.temp, "my.json"), []byte("{\"parameters\": {\n \"queueName\": {\"value\": \"other\"}, \"cpu\":{\"value\": \"1\"}}}"), 0o600))
	byJSON := p.run("", "deploy.sh", with("-f", "my.json", "-l", "eu", "--set", "windowsImage=")...).ends(0).called("az deployment group create")[0].Args
	for _, args := range [][]string{args, byJSON} {
		for _, not := range []string{"location=northeurope", "queueName=mine", "cpu=2", "windowsImage=rsmsreg.azurecr.io/w:1"} {
			if slices.Contains(args, not) {
				t.Errorf("has %q: %q", not, args)
			}
		}
		if !slices.Contains(args, "maxExecutions=20") || !slices.Contains(args, "location=eu") {
			t.Errorf("%q", args)
		}
	}
}

// Also where the first attempt got no further than the registry.
func TestUpgradeOfFoundation(t *testing.T) {
	t.Parallel()
	last := lastGiven(t, before)
	last.To = "az deployment group show --resource-group water works --name rsms-foundation"
	p := newPlace(t, []answer{last, {To: "az deployment group show", With: last.With, Err: notFound, Exit: 3}}, loggedIn, builders, works, deployed)
	args := p.run("", "deploy.sh", quick...).ends(0).called("az deployment group create")[0].Args
	if !slices.Contains(args, "storageAccountName=given") {
		t.Errorf("%q", args)
	}
}

// Values that cannot be told apart are not guessed at.
func TestUpgradeOfLines(t *testing.T) {
	t.Parallel()
	odd := lastGiven(t, map[string]string{"queueName": "a\nb"})
	newPlace(t, []answer{odd}, loggedIn, builders, works, deployed).run("", "deploy.sh", quick...).ends(1, "cannot be told apart").want()
}

// Another registry than before is made, or given its right to be pulled from,
// before there is an image.
func TestOtherRegistry(t *testing.T) {
	t.Parallel()
	p := newPlace(t, []answer{
		{To: "az deployment group show --resource-group water works --name rsms-foundation", With: registryQuery, After: "stage=foundation", Out: "mine\nmine.azurecr.io\n"},
		{To: "az deployment group show", With: jobQuery, Out: strings.Replace(jobOutputs, "rsmsreg", "mine", 1)},
		lastGiven(t, before),
	}, loggedIn, builders, works, deployed)
	r := p.run("", "deploy.sh", with("--set", "registryName=mine")...).ends(0).
		want("az deployment group create", "make", "az acr login", "docker push", "az deployment group create", "az storage message put")
	if c := r.called("az deployment group create")[1]; !slices.Contains(c.Args, "image=mine.azurecr.io/rsms-job:"+p.commit()) {
		t.Errorf("%s", c)
	}
}

// C41: an image that is elsewhere needs the right to pull as well, and that takes
// minutes: it is given before the rest.
func TestImageFirst(t *testing.T) {
	t.Parallel()
	image := "rsmsreg.azurecr.io/rsms-job:" + sha
	r := newPlace(t, loggedIn, works, empty).run("", "deploy.sh", with("--image", image)...).ends(0).
		want("az deployment group create", "az deployment group create", "az storage message put")
	if c := r.called("az deployment group create"); !slices.Contains(c[0].Args, "stage=foundation") || !slices.Contains(c[1].Args, "image="+image) {
		t.Errorf("%s", c)
	}
}

// --rebuild builds what is there.
func TestRebuild(t *testing.T) {
	t.Parallel()
	newPlace(t, []answer{{To: "az acr repository show", Out: "sha256:1\n"}}, loggedIn, builders, works, deployed).
		run("", "deploy.sh", with("--rebuild")...).ends(0).want("make", "az acr login", "docker push", "az deployment group create", "az storage message put")
}

// az may be set to answer as JSON or as a table: every answer that is read is asked
// for in a form of its own.
func TestOutputs(t *testing.T) {
	t.Parallel()
	r := newPlace(t, loggedIn, builders, works, deployed).run("", "deploy.sh", quick...).ends(0)
	for _, c := range r.called("az") {
		if c.value("--output") == "" && !strings.HasPrefix(c.String(), "az deployment group what-if") && c.Args[1] != "acr" {
			t.Errorf("%s", c)
		}
	}
}
