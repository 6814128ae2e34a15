package launch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/launch/armtest"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// C30, C54: where there is no room the message goes back, nothing was done for
// it, and nothing is left.
func TestRunNoRoom(t *testing.T) {
	tests := map[string]struct {
		fault armtest.Fault
		after time.Duration
		says  string
	}{
		"quota":                    {armtest.QuotaReached(), 0, "ContainerGroupQuotaReached"},
		"quota, with a 400":        {armtest.Fault{Operation: armtest.Create, Status: 400, Code: "ContainerGroupQuotaReached"}, 0, "quota"},
		"creations an hour":        {armtest.Throttled(1800), 30 * time.Minute, "TooManyRequests"},
		"no machine in the region": {armtest.NoMachine(), 0, "ServiceUnavailable"},
		"the service is down":      {armtest.Down(), 0, "status 503"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
				b.Fail(tt.fault)
				begin := time.Now()
				end, err := b.groups.Run(t.Context(), job())
				room, ok := errors.AsType[*NoRoom](err)
				if !ok || room.After != tt.after || reason.Of(err) != reason.StorageUnavailable || !strings.Contains(reason.Detail(err), tt.says) || end.Started {
					t.Errorf("%+v, %v", end, err)
				}
				if took := time.Since(begin); took > time.Second || b.Count(armtest.Create, 0) != 1 {
					t.Errorf("%d tries in %v", b.Count(armtest.Create, 0), took)
				}
				b.wantGone(t)
				b.wantQuiet(t)
			})
		})
	}
}

// The quota of groups counts those that have ended; the launcher that is refused
// takes no other group for its own.
func TestRunQuota(t *testing.T) {
	inBubble(t, ends(10*time.Minute, 0, ""), func(t *testing.T, b *bench) {
		b.Quota = 1
		first := make(chan error)
		go func() {
			_, err := b.groups.Run(t.Context(), job())
			first <- err
		}()
		time.Sleep(time.Minute)
		other := job()
		other.Name = GroupName("other")
		if _, err := b.groups.Run(t.Context(), other); reason.Of(err) != reason.StorageUnavailable {
			t.Errorf("over the quota: %v", err)
		}
		if err := <-first; err != nil {
			t.Errorf("the first: %v", err)
		}
		if _, err := b.groups.Run(t.Context(), other); err != nil {
			t.Errorf("behind the first: %v", err)
		}
	})
}

// A region may run out of machines behind the creation (C30: cleaned).
func TestRunNoCapacity(t *testing.T) {
	inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
		b.NoCapacity = true
		end, err := b.groups.Run(t.Context(), job())
		if _, ok := errors.AsType[*NoRoom](err); !ok || end.Started || !strings.Contains(err.Error(), "InsufficientCapacity") {
			t.Errorf("%+v, %v", end, err)
		}
		b.wantGone(t)
	})
}

// An image that cannot be pulled is told in some minutes, with the events.
func TestRunNoImage(t *testing.T) {
	inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
		b.PullError = "manifest unknown"
		begin := time.Now()
		end, err := b.groups.Run(t.Context(), job())
		start, ok := errors.AsType[*NotStarted](err)
		if !ok || start.Variable != "RSMS_ACI_IMAGE" || end.Started || reason.Of(err) != reason.StorageUnavailable ||
			!strings.Contains(err.Error(), "manifest unknown") || strings.Contains(reason.Detail(err), "manifest") {
			t.Errorf("%+v, %v", end, err)
		}
		if took := time.Since(begin); took > 8*time.Minute {
			t.Errorf("it took %v", took)
		}
		b.wantGone(t)
	})
}

// What is refused for good says what to do.
func TestRunRefused(t *testing.T) {
	tests := []struct {
		status               int
		code, variable, says string
	}{
		{403, "AuthorizationFailed", "", "Azure Container Instances Contributor Role"},
		{401, "InvalidAuthenticationTokenTenant", "", "Azure Container Instances Contributor Role"},
		{403, "LinkedAuthorizationFailed", "", "Managed Identity Operator"},
		{404, "ResourceGroupNotFound", "RSMS_ACI_RESOURCE_GROUP", "create it"},
		{404, "SubscriptionNotFound", "RSMS_ACI_SUBSCRIPTION_ID", "not there"},
		{409, "MissingSubscriptionRegistration", "RSMS_ACI_SUBSCRIPTION_ID", "az provider register"},
		{409, "ScopeLocked", "RSMS_ACI_RESOURCE_GROUP", "lock"},
		{409, "ResourceGroupBeingDeleted", "RSMS_ACI_RESOURCE_GROUP", "deleted"},
		{409, "ReadOnlyDisabledSubscription", "RSMS_ACI_SUBSCRIPTION_ID", "disabled"},
		{400, "InaccessibleImage", "RSMS_ACI_IMAGE", "AcrPull"},
		{400, "OsVersionNotSupported", "RSMS_ACI_IMAGE", "ltsc2022"},
		{400, "LocationNotAvailableForResourceType", "RSMS_ACI_LOCATION", "region"},
		{400, "ResourceRequestsTooLarge", "", "RSMS_ACI_CPU"},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
				b.Fail(armtest.Fault{Operation: armtest.Create, Status: tt.status, Code: tt.code})
				_, err := b.groups.Run(t.Context(), job())
				start, ok := errors.AsType[*NotStarted](err)
				if !ok || start.Variable != tt.variable || !strings.Contains(reason.Detail(err), tt.says) || !strings.Contains(reason.Detail(err), tt.code) ||
					!strings.Contains(err.Error(), "the test says so") || reason.Of(err) != reason.StorageUnavailable {
					t.Errorf("%v", err)
				}
				if b.Count(armtest.Create, 0) != 1 {
					t.Errorf("%d tries", b.Count(armtest.Create, 0))
				}
			})
		})
	}
}

// A group of that name that neither goes nor comes is not waited for for ever.
func TestRunStuck(t *testing.T) {
	inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
		b.Fail(armtest.Fault{Operation: armtest.Create, Status: 409, Code: "SomethingElse"})
		begin := time.Now()
		_, err := b.groups.Run(t.Context(), job())
		if room, ok := errors.AsType[*NoRoom](err); !ok || reason.Of(room) != reason.StorageUnavailable {
			t.Errorf("%v", err)
		}
		if took := time.Since(begin); took < changePatience || took > changePatience+time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// A group that is changing is waited for.
func TestRunTransitioning(t *testing.T) {
	inBubble(t, ends(time.Minute, 0, ""), func(t *testing.T, b *bench) {
		b.Fail(armtest.Fault{Operation: armtest.Create, Status: 409, Code: "ContainerGroupTransitioning", Times: 30})
		end, err := b.groups.Run(t.Context(), job())
		if err != nil || !end.known() || len(b.Created()) != 1 {
			t.Errorf("%+v, %v", end, err)
		}
	})
}

// A service that is broken, or no network, is borne for two minutes; then the
// message goes back.
func TestRunNoAnswer(t *testing.T) {
	faults := map[string]armtest.Fault{
		"errors":        {Operation: armtest.Create, Status: 500, Code: "InternalServerError"},
		"no connection": {Operation: armtest.Get},
		"no answer":     {Operation: armtest.Get, Silent: true},
		"throttled":     {Operation: armtest.Get, Status: 429, RetryAfter: 5},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
				b.Fail(fault)
				begin := time.Now()
				_, err := b.groups.Run(t.Context(), job())
				if _, ok := errors.AsType[*NoRoom](err); !ok || reason.Of(err) != reason.StorageUnavailable {
					t.Errorf("%v", err)
				}
				if took := time.Since(begin); took < createPatience || took > 4*time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
	t.Run("errors that pass", func(t *testing.T) {
		inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
			b.Fail(armtest.Fault{Operation: armtest.Create, Status: 502, Times: 5})
			if end, err := b.groups.Run(t.Context(), job()); err != nil || !end.known() || len(b.Created()) != 1 {
				t.Errorf("%+v, %v", end, err)
			}
		})
	})
}

// Ready tells what may pass from what will not.
func TestReady(t *testing.T) {
	tests := []struct {
		name     string
		fault    armtest.Fault
		code     reason.Code
		variable string
	}{
		{"no network yet", armtest.Fault{Operation: armtest.List}, reason.StorageUnavailable, ""},
		{"no answer", armtest.Fault{Operation: armtest.List, Silent: true}, reason.StorageUnavailable, ""},
		{"throttled", armtest.Fault{Operation: armtest.List, Status: 429, RetryAfter: 3}, reason.StorageUnavailable, ""},
		{"a role that is late", armtest.Fault{Operation: armtest.List, Status: 403, Code: "AuthorizationFailed"}, reason.StorageDenied, ""},
		{"no such resource group", armtest.Fault{Operation: armtest.List, Status: 404, Code: "ResourceGroupNotFound"}, reason.Internal, "RSMS_ACI_RESOURCE_GROUP"},
		{"no such subscription", armtest.Fault{Operation: armtest.List, Status: 404, Code: "SubscriptionNotFound"}, reason.Internal, "RSMS_ACI_SUBSCRIPTION_ID"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
				remove := b.Fail(tt.fault)
				begin := time.Now()
				err := b.groups.Ready(t.Context())
				setting, ok := errors.AsType[*Setting](err)
				if err == nil || reason.Of(err) != tt.code || ok != (tt.variable != "") || ok && setting.Variable != tt.variable || time.Since(begin) > tryTimeout {
					t.Errorf("%v after %v", err, time.Since(begin))
				}
				remove()
				if err := b.groups.Ready(t.Context()); err != nil {
					t.Errorf("then: %v", err)
				}
			})
		})
	}
}

// A credential that has no token yet says so itself.
func TestReadyNoToken(t *testing.T) {
	inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
		credential, err := storage.Identity(storage.IdentityOptions{PrincipalID: "p", Endpoint: "http://127.0.0.1:1", Header: "x"})
		if err != nil {
			t.Fatal(err)
		}
		o := b.options()
		o.Credential = credential
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		if err := b.open(t, o).Ready(ctx); !errors.Is(err, gone) {
			t.Errorf("ended: %v", err)
		}
		b.credential.err = &reason.Error{Code: reason.StorageUnavailable, Detail: "no token; run az login"}
		err = b.groups.Ready(t.Context())
		if reason.Of(err) != reason.StorageUnavailable || reason.Detail(err) != "no token; run az login" || len(b.Calls()) != 0 {
			t.Errorf("%v", err)
		}
	})
}

// Every option that is missing is named at once.
func TestOpen(t *testing.T) {
	_, err := Open(Options{Endpoint: "http://management.azure.com"})
	for _, name := range []string{"RSMS_ACI_SUBSCRIPTION_ID", "RSMS_ACI_RESOURCE_GROUP", "RSMS_ACI_LOCATION", "RSMS_ACI_IMAGE", "RSMS_ACI_CPU", "RSMS_ACI_MEMORY_GB",
		"RSMS_ARM_ENDPOINT"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
	if _, ok := errors.AsType[*Setting](err); !ok {
		t.Errorf("%v", err)
	}
}
