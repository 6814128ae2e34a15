package armtest

import (
	"context"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerinstance/armcontainerinstance/v2"
)

// The states of a container, and those of a group.
const (
	waiting    = "Waiting"
	running    = "Running"
	terminated = "Terminated"

	pending   = "Pending"
	succeeded = "Succeeded"
	broken    = "Failed"
	stopped   = "Stopped"
	deleting  = "Deleting"
)

// group is one group with its container. The server's lock guards it.
type group struct {
	asked        armcontainerinstance.ContainerGroup
	env          map[string]string
	provisioning string
	state        string
	current      string
	detail       string
	code         int
	began, ended time.Time
	previous     *armcontainerinstance.ContainerState
	restarts     int
	text         string
	events       []*armcontainerinstance.Event
	halted       bool // by a stop
	end          context.CancelFunc
}

// launch lets a group live in a goroutine of its own. s.mu is held.
func (s *Server) launch(g *group) {
	ctx, cancel := context.WithCancel(context.Background())
	g.end = cancel
	g.provisioning, g.state, g.current, g.detail = pending, pending, waiting, "ContainerCreating"
	s.work.Go(func() {
		defer cancel()
		s.live(ctx, g)
	})
}

// live is the life of a group.
func (s *Server) live(ctx context.Context, g *group) {
	if !pause(ctx, s.Pull) {
		return
	}
	switch {
	case s.NoCapacity:
		s.change(func() {
			g.provisioning = broken
			g.event("Warning", "InsufficientCapacity.", "The requested resource is not available in the location at this moment.", 1)
		})
		return
	case s.PullError != "":
		s.fail(ctx, g)
		return
	}
	for again := true; again; {
		s.change(func() {
			g.provisioning, g.state, g.current, g.detail, g.began = succeeded, running, running, "", time.Now()
			g.event("Normal", "Started", "Started container", 1)
		})
		code, text := s.Program(ctx, g.env)
		s.change(func() {
			again = s.Restart && code != 0 && ctx.Err() == nil
			g.finish(code, text)
			if again {
				g.previous, g.current, g.detail, g.restarts = g.container(), waiting, "CrashLoopBackOff", g.restarts+1
			}
		})
	}
}

func (s *Server) change(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
}

// fail tries to pull an image, again and again.
func (s *Server) fail(ctx context.Context, g *group) {
	for n := int32(1); ; n++ {
		s.change(func() {
			g.events, g.detail = nil, "ImagePullBackOff"
			g.event("Normal", "Pulling", "pulling image", n)
			g.event("Warning", "Failed", "Failed to pull image: "+s.PullError, n)
		})
		if !pause(ctx, 10*time.Millisecond+s.Pull) {
			return
		}
	}
}

// pause waits, and reports whether ctx lasted so long.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// finish notes the end of a container.
func (g *group) finish(code int, text string) {
	g.current, g.code, g.text, g.ended = terminated, code, g.text+text, time.Now()
	g.state, g.detail = succeeded, "Completed"
	if code != 0 {
		g.state, g.detail = broken, "Error"
	}
	if g.halted {
		g.state = stopped
	}
}

func (g *group) event(kind, name, text string, count int32) {
	now := time.Now()
	g.events = append(g.events, &armcontainerinstance.Event{Type: &kind, Name: &name, Message: &text, Count: &count,
		FirstTimestamp: &now, LastTimestamp: &now})
}

// container is the state of the container as it is told.
func (g *group) container() *armcontainerinstance.ContainerState {
	state := &armcontainerinstance.ContainerState{State: to.Ptr(g.current), DetailStatus: to.Ptr(g.detail)}
	if g.current != waiting {
		state.StartTime = to.Ptr(g.began)
	}
	if g.current == terminated {
		state.FinishTime, state.ExitCode = to.Ptr(g.ended), to.Ptr(int32(g.code))
	}
	return state
}

// view is the group as it is told, without secure values and, in a list, without
// its state.
func (g *group) view(full bool) armcontainerinstance.ContainerGroup {
	v := g.asked
	properties := *v.Properties
	container := *properties.Containers[0]
	inner := *container.Properties
	inner.EnvironmentVariables = nil
	for _, e := range container.Properties.EnvironmentVariables {
		inner.EnvironmentVariables = append(inner.EnvironmentVariables, &armcontainerinstance.EnvironmentVariable{Name: e.Name, Value: e.Value})
	}
	properties.ProvisioningState = to.Ptr(g.provisioning)
	if full {
		inner.InstanceView = &armcontainerinstance.ContainerPropertiesInstanceView{CurrentState: g.container(), PreviousState: g.previous,
			RestartCount: to.Ptr(int32(g.restarts)), Events: g.events}
		properties.InstanceView = &armcontainerinstance.ContainerGroupPropertiesInstanceView{State: to.Ptr(g.state)}
	}
	container.Properties = &inner
	properties.Containers = []*armcontainerinstance.Container{&container}
	v.Properties = &properties
	return v
}

// tail is the last lines of what the container wrote.
func (g *group) tail(lines int) string {
	all := strings.SplitAfter(strings.TrimSuffix(g.text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "")
}
