//go:build !windows

package deploytest

import (
	"slices"
	"strings"
	"testing"
)

const (
	inGroup  = "/subscriptions/s/resourceGroups/Water/providers/"
	inOther  = "/subscriptions/s/resourceGroups/other/providers/"
	theirJob = inGroup + "Microsoft.App/jobs/rsms2-job"
	// One has no tag, the other has one and another name.
	lookedAt      = inGroup + "Microsoft.ContainerRegistry/registries/rsms-images"
	givenRegistry = inGroup + "Microsoft.ContainerRegistry/registries/waterimages"

	theirs = inGroup + "Microsoft.ContainerRegistry/registries/rsms2abcdefghijklm"
)

// made is what the deployment has on record: its own things, a queue and a role in
// an account of others, one of another group, and what it has only looked at, a
// registry of this group that was there before and one that bears our prefix.
var made = []string{
	inGroup + "Microsoft.Storage/storageAccounts/rsmsabcdefghijkln",
	inGroup + "Microsoft.Storage/storageAccounts/rsmsabcdefghijkln/queueServices/default/queues/rsms-jobs",
	inGroup + "Microsoft.ManagedIdentity/userAssignedIdentities/rsms-run",
	inGroup + "Microsoft.App/managedEnvironments/rsms-env",
	inGroup + "Microsoft.App/jobs/rsms-job",
	givenRegistry, lookedAt,
	givenRegistry + "/providers/Microsoft.Authorization/roleAssignments/22222222-0000-0000-0000-000000000000",
	inGroup + "Microsoft.Storage/storageAccounts/gone/providers/Microsoft.Authorization/roleAssignments/33333333-0000-0000-0000-000000000000",
	inOther + "Microsoft.Storage/storageAccounts/shared/queueServices/default/queues/rsms-jobs",
	inOther + "Microsoft.Storage/storageAccounts/shared/providers/Microsoft.Authorization/roleAssignments/11111111-0000-0000-0000-000000000000",
}

// there is what is in the group; the case of names is as Azure likes it.
var there = []string{
	inGroup + "microsoft.app/jobs/rsms-job", theirJob,
	inGroup + "Microsoft.App/managedEnvironments/rsms-env",
	inGroup + "Microsoft.ManagedIdentity/userAssignedIdentities/rsms-run",
	inGroup + "Microsoft.Storage/storageAccounts/rsmsabcdefghijkln",
	theirs, givenRegistry, lookedAt,
	inGroup + "Microsoft.OperationalInsights/workspaces/rsms-logs",
	inGroup + "Microsoft.ContainerRegistry/registries/rsmsabcdefghijklm",
}

// tagged is what has our tag: also things of a deployment with another prefix.
var tagged = []string{theirJob, theirs, givenRegistry,
	inGroup + "microsoft.app/jobs/rsms-job",
	inGroup + "Microsoft.App/managedEnvironments/rsms-env",
	inGroup + "Microsoft.ManagedIdentity/userAssignedIdentities/rsms-run",
	inGroup + "Microsoft.Storage/storageAccounts/rsmsabcdefghijkln",
	inGroup + "Microsoft.OperationalInsights/workspaces/rsms-logs", inGroup + "Microsoft.ContainerRegistry/registries/rsmsabcdefghijklm"}

func lines(list []string) string { return strings.Join(list, "\n") + "\n" }

var standing = []answer{
	{To: "az deployment group show", With: "properties.outputResources[].id", Out: lines(made)},
	{To: "az deployment group show", Out: "RunsTrial\nScenariosTrial\n"},
	{To: "az resource list", With: "[?tags.application == 'rsms-job'].id", Out: lines(tagged)},
	{To: "az resource list", Out: lines(there)},
	{To: "az storage entity query", Out: "0\n"},
	{To: "az role assignment delete"},
	{To: "az resource delete"},
}

// deleted is what a run has deleted, by the last part of its id.
func deleted(r *run) []string {
	list := []string{}
	for _, words := range []string{"az role assignment delete", "az resource delete"} {
		for _, c := range r.called(words) {
			id := c.value("--ids")
			list = append(list, id[strings.LastIndex(id, "/")+1:])
		}
	}
	return list
}

// Jobs go before the environment, storage goes last; what others own stays.
func TestTeardown(t *testing.T) {
	t.Parallel()
	p := newPlace(t, loggedIn, standing)
	r := p.run("Water\n", "teardown.sh", "-g", "Water").ends(0, "To be deleted", "  microsoft.app/jobs/rsms-job", "2 role assignments", "Left in resource group Water")
	want := []string{"22222222-0000-0000-0000-000000000000", "11111111-0000-0000-0000-000000000000", "rsms-job", "rsms-env", "rsms-run", "rsms-logs", "rsmsabcdefghijklm", "rsmsabcdefghijkln"}
	if got := deleted(r); !slices.Equal(got, want) {
		t.Errorf("deleted %q, want %q", got, want)
	}
	if r.called("az group delete") != nil {
		t.Error("the group was deleted")
	}
	r = p.run("", "teardown.sh", "-g", "Water", "--yes", "--keep-storage").ends(0)
	if got := deleted(r); !slices.Equal(got, want[:7]) {
		t.Errorf("deleted %q, want %q", got, want[:7])
	}
	if r.called("az storage") != nil {
		t.Error("looked for results in an account that stays")
	}
}

func TestTeardownRefuses(t *testing.T) {
	failed := func(to, text string) answer { return answer{To: to, Err: "ERROR: " + text + "\n", Exit: 1} }
	for _, c := range []struct {
		name, input string
		answer      answer
		args        []string
		exit        int
		says        []string
	}{
		{"another name", "water\n", answer{}, nil, 1, []string{"'water' is not Water: nothing was deleted"}},
		{"nobody", "", answer{}, nil, 1, []string{"nobody answered", "--yes"}},
		{"results", "", answer{To: "az storage entity query", Out: "1\n"}, []string{"--yes"}, 1, []string{"rsmsabcdefghijkln holds scenarios or results (table RunsTrial)", "--keep-storage", "--delete-results"}},
		{"scenarios only", "", answer{To: "az storage entity query", With: "ScenariosTrial", Out: "1\n"}, []string{"--yes"}, 1, []string{"holds scenarios or results (table ScenariosTrial)"}},
		{"no right to look", "", failed("az storage entity query", "AuthorizationPermissionMismatch"), []string{"--yes"}, 1, []string{"cannot see whether table RunsTrial of rsmsabcdefghijkln holds anything"}},
		{"not deployed", "", failed("az deployment group show", "DeploymentNotFound"), []string{"--yes"}, 1, []string{"no deployment rsms-job", "nothing says what belongs to it"}},
		{"no group", "", failed("az resource list", "ResourceGroupNotFound"), []string{"--yes"}, 1, []string{"cannot be listed"}},
		{"unknown option", "", answer{}, []string{"--force"}, 2, []string{"what is '--force'?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, []answer{c.answer}, loggedIn, standing)
			p.run(c.input, "teardown.sh", append([]string{"-g", "Water"}, c.args...)...).ends(c.exit, c.says...).want()
		})
	}
}

// Results are deleted when that is what is asked for; what could not be deleted
// is left for the next time, and does not keep the rest.
func TestTeardownGoesOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, []answer{
		{To: "az storage entity query", Out: "1\n"},
		{To: "az resource delete", With: inGroup + "Microsoft.App/managedEnvironments/rsms-env", Err: "ERROR: 409 still in use\n", Exit: 1},
	}, loggedIn, standing)
	r := p.run("", "teardown.sh", "-g", "Water", "--yes", "--delete-results").ends(1, "409", "not all of it", "Run this again")
	if got := deleted(r); len(got) != 8 {
		t.Errorf("deleted %q", got)
	}
	// All is gone but the roles on what others own.
	p.answers = slices.Concat([]answer{{To: "az resource list", Out: lines([]string{theirJob})}}, p.answers)
	r = p.run("", "teardown.sh", "-g", "Water", "--yes").ends(0)
	if got := deleted(r); !slices.Equal(got, []string{"11111111-0000-0000-0000-000000000000"}) {
		t.Errorf("deleted %q", got)
	}
	p.answers = slices.Concat([]answer{{To: "az deployment group show", With: "properties.outputResources[].id", Out: lines(made[:5])}}, p.answers)
	p.run("", "teardown.sh", "-g", "Water", "--yes").ends(0, "Nothing of deployment rsms-job is left").want()
}

func TestTeardownDryRun(t *testing.T) {
	t.Parallel()
	r := newPlace(t, loggedIn, standing).run("", "teardown.sh", "-g", "Water", "--dry-run").ends(0).want()
	if n := strings.Count(r.out, "would run: az resource delete --ids "); n != 6 || !strings.Contains(r.out, "would run: az role assignment delete --ids ") {
		t.Errorf("%s", r.out)
	}
}
