package bicepcheck

import (
	"regexp"
	"strings"
)

// appVersion is the first that knows the identity of a scale rule.
const appVersion = "2025-01-01"

func platformRules() []Rule {
	return []Rule{
		{"API versions (C36, C37)", versions}, {"Consumption profile (C20)", consumption}, {"no keys (C44)", noKeys}, {"made only when not given", madeOrGiven},
	}
}

var date = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-preview)?$`)

// versions: each type has one, which is final where there is a final one.
func versions(b *Bundle) []Problem {
	var found finding
	seen := map[string]string{}
	for _, f := range b.Templates() {
		for _, r := range f.Resources {
			provider, _, _ := strings.Cut(r.Type, "/")
			switch {
			case !date.MatchString(r.Version):
				found.add(f, r.Line, "%s has no API version", r.Type)
			case provider == "Microsoft.App" && r.Version < appVersion:
				found.add(f, r.Line, "%s needs API version %s or later", r.Type, appVersion)
			// There is no other version of diagnostic settings with categories.
			case strings.HasSuffix(r.Version, "-preview") && r.Type != "Microsoft.Insights/diagnosticSettings":
				found.add(f, r.Line, "%s has a preview version", r.Type)
			case seen[r.Type] != "" && seen[r.Type] != r.Version:
				found.add(f, r.Line, "%s has version %s elsewhere", r.Type, seen[r.Type])
			}
			seen[r.Type] = r.Version
		}
	}
	return found
}

// consumption: a dedicated profile without nodes starts nothing.
func consumption(b *Bundle) []Problem {
	var found finding
	for _, f := range b.Templates() {
		for _, r := range f.Resources {
			switch r.Type {
			case "Microsoft.App/managedEnvironments":
				profiles := f.At(r.Object, "properties", "workloadProfiles")
				if profiles == nil || len(profiles.Items) != 1 || !profiles.Items[0].Get("workloadProfileType").Is("Consumption") {
					found.add(f, r.Line, "%s must have the Consumption profile and no other", r.Name)
				}
			case "Microsoft.App/jobs":
				if !f.At(r.Object, "properties", "workloadProfileName").Is("Consumption") {
					found.add(f, r.Line, "%s must run on the Consumption profile", r.Name)
				}
			}
		}
	}
	return found
}

// wanted are properties that keep keys and the public out.
var wanted = map[string]map[string]string{
	"Microsoft.Storage/storageAccounts": {
		"allowBlobPublicAccess": "false", "allowSharedKeyAccess": "false", "minimumTlsVersion": "TLS1_2", "supportsHttpsTrafficOnly": "true",
	},
	"Microsoft.Storage/storageAccounts/blobServices/containers": {"publicAccess": "None"},
	"Microsoft.ContainerRegistry/registries":                    {"adminUserEnabled": "false"},
}

// noKeys: accounts and registries have no key that works, and logs go where
// none is needed.
func noKeys(b *Bundle) []Problem {
	var found finding
	for _, f := range b.Templates() {
		for _, r := range f.Resources {
			if r.Existing {
				continue
			}
			for key, value := range wanted[r.Type] {
				if !f.At(r.Object, "properties", key).Is(value) {
					found.add(f, r.Line, "%s of %s must be %s", key, r.Name, value)
				}
			}
			if r.Type == "Microsoft.App/managedEnvironments" && !f.At(r.Object, "properties", "appLogsConfiguration", "destination").Is("azure-monitor") {
				found.add(f, r.Line, "the logs of %s must go to azure-monitor: other destinations want a key", r.Name)
			}
		}
	}
	return found
}

// madeOrGiven: what may be given is made under a condition, so that what was
// given is not changed.
func madeOrGiven(b *Bundle) []Problem {
	given := map[string]bool{
		"Microsoft.Storage/storageAccounts": true, "Microsoft.ContainerRegistry/registries": true, "Microsoft.OperationalInsights/workspaces": true,
	}
	var found finding
	b.calls(func(caller *File, m *Module, of *File) {
		for _, r := range of.Resources {
			if given[r.Type] && !r.Existing && m.Condition == nil && r.Condition == nil {
				found.add(caller, m.Line, "%s makes %s also where one is given", m.Name, r.Type)
			}
		}
	})
	return found
}
