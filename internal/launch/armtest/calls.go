package armtest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerinstance/armcontainerinstance/v2"
)

func (s *Server) list() answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []armcontainerinstance.ContainerGroup{}
	for _, g := range s.groups {
		all = append(all, g.view(false))
	}
	return said(http.StatusOK, map[string]any{"value": all})
}

func (s *Server) get(name string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[name]
	if g == nil {
		return failed(http.StatusNotFound, "ResourceNotFound")
	}
	return said(http.StatusOK, g.view(true))
}

// create makes a group or, as the service does, changes the one that is there
// and lets its container start anew.
func (s *Server) create(body io.Reader, name string) answer {
	var asked armcontainerinstance.ContainerGroup
	if json.NewDecoder(body).Decode(&asked) != nil {
		return failed(http.StatusBadRequest, "InvalidRequestContent")
	}
	if code := wrong(name, &asked); code != "" {
		return failed(http.StatusBadRequest, code)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.groups[name]
	switch {
	case old != nil && old.provisioning != succeeded && old.provisioning != broken:
		return failed(http.StatusConflict, "ContainerGroupTransitioning")
	case old == nil && len(s.groups) >= s.quota():
		return failed(http.StatusConflict, "ContainerGroupQuotaReached")
	case old != nil:
		old.end()
	}
	asked.Name, asked.Type = to.Ptr(name), to.Ptr("Microsoft.ContainerInstance/containerGroups")
	asked.ID = to.Ptr(prefix + "/" + name)
	made := Created{Name: name, Group: asked, Env: map[string]string{}, Secrets: map[string]string{}}
	g := &group{asked: asked, env: map[string]string{}}
	for _, e := range asked.Properties.Containers[0].Properties.EnvironmentVariables {
		if e.SecureValue != nil {
			made.Secrets[*e.Name], g.env[*e.Name] = *e.SecureValue, *e.SecureValue
		} else {
			made.Env[*e.Name], g.env[*e.Name] = *e.Value, *e.Value
		}
	}
	s.created = append(s.created, made)
	s.groups[name] = g
	s.launch(g)
	return said(http.StatusCreated, g.view(false))
}

// wrong is the code of what is wrong with a group for Windows, "" for nothing.
func wrong(name string, g *armcontainerinstance.ContainerGroup) string {
	groupName := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	variableName := regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_]{0,61}[A-Za-z0-9])?$`)
	p := g.Properties
	switch {
	case !groupName.MatchString(name):
		return "InvalidContainerGroupName"
	case g.Location == nil || *g.Location == "":
		return "LocationRequired"
	case p == nil || p.OSType == nil || *p.OSType != armcontainerinstance.OperatingSystemTypesWindows:
		return "InvalidOsType"
	case len(p.Containers) != 1 || len(p.Volumes) > 0: // Windows takes one container, and no volume
		return "UnsupportedOnWindows"
	}
	c := p.Containers[0]
	if c.Name == nil || !groupName.MatchString(*c.Name) || c.Properties == nil || c.Properties.Image == nil || c.Properties.Resources == nil {
		return "InvalidContainer"
	}
	if slices.ContainsFunc(c.Properties.EnvironmentVariables, func(e *armcontainerinstance.EnvironmentVariable) bool {
		return e.Name == nil || !variableName.MatchString(*e.Name) || (e.Value == nil) == (e.SecureValue == nil)
	}) {
		return "InvalidEnvironmentVariable"
	}
	return ""
}

func (s *Server) logs(name, tail string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[name]
	if g == nil {
		return failed(http.StatusNotFound, "ResourceNotFound")
	}
	if g.began.IsZero() || g.provisioning == deleting {
		return failed(http.StatusConflict, "ContainerGroupTransitioning")
	}
	lines, err := strconv.Atoi(tail)
	if err != nil {
		lines = len(g.text)
	}
	return said(http.StatusOK, map[string]any{"content": g.tail(lines)})
}

// stop ends the container of a group; the group stays.
func (s *Server) stop(name string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[name]
	switch {
	case g == nil:
		return failed(http.StatusNotFound, "ResourceNotFound")
	case g.provisioning != succeeded:
		return failed(http.StatusConflict, "ContainerGroupTransitioning")
	}
	g.halted = true
	if g.current == terminated {
		g.state = stopped
	}
	g.end()
	return said(http.StatusNoContent, nil)
}

// remove lets a group go, in a while.
func (s *Server) remove(name string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[name]
	switch {
	case g == nil:
		return said(http.StatusNoContent, nil)
	case g.provisioning == deleting:
		return failed(http.StatusConflict, "ContainerGroupTransitioning")
	}
	g.end()
	if s.Removal == 0 {
		delete(s.groups, name)
		return said(http.StatusOK, g.view(false))
	}
	g.provisioning = deleting
	s.work.Go(func() {
		pause(context.Background(), s.Removal)
		s.change(func() {
			if s.groups[name] == g {
				delete(s.groups, name)
			}
		})
	})
	a := said(http.StatusAccepted, nil)
	a.header.Set("Location", "https://management.azure.com/subscriptions/"+Subscription+"/providers/Microsoft.ContainerInstance/operations/"+name)
	return a
}
