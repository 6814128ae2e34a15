package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"rsmsjob/internal/reason"
)

// checkKey begins the names of what MayWrite writes. An id begins with a letter
// or a digit, so that no scenario has it.
const checkKey = "_check"

// Create makes the containers and the tables where they are not there, that of the
// step cache where one is named. Who may not make one need not, where it can be
// read.
func (a *Azure) Create(ctx context.Context) error {
	err := a.everywhere(ctx, "create",
		func(c *container.Client) error {
			_, err := c.Create(brief(ctx), nil)
			if bloberror.HasCode(err, bloberror.ContainerAlreadyExists) || isForbidden(err) && firstBlob(brief(ctx), c) == nil {
				return nil
			}
			return err
		},
		func(t *aztables.Client) error {
			_, err := t.CreateTable(brief(ctx), nil)
			if bloberror.HasCode(err, bloberror.Code(aztables.TableAlreadyExists)) || isForbidden(err) && firstEntity(brief(ctx), t) == nil {
				return nil
			}
			return err
		})
	if err != nil || a.layout.Cache == "" {
		return err
	}
	return a.StepCache().create(ctx)
}

func isForbidden(err error) bool {
	response, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && response.StatusCode == http.StatusForbidden
}

// Ready sees that the containers and the tables exist and may be read (C90).
// The error names every one that is missing or denied.
func (a *Azure) Ready(ctx context.Context) error {
	return a.everywhere(ctx, "read",
		func(c *container.Client) error { return firstBlob(brief(ctx), c) },
		func(t *aztables.Client) error { return firstEntity(brief(ctx), t) })
}

func firstEntity(ctx context.Context, t *aztables.Client) error {
	_, err := t.NewListEntitiesPager(&aztables.ListEntitiesOptions{Top: to.Ptr(int32(1))}).NextPage(ctx)
	return err
}

func firstBlob(ctx context.Context, c *container.Client) error {
	_, err := c.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{MaxResults: to.Ptr(int32(1))}).NextPage(ctx)
	return err
}

// MayWrite proves the right to write and to remove in the container of results
// and in every table, by doing it; nothing is left behind. The error names
// every one where it is denied.
func (a *Azure) MayWrite(ctx context.Context) error {
	id := rand.Text()
	return a.everywhere(ctx, "write",
		func(c *container.Client) error {
			if c == a.basins { // inputs are only read
				return nil
			}
			o := object{client: c.NewBlockBlobClient(checkKey + "/" + id), name: id, what: inContainer(checkKey, a.layout.Results)}
			if err := o.put(brief(ctx), []byte(id)); err != nil {
				return err
			}
			return o.remove(ctx)
		},
		func(t *aztables.Client) error {
			text, err := newEntity(checkKey, id).encode(checkKey)
			if err != nil {
				return err
			}
			if _, err := t.UpsertEntity(brief(ctx), text, nil); err != nil {
				return err
			}
			_, err = t.DeleteEntity(brief(ctx), checkKey, id, nil)
			// After a lost answer the second try finds nothing.
			if bloberror.HasCode(err, bloberror.ResourceNotFound, bloberror.Code(aztables.EntityNotFound)) {
				return nil
			}
			return err
		})
}

// everywhere does one thing to all containers and tables at the same time and
// gives all that went wrong as one error.
func (a *Azure) everywhere(ctx context.Context, verb string, containers func(*container.Client) error, tables func(*aztables.Client) error) error {
	if err := ended(ctx); err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i, c := range []struct {
		client *container.Client
		name   string
	}{{a.basins, a.layout.Basins}, {a.results, a.layout.Results}} {
		wg.Go(func() { errs[i] = azureFailure(ctx, verb, "container "+c.name, containers(c.client)) })
	}
	for i, t := range []struct {
		client *aztables.Client
		name   string
	}{{a.scenarios, a.layout.Scenarios}, {a.runs, a.layout.Runs}, {a.byTime, a.layout.PlumeByTime}, {a.byMile, a.layout.PlumeByMile}} {
		wg.Go(func() { errs[2+i] = azureFailure(ctx, verb, "table "+t.name, tables(t.client)) })
	}
	wg.Wait()
	if err := ended(ctx); err != nil {
		return err
	}
	return together(errs)
}

// together makes one error of several, with a line for each. What is denied
// decides the reason: waiting does not help there.
func together(errs []error) error {
	var lines []string
	code := reason.Code("")
	for _, err := range errs {
		if err == nil {
			continue
		}
		lines = append(lines, reason.Detail(err))
		if of := reason.Of(err); code == "" || of == reason.StorageDenied {
			code = of
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return &reason.Error{Code: code, Detail: strings.Join(lines, "\n"), Err: errors.Join(errs...)}
}

// Clock returns how far the clock of this machine is ahead of that of the
// service, to about a second; less than zero when it is behind. An answer
// that denies the rest tells the time as well: a clock that is wrong by a
// quarter of an hour is a reason to be denied.
func (a *Azure) Clock(ctx context.Context) (skew time.Duration, err error) {
	if err := ended(ctx); err != nil {
		return 0, err
	}
	what := "container " + a.layout.Results
	var answer *http.Response
	begin := time.Now() // sent once: a pause between two tries would count as skew
	err = firstBlob(policy.WithCaptureResponse(ctx, &answer), a.results)
	local := begin.Add(time.Since(begin) / 2)
	if answer == nil {
		return 0, azureFailure(ctx, "read", what, err)
	}
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return 0, &reason.Error{Code: reason.StorageUnavailable, Err: err,
			Detail: "the answer of Azure Storage has no date; is it the right endpoint?"}
	}
	// The header has whole seconds, cut off.
	return local.Sub(date.Add(time.Second / 2)), nil
}
