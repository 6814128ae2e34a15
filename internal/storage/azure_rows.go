package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"rsmsjob/internal/reason"
)

// Columns of the table Runs besides those of the record's members.
const (
	// recordColumn holds the record as it was written; what is too long for
	// one column goes on in Record1, Record2 and so on.
	recordColumn = "Record"
	// writeColumn holds a new random text with every write, by which a writer
	// whose answer was lost knows its own row.
	writeColumn = "WriteId"
)

// recordUnits is how much of a record one column holds, UTF-16 units.
const recordUnits = 32_000

// Limits of what a record has in columns of its own.
const (
	maxFlattened     = 100   // columns, their types counted too
	maxFlattenedText = 1_024 // UTF-16 units
)

// changeTries bounds how often a row is read and replaced while others change it.
const changeTries = 50

// row is one row of a table of the account.
type row struct {
	table          *aztables.Client
	partition, key string
	what           string // for errors
}

func (a *Azure) scenarioRow(ctx context.Context, basin, scenario string) (row, error) {
	return newRow(ctx, a.scenarios, a.layout.Scenarios, basin, scenario)
}

func (a *Azure) runRow(ctx context.Context, basin, scenario string) (row, error) {
	return newRow(ctx, a.runs, a.layout.Runs, basin, scenario)
}

func newRow(ctx context.Context, table *aztables.Client, name, basin, scenario string) (row, error) {
	if err := checkIDs(basin, scenario); err != nil {
		return row{}, err
	}
	r := row{table: table, partition: basin, key: scenario, what: fmt.Sprintf("%s/%s in table %s", basin, scenario, name)}
	return r, ended(ctx)
}

// ended returns why ctx has ended, nil while it lasts.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// get reads the row with the type of every column.
func (r row) get(ctx context.Context) (entity, azcore.ETag, error) {
	// The client gives numbers as float64, where 3 and 3.0 are one.
	var response *http.Response
	found, err := r.table.GetEntity(policy.WithCaptureResponse(brief(ctx), &response), r.partition, r.key,
		&aztables.GetEntityOptions{Format: to.Ptr(aztables.MetadataFormatFull)})
	if err != nil {
		return nil, "", azureFailure(ctx, "read", r.what, err)
	}
	text, err := runtime.Payload(response)
	if err != nil {
		return nil, "", azureFailure(ctx, "read", r.what, err)
	}
	e, err := decodeEntity(text)
	if err != nil {
		return nil, "", azureFailure(ctx, "read", r.what, err)
	}
	return e, found.ETag, nil
}

// update writes the row if its ETag is still etag, any if that is "*", and
// returns the new one.
func (r row) update(ctx context.Context, e entity, mode aztables.UpdateMode, etag azcore.ETag) (azcore.ETag, error) {
	text, err := e.encode(r.what)
	if err != nil {
		return "", err
	}
	updated, err := r.table.UpdateEntity(brief(ctx), text, &aztables.UpdateEntityOptions{UpdateMode: mode, IfMatch: &etag})
	return updated.ETag, r.writeFailure(ctx, err)
}

func (r row) writeFailure(ctx context.Context, err error) error {
	// The row has columns of which only the service knows.
	response, ok := errors.AsType[*azcore.ResponseError](err)
	if ok && ctx.Err() == nil && (response.ErrorCode == string(aztables.EntityTooLarge) || response.ErrorCode == string(aztables.TooManyProperties)) {
		return rowTooLarge(r.what)
	}
	return azureFailure(ctx, "write", r.what, err)
}

// Scenario returns the columns of a scenario row, numbers as json.Number and
// times as RFC 3339 text in UTC; ErrNotFound when there is no such row.
func (a *Azure) Scenario(ctx context.Context, basin, scenario string) (map[string]any, error) {
	r, err := a.scenarioRow(ctx, basin, scenario)
	if err != nil {
		return nil, err
	}
	e, _, err := r.get(ctx)
	if err != nil {
		return nil, err
	}
	return e.columns(), nil
}

// MergeScenario sets columns of an existing scenario row and leaves every other
// one as it is, value and type. Values are string, bool, int, int64, float64,
// json.Number, time.Time, or nil, which clears the column. ErrNotFound when
// there is no such row.
func (a *Azure) MergeScenario(ctx context.Context, basin, scenario string, columns map[string]any) error {
	changes := newEntity(basin, scenario)
	if err := changes.setAll(columns); err != nil {
		return err
	}
	r, err := a.scenarioRow(ctx, basin, scenario)
	if err != nil {
		return err
	}
	var clear []string
	for name, value := range columns {
		if value == nil {
			clear = append(clear, name)
		}
	}
	if len(clear) > 0 {
		return r.change(ctx, changes, clear)
	}
	return r.merge(ctx, changes)
}

func (r row) merge(ctx context.Context, changes entity) error {
	_, err := r.update(ctx, changes, aztables.UpdateModeMerge, azcore.ETagAny)
	return err
}

// change merges changes and takes the columns of clear away. A merge cannot do
// that; only a new row without them can.
func (r row) change(ctx context.Context, changes entity, clear []string) error {
	for range changeTries {
		now, etag, err := r.get(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(clear, now.has) {
			return r.merge(ctx, changes)
		}
		for _, name := range clear {
			now.remove(name)
		}
		now.merge(changes)
		_, err = r.update(ctx, now, aztables.UpdateModeReplace, etag)
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return reason.New(reason.StorageUnavailable, "%s is changed by others all the time", r.what)
}

// PutScenario sets columns of a scenario row, as MergeScenario does, and makes
// the row where there is none.
func (a *Azure) PutScenario(ctx context.Context, basin, scenario string, columns map[string]any) error {
	err := a.MergeScenario(ctx, basin, scenario, columns)
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	e := newEntity(basin, scenario)
	if err := e.setAll(columns); err != nil {
		return err
	}
	r, err := a.scenarioRow(ctx, basin, scenario)
	if err != nil {
		return err
	}
	text, err := e.encode(r.what)
	if err != nil {
		return err
	}
	_, err = r.table.UpsertEntity(brief(ctx), text, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge})
	return r.writeFailure(ctx, err)
}

// Run returns the run record of a scenario and its ETag; ErrNotFound when
// there is none. The ETag of one that no store has written comes with
// ErrUnreadable, so that it can be replaced.
func (a *Azure) Run(ctx context.Context, basin, scenario string) (data []byte, etag string, err error) {
	r, err := a.runRow(ctx, basin, scenario)
	if err != nil {
		return nil, "", err
	}
	e, version, err := r.get(ctx)
	if err != nil {
		return nil, "", err
	}
	if !e.has(recordColumn) {
		return nil, string(version), unreadable(r.what)
	}
	for n := 0; e.has(recordName(n)); n++ {
		piece, ok := e[recordName(n)].(string)
		if !ok {
			return nil, string(version), unreadable(r.what)
		}
		data = append(data, piece...)
	}
	return data, string(version), nil
}

// PutRun writes the run record if its ETag is still etag or, with an empty
// etag, if there is none; otherwise it returns ErrConflict. Of any number of
// processes that try the same, one succeeds. A record is UTF-8 text of about
// 500,000 characters at most; what it has of text, numbers and switches on its
// first level is written to columns of their own too.
func (a *Azure) PutRun(ctx context.Context, basin, scenario string, data []byte, etag string) (newETag string, err error) {
	r, err := a.runRow(ctx, basin, scenario)
	if err != nil {
		return "", err
	}
	e, err := recordEntity(basin, scenario, data)
	if err != nil {
		return "", err
	}
	var version azcore.ETag
	switch {
	case etag == "":
		version, err = r.insert(ctx, e)
	case strings.HasPrefix(etag, `W/"`):
		version, err = r.update(ctx, e, aztables.UpdateModeReplace, azcore.ETag(etag))
	default: // never an ETag of a row; the service refuses it as malformed
		return "", fmt.Errorf("%s: %w", r.what, ErrConflict)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return "", fmt.Errorf("%s: %w", r.what, ErrConflict)
	case errors.Is(err, ErrConflict):
		return r.written(ctx, e[writeColumn])
	}
	return string(version), err
}

// insert adds the row; ErrConflict when it exists.
func (r row) insert(ctx context.Context, e entity) (azcore.ETag, error) {
	text, err := e.encode(r.what)
	if err != nil {
		return "", err
	}
	added, err := r.table.AddEntity(brief(ctx), text, nil)
	return added.ETag, r.writeFailure(ctx, err)
}

// written returns the ETag of the row if it is the one of this write, whose
// answer was lost so that it was sent twice; ErrConflict otherwise.
func (r row) written(ctx context.Context, id any) (etag string, err error) {
	e, version, err := r.get(ctx)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", err
	}
	if err != nil || e[writeColumn] != id {
		return "", fmt.Errorf("%s: %w", r.what, ErrConflict)
	}
	return string(version), nil
}

// recordEntity is the row of a run record.
func recordEntity(partition, key string, data []byte) (entity, error) {
	if len(data) > maxDocument {
		return nil, tooLarge(key+".json", maxDocument)
	}
	if !utf8.Valid(data) {
		return nil, &reason.Fault{File: key + ".json", Problem: "run record is not UTF-8 text"}
	}
	e := newEntity(partition, key)
	e.flatten(data)
	e[writeColumn] = rand.Text()
	for n, piece := range cutText(string(data), recordUnits) {
		e.remove(recordName(n))
		e[recordName(n)] = piece
	}
	return e, nil
}

// flatten sets a column for each plain member of the JSON object that data is,
// for dashboards; nothing reads them back, so what fits no column is left out.
func (e entity) flatten(data []byte) {
	doc, err := parseDocument(data)
	if err != nil {
		return
	}
	members, err := doc.columns()
	if err != nil {
		return
	}
	for name, value := range members {
		if len(e) > maxFlattened || checkColumnName(name) != nil || strings.HasPrefix(name, recordColumn) {
			continue
		}
		if text, ok := value.(string); ok && textUnits(text) > maxFlattenedText {
			continue
		}
		if problem := e.set(name, value); problem != "" {
			e.remove(name)
		}
	}
}

// recordName is the name of the n-th column of a record, from 0.
func recordName(n int) string {
	if n == 0 {
		return recordColumn
	}
	return recordColumn + strconv.Itoa(n)
}
