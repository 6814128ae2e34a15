package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"rsmsjob/internal/reason"
)

// maxResult is the size limit of a result, bytes: it is held in memory, so
// that it can be sent again as a whole.
const maxResult = 256 << 20

// readTries is how often in a row a download that breaks off is taken up again.
const readTries = 9

// object is one blob of the account.
type object struct {
	client *blockblob.Client
	ofRun  *appendblob.Client // nil where the name does not begin with RunPrefix
	name   string
	what   string // for errors
}

func (a *Azure) basinFile(ctx context.Context, basin, name string) (object, error) {
	if err := checkID("riverbasin_id", basin); err != nil {
		return object{}, err
	}
	return newObject(ctx, a.basins, a.layout.Basins, basin, name)
}

func (a *Azure) result(ctx context.Context, basin, scenario, name string) (object, error) {
	if err := checkIDs(basin, scenario); err != nil {
		return object{}, err
	}
	o, err := newObject(ctx, a.results, a.layout.Results, basin+"/"+scenario, name)
	if err == nil && strings.HasPrefix(name, RunPrefix) {
		o.ofRun = a.results.NewAppendBlobClient(o.name)
	}
	return o, err
}

func newObject(ctx context.Context, in *container.Client, containerName, folder, name string) (object, error) {
	if err := checkName(name); err != nil {
		return object{}, err
	}
	full := folder + "/" + name
	return object{client: in.NewBlockBlobClient(full), name: full, what: inContainer(full, containerName)}, ended(ctx)
}

func inContainer(name, container string) string {
	return fmt.Sprintf("%s in container %s", name, container)
}

// Basin returns {basin}/{name} of the container of basins, 256 MiB at most;
// ErrNotFound when it does not exist.
func (a *Azure) Basin(ctx context.Context, basin, name string) ([]byte, error) {
	o, err := a.basinFile(ctx, basin, name)
	if err != nil {
		return nil, err
	}
	r, size, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > maxInput {
		return nil, tooLarge(name, maxInput)
	}
	return appendAll(ctx, make([]byte, 0, size+1), r)
}

// PutBasin writes {basin}/{name} of the container of basins.
func (a *Azure) PutBasin(ctx context.Context, basin, name string, data []byte) error {
	if len(data) > maxInput {
		return tooLarge(name, maxInput)
	}
	o, err := a.basinFile(ctx, basin, name)
	if err != nil {
		return err
	}
	return o.put(briefFor(ctx, len(data)), data)
}

// BasinExists reports whether the container of basins has a file of the basin.
func (a *Azure) BasinExists(ctx context.Context, basin string) (bool, error) {
	if err := checkID("riverbasin_id", basin); err != nil {
		return false, err
	}
	names, err := list(ctx, a.basins, a.layout.Basins, basin+"/", 1)
	return len(names) > 0, err
}

// WriteResult begins a result, 256 MiB at most; name may have folders,
// separated by slashes. Nothing is sent before Commit. When ctx ends before
// Commit, the result is not written.
func (a *Azure) WriteResult(ctx context.Context, basin, scenario, name string) (ResultWriter, error) {
	o, err := a.result(ctx, basin, scenario, name)
	if err != nil {
		return nil, err
	}
	return &blobWriter{ctx: ctx, object: o}, nil
}

// ReadResult opens a result; ErrNotFound when it does not exist.
func (a *Azure) ReadResult(ctx context.Context, basin, scenario, name string) (io.ReadCloser, error) {
	o, err := a.result(ctx, basin, scenario, name)
	if err != nil {
		return nil, err
	}
	r, _, err := o.open(ctx)
	if err != nil {
		return nil, err // not r: a nil pointer in an interface is not nil
	}
	return r, nil
}

// RemoveResult removes a result; that it does not exist is fine.
func (a *Azure) RemoveResult(ctx context.Context, basin, scenario, name string) error {
	o, err := a.result(ctx, basin, scenario, name)
	if err != nil {
		return err
	}
	return o.remove(ctx)
}

// ListResults returns the names of all results of a scenario, sorted; none is
// no error.
func (a *Azure) ListResults(ctx context.Context, basin, scenario string) ([]string, error) {
	if err := checkIDs(basin, scenario); err != nil {
		return nil, err
	}
	names, err := list(ctx, a.results, a.layout.Results, basin+"/"+scenario+"/", 0)
	slices.Sort(names)
	return names, err
}

// list returns the names of the blobs under a prefix, without it; when few is
// not 0, it ends as soon as it has some, and asks for few at a time.
func list(ctx context.Context, in *container.Client, containerName, prefix string, few int32) ([]string, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	options := &container.ListBlobsFlatOptions{Prefix: &prefix}
	if few > 0 {
		options.MaxResults = &few
	}
	var names []string
	for pages := in.NewListBlobsFlatPager(options); pages.More() && (few == 0 || len(names) == 0); {
		page, err := pages.NextPage(brief(ctx))
		if err != nil {
			return nil, azureFailure(ctx, "list", inContainer(prefix, containerName), err)
		}
		for _, item := range page.Segment.BlobItems {
			// An account with real folders lists them as well.
			if item.Properties != nil && value(item.Properties.ResourceType) == "directory" {
				continue
			}
			names = append(names, strings.TrimPrefix(value(item.Name), prefix))
		}
	}
	return names, nil
}

// open begins to read the blob and returns its size in bytes.
func (o object) open(ctx context.Context) (r *blobReader, size int64, err error) {
	answer, err := o.client.DownloadStream(patient(ctx), nil)
	if err != nil {
		return nil, 0, azureFailure(ctx, "read", o.what, err)
	}
	body := answer.NewRetryReader(patient(ctx), &blob.RetryReaderOptions{MaxRetries: readTries, EarlyCloseAsError: true})
	return &blobReader{ctx: ctx, what: o.what, body: body}, value(answer.ContentLength), nil
}

// put writes the blob, one of a run by and by and any other in one step, with the
// patience of ctx.
func (o object) put(ctx context.Context, data []byte) error {
	if o.ofRun != nil {
		return azureFailure(ctx, "write", o.what, o.appendAll(ctx, data))
	}
	kind := contentType(o.name)
	_, err := o.client.Upload(ctx, streaming.NopCloser(bytes.NewReader(data)),
		&blockblob.UploadOptions{HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &kind}})
	return azureFailure(ctx, "write", o.what, err)
}

// remove removes the blob; that it does not exist is fine.
func (o object) remove(ctx context.Context) error {
	_, err := o.client.Delete(brief(ctx), &blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude)})
	if err = azureFailure(ctx, "remove", o.what, err); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// contentType is what a browser is told of a blob. The outputs of engines are
// text, whatever their names end with.
func contentType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		return "application/json"
	case ".html":
		return "text/html; charset=utf-8"
	case ".csv":
		return "text/csv; charset=utf-8"
	case ".txt", ".log", ".stdout", ".stderr", ".job_id":
		return "text/plain; charset=utf-8"
	case ".png":
		return "image/png"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// blobReader reads a blob and takes the download up again where it broke off.
type blobReader struct {
	ctx  context.Context
	what string
	body io.ReadCloser
}

func (r *blobReader) Read(b []byte) (int, error) {
	n, err := r.body.Read(b)
	if err == nil || err == io.EOF { // not errors.Is: a lost connection may wrap EOF too
		return n, err
	}
	if err = azureFailure(r.ctx, "read", r.what, err); errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
		err = &reason.Error{Code: reason.StorageUnavailable, Detail: r.what + " was changed while it was read", Err: err}
	}
	return n, err
}

func (r *blobReader) Close() error { return r.body.Close() }

// blobWriter is a result while it is written.
type blobWriter struct {
	ctx context.Context
	object
	data []byte
	err  error // first error of writing; then it cannot be committed
	done bool
}

// Write adds to the result.
func (w *blobWriter) Write(b []byte) (int, error) {
	switch {
	case w.done:
		return 0, fs.ErrClosed
	case w.err != nil:
		return 0, w.err
	case w.ctx.Err() != nil:
		w.err = context.Cause(w.ctx)
		return 0, w.err
	case len(w.data)+len(b) > maxResult:
		w.err = tooLarge(w.name, maxResult)
		return 0, w.err
	}
	w.data = append(w.data, b...)
	return len(b), nil
}

// Commit sends the result.
func (w *blobWriter) Commit() error {
	if w.done {
		return fs.ErrClosed
	}
	data, err := w.data, w.err
	w.Abort()
	if err != nil {
		return err
	}
	if err := ended(w.ctx); err != nil {
		return err
	}
	return w.put(patient(w.ctx), data)
}

// Abort drops what was written; after Commit or Abort it does nothing.
func (w *blobWriter) Abort() { w.done, w.data = true, nil }
