package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

const (
	// cacheBlock is what is sent of an entry at a time, bytes, and is held in
	// memory until it is there.
	cacheBlock = 4 << 20
	// cacheSenders is how many of them are on their way at a time.
	cacheSenders = 2
	// cacheKind tells the container from those of inputs and results in errors.
	cacheKind = "step cache container "
)

// AzureCache keeps entries in a container of their own, each a blob of its key.
// What is in it can be removed at any time.
type AzureCache struct {
	client *container.Client
	name   string // of the container
}

// StepCache is the step cache of the account.
func (a *Azure) StepCache() *AzureCache { return &AzureCache{a.cache, a.layout.Cache} }

// Get opens an entry; ErrNotFound when there is none. Reading it ends with
// ErrConflict where it is replaced meanwhile, and the connection breaks.
func (c *AzureCache) Get(ctx context.Context, key string) (io.ReadCloser, CacheEntry, error) {
	client, err := c.blob(ctx, key)
	if err != nil {
		return nil, CacheEntry{}, err
	}
	answer, err := client.DownloadStream(hasty(ctx), nil)
	if err != nil {
		return nil, CacheEntry{}, c.failure(ctx, "read", err)
	}
	body := answer.NewRetryReader(hasty(ctx), &blob.RetryReaderOptions{MaxRetries: readTries, EarlyCloseAsError: true})
	entry := CacheEntry{key, value(answer.ContentLength), value(answer.LastModified)}
	return &blobReader{ctx: ctx, what: c.what(), body: body}, entry, nil
}

// Put writes an entry, or replaces it. Nobody sees anything of it before write is
// done; where that fails its error is returned and the entry is as it was. That
// somebody else has written it meanwhile is fine: theirs stands. Memory does not
// grow with the entry.
func (c *AzureCache) Put(ctx context.Context, key string, write func(io.Writer) error) error {
	client, err := c.blob(ctx, key)
	if err != nil {
		return err
	}
	reader, writer := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(writer)
		writer.CloseWithError(err)
		written <- err
	}()
	kind := "application/gzip"
	_, err = client.UploadStream(hasty(ctx), reader, &blockblob.UploadStreamOptions{BlockSize: cacheBlock, Concurrency: cacheSenders,
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &kind}})
	reader.CloseWithError(io.ErrClosedPipe) // of a sender that gave up: the writer must not wait for it
	if failed := <-written; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return failed
	}
	if err = c.failure(ctx, "write", err); writtenByOther(err) {
		return nil
	}
	return err
}

// writtenByOther reports whether a write failed because somebody else has written
// the same blob since it began: whoever commits first throws away the blocks that
// others have sent.
func writtenByOther(err error) bool {
	if errors.Is(err, ErrConflict) {
		return true
	}
	r, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && !Missing(err) && (r.ErrorCode == string(bloberror.InvalidBlockList) || r.StatusCode == http.StatusConflict || r.StatusCode == http.StatusPreconditionFailed)
}

// Delete removes an entry; that there is none is fine.
func (c *AzureCache) Delete(ctx context.Context, key string) error {
	client, err := c.blob(ctx, key)
	if err != nil {
		return err
	}
	_, err = client.Delete(hasty(ctx), &blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude)})
	if err = c.failure(ctx, "remove", err); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// List gives page all entries, some at a time and in no order.
func (c *AzureCache) List(ctx context.Context, page func([]CacheEntry)) error {
	if err := ended(ctx); err != nil {
		return err
	}
	for pages := c.client.NewListBlobsFlatPager(nil); pages.More(); {
		answer, err := pages.NextPage(hasty(ctx))
		if err != nil {
			return c.failure(ctx, "list", err)
		}
		var entries []CacheEntry
		for _, item := range answer.Segment.BlobItems {
			if p := item.Properties; p != nil && isCacheKey(value(item.Name)) {
				entries = append(entries, CacheEntry{value(item.Name), value(p.ContentLength), value(p.LastModified)})
			}
		}
		page(entries)
	}
	return nil
}

// MayUse proves that entries can be written and removed, by doing it; nothing is
// left behind.
func (c *AzureCache) MayUse(ctx context.Context) error {
	if err := ended(ctx); err != nil {
		return err
	}
	o := object{client: c.client.NewBlockBlobClient(checkKey + "/" + rand.Text()), what: c.what()}
	if err := o.put(brief(ctx), []byte(checkKey)); err != nil {
		return err
	}
	return o.remove(ctx)
}

// create makes the container where it is not there.
func (c *AzureCache) create(ctx context.Context) error {
	_, err := c.client.Create(brief(ctx), nil)
	if bloberror.HasCode(err, bloberror.ContainerAlreadyExists) || isForbidden(err) && firstBlob(brief(ctx), c.client) == nil {
		return nil
	}
	return c.failure(ctx, "create", err)
}

func (c *AzureCache) blob(ctx context.Context, key string) (*blockblob.Client, error) {
	if err := checkCacheKey(key); err != nil {
		return nil, err
	}
	return c.client.NewBlockBlobClient(key), ended(ctx)
}

func (c *AzureCache) failure(ctx context.Context, verb string, err error) error {
	return azureFailure(ctx, verb, c.what(), err)
}

// what is the container in errors. Its name comes last: see WhatIsMissing.
func (c *AzureCache) what() string { return cacheKind + c.name }
