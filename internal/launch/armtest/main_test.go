package armtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"testing"
	"time"

	"rsmsjob/internal/config"
	"rsmsjob/internal/launch"
	"rsmsjob/internal/launch/armtest"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// childVariable tells the test binary that it is a launcher; its value is the
// address of the service.
const childVariable = "ARM_TEST_CHILD"

func TestMain(m *testing.M) {
	endpoint := os.Getenv(childVariable)
	if endpoint == "" {
		os.Exit(m.Run())
	}
	if err := launcher(endpoint); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// outcome is what the launcher says, as JSON.
type outcome struct {
	End    launch.End
	Reason reason.Code
}

// launcher runs one job, until it is interrupted.
func launcher(endpoint string) error {
	credential, err := storage.Identity(storage.IdentityOptions{ClientID: os.Getenv("AZURE_CLIENT_ID"), Header: config.Secret(os.Getenv("IDENTITY_HEADER"))})
	if err != nil {
		return err
	}
	g, err := launch.Open(launch.Options{Credential: credential, Endpoint: endpoint, Subscription: armtest.Subscription, ResourceGroup: armtest.ResourceGroup,
		Location: "westeurope", Image: "rsms-job", CPU: 2, MemoryGB: 4, Grace: 10 * time.Second, Poll: 20 * time.Millisecond,
		Env: []launch.Variable{{Name: "PLAIN", Value: "1"}, {Name: "SECRET", Value: "2", Secret: true}},
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	stopped := reason.New(reason.Shutdown, "interrupted")
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go func() { <-signals; cancel(stopped) }()
	if err := g.Ready(ctx); err != nil {
		return err
	}
	end, err := g.Run(ctx, launch.Job{Name: launch.GroupName("x"), Env: []launch.Variable{{Name: "RSMS_MESSAGE", Value: "m"}}})
	return json.NewEncoder(os.Stdout).Encode(outcome{end, reason.Of(err)})
}
