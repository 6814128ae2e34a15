package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

// ResultVersion returns the ETag of a result; ErrNotFound when it does not
// exist.
func (a *Azure) ResultVersion(ctx context.Context, basin, scenario, name string) (etag string, err error) {
	o, err := a.result(ctx, basin, scenario, name)
	if err != nil {
		return "", err
	}
	found, err := o.client.GetProperties(patient(ctx), nil)
	if err != nil {
		return "", azureFailure(ctx, "read", o.what, err)
	}
	return string(value(found.ETag)), nil
}

// CreateResult writes a result if there is none, as its service sees it: a
// request that comes late, when its sender has long been given up, changes
// nothing that others have put there meanwhile. ErrConflict when there is one
// that holds anything else than data.
func (a *Azure) CreateResult(ctx context.Context, basin, scenario, name string, data []byte) error {
	if len(data) > maxResult {
		return tooLarge(name, maxResult)
	}
	o, err := a.result(ctx, basin, scenario, name)
	if err != nil {
		return err
	}
	kind := contentType(o.name)
	_, err = o.client.Upload(patient(ctx), streaming.NopCloser(bytes.NewReader(data)), &blockblob.UploadOptions{
		HTTPHeaders:      &blob.HTTPHeaders{BlobContentType: &kind},
		AccessConditions: conditions(&blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)})})
	if err = azureFailure(ctx, "write", o.what, err); !errors.Is(err, ErrConflict) {
		return err
	}
	return o.written(ctx, data)
}

// written returns nil if the blob holds data, of a write whose answer was lost
// so that it was sent twice; ErrConflict otherwise.
func (o object) written(ctx context.Context, data []byte) error {
	r, _, err := o.open(ctx)
	if errors.Is(err, ErrNotFound) { // removed since
		return fmt.Errorf("%s: %w", o.what, ErrConflict)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	have, err := appendAll(ctx, make([]byte, 0, len(data)+1), io.LimitReader(r, int64(len(data))+1))
	if err != nil {
		return err
	}
	if !bytes.Equal(have, data) {
		return fmt.Errorf("%s: %w", o.what, ErrConflict)
	}
	return nil
}

// RemoveVersion removes a result whose ETag is still etag; ErrConflict when it
// is another one. That it does not exist is fine.
func (a *Azure) RemoveVersion(ctx context.Context, basin, scenario, name, etag string) error {
	o, err := a.result(ctx, basin, scenario, name)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(etag, `"`) { // never an ETag of a blob; an empty one would be no condition
		return fmt.Errorf("%s: %w", o.what, ErrConflict)
	}
	version := azcore.ETag(etag)
	_, err = o.client.Delete(patient(ctx), &blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude),
		AccessConditions: conditions(&blob.ModifiedAccessConditions{IfMatch: &version})})
	err = azureFailure(ctx, "remove", o.what, err)
	if errors.Is(err, ErrConflict) { // the emulator says so as well where there is none
		if _, gone := a.ResultVersion(ctx, basin, scenario, name); errors.Is(gone, ErrNotFound) {
			return nil
		}
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func conditions(c *blob.ModifiedAccessConditions) *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: c}
}
