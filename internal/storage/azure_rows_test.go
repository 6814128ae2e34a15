package storage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

// client opens a table as another program does.
func client(t testing.TB, table string) *aztables.Client {
	t.Helper()
	s, err := aztables.NewServiceClientFromConnectionString("DefaultEndpointsProtocol=http;"+azurite.Connection(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.NewClient(table)
}

// raw returns a row as the service has it, with the types of its columns.
func raw(t testing.TB, table *aztables.Client, partition, row string) map[string]any {
	t.Helper()
	var response *http.Response
	_, err := table.GetEntity(policy.WithCaptureResponse(t.Context(), &response), partition, row,
		&aztables.GetEntityOptions{Format: to.Ptr(aztables.MetadataFormatFull)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := runtime.Payload(response)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var columns map[string]any
	if err := dec.Decode(&columns); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(columns, func(name string, _ any) bool {
		return strings.HasPrefix(name, "odata.") || strings.HasPrefix(name, "Timestamp") || strings.HasSuffix(name, "Key")
	})
	return columns
}

// C81: every double says that it is one in what is sent, whole numbers too.
func TestAzureDoubles(t *testing.T) {
	_, a, proxy, layout := openProxied(t)
	proxy.KeepBodies(1 << 20)
	ctx := t.Context()
	values := map[string]any{"Three": 3.0, "Zero": 0.0, "Negative": math.Copysign(0, -1), "Huge": 1e21, "Tiny": 5e-324,
		"Number": json.Number("1.50"), "Exponent": json.Number("3e0"), "SpillMile": json.Number("48"), "FlowScale": 1,
		"SpillMassKg": int64(1) << 40, "Progress": 100}
	if err := a.PutScenario(ctx, "ohio", "42", values); err != nil {
		t.Fatal(err)
	}
	if err := a.MergeScenario(ctx, "ohio", "42", values); err != nil {
		t.Fatal(err)
	}
	values["Absent"] = nil
	if err := a.MergeScenario(ctx, "ohio", "42", values); err != nil {
		t.Fatal(err)
	}
	values["Three"], values["Tiny"] = 4.0, nil // a replacement
	if err := a.MergeScenario(ctx, "ohio", "42", values); err != nil {
		t.Fatal(err)
	}
	if _, err := a.PutRun(ctx, "ohio", "42", []byte(`{"Progress":3,"Half":0.5,"Attempt":2}`), ""); err != nil {
		t.Fatal(err)
	}
	bodies := 0
	for _, r := range proxy.Requests() {
		if len(r.Body) == 0 {
			continue
		}
		bodies++
		dec := json.NewDecoder(bytes.NewReader(r.Body))
		dec.UseNumber()
		var columns map[string]any
		if err := dec.Decode(&columns); err != nil {
			t.Fatalf("body %q: %v", r.Body, err)
		}
		for name, value := range columns {
			if _, ok := value.(json.Number); ok && name != "Attempt" && columns[name+"@odata.type"] != "Edm.Double" {
				t.Errorf("%s %s: %s is %v without its type in %s", r.Method, r.Path, name, value, r.Body)
			}
		}
	}
	if bodies != 6 { // the first writer finds no row
		t.Errorf("%d bodies, want 6", bodies)
	}
	got := raw(t, client(t, layout.Scenarios), "ohio", "42")
	for name, value := range got {
		if n, ok := value.(json.Number); ok && !strings.ContainsAny(n.String(), ".eE") {
			t.Errorf("%s is kept as the integer %s", name, n)
		}
	}
}

// Clearing a column leaves every other one as it is, value and type.
func TestAzureClearKeepsTypes(t *testing.T) {
	a, layout := openAzure(t)
	table, ctx := client(t, layout.Scenarios), t.Context()
	text := `{"PartitionKey":"ohio","RowKey":"42","Old":"x","OldToo":1,"Int":7,"Flag":true,"Whole":3,"Whole@odata.type":"Edm.Double",
		"Long":"9007199254740993","Long@odata.type":"Edm.Int64","Small":"5","Small@odata.type":"Edm.Int64","Huge":1e300,
		"Id":"c9da6455-213d-42c9-9a79-3e9149a57833","Id@odata.type":"Edm.Guid","Bytes":"AAECAwQ=","Bytes@odata.type":"Edm.Binary",
		"At":"2026-01-02T03:04:05.1234567Z","At@odata.type":"Edm.DateTime","Text":"2026-01-02T03:04:05Z","Html":"<&>\u2028 é"}`
	if _, err := table.AddEntity(ctx, []byte(text), nil); err != nil {
		t.Fatal(err)
	}
	want := raw(t, table, "ohio", "42")
	if err := a.MergeScenario(ctx, "ohio", "42", map[string]any{"Old": nil, "OldToo": nil, "Status": "Running", "None": nil}); err != nil {
		t.Fatal(err)
	}
	delete(want, "Old")
	delete(want, "OldToo")
	want["Status"] = "Running"
	if got := raw(t, table, "ohio", "42"); !reflect.DeepEqual(got, want) {
		t.Errorf("the row is now\n%v, want\n%v", got, want)
	}
	columns, err := a.Scenario(ctx, "ohio", "42")
	if err != nil {
		t.Fatal(err)
	}
	plain := map[string]any{"Int": json.Number("7"), "Flag": true, "Whole": json.Number("3"), "Long": json.Number("9007199254740993"),
		"Small": json.Number("5"), "Huge": json.Number("1e+300"), "Id": "c9da6455-213d-42c9-9a79-3e9149a57833", "Bytes": "AAECAwQ=",
		"At": "2026-01-02T03:04:05.1234567Z", "Text": "2026-01-02T03:04:05Z", "Html": "<&>\u2028 é", "Status": "Running"}
	if !reflect.DeepEqual(columns, plain) {
		t.Errorf("columns are\n%v, want\n%v", columns, plain)
	}
}

// A row that changes while a column of it is cleared keeps the change.
func TestAzureClearRace(t *testing.T) {
	direct, a, proxy, _ := openProxied(t)
	ctx := t.Context()
	if err := direct.PutScenario(ctx, "ohio", "42", map[string]any{"Old": "x", "Name": "a"}); err != nil {
		t.Fatal(err)
	}
	proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.EntityReplace}, Times: 1, Action: faultproxy.Call(func() {
		if err := direct.MergeScenario(ctx, "ohio", "42", map[string]any{"Name": "b"}); err != nil {
			t.Error(err)
		}
	})})
	if err := a.MergeScenario(ctx, "ohio", "42", map[string]any{"Old": nil, "Step": "x"}); err != nil {
		t.Fatal(err)
	}
	got, err := direct.Scenario(ctx, "ohio", "42")
	if want := map[string]any{"Name": "b", "Step": "x"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if n := proxy.Count(faultproxy.Match{Operation: faultproxy.EntityReplace}); n != 2 {
		t.Errorf("replaced %d times, want 2", n)
	}
}

// What no table can hold is refused before anything is sent, by its column.
func TestAzureScenarioLimits(t *testing.T) {
	_, a, proxy, _ := openProxied(t)
	ctx := t.Context()
	most := strings.Repeat("x", 32_768)
	wide := map[string]any{}
	for i := range 17 {
		wide[fmt.Sprintf("C%d", i)] = most
	}
	many := map[string]any{}
	for i := range 253 {
		many[fmt.Sprintf("C%d", i)] = i
	}
	for field, columns := range map[string]map[string]any{
		"Long": {"Long": most + "x"}, "Wide": {"Wide": strings.Repeat("😀", 16_385)}, "NaN": {"NaN": math.NaN()},
		"Far": {"Far": json.Number("1e999")}, "Early": {"Early": time.Date(1600, 12, 31, 0, 0, 0, 0, time.UTC)}, "Zero": {"Zero": time.Time{}},
		"Late": {"Late": time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "PartitionKey": {"PartitionKey": "x"}, "RowKey": {"RowKey": "x"},
		"Timestamp": {"Timestamp": nil}, "column": {"1a": 1}, "": wide, " ": many,
	} {
		err := a.MergeScenario(ctx, "ohio", "42", columns)
		faults := reason.Faults(err)
		if len(faults) != 1 || faults[0].Field != strings.TrimSpace(field) || faults[0].Field+faults[0].File == "" {
			t.Errorf("%s: %v, want a fault of the column", field, err)
		}
	}
	if list := proxy.Requests(); len(list) != 0 {
		t.Errorf("sent %d requests", len(list))
	}
	fits := map[string]any{"Long": most, "Wide": strings.Repeat("😀", 16_384), "Empty": "", "Early": time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)}
	if err := a.PutScenario(ctx, "ohio", "42", fits); err != nil {
		t.Fatal(err)
	}
	got, err := a.Scenario(ctx, "ohio", "42")
	if err != nil || got["Long"] != most || got["Wide"] != fits["Wide"] || got["Early"] != "1601-01-01T00:00:00Z" {
		t.Errorf("%d columns, %v, %v", len(got), got["Early"], err)
	}
	proxy.Fail(faultproxy.Rule{Action: faultproxy.Status(400, "EntityTooLarge", 0)})
	if err := a.MergeScenario(ctx, "ohio", "42", map[string]any{"a": 1}); len(reason.Faults(err)) != 1 {
		t.Errorf("too large with the columns of others: %v, want a fault", err)
	}
}

// A record comes back byte for byte, however long, and its plain members are
// columns for those who look at the table.
func TestAzureRunRecord(t *testing.T) {
	a, layout := openAzure(t)
	ctx, table := t.Context(), client(t, layout.Runs)
	record := `{ "State":"Running","Step":"DAFLOW","Progress":50,"Attempt":2,"Generation":5000000000,"LeaseUntil":"2026-01-02T03:00:00Z",
		"CancelRequested":false,"FinishedAt":null,"More":{"a":1},"List":[1],"Record":"no","Record1":"no","RowKey":"no","a b":1,"Text":"` +
		strings.Repeat("x", 5000) + `","WriteId":"no" }`
	etag, err := a.PutRun(ctx, "ohio", "42", []byte(record), "")
	if err != nil {
		t.Fatal(err)
	}
	got := raw(t, table, "ohio", "42")
	delete(got, "WriteId")
	want := map[string]any{"Record": record, "State": "Running", "Step": "DAFLOW", "Progress": json.Number("50.0"), "Attempt": json.Number("2"),
		"Generation": "5000000000", "Generation@odata.type": "Edm.Int64", "LeaseUntil": "2026-01-02T03:00:00Z", "CancelRequested": false}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("columns are\n%v, want\n%v", got, want)
	}
	for _, data := range []string{strings.Repeat("x", 31_999) + "😀" + strings.Repeat("é", 70_000), "", "x", "{}", `{"a":1,"a":2}`, strings.Repeat("y", 500_000)} {
		if etag, err = a.PutRun(ctx, "ohio", "42", []byte(data), etag); err != nil {
			t.Fatal(err)
		}
		got, now, err := a.Run(ctx, "ohio", "42")
		if err != nil || string(got) != data || now != etag {
			t.Errorf("%d bytes, ETag %s, %v, want %d and %s", len(got), now, err, len(data), etag)
		}
	}
	for _, data := range [][]byte{{0xff}, bytes.Repeat([]byte("x"), 525_000), make([]byte, 1<<20+1)} {
		if _, err := a.PutRun(ctx, "ohio", "42", data, etag); len(reason.Faults(err)) != 1 {
			t.Errorf("%d bytes: %v, want a fault", len(data), err)
		}
	}
	for _, etag := range []string{"*", "x", `"0x1"`} {
		if _, err := a.PutRun(ctx, "ohio", "42", []byte("{}"), etag); !errors.Is(err, storage.ErrConflict) {
			t.Errorf("ETag %s: %v, want ErrConflict", etag, err)
		}
	}
	for i, record := range []string{`"Record":7`, `"Record":"{","Record1":true`} { // of somebody else's making
		id := fmt.Sprint("spoilt-", i)
		if _, err := table.AddEntity(ctx, []byte(`{"PartitionKey":"ohio","RowKey":"`+id+`",`+record+`}`), nil); err != nil {
			t.Fatal(err)
		}
		data, etag, err := a.Run(ctx, "ohio", id)
		if !errors.Is(err, storage.ErrUnreadable) || etag == "" || len(data) != 0 || !strings.Contains(reason.Detail(err), "ohio/"+id) {
			t.Errorf("%s: %q, %q, %v, want an ETag and ErrUnreadable", record, data, etag, err)
		}
	}
}

// A write whose answer was lost is sent again and must not take its own row
// for that of somebody else.
func TestAzureRunAnswerLost(t *testing.T) {
	direct, a, proxy, _ := openProxied(t)
	ctx := t.Context()
	etag := ""
	for _, op := range []faultproxy.Operation{faultproxy.EntityInsert, faultproxy.EntityReplace} {
		fault := proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: op}, Times: 1, Action: faultproxy.DropResponse()})
		got, err := a.PutRun(ctx, "ohio", "42", []byte(`{}`), etag)
		if _, now, _ := direct.Run(ctx, "ohio", "42"); err != nil || got != now || fault.Hits() != 1 {
			t.Errorf("%s: %s, %v, want %s", op, got, err, now)
		}
		etag = got
	}
	// The same text, written by another one meanwhile, is not ours.
	proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.EntityReplace}, Times: 1,
		Action: faultproxy.Sequence(faultproxy.Call(func() {
			if _, err := direct.PutRun(ctx, "ohio", "42", []byte(`{}`), etag); err != nil {
				t.Error(err)
			}
		}), faultproxy.DropRequest())})
	if _, err := a.PutRun(ctx, "ohio", "42", []byte(`{}`), etag); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("a record of somebody else: %v, want ErrConflict", err)
	}
}

// C86, C87, C89: an id that is accepted is a key that the service gives back,
// and of its own; no other is sent.
func TestAzureKeys(t *testing.T) {
	_, a, proxy, layout := openProxied(t)
	ctx := context.Background()
	random := rand.New(rand.NewPCG(1, 2))
	const alphabet = "aZ09._-./\\#?%' \t\néع\x7f+&=|"
	letters := []rune(alphabet)
	sent := 0
	for range 1000 {
		id := make([]rune, 1+random.IntN(5))
		for i := range id {
			id[i] = letters[random.IntN(len(letters))]
		}
		key := string(id)
		before := len(proxy.Requests())
		_, err := a.PutRun(ctx, key, key, []byte(key), "")
		switch {
		case len(reason.Faults(err)) == 1:
			if len(proxy.Requests()) != before {
				t.Fatalf("%q is refused after it was sent", key)
			}
			continue
		case errors.Is(err, storage.ErrConflict): // drawn before
		case err != nil:
			t.Fatalf("%q: %v", key, err)
		}
		sent++
		if strings.ContainsAny(key, "/\\#?%' \t\néع\x7f+&=|") {
			t.Errorf("%q is a key", key)
		}
		if got, _, err := a.Run(ctx, key, key); err != nil || string(got) != key {
			t.Errorf("%q gives %q, %v", key, got, err)
		}
	}
	if sent < 50 {
		t.Errorf("only %d of the ids were good", sent)
	}
	if n := proxy.Count(faultproxy.Match{Operation: faultproxy.Other}); n > 0 {
		t.Errorf("%d requests to %s are of no known kind", n, layout.Runs)
	}
}
