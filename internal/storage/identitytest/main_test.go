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

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/identitytest"
)

// childVariable tells the test binary that it is the program: its value is the
// names of the account's things, as JSON.
const childVariable = "IDENTITY_TEST_CHILD"

func TestMain(m *testing.M) {
	text := os.Getenv(childVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var names azurite.Names
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := program(names); err != nil {
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

// program receives, lists and queries until it can or it is denied. Whoever
// reads its lines sets the pace: it stops at the first that nobody reads.
func program(names azurite.Names) error {
	credential, err := storage.Identity(os.Getenv("AZURE_CLIENT_ID"))
	if err != nil {
		return err
	}
	a, err := storage.OpenIdentity(identitytest.Account, identitytest.Suffix, credential, names.Layout)
	if err != nil {
		return err
	}
	for {
		got, err := work(context.Background(), a, names)
		got.Reason, got.NoCredential = reason.Of(err), storage.NoCredential(err)
		if err != nil {
			got.Detail, got.Error = reason.Detail(err), err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
			return err
		}
		if got.Reason != reason.StorageUnavailable {
			return nil
		}
	}
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

// account is a server with one message, one basin and one scenario.
type account struct {
	*identitytest.Server
	names azurite.Names
}

func newAccount(t *testing.T) *account {
	t.Helper()
	s := &account{identitytest.Start(t), azurite.NewNames()}
	a := azurite.Open(t, s.Connection(), s.names.Layout)
	ctx := t.Context()
	_, err := a.Queue(s.names.Queue).Send(ctx, "x", 0)
	if !storage.Missing(err) {
		t.Fatalf("send to a queue that is not there: %v", err)
	}
	for _, err := range []error{a.Create(ctx), a.Queue(s.names.Queue).Create(ctx), a.PutBasin(ctx, "ohio", "FLOW.IN", []byte("x")),
		a.PutScenario(ctx, "ohio", "42", map[string]any{"Name": "spill"})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.send(t)
	return s
}

func (s *account) send(t *testing.T) {
	t.Helper()
	if _, err := azurite.Open(t, s.Connection(), s.names.Layout).Queue(s.names.Queue).Send(t.Context(), "hello", 0); err != nil {
		t.Fatal(err)
	}
}

// run runs the program with more variables and gives each attempt to next, as
// it is made.
func (s *account) run(t *testing.T, next func(attempt), more ...string) {
	t.Helper()
	names, err := json.Marshal(s.names)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(append([]string{childVariable + "=" + string(names), "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH")},
		s.Environment()...), more...)
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
}
