package armtest_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"testing"
	"time"

	"rsmsjob/internal/launch/armtest"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage/identitytest"
)

// start starts a launcher against the service at an address, with the identity
// of s.
func start(t *testing.T, s *identitytest.Server, endpoint string) (c *exec.Cmd, wait func() outcome) {
	t.Helper()
	c = exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(s.Environment(), childVariable+"="+endpoint, "GORACE=atexit_sleep_ms=0")
	c.Stderr = t.Output()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, func() (o outcome) {
		t.Helper()
		if err := json.NewDecoder(out).Decode(&o); err != nil {
			t.Errorf("the launcher says nothing: %v", err)
		}
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
		return o
	}
}

// A real process over TLS with a real token: the whole road of a launcher.
func TestServe(t *testing.T) {
	identity := identitytest.Start(t)
	t.Run("to its end", func(t *testing.T) {
		var seen map[string]string
		s := armtest.New(func(_ context.Context, env map[string]string) (int, string) {
			seen = env
			return 3, "a\nb\n"
		})
		s.Pull, s.Removal = 50*time.Millisecond, 50*time.Millisecond
		at := s.Serve(t, identity.Certificate())
		before := len(identity.Requests())
		_, wait := start(t, identity, at)
		got := wait()
		if got.Reason != "" || got.End.ExitCode != 3 || got.End.Tail != "a\nb" || len(s.Groups()) != 0 {
			t.Errorf("%+v, left %v", got, s.Groups())
		}
		if !maps.Equal(seen, map[string]string{"PLAIN": "1", "SECRET": "2", "RSMS_MESSAGE": "m"}) {
			t.Errorf("the container sees %v", seen)
		}
		// The address of the service is who the token is for.
		if tokens := identity.Requests()[before:]; len(tokens) != 1 || tokens[0].Resource != at {
			t.Errorf("token requests %+v", tokens)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		running := make(chan struct{})
		s := armtest.New(func(ctx context.Context, _ map[string]string) (int, string) {
			close(running)
			<-ctx.Done()
			return 143, "bye\n"
		})
		c, wait := start(t, identity, s.Serve(t, identity.Certificate()))
		<-running
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if got := wait(); got.Reason != reason.Shutdown || len(s.Groups()) != 0 {
			t.Errorf("%+v, left %v", got, s.Groups())
		}
	})
	t.Run("an answer that is lost", func(t *testing.T) {
		s := armtest.New(func(context.Context, map[string]string) (int, string) { return 0, "" })
		at := s.Serve(t, identity.Certificate())
		s.Fail(armtest.LostAnswer())
		_, wait := start(t, identity, at)
		if got := wait(); got.Reason != "" || got.End.Adopted || len(s.Created()) != 1 {
			t.Errorf("%+v, %d made", got, len(s.Created()))
		}
	})
}
