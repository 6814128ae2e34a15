package launch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerinstance/armcontainerinstance/v2"
)

// The words of Container Instances for a state. Those of provisioning may be
// others in between, on which nothing depends.
const (
	running    = "Running"    // of a container
	terminated = "Terminated" // of a container
	stopped    = "Stopped"    // of a group
	succeeded  = "Succeeded"  // of a group, and of provisioning
	failed     = "Failed"     // of both
	deleting   = "Deleting"   // of provisioning
)

// view is what a group says of itself.
type view struct {
	provisioning string
	state        string // of the group
	current      armcontainerinstance.ContainerState
	previous     armcontainerinstance.ContainerState
	restarts     int32
	events       []*armcontainerinstance.Event
	made         time.Time // zero where the tag is not ours
}

// look reads a group. Anything may be missing.
func look(group armcontainerinstance.ContainerGroup) view {
	var v view
	if at := group.Tags[tag]; at != nil {
		v.made, _ = time.Parse(time.RFC3339, *at) // zero where it is no time
	}
	p := group.Properties
	if p == nil {
		return v
	}
	v.provisioning = value(p.ProvisioningState)
	if p.InstanceView != nil {
		v.state, v.events = value(p.InstanceView.State), slices.Clone(p.InstanceView.Events)
	}
	if len(p.Containers) == 0 || p.Containers[0] == nil || p.Containers[0].Properties == nil || p.Containers[0].Properties.InstanceView == nil {
		return v
	}
	i := p.Containers[0].Properties.InstanceView
	v.current, v.previous, v.restarts = value(i.CurrentState), value(i.PreviousState), value(i.RestartCount)
	v.events = append(v.events, i.Events...)
	v.events = slices.DeleteFunc(v.events, func(e *armcontainerinstance.Event) bool { return e == nil })
	return v
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// end is the first end of the container that is still known. Never to restart
// does not keep the service from it (azure.md): what ran before then counts.
func (v view) end() (state armcontainerinstance.ContainerState, ok bool) {
	for _, state := range []armcontainerinstance.ContainerState{v.previous, v.current} {
		if value(state.State) == terminated {
			return state, true
		}
	}
	return state, false
}

// started reports whether the container has run.
func (v view) started() bool {
	_, ended := v.end()
	return ended || value(v.current.State) == running || v.restarts > 0
}

// over reports whether nothing runs in the group, nor will.
func (v view) over() bool {
	_, ended := v.end()
	return ended || v.state == stopped || v.state == succeeded || v.state == failed || v.provisioning == failed && !v.started()
}

// pullTries is how often an image may fail to be pulled: the service tries it
// for half an hour, also where there is no such image.
const pullTries = 3

// hopeless reports whether the container has not started and will not.
func (v view) hopeless() bool {
	if v.started() {
		return false
	}
	failures := int32(0)
	for _, e := range v.events {
		if value(e.Type) == "Warning" && value(e.Name) == "Failed" {
			failures += max(1, value(e.Count))
		}
	}
	return failures >= pullTries || v.over()
}

// crowded reports whether the group failed for want of a machine.
func (v view) crowded() bool {
	return slices.ContainsFunc(v.events, func(e *armcontainerinstance.Event) bool {
		name := strings.TrimSuffix(value(e.Name), ".")
		return name == "InsufficientCapacity" || name == "ContainerGroupQuotaReached"
	})
}

// maxEvents bounds how many events an error tells.
const maxEvents = 5

// story is the last events in one line each.
func (v view) story() error {
	var lines []string
	for _, e := range v.events[max(0, len(v.events)-maxEvents):] {
		lines = append(lines, value(e.Name)+": "+oneLine(value(e.Message)))
	}
	if len(lines) == 0 {
		return fmt.Errorf("the group is %q and tells no events", v.state)
	}
	return fmt.Errorf("the events: %s", strings.Join(lines, "; "))
}
