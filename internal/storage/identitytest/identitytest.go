// Package identitytest gives tests an account that a program opens with a
// managed identity: an emulator that wants tokens, an endpoint that gives them,
// and a network on which the emulator has the account's real host names.
// Invariant: a program with Environment and nothing else reaches these three
// and nothing outside of this machine.
//
// The program must be a child process: it reads the proxy and the certificates
// at its start. On Windows and macOS Go does not take certificates from the
// environment.
package identitytest

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"testing"

	"rsmsjob/internal/config"
	"rsmsjob/internal/storage/azurite"
)

// Account is the account of the emulator, Suffix where the programs look for
// it, and ClientID and PrincipalID the only identity that the endpoint knows.
const (
	Account     = "devstoreaccount1"
	Suffix      = "core.windows.net"
	ClientID    = "11111111-2222-3333-4444-555555555555"
	PrincipalID = "66666666-7777-8888-9999-000000000000"
)

// storageAudience is who the emulator takes tokens for.
const storageAudience = "https://storage.azure.com"

// Server is the account with its endpoint and network. Any number of
// goroutines may use it.
type Server struct {
	endpoint
	network
	environment []string // of every program
	connection  string
	tokens      string          // address of the endpoint
	certificate tls.Certificate // that of the emulator
}

// Start starts all of it for the time of a test. The emulator is empty.
func Start(tb testing.TB) *Server {
	tb.Helper()
	files, roots, err := certificates(tb.TempDir(), hosts())
	if err != nil {
		tb.Fatal(err)
	}
	text, stop, err := azurite.Start("--oauth", "basic", "--cert", files.certificate, "--key", files.key)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
	account, err := config.ParseConnection(text)
	if err != nil {
		tb.Fatalf("the connection string %v", err)
	}
	s := &Server{network: network{routes: map[string]string{}}}
	if s.certificate, err = tls.LoadX509KeyPair(files.certificate, files.key); err != nil {
		tb.Fatal(err)
	}
	tokens := httptest.NewServer(http.HandlerFunc(s.endpoint.serve))
	tb.Cleanup(tokens.Close)
	proxy := httptest.NewServer(http.HandlerFunc(s.network.serve))
	tb.Cleanup(func() { s.network.end(); proxy.Close() })
	s.connection = "AccountName=" + account.Account + ";AccountKey=" + account.Key.Reveal()
	for _, service := range []struct{ name, part, address string }{{"blob", "BlobEndpoint", account.Blob},
		{"queue", "QueueEndpoint", account.Queue}, {"table", "TableEndpoint", account.Table}} {
		target, err := url.Parse(service.address)
		if err != nil {
			tb.Fatalf("the address of the %s service: %v", service.name, err)
		}
		s.lead(host(service.name)+":443", target.Host)
		s.connection += ";" + service.part + "=" + plain(tb, target, roots) + target.Path
	}
	s.tokens = tokens.URL
	s.environment = []string{"AZURE_STORAGE_ACCOUNT_NAME=" + Account, "IDENTITY_HEADER=" + secret,
		"HTTPS_PROXY=" + proxy.URL, "HTTP_PROXY=" + proxy.URL, "NO_PROXY=localhost", "SSL_CERT_FILE=" + files.roots}
	return s
}

// Environment is what the program needs to find the account and its identity.
// It names no secret of the account.
func (s *Server) Environment() []string {
	return append(slices.Clone(s.environment), "AZURE_CLIENT_ID="+ClientID, "IDENTITY_ENDPOINT="+s.tokens+appServicePath)
}

// ContainerEnvironment is the same for a program in a Windows container group
// of Container Instances, whose identity has another protocol.
func (s *Server) ContainerEnvironment() []string {
	return append(slices.Clone(s.environment), "RSMS_IDENTITY_PRINCIPAL_ID="+PrincipalID,
		"IDENTITY_ENDPOINT="+s.tokens+containerPath+"?"+containerQuery)
}

// Certificate is for another service over TLS on 127.0.0.1 that the programs
// are to trust.
func (s *Server) Certificate() tls.Certificate { return s.certificate }

// Connection is a connection string of the same account, over plain HTTP, for
// the test itself; it works whatever the identity does.
func (s *Server) Connection() string { return s.connection }

// Through lets the programs reach the account through something that serves the
// account of Connection over plain HTTP, and that is reached by another
// connection string, for the time of a test. What hangs up there hangs up on the
// program.
func (s *Server) Through(tb testing.TB, connection string) {
	tb.Helper()
	by, err := config.ParseConnection(connection)
	if err != nil {
		tb.Fatalf("the connection string %v", err)
	}
	for service, address := range map[string]string{"blob": by.Blob, "queue": by.Queue, "table": by.Table} {
		target, err := url.Parse(address)
		if err != nil {
			tb.Fatalf("the address of the %s service: %v", service, err)
		}
		front := httptest.NewUnstartedServer(&httputil.ReverseProxy{
			Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
			Rewrite: func(r *httputil.ProxyRequest) {
				r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
				r.Out.Host = r.In.Host
			},
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }})
		front.TLS = &tls.Config{Certificates: []tls.Certificate{s.certificate}}
		front.StartTLS()
		before := s.lead(host(service)+":443", front.Listener.Addr().String())
		tb.Cleanup(func() {
			s.lead(host(service)+":443", before)
			front.CloseClientConnections()
			front.Close()
		})
	}
}

func host(service string) string { return Account + "." + service + "." + Suffix }

func hosts() []string { return []string{host("blob"), host("queue"), host("table")} }

// plain serves target, which wants TLS, over HTTP. Path and headers stay as
// they are, and so do signatures.
func plain(tb testing.TB, target *url.URL, roots *x509.CertPool) string {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true, DisableCompression: true}
	s := httptest.NewServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Host = r.In.Host
	}})
	tb.Cleanup(s.Close)
	return s.URL
}
