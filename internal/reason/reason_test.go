package reason

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The closed list as contract section 6 has it, in its order.
const (
	contractCodes = "undecodable, invalid_message, unsupported_command, scenario_not_found, invalid_scenario, " +
		"basin_not_found, invalid_basin, invalid_flows, engine_missing, engine_failed, engine_timeout, " +
		"engine_output_missing, engine_output_invalid, storage_unavailable, storage_denied, lease_lost, busy, " +
		"cancelled, timed_out, shutdown, max_attempts, internal"
	contractTransient = "engine_failed, engine_timeout, storage_unavailable, busy, shutdown, timed_out, internal, lease_lost"
)

func TestCodes(t *testing.T) {
	var names, transient []string
	for _, c := range Codes() {
		names = append(names, string(c))
		if c.Transient() {
			transient = append(transient, string(c))
		}
	}
	if got := strings.Join(names, ", "); got != contractCodes {
		t.Errorf("the closed list is\n%s, want\n%s", got, contractCodes)
	}
	want := strings.Split(contractTransient, ", ")
	slices.Sort(want)
	slices.Sort(transient)
	if !slices.Equal(transient, want) {
		t.Errorf("transient are %q, want %q", transient, want)
	}
	for _, c := range []Code{"", "Busy", "unknown"} {
		if c.Transient() {
			t.Errorf("%q is transient", c)
		}
	}
}

func TestCodesIsACopy(t *testing.T) {
	Codes()[0] = "changed"
	if got := Codes()[0]; got != Undecodable {
		t.Errorf("a caller changed the closed list: %s", got)
	}
}

func TestWrap(t *testing.T) {
	fault := &Fault{File: "FLOW.IN", Line: 9, Problem: "is no number", Text: "***"}
	coded := New(Busy, "scenario %s is busy", "42")
	tests := []struct {
		name         string
		err          error
		code         Code
		detail, text string
	}{
		{"foreign", io.ErrUnexpectedEOF, InvalidBasin, "the basin is not valid", "the basin is not valid: unexpected EOF"},
		{"fault", fault, InvalidBasin, "FLOW.IN line 9: is no number", `FLOW.IN line 9: is no number (found "***")`},
		{"fault in a foreign one", fmt.Errorf("read: %w", fault), InvalidBasin, "FLOW.IN line 9: is no number",
			`read: FLOW.IN line 9: is no number (found "***")`},
		{"fault beside a foreign one", errors.Join(io.EOF, fault), InvalidBasin, "FLOW.IN line 9: is no number",
			"EOF\n" + `FLOW.IN line 9: is no number (found "***")`},
		{"with a reason", coded, Busy, "scenario 42 is busy", "scenario 42 is busy"},
		{"a reason inside", fmt.Errorf("publish: %w", coded), Busy, "scenario 42 is busy", "publish: scenario 42 is busy"},
		{"a reason and a fault", errors.Join(fault, coded), Busy, "scenario 42 is busy",
			`FLOW.IN line 9: is no number (found "***")` + "\nscenario 42 is busy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Wrap(InvalidBasin, tt.err, "the basin is not valid")
			if Of(got) != tt.code || Detail(got) != tt.detail || got.Error() != tt.text {
				t.Errorf("got %s\ndetail %q\ntext   %q\nwant %s\ndetail %q\ntext   %q",
					Of(got), Detail(got), got.Error(), tt.code, tt.detail, tt.text)
			}
			if !errors.Is(got, tt.err) {
				t.Errorf("%v is lost", tt.err)
			}
			if again := Wrap(Internal, got, "again"); again != got {
				t.Errorf("wrapped twice: %v", again)
			}
		})
	}
	if err := Wrap(Internal, nil, "nothing"); err != nil {
		t.Errorf("Wrap of nil: %v", err)
	}
}

func TestOfAndDetail(t *testing.T) {
	const unknown = "internal error; the log has the stack"
	tests := []struct {
		err    error
		code   Code
		detail string
	}{
		{nil, "", ""},
		{io.EOF, Internal, unknown},
		{&Fault{Problem: "is missing"}, Internal, unknown},
		{&Error{Code: StorageDenied}, StorageDenied, unknown},
		{fmt.Errorf("a: %w", fmt.Errorf("b: %w", New(TimedOut, "after %d s", 60))), TimedOut, "after 60 s"},
		{errors.Join(io.EOF, New(Shutdown, "stopped")), Shutdown, "stopped"},
	}
	for _, tt := range tests {
		if Of(tt.err) != tt.code || Detail(tt.err) != tt.detail {
			t.Errorf("%v: %s %q, want %s %q", tt.err, Of(tt.err), Detail(tt.err), tt.code, tt.detail)
		}
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		err  *Error
		want string
	}{
		{New(Busy, "busy"), "busy"},
		{&Error{Code: Internal, Detail: "cannot write", Err: io.ErrShortWrite}, "cannot write: short write"},
		{&Error{Code: Internal, Err: io.ErrShortWrite}, "short write"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// A detail goes to the poison queue and the scenario row: what stood in an
// input must not, however deep the fault lies.
func TestDetailHoldsNoInput(t *testing.T) {
	const canary = "CANARY"
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		faults, err := tree(random, canary, 5)
		wrapped := Wrap(InvalidScenario, err, "the scenario is not valid")
		detail := Detail(fmt.Errorf("%s: %w", canary, wrapped))
		if strings.Contains(detail, canary) || detail == "" {
			t.Fatalf("detail %q of %v", detail, err)
		}
		if !strings.Contains(wrapped.Error(), canary) {
			t.Fatalf("the log does not have the input: %v", wrapped)
		}
		if got := len(Faults(wrapped)); got != faults {
			t.Fatalf("%d faults, want %d: %v", got, faults, wrapped)
		}
	}
}

// tree is a random tree of errors that all say secret; it returns its number of
// faults as well.
func tree(random *rand.Rand, secret string, depth int) (faults int, err error) {
	kind := random.IntN(5)
	if depth == 0 {
		kind %= 2
	}
	switch kind {
	case 0:
		return 0, errors.New(secret)
	case 1:
		return 1, &Fault{Line: random.IntN(9), Problem: "is no number", Text: secret}
	case 2:
		n, err := tree(random, secret, depth-1)
		return n, fmt.Errorf("%s: %w", secret, err)
	case 3:
		n, err := tree(random, secret, depth-1)
		return n, Wrap(InvalidFlows, err, "the flows are not valid")
	}
	var parts []error
	sum := 0
	for range 1 + random.IntN(3) {
		n, err := tree(random, secret, depth-1)
		parts, sum = append(parts, err), sum+n
	}
	return sum, errors.Join(parts...)
}
