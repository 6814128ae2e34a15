package faultproxy_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/storage/faultproxy"
)

// operations runs f through a proxy and returns what the log says was asked of
// a service.
func (s *setting) operations(t *testing.T, service string, f func(ctx context.Context, check func(error))) []faultproxy.Operation {
	t.Helper()
	f(t.Context(), func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	})
	var list []faultproxy.Operation
	for _, r := range s.Requests() {
		if r.Service == service {
			list = append(list, r.Operation)
		}
	}
	return list
}

func TestTableOperations(t *testing.T) {
	s := newSetting(t)
	client, err := aztables.NewServiceClientFromConnectionString("DefaultEndpointsProtocol=http;"+s.Connection(), nil)
	if err != nil {
		t.Fatal(err)
	}
	table := client.NewClient(s.names.Layout.Runs)
	entity := []byte(`{"PartitionKey":"p q","RowKey":"it''s|1","V":1}`)
	got := s.operations(t, faultproxy.Table, func(ctx context.Context, check func(error)) {
		_, err := table.CreateTable(ctx, nil)
		check(err)
		_, err = client.NewListTablesPager(nil).NextPage(ctx)
		check(err)
		_, err = table.AddEntity(ctx, entity, nil)
		check(err)
		_, err = table.GetEntity(ctx, "p q", "it''s|1", nil)
		check(err)
		_, err = table.UpsertEntity(ctx, entity, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge})
		check(err)
		_, err = table.UpdateEntity(ctx, entity, &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeReplace})
		check(err)
		_, err = table.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: to.Ptr("PartitionKey eq 'p q'")}).NextPage(ctx)
		check(err)
		_, err = table.SubmitTransaction(ctx, []aztables.TransactionAction{{ActionType: aztables.TransactionTypeInsertReplace, Entity: entity}}, nil)
		check(err)
		_, err = table.DeleteEntity(ctx, "p q", "it''s|1", nil)
		check(err)
		_, err = table.Delete(ctx, nil)
		check(err)
	})
	want := []faultproxy.Operation{faultproxy.TableCreate, faultproxy.TableList, faultproxy.EntityInsert, faultproxy.EntityGet,
		faultproxy.EntityMerge, faultproxy.EntityReplace, faultproxy.EntityQuery, faultproxy.TableTransaction,
		faultproxy.EntityDelete, faultproxy.TableDrop}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("operations (-want +got):\n%s", d)
	}
}

func TestBlobOperations(t *testing.T) {
	s := newSetting(t)
	client, err := azblob.NewClientFromConnectionString("DefaultEndpointsProtocol=http;"+s.Connection(), nil)
	if err != nil {
		t.Fatal(err)
	}
	name, blob := s.names.Layout.Results, "ohio/42/a b+c%.json"
	container := client.ServiceClient().NewContainerClient(name)
	big := make([]byte, 3<<20)
	got := s.operations(t, faultproxy.Blob, func(ctx context.Context, check func(error)) {
		_, err := client.CreateContainer(ctx, name, nil)
		check(err)
		_, err = client.NewListContainersPager(nil).NextPage(ctx)
		check(err)
		_, err = container.GetProperties(ctx, nil)
		check(err)
		_, err = client.UploadBuffer(ctx, name, blob, []byte("{}"), nil)
		check(err)
		_, err = client.UploadStream(ctx, name, blob, strings.NewReader(string(big)), &azblob.UploadStreamOptions{BlockSize: 2 << 20, Concurrency: 1})
		check(err)
		_, err = container.NewBlobClient(blob).GetProperties(ctx, nil)
		check(err)
		r, err := client.DownloadStream(ctx, name, blob, nil)
		check(err)
		check(r.Body.Close())
		log := container.NewAppendBlobClient("ohio/42/log")
		_, err = log.Create(ctx, nil)
		check(err)
		_, err = log.AppendBlock(ctx, streaming.NopCloser(strings.NewReader("line")), nil)
		check(err)
		_, err = client.NewListBlobsFlatPager(name, nil).NextPage(ctx)
		check(err)
		_, err = client.DeleteBlob(ctx, name, blob, nil)
		check(err)
		_, err = client.DeleteContainer(ctx, name, nil)
		check(err)
	})
	want := []faultproxy.Operation{faultproxy.ContainerCreate, faultproxy.ContainerList, faultproxy.ContainerProperties, faultproxy.BlobPut,
		faultproxy.BlobPutBlock, faultproxy.BlobPutBlock, faultproxy.BlobCommit, faultproxy.BlobProperties, faultproxy.BlobGet,
		faultproxy.BlobPut, faultproxy.BlobAppend, faultproxy.BlobList, faultproxy.BlobDelete, faultproxy.ContainerDrop}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("operations (-want +got):\n%s", d)
	}
}

// The SDK reads code and status of what the proxy answers as of the service's
// own errors.
func TestErrorsLookLikeTheServices(t *testing.T) {
	s := newSetting(t)
	s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.TableTransaction}, Times: 1,
		Action: faultproxy.TransactionStatus(http.StatusServiceUnavailable, "ServerBusy")})
	s.Fail(faultproxy.Rule{Action: faultproxy.Status(http.StatusForbidden, "AuthorizationFailure", 0)})
	text := "DefaultEndpointsProtocol=http;" + s.Connection()
	tables, err := aztables.NewServiceClientFromConnectionString(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := azblob.NewClientFromConnectionString(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	table := tables.NewClient(s.names.Layout.Runs)
	transaction := []aztables.TransactionAction{{ActionType: aztables.TransactionTypeInsertReplace, Entity: []byte(`{"PartitionKey":"p","RowKey":"r"}`)}}
	_, inside := table.SubmitTransaction(t.Context(), transaction, nil)
	_, outside := table.SubmitTransaction(t.Context(), transaction, nil)
	_, entity := table.GetEntity(t.Context(), "p", "r", nil)
	_, blob := blobs.DownloadStream(t.Context(), "c", "b", nil)
	for _, tt := range []struct {
		name   string
		err    error
		status int
		code   string // of the SDK
		text   string
	}{
		{"transaction, inside", inside, http.StatusAccepted, "", `"code": "ServerBusy"`},
		{"transaction, as a whole", outside, http.StatusForbidden, "AuthorizationFailure", "Answered by the fault proxy."},
		{"entity", entity, http.StatusForbidden, "AuthorizationFailure", "Answered by the fault proxy."},
		{"blob", blob, http.StatusForbidden, "AuthorizationFailure", "Answered by the fault proxy."},
	} {
		r, ok := errors.AsType[*azcore.ResponseError](tt.err)
		if !ok || r.StatusCode != tt.status || r.ErrorCode != tt.code || !strings.Contains(strings.ReplaceAll(r.Error(), `":"`, `": "`), tt.text) {
			t.Errorf("%s: %v", tt.name, tt.err)
		}
	}
}
