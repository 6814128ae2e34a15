package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"io"

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
)

// AzureCache keeps entries in a container of their own, each a blob of its key.
// What is in it can be removed at any time.
type AzureCache struct {
	client *container.Client
	name   string // of the container
}

// StepCache is the step cache of the account.
func (a *Azure) StepCache() *AzureCache { return &AzureCache{a.cache, a.layout.Cache} }

// Get opens an entry; ErrNotFound when there is none.
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
	return &blobReader{ctx: ctx, what: "container " + c.name, body: body}, entry, nil
}

// Put writes an entry, or replaces it. Nobody sees anything of it before write is
// done; where that fails its error is returned and the entry is as it was. Memory
// does not grow with the entry.
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
	return c.failure(ctx, "write", err)
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

// List returns all entries, in no order.
func (c *AzureCache) List(ctx context.Context) ([]CacheEntry, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	var entries []CacheEntry
	for pages := c.client.NewListBlobsFlatPager(nil); pages.More(); {
		page, err := pages.NextPage(hasty(ctx))
		if err != nil {
			return nil, c.failure(ctx, "list", err)
		}
		for _, item := range page.Segment.BlobItems {
			if p := item.Properties; p != nil && isCacheKey(value(item.Name)) {
				entries = append(entries, CacheEntry{value(item.Name), value(p.ContentLength), value(p.LastModified)})
			}
		}
	}
	return entries, nil
}

// MayUse proves that entries can be written and removed, by doing it; nothing is
// left behind.
func (c *AzureCache) MayUse(ctx context.Context) error {
	if err := ended(ctx); err != nil {
		return err
	}
	o := object{client: c.client.NewBlockBlobClient(checkKey + "/" + rand.Text()), what: "container " + c.name}
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
	return azureFailure(ctx, verb, "container "+c.name, err)
}
