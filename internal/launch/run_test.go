package launch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/launch/armtest"
	"rsmsjob/internal/reason"
)

// A whole run: what is made, what is told, and nothing left.
func TestRun(t *testing.T) {
	inBubble(t, ends(10*time.Minute, 10, "one\ntwo\n"), func(t *testing.T, b *bench) {
		begin := time.Now()
		end, err := b.groups.Run(t.Context(), job())
		if err != nil {
			t.Fatal(err)
		}
		want := End{Started: true, ExitCode: 10, State: "Terminated", Detail: "Error", StartedAt: begin.Add(90 * time.Second),
			FinishedAt: begin.Add(690 * time.Second), Tail: "one\ntwo"}
		if d := cmp.Diff(want, end, cmp.Transformer("utc", time.Time.UTC)); d != "" {
			t.Errorf("the end (-want +got):\n%s", d)
		}
		if took := time.Since(begin); took > 710*time.Second {
			t.Errorf("it took %v", took)
		}
		if !end.known() || b.Count(armtest.Create, 0) != 1 {
			t.Errorf("%+v behind %d creations", end, b.Count(armtest.Create, 0))
		}
		b.wantGone(t)
		b.wantQuiet(t)
		if !strings.Contains(b.log.String(), "line=two") {
			t.Errorf("the tail is not in the log:\n%s", b.log)
		}
	})
}

// What the service is asked for.
func TestDefinition(t *testing.T) {
	inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
		if _, err := b.groups.Run(t.Context(), job()); err != nil {
			t.Fatal(err)
		}
		made := b.Created()[0]
		p := made.Group.Properties
		c := p.Containers[0].Properties
		got := []string{*made.Group.Location, string(*p.OSType), string(*p.RestartPolicy), *c.Image, fmt.Sprint(*c.Resources.Requests.CPU, *c.Resources.Requests.MemoryInGB),
			string(*made.Group.Identity.Type), *p.ImageRegistryCredentials[0].Server, *p.ImageRegistryCredentials[0].Identity, *made.Group.Tags["rsms-queue"]}
		want := []string{"westeurope", "Windows", "Never", image, "2 4", "UserAssigned", "mine.azurecr.io", identity, "rsms-jobs"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if made.Group.Identity.UserAssignedIdentities[identity] == nil || p.ImageRegistryCredentials[0].Password != nil || p.Volumes != nil || c.Command != nil {
			t.Errorf("asked for %+v", made.Group)
		}
		if !maps.Equal(made.Env, map[string]string{"RSMS_EXIT_ZERO": "true", "RSMS_MESSAGE": `{"a":1}`}) || !maps.Equal(made.Secrets, map[string]string{"SECRET": "hush"}) {
			t.Errorf("variables %v, secrets %v", made.Env, made.Secrets)
		}
	})
}

func TestRegistry(t *testing.T) {
	for image, want := range map[string]string{
		image: "mine.azurecr.io", "a.azurecr.us/b/c@sha256:1": "a.azurecr.us", "a.azurecr.cn/b": "a.azurecr.cn",
		"rsms-job": "", "mcr.microsoft.com/windows/nanoserver": "", "evil.azurecr.io.example.com/x": "", "azurecr.io": "",
	} {
		if got := registry(image); got != want {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
}

// A container that a crashed launcher has left is followed, not made again.
func TestRunAdopts(t *testing.T) {
	inBubble(t, ends(10*time.Minute, 0, "x"), func(t *testing.T, b *bench) {
		ctx, crash := context.WithCancelCause(t.Context())
		time.AfterFunc(3*time.Minute, func() { crash(reason.New(reason.LeaseLost, "gone")) })
		if end, err := b.groups.Run(ctx, job()); reason.Of(err) != reason.LeaseLost || !end.Started || end.known() {
			t.Fatalf("%+v, %v", end, err)
		}
		if b.State(job().Name) != "Running" || b.Count(armtest.Stop, 0)+b.Count(armtest.Delete, 0) != 0 {
			t.Fatal("who lost the message has touched the group")
		}
		end, err := b.groups.Run(t.Context(), job())
		if err != nil || !end.Adopted || end.ExitCode != 0 || !end.known() || b.Count(armtest.Create, 0) != 1 {
			t.Errorf("%+v, %v behind %d creations", end, err, b.Count(armtest.Create, 0))
		}
		b.wantGone(t)
	})
}

// One that has ended meanwhile says nothing about this delivery.
func TestRunRenewsEnded(t *testing.T) {
	runs := 0
	program := func(context.Context, map[string]string) (int, string) {
		runs++
		return runs, ""
	}
	inBubble(t, program, func(t *testing.T, b *bench) {
		ctx, crash := context.WithCancelCause(t.Context())
		time.AfterFunc(30*time.Second, func() { crash(reason.New(reason.LeaseLost, "gone")) })
		if _, err := b.groups.Run(ctx, job()); reason.Of(err) != reason.LeaseLost {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		end, err := b.groups.Run(t.Context(), job())
		if err != nil || end.Adopted || end.ExitCode != 2 || b.Count(armtest.Create, http.StatusCreated) != 2 {
			t.Errorf("%+v, %v", end, err)
		}
		b.wantGone(t)
	})
}

// Two launchers with one job: one group, one end.
func TestRunRace(t *testing.T) {
	inBubble(t, ends(5*time.Minute, 0, ""), func(t *testing.T, b *bench) {
		results := make(chan error)
		for range 2 {
			go func() {
				end, err := b.groups.Run(t.Context(), job())
				if err == nil && end.State != Gone && (end.ExitCode != 0 || !end.known()) { // the other one may have deleted it
					err = fmt.Errorf("%+v", end)
				}
				results <- err
			}()
		}
		for range 2 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if n := len(b.Created()); n != 1 {
			t.Errorf("%d groups were made", n)
		}
		b.wantGone(t)
	})
}

// Container Instances may start a container again that was never to be.
func TestRunCountsFirstEnd(t *testing.T) {
	runs := 0
	program := func(ctx context.Context, _ map[string]string) (int, string) {
		if runs++; runs == 1 {
			return 10, "first\n"
		}
		<-ctx.Done()
		return 0, "second\n"
	}
	inBubble(t, program, func(t *testing.T, b *bench) {
		b.Restart = true
		end, err := b.groups.Run(t.Context(), job())
		if err != nil || end.ExitCode != 10 || !end.known() || end.FinishedAt.IsZero() {
			t.Errorf("%+v, %v", end, err)
		}
		b.wantGone(t)
	})
}

// Failed polls lose nothing.
func TestRunBearsFailures(t *testing.T) {
	faults := map[string]armtest.Fault{
		"transient errors": {Operation: armtest.Get, Status: 500, Times: 4},
		"throttled":        {Operation: armtest.Get, Status: 429, Code: "TooManyRequests", RetryAfter: 40, Times: 3},
		"no connection":    {Operation: armtest.Get, Times: 4},
		"no answer":        {Operation: armtest.Get, Silent: true, Times: 3},
		"a role that went": {Operation: armtest.Get, Status: 403, Code: "AuthorizationFailed", Times: 5},
		"a proxy":          {Operation: armtest.Get, Status: 404, Times: 5},
		"an old answer":    {Operation: armtest.Get, Status: 404, Code: "ResourceNotFound", Times: 2},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			inBubble(t, ends(20*time.Minute, 0, "x"), func(t *testing.T, b *bench) {
				time.AfterFunc(5*time.Minute, func() { b.Fail(fault) })
				end, err := b.groups.Run(t.Context(), job())
				if err != nil || !end.known() || end.ExitCode != 0 || end.Tail != "x" || b.Count(armtest.Create, 0) != 1 {
					t.Errorf("%+v, %v", end, err)
				}
				b.wantGone(t)
			})
		})
	}
}

// An answer that is lost does not make a second group.
func TestRunLostAnswer(t *testing.T) {
	for name, after := range map[string]time.Duration{"runs": time.Hour, "is over at once": 0} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, ends(after, 0, ""), func(t *testing.T, b *bench) {
				b.Pull = 0
				b.Fail(armtest.LostAnswer())
				end, err := b.groups.Run(t.Context(), job())
				if err != nil || end.Adopted || !end.known() || len(b.Created()) != 1 {
					t.Errorf("%+v, %v, %d made", end, err, len(b.Created()))
				}
				b.wantGone(t)
			})
		})
	}
}

// Somebody deletes the group, or stops it.
func TestRunInterfered(t *testing.T) {
	by := func(t *testing.T, b *bench, method, path string) {
		t.Helper()
		r, err := http.NewRequest(method, "https://management.azure.com/subscriptions/"+armtest.Subscription+"/resourceGroups/"+armtest.ResourceGroup+
			"/providers/Microsoft.ContainerInstance/containerGroups/"+job().Name+path+"?api-version=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer t")
		if _, err := b.Do(r); err != nil {
			t.Error(err)
		}
	}
	t.Run("deleted", func(t *testing.T) {
		inBubble(t, obeys(0), func(t *testing.T, b *bench) {
			time.AfterFunc(5*time.Minute, func() { by(t, b, http.MethodDelete, "") })
			b.Removal = 0
			end, err := b.groups.Run(t.Context(), job())
			if err != nil || end.State != Gone || end.ExitCode != -1 || end.known() || !end.Started || b.Count(armtest.Delete, 0) != 1 {
				t.Errorf("%+v, %v", end, err)
			}
		})
	})
	t.Run("stopped", func(t *testing.T) {
		inBubble(t, obeys(0), func(t *testing.T, b *bench) {
			time.AfterFunc(5*time.Minute, func() { by(t, b, http.MethodPost, "/stop") })
			end, err := b.groups.Run(t.Context(), job())
			if err != nil || end.ExitCode != 143 || !end.known() {
				t.Errorf("%+v, %v", end, err)
			}
			b.wantGone(t)
		})
	})
}

// A log that is not to be had costs some seconds and no end; a long one is cut at
// a line.
func TestRunTail(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		inBubble(t, ends(time.Minute, 0, "x"), func(t *testing.T, b *bench) {
			b.Fail(armtest.Fault{Operation: armtest.Logs, Silent: true})
			end, err := b.groups.Run(t.Context(), job())
			if err != nil || end.Tail != "" || !end.known() || time.Since(end.FinishedAt) > 40*time.Second {
				t.Errorf("%+v, %v", end, err)
			}
			b.wantGone(t)
		})
	})
	t.Run("long", func(t *testing.T) {
		inBubble(t, ends(time.Minute, 0, strings.Repeat("0123456789\r\n", 5000)+"\x1b[1mé\x00\xff"), func(t *testing.T, b *bench) {
			end, err := b.groups.Run(t.Context(), job())
			if err != nil || len(end.Tail) > maxTail || !strings.HasPrefix(end.Tail, "0123456789\n") || !strings.HasSuffix(end.Tail, "\n[1mé\uFFFD") {
				t.Errorf("%d bytes, %v", len(end.Tail), err)
			}
		})
	})
}

// A message that no container takes is refused before anything is asked for.
func TestRunTooLong(t *testing.T) {
	inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
		j := job()
		j.Env = []Variable{{Name: "RSMS_MESSAGE", Value: strings.Repeat("x", MaxValue+1)}}
		_, err := b.groups.Run(t.Context(), j)
		if _, ok := errors.AsType[*NotStarted](err); !ok || reason.Of(err) != reason.InvalidMessage || len(b.Calls()) != 0 {
			t.Errorf("%v", err)
		}
	})
}

func TestGroupName(t *testing.T) {
	a := GroupName("account", "queue", "ohio", "42", "job")
	if len(a) != 41 || a != GroupName("account", "queue", "ohio", "42", "job") || strings.Trim(a, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		t.Errorf("%q", a)
	}
	if GroupName("ab", "c") == GroupName("a", "bc") || GroupName("a", "") == GroupName("a") || GroupName("OHIO") == GroupName("ohio") {
		t.Error("other parts, the same name")
	}
}
