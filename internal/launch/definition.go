package launch

import (
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerinstance/armcontainerinstance/v2"
)

// definition is the group of a job.
func (g *Groups) definition(job Job) armcontainerinstance.ContainerGroup {
	group := armcontainerinstance.ContainerGroup{
		Location: to.Ptr(g.o.Location),
		Tags:     map[string]*string{tag: to.Ptr(time.Now().UTC().Format(time.RFC3339))},
		Properties: &armcontainerinstance.ContainerGroupPropertiesProperties{
			OSType:        to.Ptr(armcontainerinstance.OperatingSystemTypesWindows),
			RestartPolicy: to.Ptr(armcontainerinstance.ContainerGroupRestartPolicyNever),
			Containers: []*armcontainerinstance.Container{{Name: to.Ptr(container), Properties: &armcontainerinstance.ContainerProperties{
				Image:                to.Ptr(g.o.Image),
				EnvironmentVariables: append(variables(g.o.Env), variables(job.Env)...),
				Resources: &armcontainerinstance.ResourceRequirements{Requests: &armcontainerinstance.ResourceRequests{
					CPU: to.Ptr(g.o.CPU), MemoryInGB: to.Ptr(g.o.MemoryGB)}},
			}}},
		},
	}
	for name, text := range job.Tags {
		group.Tags[name] = to.Ptr(text)
	}
	if g.o.IdentityID == "" {
		return group
	}
	group.Identity = &armcontainerinstance.ContainerGroupIdentity{Type: to.Ptr(armcontainerinstance.ResourceIdentityTypeUserAssigned),
		UserAssignedIdentities: map[string]*armcontainerinstance.UserAssignedIdentities{g.o.IdentityID: {}}}
	if host := registry(g.o.Image); host != "" {
		group.Properties.ImageRegistryCredentials = []*armcontainerinstance.ImageRegistryCredential{{Server: to.Ptr(host), Identity: to.Ptr(g.o.IdentityID)}}
	}
	return group
}

func variables(list []Variable) (all []*armcontainerinstance.EnvironmentVariable) {
	for _, v := range list {
		e := &armcontainerinstance.EnvironmentVariable{Name: to.Ptr(v.Name)}
		if v.Secret {
			e.SecureValue = to.Ptr(v.Value)
		} else {
			e.Value = to.Ptr(v.Value)
		}
		all = append(all, e)
	}
	return all
}

// registry is the Azure registry that an image is in, "" for any other, which is
// pulled without an identity.
func registry(image string) string {
	host, _, ok := strings.Cut(image, "/")
	for _, suffix := range []string{".azurecr.io", ".azurecr.us", ".azurecr.cn"} {
		if ok && strings.HasSuffix(host, suffix) {
			return host
		}
	}
	return ""
}
