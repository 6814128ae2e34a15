package launch

import (
	"encoding/json"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerinstance/armcontainerinstance/v2"
)

// What a group says, and what it means. Anything may be missing.
func TestView(t *testing.T) {
	group := func(provisioning, state, view string) string {
		return `{"properties":{"provisioningState":"` + provisioning + `","instanceView":{"state":"` + state + `","events":[]},
			"containers":[{"name":"c","properties":{"instanceView":` + view + `}}]}}`
	}
	events := func(list string) string { return `{"currentState":{"state":"Waiting"},"events":[` + list + `]}` }
	tests := []struct {
		name, group                      string
		started, over, hopeless, crowded bool
		ended                            bool
		code                             int32
	}{
		{name: "nothing", group: `{}`},
		{name: "no containers", group: `{"properties":{"provisioningState":"Pending"}}`},
		{name: "no view", group: group("Creating", "Pending", `null`)},
		{name: "being pulled", group: group("Creating", "Pending", events(`{"type":"Normal","name":"Pulling","count":3}`))},
		{name: "one failed pull", group: group("Creating", "Pending", events(`{"type":"Warning","name":"Failed"}`))},
		{name: "three failed pulls", group: group("Creating", "Pending", events(`{"type":"Warning","name":"Failed","count":3},null`)), hopeless: true},
		{name: "failed pulls, then it ran", group: group("Succeeded", "Running", `{"currentState":{"state":"Running"},"events":[{"type":"Warning","name":"Failed","count":9}]}`),
			started: true},
		{name: "provisioning failed", group: group("Failed", "Pending", events(``)), over: true, hopeless: true},
		{name: "provisioning failed while it runs", group: group("Failed", "Running", `{"currentState":{"state":"Running"}}`), started: true},
		{name: "no machine", group: group("Failed", "Pending", events(`{"name":"InsufficientCapacity."}`)), over: true, hopeless: true, crowded: true},
		{name: "stopped before it ran", group: group("Succeeded", "Stopped", events(``)), over: true, hopeless: true},
		{name: "ended", group: group("Succeeded", "Failed", `{"currentState":{"state":"Terminated","exitCode":-1073741515}}`), started: true, over: true, ended: true,
			code: -1073741515},
		{name: "ended, runs again", group: group("Succeeded", "Running", `{"currentState":{"state":"Running"},"previousState":{"state":"Terminated","exitCode":10},"restartCount":1}`),
			started: true, over: true, ended: true, code: 10},
		{name: "ended twice", group: group("Succeeded", "Failed", `{"currentState":{"state":"Terminated","exitCode":2},"previousState":{"state":"Terminated","exitCode":10}}`),
			started: true, over: true, ended: true, code: 10},
		{name: "on its way again", group: group("Repairing", "Pending", `{"currentState":{"state":"Waiting"},"restartCount":1}`), started: true},
		{name: "stopped, without a word of its end", group: group("Succeeded", "Stopped", `{"currentState":{"state":"Running"}}`), started: true, over: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var g armcontainerinstance.ContainerGroup
			if err := json.Unmarshal([]byte(tt.group), &g); err != nil {
				t.Fatal(err)
			}
			v := look(g)
			state, ended := v.end()
			if v.started() != tt.started || v.over() != tt.over || v.hopeless() != tt.hopeless || v.crowded() != tt.crowded || ended != tt.ended ||
				value(state.ExitCode) != tt.code {
				t.Errorf("started %v, over %v, hopeless %v, crowded %v, ended %v with %d", v.started(), v.over(), v.hopeless(), v.crowded(), ended, value(state.ExitCode))
			}
			if v.story() == nil {
				t.Error("no story")
			}
		})
	}
}
