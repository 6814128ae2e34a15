package storage_test

import (
	"net/http"
	"testing"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

// Who may not create what is there already is no worse off: an operator loads
// data into an account that a deployment has made.
func TestAzureCreateDenied(t *testing.T) {
	_, a, proxy, _ := openProxied(t)
	queue := a.Queue(azurite.NewNames().Queue)
	for _, op := range []faultproxy.Operation{faultproxy.ContainerCreate, faultproxy.TableCreate, faultproxy.QueueCreate} {
		proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: op}, Action: faultproxy.Status(http.StatusForbidden, "AuthorizationPermissionMismatch", 0)})
	}
	if err := a.Create(t.Context()); err != nil {
		t.Errorf("all is there: %v", err)
	}
	if err := queue.Create(t.Context()); reason.Of(err) != reason.StorageDenied {
		t.Errorf("a queue that is not there: %v", err)
	}
	direct := azurite.Open(t, azurite.Connection(t), azurite.NewNames().Layout)
	if err := direct.Queue(queue.Name()).Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := queue.Create(t.Context()); err != nil {
		t.Errorf("a queue that is there: %v", err)
	}
	missing := azurite.Open(t, proxy.Connection(), azurite.NewNames().Layout)
	if err := missing.Create(t.Context()); reason.Of(err) != reason.StorageDenied {
		t.Errorf("nothing is there: %v", err)
	}
}
