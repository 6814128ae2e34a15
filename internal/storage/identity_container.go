package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"rsmsjob/internal/config"
	"rsmsjob/internal/reason"
)

const (
	// freshFor is how long a token must still be good to be given out again: the
	// clients of the SDK ask for a new one so long before the end of theirs.
	freshFor = 5 * time.Minute
	// maxTokenAnswer bounds what is read of an answer, in bytes.
	maxTokenAnswer = 64 << 10
)

// containerIdentity is the identity of a Windows container group in Container
// Instances. Its endpoint knows neither the header nor the parameters of App
// Service, which azidentity would send to it (C52). Any number of goroutines
// may use it; one request is under way at a time.
type containerIdentity struct {
	endpoint  *url.URL
	header    config.Secret
	principal string // "" = the identity of the group itself
	pipeline  runtime.Pipeline

	turn   chan struct{}                 // full while somebody asks; guards tokens
	tokens map[string]azcore.AccessToken // by resource
}

// newContainerIdentity sends nothing.
func newContainerIdentity(o IdentityOptions) (*containerIdentity, error) {
	endpoint, err := url.Parse(o.Endpoint)
	if err != nil || o.Header == "" || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		// What url.Parse says would quote the address.
		return nil, &reason.Error{Code: reason.StorageUnavailable, Err: &noToken{errors.New("no identity endpoint")},
			Detail: "RSMS_IDENTITY_PRINCIPAL_ID is for a Windows container group, which has an address in IDENTITY_ENDPOINT and a text in IDENTITY_HEADER; " +
				"assign an identity to the group, or unset the variable elsewhere"}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // the header is for this machine alone
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return containerIdentityOver(client, endpoint, o), nil
}

func containerIdentityOver(transport policy.Transporter, endpoint *url.URL, o IdentityOptions) *containerIdentity {
	retry := tokenRetry()
	// An endpoint that is not up yet says 404 as well (C50).
	retry.StatusCodes = []int{http.StatusNotFound, http.StatusRequestTimeout, http.StatusGone, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	options := policy.ClientOptions{Retry: retry, Transport: transport, Telemetry: policy.TelemetryOptions{Disabled: true}}
	return &containerIdentity{endpoint: endpoint, header: o.Header, principal: o.PrincipalID,
		pipeline: runtime.NewPipeline("storage", "", runtime.PipelineOptions{}, &options),
		turn:     make(chan struct{}, 1), tokens: map[string]azcore.AccessToken{}}
}

// hint is what to do where there is no token.
func (c *containerIdentity) hint() string {
	if c.principal == "" {
		return "no token for the identity of this container group; is one assigned to it? a group in a virtual network gets none"
	}
	return "no token for the identity of RSMS_IDENTITY_PRINCIPAL_ID; is it the principal id of the identity that is assigned to this container group? " +
		"a group in a virtual network gets none"
}

// GetToken gives the token it has while that is good for some minutes, or else
// a new one. A token that is still good serves where no new one can be had.
func (c *containerIdentity) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if len(options.Scopes) != 1 {
		return azcore.AccessToken{}, fmt.Errorf("a token is for one scope, not for %d", len(options.Scopes))
	}
	resource := strings.TrimSuffix(options.Scopes[0], "/.default")
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return azcore.AccessToken{}, context.Cause(ctx)
	}
	old := c.tokens[resource]
	// Claims mean that the service does not take the old one any more.
	if options.Claims == "" && time.Until(old.ExpiresOn) > freshFor {
		return old, nil
	}
	token, err := c.ask(ctx, resource)
	if err != nil {
		if options.Claims == "" && time.Until(old.ExpiresOn) > 0 {
			return old, nil
		}
		return azcore.AccessToken{}, err
	}
	c.tokens[resource] = token
	return token, nil
}

// ask asks the endpoint for a token. No error says the header.
func (c *containerIdentity) ask(ctx context.Context, resource string) (azcore.AccessToken, error) {
	address := *c.endpoint
	query := address.Query() // the platform may have put a version there
	query.Set("resource", resource)
	if c.principal != "" {
		query.Set("principalId", c.principal)
	}
	address.RawQuery = query.Encode()
	request, err := runtime.NewRequest(ctx, http.MethodGet, address.String())
	if err != nil {
		return azcore.AccessToken{}, err
	}
	request.Raw().Header.Set("secret", c.header.Reveal())
	runtime.SkipBodyDownload(request)
	response, err := c.pipeline.Do(request)
	if err != nil {
		return azcore.AccessToken{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxTokenAnswer+1))
	switch {
	case err != nil:
		return azcore.AccessToken{}, fmt.Errorf("read the answer of IDENTITY_ENDPOINT: %w", err)
	case response.StatusCode != http.StatusOK:
		return azcore.AccessToken{}, fmt.Errorf("IDENTITY_ENDPOINT answers with status %d%s", response.StatusCode, errorCode(body))
	case len(body) > maxTokenAnswer:
		return azcore.AccessToken{}, fmt.Errorf("IDENTITY_ENDPOINT answers with more than %d bytes", maxTokenAnswer)
	}
	return parseToken(body, time.Now())
}

// errorCode is the code in the answer of an endpoint, in brackets; "" where it
// says none. The rest of it is not repeated: it may quote the request.
func errorCode(body []byte) string {
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	var inner struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	if json.Unmarshal(answer.Error, &inner.Code) != nil && json.Unmarshal(answer.Error, &inner) != nil {
		return ""
	}
	code := safeCode(strings.ReplaceAll(inner.Code, "_", ""))
	if code == "" {
		return ""
	}
	return " (" + code + ")"
}

// parseToken reads an answer that came at a time. Its numbers are numbers or
// text.
func parseToken(body []byte, now time.Time) (azcore.AccessToken, error) {
	var answer struct {
		Token string `json:"access_token"`
		On    number `json:"expires_on"` // seconds since 1970
		In    number `json:"expires_in"` // seconds
	}
	if json.Unmarshal(body, &answer) != nil { // whose error would quote the token
		return azcore.AccessToken{}, errors.New("IDENTITY_ENDPOINT answers with something that is no JSON, or not of the form of a token")
	}
	token := azcore.AccessToken{Token: answer.Token, ExpiresOn: time.Unix(int64(answer.On), 0)}
	if answer.On == 0 {
		token.ExpiresOn = now.Add(time.Duration(answer.In) * time.Second)
	}
	switch {
	case token.Token == "":
		return azcore.AccessToken{}, errors.New("IDENTITY_ENDPOINT answers without an access_token")
	case !token.ExpiresOn.After(now):
		return azcore.AccessToken{}, errors.New("IDENTITY_ENDPOINT answers with a token that has expired, or that does not say when it expires")
	}
	return token, nil
}

// number is a whole number that stands in JSON as such or as text; 0 where it is
// anything else.
type number int64

func (n *number) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	if err == nil {
		*n = number(v)
	}
	return nil
}
