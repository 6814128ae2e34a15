package storage

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"rsmsjob/internal/reason"
)

// The types of a row as the service sends it; what it adds is left out.
func TestDecodeEntity(t *testing.T) {
	text := `{"odata.metadata":"m","odata.etag":"e","PartitionKey":"p","RowKey":"r","Timestamp@odata.type":"Edm.DateTime","Timestamp":"2026-01-02T03:00:00Z",
		"Whole":3.0,"Exponent":1E+21,"Int":3,"None":null,"NaN@odata.type":"Edm.Double","NaN":"NaN","Long@odata.type":"Edm.Int64","Long":"5",
		"At@odata.type":"Edm.DateTime","At":"2026-01-02T03:00:00.5000000Z","Odd@odata.type":"Edm.DateTime","Odd":"yesterday"}`
	e, err := decodeEntity([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := entity{"PartitionKey": "p", "RowKey": "r", "Whole": json.Number("3.0"), "Whole@odata.type": "Edm.Double",
		"Exponent": json.Number("1E+21"), "Exponent@odata.type": "Edm.Double", "Int": json.Number("3"), "NaN": "NaN", "NaN@odata.type": "Edm.Double",
		"Long": "5", "Long@odata.type": "Edm.Int64", "At": "2026-01-02T03:00:00.5000000Z", "At@odata.type": "Edm.DateTime",
		"Odd": "yesterday", "Odd@odata.type": "Edm.DateTime"}
	if !reflect.DeepEqual(e, want) {
		t.Errorf("got\n%v, want\n%v", e, want)
	}
	columns := map[string]any{"Whole": json.Number("3"), "Exponent": json.Number("1e+21"), "Int": json.Number("3"), "NaN": "NaN",
		"Long": json.Number("5"), "At": "2026-01-02T03:00:00.5Z", "Odd": "yesterday"}
	if got := e.columns(); !reflect.DeepEqual(got, columns) {
		t.Errorf("columns\n%v, want\n%v", got, columns)
	}
	if _, err := decodeEntity([]byte("<html>")); err == nil {
		t.Error("a page is taken for a row")
	}
}

func TestCutText(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"abc", []string{"abc"}},
		{"abcd", []string{"abc", "d"}},
		{"ab😀", []string{"ab", "😀"}}, // two units
		{"a😀é", []string{"a😀", "é"}},
		{"河河河河河河", []string{"河河河", "河河河"}},
	} {
		if got := cutText(test.text, 3); !slices.Equal(got, test.want) {
			t.Errorf("%q is cut into %q, want %q", test.text, got, test.want)
		}
	}
}

// FuzzCutText: the pieces are the text, and each fits.
func FuzzCutText(f *testing.F) {
	f.Add("ab😀河", 2)
	f.Fuzz(func(t *testing.T, text string, units int) {
		if units < 2 || !utf8.ValidString(text) {
			return
		}
		pieces := cutText(text, units)
		if strings.Join(pieces, "") != text {
			t.Fatalf("%q is cut into %q", text, pieces)
		}
		for _, piece := range pieces {
			if textUnits(piece) > units || !utf8.ValidString(piece) {
				t.Fatalf("%q is cut into %q", text, pieces)
			}
		}
	})
}

// A transaction is accepted as a whole, and what went wrong stands inside.
func TestTransactionFailure(t *testing.T) {
	for code, want := range map[string]error{"EntityAlreadyExists": ErrConflict, "UpdateConditionNotSatisfied": ErrConflict, "ResourceNotFound": ErrNotFound} {
		if err := azureFailure(t.Context(), "write", "table T", transactionAnswer(code)); !strings.Contains(err.Error(), want.Error()) {
			t.Errorf("%s: %v, want %v", code, err, want)
		}
	}
	for code, want := range map[string]reason.Code{"TableNotFound": reason.StorageUnavailable, "ServerBusy": reason.StorageUnavailable,
		"OperationTimedOut": reason.StorageUnavailable, "AuthorizationPermissionMismatch": reason.StorageDenied, "AuthenticationFailed": reason.StorageDenied,
		"InvalidInput": reason.Internal, "": reason.StorageUnavailable} {
		err := azureFailure(t.Context(), "write", "table T", transactionAnswer(code))
		if reason.Of(err) != want || Missing(err) != (code == "TableNotFound") || !strings.Contains(reason.Detail(err), code) {
			t.Errorf("%s: %s, %v", code, reason.Of(err), err)
		}
	}
}

func transactionAnswer(code string) error {
	body := "--batch\r\nContent-Type: multipart/mixed\r\n\r\nHTTP/1.1 400 x\r\n\r\n"
	if code != "" {
		body += `{"odata.error":{"code":"` + code + `","message":{"lang":"en-US","value":"3:text"}}}`
	}
	return &azcore.ResponseError{StatusCode: http.StatusAccepted,
		RawResponse: &http.Response{StatusCode: http.StatusAccepted, Body: io.NopCloser(strings.NewReader(body))}}
}

// That there is no credential is said so, whatever its source has answered.
func TestNoCredential(t *testing.T) {
	failed := &azidentity.AuthenticationFailedError{RawResponse: &http.Response{StatusCode: http.StatusBadRequest, Body: http.NoBody}}
	err := azureFailure(t.Context(), "read", "table T", failed)
	if reason.Of(err) != reason.StorageUnavailable || reason.Detail(err) != "no credential to read table T" || !NoCredential(err) {
		t.Errorf("%s: %v", reason.Of(err), err)
	}
	if NoCredential(nil) || NoCredential(io.EOF) {
		t.Error("any error is one of credentials")
	}
	denied := reason.New(reason.StorageDenied, "x")
	if err := azureFailure(t.Context(), "read", "table T", denied); err != denied {
		t.Errorf("a reason is given twice: %v", err)
	}
	if azureFailure(t.Context(), "read", "table T", nil) != nil {
		t.Error("no error has a reason")
	}
	// A code is shown only if it is one: what else stands in its place is text.
	odd := &azcore.ResponseError{StatusCode: http.StatusForbidden, ErrorCode: "<secret> text", RawResponse: &http.Response{Body: http.NoBody}}
	if detail := reason.Detail(azureFailure(t.Context(), "read", "table T", odd)); strings.Contains(detail, "secret") {
		t.Errorf("detail %q", detail)
	}
}
