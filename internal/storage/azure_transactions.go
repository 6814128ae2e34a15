package storage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

// maxOperations is the limit of the service for one transaction. Its other
// limit, 4 MiB, is far: names have 128 characters at most, so that an operation
// with its keys in address and body stays below 4 KiB.
const maxOperations = 100

// batch gathers the rows of one transaction as JSON. All of them must be of one
// partition and have different keys. The zero value is empty.
type batch struct {
	text []byte
	ends []int // of the rows in text
}

func (b *batch) empty() bool { return len(b.ends) == 0 }
func (b *batch) full() bool  { return len(b.ends) == maxOperations }

// add keeps a row that checkRow accepts.
func (b *batch) add(partition, key []byte, row *plume.Row) {
	if b.text == nil {
		b.text = make([]byte, 0, maxOperations*400) // what most rows need
		b.ends = make([]int, 0, maxOperations)
	}
	b.text = appendPlume(b.text, partition, key, row)
	b.ends = append(b.ends, len(b.text))
}

// take returns the rows as a transaction, which owns them, and empties b.
func (b *batch) take() []aztables.TransactionAction {
	actions := make([]aztables.TransactionAction, len(b.ends))
	start := 0
	for i, end := range b.ends {
		actions[i] = aztables.TransactionAction{ActionType: aztables.TransactionTypeInsertReplace, Entity: b.text[start:end:end]}
		start = end
	}
	*b = batch{}
	return actions
}

// appendPlume adds a row that checkRow accepts, with its keys, as the JSON of
// an entity. None of its texts has a character that JSON escapes. Every double
// says that it is one: the service takes a whole number for an Int32 (C81).
func appendPlume(b []byte, partition, key []byte, row *plume.Row) []byte {
	b = append(append(b, `{"PartitionKey":"`...), partition...)
	b = append(append(b, `","RowKey":"`...), key...)
	b = append(append(b, `","River":"`...), row.River...)
	b = append(b, '"')
	b = appendDouble(b, "RiverMile", row.RiverMile)
	b = strconv.AppendInt(append(b, `,"Branch":`...), int64(row.Branch), 10)
	b = strconv.AppendInt(append(b, `,"Grid":`...), int64(row.Grid), 10)
	b = append(b, `,"TimeUtc@odata.type":"Edm.DateTime","TimeUtc":"`...)
	b = row.Time.UTC().AppendFormat(b, "2006-01-02T15:04:05.9999999Z") // as fine as the service keeps it
	b = append(b, '"')
	b = appendDouble(b, "ElapsedHours", row.ElapsedHours)
	b = appendDouble(b, "ConcentrationMgL", row.ConcentrationMgL)
	b = append(append(b, `,"JobId":"`...), row.JobID...)
	return append(b, `"}`...)
}

// appendDouble adds a column of a finite number, without the sign of a zero.
func appendDouble(b []byte, name string, x float64) []byte {
	if x == 0 {
		x = 0
	}
	b = append(append(b, `,"`...), name...)
	b = append(b, `@odata.type":"Edm.Double","`...)
	b = append(append(b, name...), `":`...)
	return strconv.AppendFloat(b, x, 'g', -1, 64)
}

// Tries of a transaction whose failure stands in an answer, which the retries
// of patient do not see.
const (
	answerTries = 10
	firstDelay  = 300 * time.Millisecond
	maxDelay    = time.Minute
)

// submit sends a transaction until it is done, or failed for good. A
// transaction may be done more than once.
func (t *plumeTable) submit(ctx context.Context, actions []aztables.TransactionAction) error {
	for try, delay := 1, firstDelay; ; try, delay = try+1, min(2*delay, maxDelay) {
		err := t.submitOnce(ctx, actions)
		failure := azureFailure(ctx, "write", t.what, err)
		if failure == nil || try == answerTries || !inAnswer(err) || Missing(failure) || reason.Of(failure) != reason.StorageUnavailable {
			return failure
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (t *plumeTable) submitOnce(ctx context.Context, actions []aztables.TransactionAction) (err error) {
	defer func() { // aztables reads an empty answer out of its bounds (C85)
		if p := recover(); p != nil {
			err = fmt.Errorf("answer to a transaction: %v", p)
		}
	}()
	_, err = t.client.SubmitTransaction(patient(ctx), actions, nil)
	return err
}

// inAnswer reports whether err was made of an answer: the service has refused a
// transaction within it, or it cannot be read.
func inAnswer(err error) bool {
	if response, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return response.StatusCode == http.StatusAccepted
	}
	_, unsent := errors.AsType[*url.Error](err)
	_, held := errors.AsType[*fenced](err)
	_, strange := errors.AsType[*stranger](err) // tried again as patient does
	return !unsent && !held && !strange && !NoCredential(err)
}
