package config

import (
	"strings"
	"testing"
	"time"
)

func TestNames(t *testing.T) {
	const armID = "/subscriptions/0a1b2c3d-0000-4000-8000-123456789abc/resourceGroups/rsms/providers/Microsoft.ManagedIdentity/userAssignedIdentities/rsms-run"
	long := func(n int) string { return strings.Repeat("a", n) }
	for _, tt := range []struct {
		name      string
		good, bad []string
	}{
		{"RSMS_WORKER_QUEUE_NAME", []string{"abc", "0-1-2", long(56)}, []string{"ab", long(57), "Abc", "a_b", "-ab", "ab-", "a--b", "a.b", "käse", "a b"}},
		{"RSMS_WORKER_POISON_QUEUE_NAME", []string{"abc", long(63)}, []string{"ab", long(64), "A-poison"}},
		{"RSMS_DONE_QUEUE_NAME", []string{"done", long(63)}, []string{"-done", long(64)}},
		{"RSMS_RIVERBASIN_BLOB_CONTAINER", []string{"abc", long(63)}, []string{"$root", "ab", long(64), "A", "a--b"}},
		{"RSMS_RESULTS_BLOB_CONTAINER", []string{"abc"}, []string{"a/b"}},
		{"RSMS_SCENARIOS_TABLE", []string{"abc", "A1B", long(63)}, []string{"1ab", "ab", long(64), "a-b", "a_b", "TABLES", "tafelö"}},
		{"RSMS_RUNS_TABLE", []string{"Runs2"}, []string{"Runs 2"}},
		{"RSMS_PLUME_BY_TIME_TABLE", []string{"P11"}, []string{"P.1"}},
		{"RSMS_PLUME_BY_MILE_TABLE", []string{"P11"}, []string{"11P"}},
		{"AZURE_STORAGE_ACCOUNT_NAME", []string{"abc", "1a2", long(24)}, []string{"ab", long(25), "Ohio", "o-hio", "ohio.blob.core.windows.net", "https://ohio"}},
		{"AZURE_CLIENT_ID", []string{"0a1b2c3d-0000-4000-8000-123456789abc", "0A1B2C3D-0000-4000-8000-123456789ABC"},
			[]string{"rsms-identity", "0a1b2c3d00004000800012345678abcd", "xa1b2c3d-0000-4000-8000-123456789abc", "0a1b2c3d-0000-4000-8000-123456789ab\u00df"}},
		{"RSMS_IDENTITY_PRINCIPAL_ID", []string{"0a1b2c3d-0000-4000-8000-123456789abc"}, []string{"rsms-identity"}},
		{"RSMS_ACI_SUBSCRIPTION_ID", []string{"0a1b2c3d-0000-4000-8000-123456789abc"}, []string{"Production"}},
		{"RSMS_ACI_RESOURCE_GROUP", []string{"rsms", "Rsms_(1).a-b"}, []string{"rsms.", "a/b", long(91), "a b"}},
		{"RSMS_ACI_LOCATION", []string{"eastus2"}, []string{"East US 2", "east-us"}},
		{"RSMS_ACI_IMAGE", []string{"r.azurecr.io/rsms-job-windows:1.0", "r.azurecr.io:443/a/b:c", "r.azurecr.io/a@sha256:" + long(64)},
			[]string{"r.azurecr.io/rsms-job", "r.azurecr.io/rsms-job:latest", "rsms-job:1", "https://r.azurecr.io/", "r.azurecr.io/a b:1", "r.azurecr.io:443/a"}},
		{"RSMS_ACI_CPU", []string{"1", "2.5", "32"}, []string{"0", "0.9", "33"}},
		{"RSMS_ACI_MEMORY_GB", []string{"1", "256"}, []string{"0.5", "257"}},
		{"RSMS_ACI_IDENTITY_ID", []string{armID}, []string{"rsms-run", strings.TrimSuffix(armID, "rsms-run"), armID + "/x", strings.Replace(armID, "ManagedIdentity", "Storage", 1)}},
		{"RSMS_ACI_IDENTITY_CLIENT_ID", []string{"0a1b2c3d-0000-4000-8000-123456789abc"}, []string{armID}},
		{"RSMS_ACI_IDENTITY_PRINCIPAL_ID", []string{"0a1b2c3d-0000-4000-8000-123456789abc"}, []string{armID}},
		{"RSMS_ARM_ENDPOINT", []string{"https://management.usgovcloudapi.net", "https://127.0.0.1:8443/"},
			[]string{"http://management.azure.com", "management.azure.com", "https://", "https://u:p@management.azure.com", "https://management.azure.com/subscriptions", "https://management.azure.com?x=1"}},
		{"RSMS_STORAGE_ENDPOINT_SUFFIX", []string{"core.usgovcloudapi.net", "core.chinacloudapi.cn"}, []string{".core.windows.net", "https://core.windows.net", "core/", long(201)}},
	} {
		for _, value := range tt.good {
			if _, err := Load(Need{}, source(tt.name, value)); err != nil {
				t.Errorf("%s=%s: %v", tt.name, value, err)
			}
		}
		for _, value := range tt.bad {
			_, err := Load(Need{}, source(tt.name, value))
			if err == nil || !strings.HasPrefix(err.Error(), tt.name+" (--") || !strings.Contains(err.Error(), ") must ") {
				t.Errorf("%s=%s: %v", tt.name, value, err)
			}
		}
	}
}

func TestRetryDelay(t *testing.T) {
	for _, tt := range []struct {
		base string
		want []int // seconds, from attempt 0 on
	}{
		{"15", []int{15, 15, 30, 60, 120, 240, 300, 300}},
		{"1", []int{1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300}},
		{"0", []int{0, 0, 0}},
		{"300", []int{300, 300, 300}},
	} {
		c, err := Load(Need{}, source("RSMS_RETRY_DELAY_SEC", tt.base))
		if err != nil {
			t.Fatal(err)
		}
		for attempt, want := range tt.want {
			if got := c.RetryDelay(attempt); got != time.Duration(want)*time.Second {
				t.Errorf("base %s, attempt %d: %s, want %d s", tt.base, attempt, got, want)
			}
		}
		// No attempt is too late to count.
		if got := c.RetryDelay(1 << 62); got > 5*time.Minute || tt.base != "0" && got != 5*time.Minute {
			t.Errorf("base %s in the end: %s", tt.base, got)
		}
	}
}
