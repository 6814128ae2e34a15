package bicepcheck

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// broken is the templates with one change that a rule must find.
type broken struct {
	rule, file, old, new string
	want                 string // in the text of the problem
}

const (
	accountFile   = "modules/storage-account.bicep"
	alertsFile    = "modules/alerts.bicep"
	contentsFile  = "modules/storage-contents.bicep"
	jobsFile      = "modules/jobs.bicep"
	operatorFile  = "modules/operator-roles.bicep"
	paramFile     = "main.bicepparam"
	pullFile      = "modules/registry-pull.bicep"
	queueRoleFile = "modules/queue-roles.bicep"
	storeRoleFile = "modules/store-roles.bicep"
	platformFile  = "modules/environment.bicep"
)

// usingMain is what the parameter file begins with.
const usingMain = "using 'main.bicep'\n"

var breaks = []broken{
	{"syntax", jobsFile, "var identity = {", "var identity = {{", "not Bicep"},
	{"syntax", mainPath, "params: {", "params: [", "not Bicep"},
	{"syntax", paramFile, usingMain, usingMain + "param cpu = '1", "not Bicep"},

	{"described", mainPath, "@description('Region of all that is made.')\n", "", "location has no description"},
	{"described", jobsFile, "@description('Full reference of the image.')", "@description('')", "image has no description"},
	{"described", platformFile, "@description('Name of the environment.')\noutput", "output", "name has no description"},
	{"declared", jobsFile, "image: image", "image: picture", "picture is not declared"},
	{"declared", jobsFile, "json(cpu)", "number(cpu)", "function number is not known"},
	{"declared", jobsFile, "value: setting.value", "value: other.value", "other is not declared"},
	{"declared", queueRoleFile, "guid(poisonQueue.id, runPrincipalId, role)", "guid(poisonQueue.id, runPrincipalId, part)", "part is not declared"},
	{"declared", mainPath, "'${namePrefix}-job'", "'${prefix}-job'", "prefix is not declared"},
	{"declared", mainPath, "var withJobs", "var withWindows = true\nvar withJobs", "is declared in line"},
	{"unused", mainPath, "var withJobs", "var more = 1\nvar withJobs", "more is not used"},
	{"unused", pullFile, "param principalIds string[]", "param principalIds string[]\n@description('x')\nparam other string = 'x'", "other is not used"},
	{"unused", contentsFile, "resource queueService", "resource seen 'Microsoft.Storage/storageAccounts@2024-01-01' existing = {\n  name: 'x'\n}\nresource queueService", "looked at for nothing"},
	{"secrets", mainPath, "param commit string", "param commitPassword string", "commitPassword is a secret"},
	{"secrets", mainPath, "@description('Commit that", "@secure()\n@description('Commit that", "commit is a secret"},
	{"secrets", platformFile, "output id string = managed.id", "output connectionString string = managed.id", "connectionString is a secret"},
	{"secrets", platformFile, "output id string = managed.id", "output id string = workspace.listKeys().primarySharedKey", "listKeys reads a secret"},
	{"secrets", platformFile, "output id string = managed.id", "output id string = listKeys(workspace.id, '2023-09-01').primarySharedKey", "listKeys reads a secret"},
	{"secrets", jobsFile, "replicaRetryLimit: 0", "replicaRetryLimit: 0\n  secrets: []", "property secrets"},
	{"secrets", platformFile, "destination: 'azure-monitor'", "destination: 'azure-monitor'\n      logAnalyticsConfiguration: {\n        sharedKey: 'x'\n      }", "property sharedKey"},

	{"modules used", mainPath, "'modules/workspace.bicep'", "'modules/registry.bicep'", "no file uses it"},
	{"modules used", mainPath, "'modules/workspace.bicep'", "'modules/space.bicep'", "there is no modules/space.bicep"},
	{"module parameters", mainPath, "    retentionDays: logRetentionDays\n", "", "needs parameter retentionDays"},
	{"module parameters", mainPath, "retentionDays: logRetentionDays", "retentionDays: logRetentionDays\n    days: logRetentionDays", "has no parameter days"},
	{"module outputs", mainPath, "managed.outputs.name", "managed.outputs.title", "has no output title"},
	{"maybe missing", mainPath, "groupIdentity!.outputs.clientId", "groupIdentity.outputs.clientId", "groupIdentity may be missing"},
	{"parameter file", paramFile, usingMain, usingMain + "param cpus = '1'\n", "no parameter cpus"},
	{"parameter file", paramFile, usingMain, usingMain + "param cpu = '3'\n", "none of the values"},
	{"parameter file", paramFile, usingMain, usingMain + "param maxExecutions = 0\n", "too small or too large"},
	{"parameter file", paramFile, usingMain, usingMain + "param cpu = '1'\nparam cpu = '1'\n", "set twice"},
	{"parameter file", paramFile, "using 'main.bicep'", "using 'other.bicep'", "is not there"},
	{"parameter file", mainPath, "param pollingInterval int = 30", "param pollingInterval int = 5", "by default"},

	{"scale rule (C06, C07, C38)", jobsFile, "triggerType: 'Event'", "triggerType: 'Schedule'", "no job has triggerType Event"},
	{"scale rule (C06, C07, C38)", jobsFile, "              identity: scaleIdentityId\n", "", "identity is missing"},
	{"scale rule (C06, C07, C38)", jobsFile, "                accountName: storageAccountName\n", "", "metadata.accountName"},
	{"scale rule (C06, C07, C38)", jobsFile, "                queueName: queueName\n", "", "metadata.queueName"},
	{"scale rule (C06, C07, C38)", jobsFile, "queueLength: '1'", "queueLength: '5'", "metadata.queueLength"},
	{"scale rule (C06, C07, C38)", jobsFile, "queueLength: '1'", "queueLength: 1", "is no string"},
	{"scale rule (C06, C07, C38)", jobsFile, "                queueLengthStrategy: 'all'\n", "", "metadata.queueLengthStrategy"},
	{"scale rule (C06, C07, C38)", jobsFile, "queueLengthStrategy: 'all'", "queueLengthStrategy: 'visibleonly'", "metadata.queueLengthStrategy"},
	{"scale rule (C06, C07, C38)", jobsFile, "type: 'azure-queue'", "type: 'azure-servicebus'", "type is missing"},
	{"scale rule (C06, C07, C38)", jobsFile, "          maxExecutions: maxExecutions\n", "", "maxExecutions is missing"},
	{"scale rule (C06, C07, C38)", jobsFile, "          pollingInterval: pollingInterval\n", "", "pollingInterval is missing"},
	{"scale rule (C06, C07, C38)", mainPath, "RSMS_WORKER_QUEUE_NAME: queueName", "RSMS_WORKER_QUEUE_NAME: poisonQueueName", "is not what RSMS_WORKER_QUEUE_NAME says"},
	{"no idle executions (C29)", jobsFile, "minExecutions: 0", "minExecutions: 1", "minExecutions must be 0"},
	{"no idle executions (C29)", jobsFile, "        parallelism: 1\n        replicaCompletionCount: 1\n        scale", "        parallelism: 2\n        replicaCompletionCount: 1\n        scale", "eventTriggerConfig.parallelism"},
	{"no idle executions (C29)", jobsFile, "        replicaCompletionCount: 1\n      }\n", "      }\n", "manualTriggerConfig.replicaCompletionCount"},
	{"no retry by the platform (C15)", jobsFile, "replicaRetryLimit: 0", "replicaRetryLimit: 1", "must be 0"},
	{"replica timeout (C14)", mainPath, "var replicaTimeoutSeconds = jobTimeoutSeconds + marginSeconds", "var replicaTimeoutSeconds = jobTimeoutSeconds", "at least 120 more"},
	{"replica timeout (C14)", mainPath, "? 1800 : 300", "? 1800 : 30", "at least 120 more"},
	{"replica timeout (C14)", mainPath, "replicaTimeoutSeconds: replicaTimeoutSeconds", "replicaTimeoutSeconds: 1800", "at least 120 more"},
	{"replica timeout (C14)", mainPath, "RSMS_REPLICA_TIMEOUT_SEC: string(replicaTimeoutSeconds)", "RSMS_REPLICA_TIMEOUT_SEC: string(jobTimeoutSeconds)", "RSMS_REPLICA_TIMEOUT_SEC"},
	{"replica timeout (C14)", jobsFile, "  replicaTimeout: replicaTimeoutSeconds\n", "", "has no replicaTimeout"},
	{"cores (C04)", paramFile, usingMain, usingMain + "param maxExecutions = 101\n", "more than 100 cores"},
	{"cores (C04)", mainPath, "param maxExecutions int = 10", "param maxExecutions int = 400", "more than 100 cores"},
	{"memory", mainPath, "'1.25': '2.5Gi'", "'1.25': '2Gi'", "memory of 1.25 processors is not 2.5Gi"},
	{"memory", mainPath, "  '4'\n])\nparam cpu", "  '4'\n  '8'\n])\nparam cpu", "memory of 8 processors"},
	{"memory", mainPath, "memory: memories[cpu]", "memory: '2Gi'", "is not looked up by cpu"},
	{"one template (C08)", jobsFile, "    template: template\n  }\n}\n\n// A start", "    template: {}\n  }\n}\n\n// A start", "is its own"},

	{"role ids", pullFile, "7f951dda-4ed3-4680-a7ca-43fe172d538d", "b24988ac-6180-42a0-ab88-20f7382dd24c", "none of the roles"},
	{"role names", pullFile, "guid(registry.id, principalId, acrPull)", "guid(registry.id, acrPull)", "must be guid(registry.id, principalId, acrPull)"},
	{"role names", storeRoleFile, "guid(basins.id, principalId, blobDataReader)", "guid(results.id, principalId, blobDataReader)", "the name of onBasins"},
	{"role names", pullFile, "      principalType: 'ServicePrincipal'\n", "", "no principalType"},
	{"role scopes", pullFile, "    scope: registry\n", "", "must not be on"},
	{"role scopes", operatorFile, "scope: runs", "scope: account", "must not be on"},
	{"role scopes", "modules/group-identity.bicep", "  scope: identity\n", "", "must not be on"},
	{"roles of the job (C06, C40, C41, C47)", queueRoleFile, "principalId: scalePrincipalId", "principalId: runPrincipalId", "scaleIdentity has no role"},
	{"roles of the job (C06, C40, C41, C47)", mainPath, "scaleIdentityId: scaleIdentity.id", "scaleIdentityId: runIdentity.id", "three identities"},
	{"roles of the job (C06, C40, C41, C47)", mainPath, "[pullIdentity.properties.principalId],", "[],", "pullIdentity has no role"},
	{"roles of the job (C06, C40, C41, C47)", jobsFile, "    '${runIdentityId}': {}\n", "", "runIdentity is not assigned"},
	{"roles of the job (C06, C40, C41, C47)", queueRoleFile, "974c5e8b-45b9-4653-ba55-5f855dd0fb88", "c6a89b2d-59bc-44d0-9896-0f6e12d7b80a", "runIdentity has no role 974c5e8b"},
	{"roles of the operator", operatorFile, "principalId, queueDataContributor)\n  scope: poisonQueue", "principalId, queueDataContributor)\n  scope: queue", "no role 974c5e8b-45b9-4653-ba55-5f855dd0fb88 on poisonQueueName"},
	{"roles of the operator", operatorFile, "'0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'", "'76199698-9eea-4c19-bc75-cec21354c6b6'", "on scenariosTable"},
	{"roles of the operator", mainPath, "principalId: operatorPrincipalId", "principalId: runIdentity.properties.principalId", "on basinContainer"},
	{"roles first (C41)", mainPath, "    queueRoles\n    storeRoles\n", "    storeRoles\n", "must come after queueRoles"},
	{"roles first (C41)", mainPath, "registryLoginServer: pull.outputs.loginServer\n    settings", "registryLoginServer: 'x'\n    settings", "must come after pull"},
	{"user-assigned identities (C43)", jobsFile, "type: 'UserAssigned'", "type: 'SystemAssigned,UserAssigned'", "must be UserAssigned"},
	{"user-assigned identities (C43)", jobsFile, "  identity: identity\n  properties: {\n    environmentId: environmentId\n    workloadProfileName: 'Consumption'\n    configuration: union(limits, {\n      triggerType: 'Manual'", "  properties: {\n    environmentId: environmentId\n    workloadProfileName: 'Consumption'\n    configuration: union(limits, {\n      triggerType: 'Manual'", "jobByHand has no identity"},

	{"API versions (C36, C37)", jobsFile, "Microsoft.App/jobs@2025-01-01' = {", "Microsoft.App/jobs@2024-03-01' = {", "2025-01-01 or later"},
	{"API versions (C36, C37)", jobsFile, "Microsoft.App/jobs@2025-01-01' = {", "Microsoft.App/jobs@2025-02-02-preview' = {", "preview"},
	{"API versions (C36, C37)", pullFile, "registries@2023-07-01", "registries@2025-04-01", "elsewhere"},
	{"API versions (C36, C37)", pullFile, "registries@2023-07-01", "registries", "no API version"},
	{"Consumption profile (C20)", platformFile, "workloadProfileType: 'Consumption'", "workloadProfileType: 'D4'", "no other"},
	{"Consumption profile (C20)", jobsFile, "workloadProfileName: 'Consumption'\n    configuration: union(limits, {\n      triggerType: 'Event'", "workloadProfileName: 'D4'\n    configuration: union(limits, {\n      triggerType: 'Event'", "Consumption profile"},
	{"no keys (C44)", accountFile, "allowSharedKeyAccess: false", "allowSharedKeyAccess: true", "allowSharedKeyAccess"},
	{"no keys (C44)", accountFile, "allowBlobPublicAccess: false", "allowBlobPublicAccess: true", "allowBlobPublicAccess"},
	{"no keys (C44)", accountFile, "minimumTlsVersion: 'TLS1_2'", "minimumTlsVersion: 'TLS1_0'", "minimumTlsVersion"},
	{"no keys (C44)", accountFile, "    supportsHttpsTrafficOnly: true\n", "", "supportsHttpsTrafficOnly"},
	{"no keys (C44)", contentsFile, "publicAccess: 'None'", "publicAccess: 'Blob'", "publicAccess"},
	{"no keys (C44)", "modules/registry.bicep", "adminUserEnabled: false", "adminUserEnabled: true", "adminUserEnabled"},
	{"no keys (C44)", platformFile, "destination: 'azure-monitor'", "destination: 'log-analytics'", "must go to azure-monitor"},
	{"made only when not given", mainPath, "'modules/storage-account.bicep' = if (newStorage) {", "'modules/storage-account.bicep' = {", "also where one is given"},

	{"variables", mainPath, "RSMS_RUNS_TABLE: runsTable", "RSMS_RUN_TABLE: runsTable", "knows no RSMS_RUN_TABLE"},
	{"variables", mainPath, "LOG_FORMAT: 'json'", "LOG_FORMAT: 'json'\n  AZURE_STORAGE_CONNECTION_STRING: 'x'", "is a secret"},
	{"variables needed (C40)", mainPath, "  AZURE_CLIENT_ID: runIdentity.properties.clientId\n", "", "AZURE_CLIENT_ID is not set"},
	{"defaults", mainPath, "param maxDequeueCount int = 5", "param maxDequeueCount int = 6", "maxDequeueCount"},
	{"defaults", mainPath, "param queueName string = 'rsms-jobs'", "param queueName string = 'jobs'", "queueName"},

	{"somebody is told (C46)", alertsFile, "          people.id\n", "", "tells no action group"},
	{"somebody is told (C46)", alertsFile, "Microsoft.Insights/scheduledQueryRules", "Microsoft.Insights/queryRules", "there are no alerts"},
	{"alerts wanted (C31, C42, C46)", alertsFile, "\"KEDAScalerFailed\", ", "", "KEDAScalerFailed"},
	{"numbers of logs", alertsFile, "(isnotnull(code) and code !in (${fine}))", "code !in (${fine})", "isnotnull(code) and"},
	{"numbers of logs", alertsFile, "isnotnull(line.exit) and toint", "toint", "isnotnull(line.exit) and"},
	{"exit codes", alertsFile, "'0, 12, 14, 130, 143'", "'0, 12, 14, 143'", "not 0, 12, 14, 130, 143"},
	{"columns of logs", alertsFile, "'ContainerAppSystemLogs |", "'ContainerAppSystemLogs_CL |", "asks ContainerAppSystemLogs_CL"},
}

// change parses the one file anew, and takes the others as they are.
func change(t *testing.T, b *Bundle, c broken) (*Bundle, []Problem) {
	t.Helper()
	src, err := os.ReadFile("../../bicep/" + c.file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(src), c.old) {
		t.Fatalf("%s has no %q", c.file, c.old)
	}
	f, problems := Parse(c.file, []byte(strings.Replace(string(src), c.old, c.new, 1)))
	changed := &Bundle{Files: maps.Clone(b.Files), order: b.order}
	changed.Files[c.file] = f
	return changed, problems
}

// TestBroken breaks the templates in one place after the other: no rule passes
// whatever it is shown.
func TestBroken(t *testing.T) {
	whole := templates(t)
	for _, c := range breaks {
		t.Run(c.rule+": "+c.want, func(t *testing.T) {
			b, problems := change(t, whole, c)
			if len(problems) == 0 {
				problems = Check(b)
			}
			if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Rule == c.rule && strings.Contains(p.Text, c.want) }) {
				t.Errorf("not found: %q; found: %v", c.want, problems)
			}
		})
	}
}

func TestEveryRuleIsBroken(t *testing.T) {
	for _, rule := range Rules() {
		if !slices.ContainsFunc(breaks, func(b broken) bool { return b.rule == rule.Name }) {
			t.Errorf("no template breaks %q", rule.Name)
		}
	}
}
