package storage

import (
	"bytes"
	"context"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// RunPrefix begins the names of the results that tell of one run and are removed
// after a while: they are append blobs in Azure, which is what a lifecycle rule
// can tell from the others, and a result is whole without them.
const RunPrefix = "run/"

// maxAppend is what one request may append, bytes.
const maxAppend = 4 << 20

// appendAll makes the blob anew and appends data to it.
func (o object) appendAll(ctx context.Context, data []byte) error {
	kind := contentType(o.name)
	if _, err := o.ofRun.Create(ctx, &appendblob.CreateOptions{HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &kind}}); err != nil {
		return err
	}
	at := int64(0)
	for part := range slices.Chunk(data, maxAppend) {
		_, err := o.ofRun.AppendBlock(ctx, streaming.NopCloser(bytes.NewReader(part)), &appendblob.AppendBlockOptions{
			AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &at}})
		at += int64(len(part))
		if bloberror.HasCode(err, bloberror.AppendPositionConditionNotMet) { // it may be there: the answer to the try before was lost
			found, unread := o.ofRun.GetProperties(ctx, nil)
			if unread == nil && value(found.ContentLength) == at {
				err = nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
