//go:build !windows

package deploytest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// loggedIn is what every script asks first.
var loggedIn = []answer{
	{To: "az version", Out: "2.91.0\n"},
	{To: "az account show", Out: "Water Works\n00000000-0000-0000-0000-000000000001\nuser\nann@example.org\n"},
	{To: "az ad signed-in-user show", Out: "00000000-0000-0000-0000-00000000000a\n"},
	{To: "az ad sp show", Out: "00000000-0000-0000-0000-00000000000b\n"},
	{To: "az extension list", Out: "1.0.0\n"},
	{To: "az provider list", Out: "Microsoft.App\nMicrosoft.ContainerRegistry\nmicrosoft.insights\nMicrosoft.ManagedIdentity\nMicrosoft.OperationalInsights\nMicrosoft.Storage\n"},
}

const (
	registryOutputs = "rsmsreg\nrsmsreg.azurecr.io\n"
	jobOutputs      = "rsms-job\nrsmsdata\nrsms-jobs\nRuns\nrsmsreg.azurecr.io\n"
	identity        = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/rsms-scale"
	notFound        = "ERROR: (DeploymentNotFound) no such deployment\n"
)

// jobState is the job as it is read back, its identity apart.
const jobState = "{{image}}\nazure-queue\nrsmsdata\nrsms-jobs\n1\nall\n0\n0\n"

// builders are the tools that build an image.
var builders = []answer{
	{To: "docker version", Out: "linux\n"},
	{To: "docker push"},
	{To: "make", Writes: []string{"bin/image/linux/rsms-job", "bin/image/linux/etc/ssl/certs/ca-certificates.crt"}},
}

// works are the answers of an Azure where all goes well once something was
// deployed.
var works = []answer{
	{To: "az deployment group what-if", Out: "+ Microsoft.App/jobs/rsms-job\n"},
	{To: "az deployment group create"},
	{To: "az group exists", Out: "true\n"},
	{To: "az group create"},
	{To: "az acr show", Out: "rsmsreg\n"},
	{To: "az acr login"},
	{To: "az acr build"},
	{To: "az acr import"},
	{To: "az resource show", Out: jobState + identity + "\n"},
	{To: "az storage message put"},
	{To: "az storage entity show", Out: "{{probe}}\nCompleted\n{{commit}}\n\n\n"},
	{To: "az containerapp job execution list", Out: "rsms-job-a1  Running\n"},
}

// empty is a subscription before the first deployment.
var empty = []answer{
	{To: "az deployment group show", With: "rsms-foundation", After: "stage=foundation", Out: registryOutputs},
	{To: "az deployment group show", With: "rsms-job", After: "stage=all", Out: jobOutputs},
	{To: "az deployment group show", Err: notFound, Exit: 3},
	{To: "az acr repository show", Err: "ERROR: no such image\n", Exit: 1},
}

// deployed is a resource group that has all, but not yet this image.
var deployed = []answer{
	{To: "az deployment group show", With: registryQuery, Out: registryOutputs},
	{To: "az deployment group show", With: jobQuery, Out: jobOutputs},
	{To: "az deployment group show", Begins: "properties.parameters.["},
	{To: "az acr repository show", Err: "ERROR: no such image\n", Exit: 1},
}

// What the scripts ask of a deployment.
const (
	registryQuery = "properties.outputs.[not_null(registryName.value, ''), not_null(registryLoginServer.value, '')]"
	jobQuery      = "properties.outputs.[not_null(jobName.value, ''), not_null(storageAccountName.value, ''), not_null(queueName.value, ''), not_null(runsTable.value, ''), not_null(registryLoginServer.value, '')]"
)

// template is that of the project.
func template(tb testing.TB) string {
	tb.Helper()
	data, err := os.ReadFile("../../bicep/main.bicep")
	check(tb, err)
	return string(data)
}

// lastGiven is the answer to what the last deployment was given: what is not named
// here it was not.
func lastGiven(tb testing.TB, values map[string]string) answer {
	tb.Helper()
	var asked, out []string
	for _, m := range regexp.MustCompile(`(?m)^param (\w+) `).FindAllStringSubmatch(template(tb), -1) {
		value, ok := values[m[1]]
		if !ok {
			value = "null"
		}
		asked, out = append(asked, "to_string("+m[1]+".value)"), append(out, value)
	}
	return answer{To: "az deployment group show", With: "properties.parameters.[" + strings.Join(asked, ", ") + "]", Out: lines(out)}
}
