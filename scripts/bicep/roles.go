package bicepcheck

import (
	"regexp"
	"slices"
	"strings"
)

// Roles of Azure, by what they are called there.
const (
	acrPull              = "7f951dda-4ed3-4680-a7ca-43fe172d538d"
	blobContributor      = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
	blobReader           = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
	containerInstances   = "5d977122-f97e-4b4d-a52f-6b43003ddb4d"
	identityOperator     = "f1a07417-d97a-45cb-824c-7a7467783830"
	queueContributor     = "974c5e8b-45b9-4653-ba55-5f855dd0fb88"
	queueMessageSender   = "c6a89b2d-59bc-44d0-9896-0f6e12d7b80a"
	queueReader          = "19e7f393-937e-4f77-808e-94535e297925"
	tableDataContributor = "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3"
	tableDataReader      = "76199698-9eea-4c19-bc75-cec21354c6b6"
)

// scopes are the types of resource that a role may be given on. A role without
// a scope would hold for the whole resource group.
var scopes = map[string][]string{
	acrPull:              {"Microsoft.ContainerRegistry/registries"},
	blobContributor:      {"Microsoft.Storage/storageAccounts/blobServices/containers"},
	blobReader:           {"Microsoft.Storage/storageAccounts/blobServices/containers"},
	containerInstances:   {""},
	identityOperator:     {"Microsoft.ManagedIdentity/userAssignedIdentities"},
	queueContributor:     {"Microsoft.Storage/storageAccounts/queueServices/queues"},
	queueMessageSender:   {"Microsoft.Storage/storageAccounts/queueServices/queues"},
	queueReader:          {"Microsoft.Storage/storageAccounts/queueServices/queues"},
	tableDataContributor: {"Microsoft.Storage/storageAccounts/tableServices/tables"},
	tableDataReader:      {"Microsoft.Storage/storageAccounts/tableServices/tables"},
}

func roleRules() []Rule {
	return []Rule{
		{"role ids", roleIDs}, {"role names", roleNames}, {"role scopes", roleScopes},
		{"roles of the job (C06, C40, C41, C47)", jobRoles}, {"roles of the operator", operatorRoles}, {"roles first (C41)", rolesFirst}, {"user-assigned identities (C43)", userAssigned},
	}
}

var guid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// roleIDs: every id in the templates is one of the list.
func roleIDs(b *Bundle) []Problem {
	var found finding
	for _, f := range b.Templates() {
		f.Exprs(func(e *Expr) {
			if e.Kind == String && guid.MatchString(e.Text) && scopes[e.Text] == nil {
				found.add(f, e.Line, "%s is none of the roles that are wanted", e.Text)
			}
		})
	}
	return found
}

// granted is an assignment of roles with its parts looked up.
type granted struct {
	file      *File
	resource  *Resource
	principal *Expr
	roles     []string
	role      *Expr // as it is written
	scope     *Resource
}

func (b *Bundle) grants() []granted {
	var list []granted
	for _, f := range b.Templates() {
		for _, r := range f.Resources {
			if r.Type != "Microsoft.Authorization/roleAssignments" {
				continue
			}
			g := granted{file: f, resource: r, principal: r.Object.Get("properties", "principalId")}
			if call := r.Object.Get("properties", "roleDefinitionId"); call != nil && call.Kind == Call && len(call.Items) == 2 {
				g.role = call.Items[1]
				for _, e := range r.each(g.role) {
					g.roles = append(g.roles, f.Resolve(e).Text)
				}
			}
			if name, _ := r.Object.Get("scope").Root(); name != "" {
				g.scope = f.Resource(name)
			}
			list = append(list, g)
		}
	}
	return list
}

// each is what an expression is in turn: the items of the loop, where it is the
// variable of it.
func (b *Body) each(e *Expr) []*Expr {
	if b.Loop == nil || e == nil || e.Kind != Name || len(b.Loop.Names) == 0 || b.Loop.Names[0] != e.Text {
		return []*Expr{e}
	}
	if over := b.Loop.Items[0]; over.Kind == Array {
		return over.Items
	}
	return []*Expr{b.Loop.Items[0]}
}

// roleNames: a deployment that is repeated finds its own assignments, and a new
// principal is known for what it is before the directory has it.
func roleNames(b *Bundle) []Problem {
	var found finding
	for _, g := range b.grants() {
		scope := "resourceGroup()"
		if s := g.resource.Object.Get("scope"); s != nil {
			scope = s.Src
		}
		if g.principal == nil || g.role == nil {
			found.add(g.file, g.resource.Line, "%s has no principal, or no role by subscriptionResourceId", g.resource.Name)
			continue
		}
		want := "guid(" + scope + ".id, " + g.principal.Src + ", " + g.role.Src + ")"
		if name := g.resource.Object.Get("name"); name == nil || name.Src != want {
			found.add(g.file, g.resource.Line, "the name of %s must be %s", g.resource.Name, want)
		}
		kind := g.resource.Object.Get("properties", "principalType")
		if !kind.Is("ServicePrincipal") && (kind == nil || kind.Kind != Name || g.file.Param(kind.Text) == nil) {
			found.add(g.file, g.resource.Line, "%s has no principalType", g.resource.Name)
		}
	}
	return found
}

// roleScopes: each role holds on the one thing that it is for.
func roleScopes(b *Bundle) []Problem {
	var found finding
	for _, g := range b.grants() {
		on := ""
		if g.scope != nil {
			on = g.scope.Type
		}
		for _, role := range g.roles {
			if !slices.Contains(scopes[role], on) {
				found.add(g.file, g.resource.Line, "role %s of %s must not be on %q", role, g.resource.Name, on)
			}
		}
	}
	return found
}

// has reports whether a symbol in main is given a role, and by which modules.
func (b *Bundle) has(symbol, role string) (modules []string, ok bool) {
	for _, g := range b.grants() {
		if !slices.Contains(g.roles, role) || !slices.Contains(b.identities(g.file, g.resource.each(g.principal)[0]), symbol) {
			continue
		}
		ok = true
		b.calls(func(caller *File, m *Module, of *File) {
			if of == g.file && mentions(m.Object.Get("params"), symbol) {
				modules = append(modules, m.Name)
			}
		})
	}
	return modules, ok
}

func mentions(e *Expr, symbol string) bool {
	found := false
	e.Walk(func(e *Expr) { found = found || e.Kind == Name && e.Text == symbol })
	return found
}

// needed are the roles of the identities of a job, by their symbols in main.
func (b *Bundle) needed(j job) map[string][]string {
	roles := map[string][]string{}
	if rules := j.get("eventTriggerConfig", "scale", "rules"); rules != nil && len(rules.Items) > 0 {
		for _, name := range b.identities(j.file, rules.Items[0].Get("identity")) {
			roles[name] = append(roles[name], queueReader)
		}
	}
	if registries := j.get("registries"); registries != nil && len(registries.Items) > 0 {
		for _, name := range b.identities(j.file, registries.Items[0].Get("identity")) {
			roles[name] = append(roles[name], acrPull)
		}
	}
	if client, ok := b.settings(j)["AZURE_CLIENT_ID"]; ok {
		for _, name := range b.identities(client.file, client.expr) {
			roles[name] = append(roles[name], queueContributor, blobContributor, blobReader, tableDataContributor)
		}
	}
	return roles
}

// jobRoles: each identity of the job is assigned to it and has its roles.
func jobRoles(b *Bundle) []Problem {
	var found finding
	for _, j := range b.events() {
		needed := b.needed(j)
		if len(needed) != 3 {
			found.add(j.file, j.resource.Line, "there must be three identities, to run, to scale and to pull; there are %d", len(needed))
		}
		assigned := j.file.At(j.resource.Object, "identity", "userAssignedIdentities")
		for name, roles := range needed {
			if !slices.ContainsFunc(assigned.keys(), func(key string) bool {
				key = strings.TrimSuffix(strings.TrimPrefix(key, "${"), "}")
				return slices.Contains(b.identities(j.file, &Expr{Kind: Name, Text: key}), name)
			}) {
				found.add(j.file, j.resource.Line, "%s is not assigned to the job", name)
			}
			for _, role := range roles {
				if _, ok := b.has(name, role); !ok {
					found.add(j.file, j.resource.Line, "%s has no role %s", name, role)
				}
			}
		}
	}
	return found
}

// operated is what the commands of the program want from a laptop: the role, by the
// parameter that names what it is on. The item of a loop over tables is table.
var operated = map[string]string{
	"basinContainer": blobContributor, "resultsContainer": blobReader, "queueName": queueContributor, "poisonQueueName": queueContributor,
	"runsTable": tableDataContributor, "scenariosTable": tableDataContributor, "table": tableDataReader,
}

// operatorRoles: who has deployed can load a basin, enqueue, cancel and read.
func operatorRoles(b *Bundle) []Problem {
	var found finding
	given := map[string]bool{}
	for _, g := range b.grants() {
		for _, o := range b.origins(g.file, g.principal) {
			if o.expr.Src != "operatorPrincipalId" || g.scope == nil {
				continue
			}
			object := g.scope.Object
			if g.scope.Loop != nil {
				object = g.scope.Loop.Items[1]
			}
			for _, role := range g.roles {
				given[object.Get("name").Src+role] = true
			}
		}
	}
	for name, role := range operated {
		if !given[name+role] {
			found.add(b.Main(), 1, "the operator has no role %s on %s", role, name)
		}
	}
	return found
}

func (e *Expr) keys() []string {
	if e == nil {
		return nil
	}
	return e.Keys
}

// rolesFirst: the job is made after its identities have their roles.
func rolesFirst(b *Bundle) []Problem {
	var found finding
	for _, j := range b.events() {
		b.calls(func(caller *File, m *Module, of *File) {
			if of != j.file {
				return
			}
			for name, roles := range b.needed(j) {
				for _, role := range roles {
					modules, _ := b.has(name, role)
					for _, first := range modules {
						if !mentions(m.Object, first) {
							found.add(caller, m.Line, "%s must come after %s, which gives %s a role: name it in dependsOn", m.Name, first, name)
						}
					}
				}
			}
		})
	}
	return found
}

// userAssigned: an identity outlives what it is assigned to.
func userAssigned(b *Bundle) []Problem {
	var found finding
	for _, f := range b.Templates() {
		for _, r := range f.Resources {
			identity := f.At(r.Object, "identity")
			if identity != nil && !f.At(identity, "type").Is("UserAssigned") {
				found.add(f, r.Line, "the identity of %s must be UserAssigned", r.Name)
			}
			if identity == nil && r.Type == "Microsoft.App/jobs" && !r.Existing {
				found.add(f, r.Line, "%s has no identity", r.Name)
			}
		}
	}
	return found
}
