package identitytest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"rsmsjob/internal/config"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/identitytest"
)

// childVariable tells the test binary that it is the program: its value is a
// task, as JSON.
const childVariable = "IDENTITY_TEST_CHILD"

// task is what the program does: at most that many attempts.
type task struct {
	Names    azurite.Names
	Attempts int
}

func TestMain(m *testing.M) {
	text := os.Getenv(childVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var work task
	err := json.Unmarshal([]byte(text), &work)
	if err == nil {
		err = program(work)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// attempt is what the program says of one try: one line of JSON.
type attempt struct {
	Message, Name string // of the queue, of the scenario
	Blobs         bool   // the basin is there
	Reason        reason.Code
	Detail, Error string
	NoCredential  bool
}

// program receives, lists and queries until it can, or it is denied.
func program(task task) error {
	credential, err := storage.Identity(storage.IdentityOptions{ClientID: os.Getenv("AZURE_CLIENT_ID"), PrincipalID: os.Getenv("RSMS_IDENTITY_PRINCIPAL_ID"),
		Endpoint: os.Getenv("IDENTITY_ENDPOINT"), Header: config.Secret(os.Getenv("IDENTITY_HEADER"))})
	if err != nil {
		return err
	}
	a, err := storage.OpenIdentity(identitytest.Account, identitytest.Suffix, credential, task.Names.Layout)
	if err != nil {
		return err
	}
	for range task.Attempts {
		got, err := work(context.Background(), a, task.Names)
		got.Reason, got.NoCredential = reason.Of(err), storage.NoCredential(err)
		if err != nil {
			got.Detail, got.Error = reason.Detail(err), err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
			return err
		}
		if got.Reason != reason.StorageUnavailable {
			break
		}
	}
	return nil
}

func work(ctx context.Context, a *storage.Azure, names azurite.Names) (got attempt, err error) {
	m, err := a.Queue(names.Queue).Receive(ctx, time.Minute)
	if err != nil {
		return got, err
	}
	if m == nil {
		return got, errors.New("no message")
	}
	got.Message = m.Text
	if got.Blobs, err = a.BasinExists(ctx, "ohio"); err != nil {
		return got, err
	}
	row, err := a.Scenario(ctx, "ohio", "42")
	if err != nil {
		return got, err
	}
	got.Name, _ = row["Name"].(string)
	return got, a.Ready(ctx)
}

// account is a server with one basin and one scenario.
type account struct {
	*identitytest.Server
	names azurite.Names
	queue *storage.Queue // not by the identity
}

func newAccount(t *testing.T) *account {
	t.Helper()
	s := &account{Server: identitytest.Start(t), names: azurite.NewNames()}
	a := azurite.Open(t, s.Connection(), s.names.Layout)
	s.queue = a.Queue(s.names.Queue)
	ctx := t.Context()
	for _, err := range []error{a.Create(ctx), s.queue.Create(ctx), a.PutBasin(ctx, "ohio", "FLOW.IN", []byte("x")),
		a.PutScenario(ctx, "ohio", "42", map[string]any{"Name": "spill"})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// run sends a message and runs the program on an environment. It gives each
// attempt to next as it is made, and returns the requests for a token.
func (s *account) run(t *testing.T, attempts int, environment []string, next func(attempt)) []identitytest.TokenRequest {
	t.Helper()
	before := len(s.Requests())
	if _, err := s.queue.Send(t.Context(), "hello", 0); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(task{s.names, attempts})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append([]string{childVariable + "=" + string(text), "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH")}, environment...)
	c.Stderr = t.Output()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var a attempt
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Errorf("the program says %q: %v", lines.Bytes(), err)
		}
		next(a)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("the program ends with %v", err)
	}
	return s.Requests()[before:]
}
