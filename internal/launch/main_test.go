package launch

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"rsmsjob/internal/launch/armtest"
)

// tokens gives a token, or an error.
type tokens struct{ err error }

func (c *tokens) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "t", ExpiresOn: time.Now().Add(time.Hour)}, c.err
}

// record is a log that is kept.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

const (
	image    = "mine.azurecr.io/rsms-job:abc"
	identity = "/subscriptions/s/resourceGroups/r/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"
)

// bench is a service with what a launcher needs, in a bubble: its clock is the
// test's.
type bench struct {
	*armtest.Server
	credential *tokens
	groups     *Groups
	log        *record
}

// inBubble runs a test against a service whose containers run program.
func inBubble(t *testing.T, program armtest.Program, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{Server: armtest.New(program), credential: &tokens{}, log: &record{}}
		defer b.Close()
		b.Pull, b.Removal = 90*time.Second, 7*time.Second
		b.groups = b.open(t, b.options())
		test(t, b)
	})
}

func (b *bench) options() Options {
	return Options{Credential: b.credential, Endpoint: "https://management.azure.com", Subscription: armtest.Subscription, ResourceGroup: armtest.ResourceGroup,
		Location: "westeurope", Image: image, CPU: 2, MemoryGB: 4, IdentityID: identity, Grace: 20 * time.Second,
		Env: []Variable{{Name: "RSMS_EXIT_ZERO", Value: "true"}, {Name: "SECRET", Value: "hush", Secret: true}},
		Log: slog.New(slog.NewTextHandler(b.log, nil)), Transport: b.Server}
}

func (b *bench) open(t *testing.T, o Options) *Groups {
	t.Helper()
	g, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// job is one with a message.
func job() Job {
	return Job{Name: GroupName("account", "queue", "ohio", "42", "job-1"), Env: []Variable{{Name: "RSMS_MESSAGE", Value: `{"a":1}`}},
		Tags: map[string]string{"rsms-queue": "rsms-jobs"}}
}

// ends is a program that runs for a time, whatever happens to it.
func ends(after time.Duration, code int, text string) armtest.Program {
	return func(context.Context, map[string]string) (int, string) {
		time.Sleep(after)
		return code, text
	}
}

// obeys is a program that runs until it is stopped, and then takes a time to
// write its end.
func obeys(takes time.Duration) armtest.Program {
	return func(ctx context.Context, _ map[string]string) (int, string) {
		<-ctx.Done()
		time.Sleep(takes)
		return 143, "stopped\n"
	}
}

// wantGone sees that no group is left.
func (b *bench) wantGone(t *testing.T) {
	t.Helper()
	if left := b.Groups(); len(left) != 0 {
		t.Errorf("groups left: %v", left)
	}
}

// wantQuiet sees that the log tells no secret.
func (b *bench) wantQuiet(t *testing.T) {
	t.Helper()
	if text := b.log.String(); strings.Contains(text, "hush") || strings.Contains(text, `{"a":1}`) || strings.Contains(text, `{\"a\":1}`) {
		t.Errorf("the log tells what it must not:\n%s", text)
	}
}

// known reports whether the container has ended by itself.
func (e End) known() bool { return e.State == terminated }
