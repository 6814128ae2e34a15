package config

import (
	"slices"
	"strings"
	"testing"
)

const (
	cloud    = "DefaultEndpointsProtocol=https;AccountName=ohio;AccountKey=Y2FuYXJ5LWtleQ=="
	emulated = "UseDevelopmentStorage=true"
)

func TestNeed(t *testing.T) {
	const (
		noAccount = "AZURE_STORAGE_CONNECTION_STRING and AZURE_STORAGE_ACCOUNT_NAME (--account) are not set: "
		both      = "AZURE_STORAGE_CONNECTION_STRING and AZURE_STORAGE_ACCOUNT_NAME (--account) are both set: "
		noClient  = "AZURE_CLIENT_ID (--client-id) is not set: "
	)
	const guid = "0a1b2c3d-0000-4000-8000-123456789abc"
	launched := []string{"RSMS_ACI_SUBSCRIPTION_ID", guid, "RSMS_ACI_RESOURCE_GROUP", "rsms", "RSMS_ACI_LOCATION", "eastus2",
		launchImage, "r.azurecr.io/rsms-job-windows:1", "RSMS_ACI_IDENTITY_CLIENT_ID", guid, "RSMS_ACI_IDENTITY_PRINCIPAL_ID", guid, "RSMS_ACI_IDENTITY_ID",
		"/subscriptions/" + guid + "/resourceGroups/rsms/providers/Microsoft.ManagedIdentity/userAssignedIdentities/rsms-windows"}
	hosted := []string{"IDENTITY_ENDPOINT", "http://localhost:42356/msi/token", "CONTAINER_APP_JOB_NAME", "rsms"}
	for _, tt := range []struct {
		name string
		need Need
		env  []string
		want []string // beginnings of the lines of the error
	}{
		{"nothing needed", Need{}, nil, nil},
		{"nothing needed, two accounts", Need{}, []string{connectionString, cloud, accountName, "ohio"}, nil},

		{"store: folder", Need{Store: true}, []string{storeDir, "d"}, nil},
		{"store: connection", Need{Store: true}, []string{connectionString, cloud}, nil},
		{"store: emulator", Need{Store: true}, []string{connectionString, emulated}, nil},
		{"store: account", Need{Store: true}, []string{accountName, "ohio"}, nil},
		{"store: none", Need{Store: true}, nil, []string{noAccount + "a store is needed: one of the two, or RSMS_STORE_DIR (--store)"}},
		{"store: two accounts", Need{Store: true}, []string{connectionString, cloud, accountName, "ohio"}, []string{both}},
		{"store: the folder wins", Need{Store: true}, []string{storeDir, "d", connectionString, cloud, accountName, "ohio"}, nil},
		{"store: bad account", Need{Store: true}, []string{accountName, "O"}, []string{"AZURE_STORAGE_ACCOUNT_NAME (--account) must be the name"}},
		{"store: bad connection", Need{Store: true}, []string{connectionString, "x"}, []string{"AZURE_STORAGE_CONNECTION_STRING is not a list"}},

		{"queue: connection", Need{Queue: true}, []string{connectionString, cloud}, nil},
		{"queue: none", Need{Queue: true}, nil, []string{noAccount + "the account of the queue is needed"}},
		{"queue: two accounts", Need{Queue: true}, []string{connectionString, cloud, accountName, "ohio"}, []string{both}},
		{"queue: folder", Need{Queue: true}, []string{storeDir, "d"}, []string{"RSMS_STORE_DIR (--store) is set, but a folder has no queue"}},
		{"queue: folder besides an account", Need{Queue: true}, []string{storeDir, "d", accountName, "ohio"}, []string{"RSMS_STORE_DIR (--store) is set, but"}},
		{"queue and store", Need{Queue: true, Store: true}, nil, []string{noAccount + "the account of the queue"}},

		{"message", Need{Message: true}, nil, []string{"RSMS_MESSAGE (--message) is not set"}},
		{"message and store", Need{Message: true, Store: true}, nil, []string{"RSMS_MESSAGE (--message) is not set", noAccount}},

		{"run: folder and message", Need{Run: true}, []string{storeDir, "d", messageText, "{}"}, nil},
		{"run: account and message", Need{Run: true}, []string{accountName, "ohio", messageText, "{}"}, nil},
		{"run: a delivery of nothing", Need{Run: true}, []string{accountName, "ohio", delivery, "{}"}, []string{"RSMS_MESSAGE (--message) is not set, but RSMS_DELIVERY"}},
		{"run: queue", Need{Run: true}, []string{accountName, "ohio"}, nil},
		{"run: message alone", Need{Run: true}, []string{messageText, "{}"}, []string{noAccount + "a store is needed"}},
		{"run: folder alone", Need{Run: true}, []string{storeDir, "d"}, []string{"RSMS_MESSAGE (--message) is not set: RSMS_STORE_DIR (--store) names a folder"}},
		{"run: folder and account", Need{Run: true}, []string{storeDir, "d", accountName, "ohio"}, []string{"RSMS_MESSAGE (--message) is not set"}},
		{"run: nothing", Need{Run: true}, nil, []string{noAccount + "the account of the queue is needed: one of the two; without a queue, run takes RSMS_STORE_DIR (--store) and RSMS_MESSAGE (--message)"}},

		{"C40 hosted", Need{Queue: true}, slices.Concat(hosted, []string{accountName, "ohio"}), []string{noClient}},
		{"C40 hosted, by hand", Need{Run: true}, slices.Concat(hosted, []string{accountName, "ohio", messageText, "{}"}), []string{noClient}},
		{"C40 hosted with client id", Need{Queue: true}, slices.Concat(hosted, []string{accountName, "ohio", clientID, "0a1b2c3d-0000-4000-8000-123456789ABC"}), nil},
		{"C40 hosted with a bad client id", Need{Queue: true}, slices.Concat(hosted, []string{accountName, "ohio", clientID, "x"}), []string{"AZURE_CLIENT_ID (--client-id) must be"}},
		{"C40 hosted with a key", Need{Queue: true}, slices.Concat(hosted, []string{connectionString, cloud}), nil},
		{"C40 another host", Need{Queue: true}, []string{hosted[0], hosted[1], accountName, "ohio"}, nil},
		{"C40 no identity", Need{Queue: true}, []string{hosted[2], hosted[3], accountName, "ohio"}, nil},

		{"C34 run with settings for launch", Need{Run: true}, slices.Concat(launched, []string{accountName, "ohio"}), []string{"RSMS_ACI_IMAGE (--aci-image) is set, which run does not read"}},
		{"launch", Need{Launch: true}, slices.Concat(launched, []string{accountName, "ohio"}), nil},
		{"launch: emulator", Need{Launch: true}, slices.Concat(launched, []string{connectionString, emulated}), nil},
		{"launch: a key", Need{Launch: true}, slices.Concat(launched, []string{connectionString, cloud}),
			[]string{"AZURE_STORAGE_CONNECTION_STRING is set: a container group would have to be given it"}},
		{"launch: folder", Need{Launch: true}, slices.Concat(launched, []string{storeDir, "d"}), []string{"RSMS_STORE_DIR (--store) is set"}},
		{"launch: nothing", Need{Launch: true}, nil, []string{"RSMS_ACI_SUBSCRIPTION_ID (--aci-subscription) is not set: launch needs it, ",
			"RSMS_ACI_RESOURCE_GROUP (--aci-resource-group) is not set", "RSMS_ACI_LOCATION (--aci-location) is not set", "RSMS_ACI_IMAGE (--aci-image) is not set",
			"RSMS_ACI_IDENTITY_ID (--aci-identity) is not set", "RSMS_ACI_IDENTITY_CLIENT_ID (--aci-client-id) is not set",
			"RSMS_ACI_IDENTITY_PRINCIPAL_ID (--aci-principal-id) is not set", noAccount}},
		{"launch: a bad image", Need{Launch: true}, slices.Concat(launched, []string{launchImage, "rsms-job:latest", accountName, "ohio"}), []string{"RSMS_ACI_IMAGE (--aci-image) must be"}},

		{"identity required", Need{Queue: true}, []string{"RSMS_REQUIRE_IDENTITY", "true", connectionString, cloud},
			[]string{"AZURE_STORAGE_CONNECTION_STRING is set, which RSMS_REQUIRE_IDENTITY=true allows for this machine only"}},
		{"identity required, emulator", Need{Queue: true}, []string{"RSMS_REQUIRE_IDENTITY", "true", connectionString, emulated}, nil},
		{"identity required, account", Need{Queue: true}, []string{"RSMS_REQUIRE_IDENTITY", "true", accountName, "ohio"}, nil},

		{"C14 limit of the platform not known", Need{}, []string{replicaTimeout, "0"}, nil},
		{"C14 below", Need{}, []string{jobTimeout, "99", replicaTimeout, "100"}, nil},
		{"C14 equal", Need{}, []string{jobTimeout, "100", replicaTimeout, "100"}, []string{"RSMS_JOB_TIMEOUT_SEC (--job-timeout) must be below RSMS_REPLICA_TIMEOUT_SEC (--replica-timeout)"}},
		{"C14 the default", Need{}, []string{replicaTimeout, "1800"}, []string{"RSMS_JOB_TIMEOUT_SEC (--job-timeout) must be below"}},
		{"C14 bad already", Need{}, []string{jobTimeout, "x", replicaTimeout, "1800"}, []string{"RSMS_JOB_TIMEOUT_SEC (--job-timeout) has the wrong form"}},

		{"queues differ", Need{}, []string{queueName, "work", poisonQueueName, "bad", doneQueueName, "done"}, nil},
		{"work and poison", Need{}, []string{queueName, "work", poisonQueueName, "work"}, []string{"RSMS_WORKER_POISON_QUEUE_NAME (--poison-queue) names the same queue as RSMS_WORKER_QUEUE_NAME (--queue)"}},
		{"done and the derived poison", Need{}, []string{queueName, "work", doneQueueName, "work-poison"}, []string{"RSMS_DONE_QUEUE_NAME (--done-queue) names the same queue as RSMS_WORKER_POISON_QUEUE_NAME"}},
		{"all the default", Need{}, []string{poisonQueueName, "rsms-jobs", doneQueueName, "rsms-jobs"}, []string{"RSMS_WORKER_POISON_QUEUE_NAME", "RSMS_DONE_QUEUE_NAME"}},
		{"the poison queue is not known", Need{}, []string{queueName, "?", doneQueueName, "rsms-jobs-poison"}, []string{"RSMS_WORKER_QUEUE_NAME"}},
		{"three queues of one name", Need{}, []string{queueName, "work", poisonQueueName, "work", doneQueueName, "work"}, []string{
			"RSMS_WORKER_POISON_QUEUE_NAME (--poison-queue) names the same queue as RSMS_WORKER_QUEUE_NAME (--queue)",
			"RSMS_DONE_QUEUE_NAME (--done-queue) names the same queue as RSMS_WORKER_QUEUE_NAME (--queue)"}},
		{"done and poison", Need{}, []string{poisonQueueName, "aside", doneQueueName, "aside"}, []string{"RSMS_DONE_QUEUE_NAME (--done-queue) names the same queue as RSMS_WORKER_POISON_QUEUE_NAME (--poison-queue)"}},
		{"one container", Need{}, []string{"RSMS_RESULTS_BLOB_CONTAINER", "riverbasin"}, []string{
			"RSMS_RESULTS_BLOB_CONTAINER (--results-container) names the same container as RSMS_RIVERBASIN_BLOB_CONTAINER (--basin-container)"}},
		{"basins where results are by default", Need{}, []string{"RSMS_RIVERBASIN_BLOB_CONTAINER", "rsms-results"}, []string{
			"RSMS_RESULTS_BLOB_CONTAINER (--results-container) names the same container as RSMS_RIVERBASIN_BLOB_CONTAINER"}},
		{"containers differ", Need{}, []string{"RSMS_RIVERBASIN_BLOB_CONTAINER", "inputs", "RSMS_RESULTS_BLOB_CONTAINER", "outputs"}, nil},
		{"all tables one", Need{}, []string{"RSMS_SCENARIOS_TABLE", "All", "RSMS_RUNS_TABLE", "all", "RSMS_PLUME_BY_TIME_TABLE", "ALL", "RSMS_PLUME_BY_MILE_TABLE", "aLL"}, []string{
			"RSMS_RUNS_TABLE (--runs-table) names the same table as RSMS_SCENARIOS_TABLE (--scenarios-table)",
			"RSMS_PLUME_BY_TIME_TABLE (--plume-by-time-table) names the same table as RSMS_SCENARIOS_TABLE", "RSMS_PLUME_BY_MILE_TABLE (--plume-by-mile-table) names the same table as"}},
		{"tables differ by case only", Need{}, []string{"RSMS_RUNS_TABLE", "SCENARIOS"}, []string{"RSMS_RUNS_TABLE (--runs-table) names the same table as RSMS_SCENARIOS_TABLE"}},
		{"two plume tables", Need{}, []string{"RSMS_PLUME_BY_TIME_TABLE", "P11", "RSMS_PLUME_BY_MILE_TABLE", "p11"}, []string{"RSMS_PLUME_BY_MILE_TABLE"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(tt.need, source(tt.env...))
			if (c == nil) != (err != nil) {
				t.Fatalf("%v besides %v", c, err)
			}
			var lines []string
			if err != nil {
				lines = strings.Split(err.Error(), "\n")
			}
			if len(lines) != len(tt.want) {
				t.Fatalf("got %q, want %q", lines, tt.want)
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, tt.want[i]) {
					t.Errorf("got  %s\nwant %s", line, tt.want[i])
				}
			}
		})
	}
}

func TestConnectionIsParsed(t *testing.T) {
	c, err := Load(Need{Queue: true}, source(connectionString, cloud))
	if err != nil || c.Connection == nil || c.Connection.Account != "ohio" || c.Connection.Queue != "https://ohio.queue.core.windows.net" {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = Load(Need{Queue: true}, source(accountName, "ohio", "RSMS_STORAGE_ENDPOINT_SUFFIX", "core.usgovcloudapi.net"))
	if err != nil || c.Connection != nil || c.AccountName != "ohio" || c.EndpointSuffix != "core.usgovcloudapi.net" {
		t.Errorf("%+v, %v", c, err)
	}
}
