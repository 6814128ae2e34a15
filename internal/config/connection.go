package config

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
)

// Connection is a storage account as a connection string names it. Exactly one
// of Key and SAS is set.
type Connection struct {
	Account string
	Key     Secret // base64
	SAS     Secret // shared access signature, without a question mark

	// Blob, Queue and Table are the addresses of the services, without a slash
	// at the end.
	Blob, Queue, Table string
}

// Format shows the account alone, with every verb: fmt writes out what is behind
// a pointer, secrets too, for one that does not fit it.
func (c Connection) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.Account) }

// The emulator's account as its documentation publishes it: the same for
// everybody, so no secret.
const (
	emulatorAccount = "devstoreaccount1"
	emulatorKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// ParseConnection reads a connection string: Name=value parts between
// semicolons, names in any case. Errors name parts, never values.
func ParseConnection(text string) (*Connection, error) {
	parts, err := connectionParts(text)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(parts["usedevelopmentstorage"], "true") {
		return emulator(), nil
	}
	c := &Connection{Account: parts["accountname"], Key: Secret(parts["accountkey"]),
		SAS: Secret(strings.TrimPrefix(parts["sharedaccesssignature"], "?"))}
	if c.Account == "" {
		return nil, fmt.Errorf("has no AccountName")
	}
	switch {
	case c.Key == "" && c.SAS == "":
		return nil, fmt.Errorf("has neither AccountKey nor SharedAccessSignature")
	case c.Key != "" && c.SAS != "":
		return nil, fmt.Errorf("has AccountKey and SharedAccessSignature; one is wanted")
	case c.Key != "":
		if _, err := base64.StdEncoding.DecodeString(c.Key.Reveal()); err != nil {
			return nil, fmt.Errorf("has an AccountKey that is not base64")
		}
	}
	protocol, suffix := parts["defaultendpointsprotocol"], parts["endpointsuffix"]
	if protocol == "" {
		protocol = "https"
	}
	if suffix == "" {
		suffix = DefaultEndpointSuffix
	}
	for _, service := range []struct {
		name, part string
		to         *string
	}{{"blob", "BlobEndpoint", &c.Blob}, {"queue", "QueueEndpoint", &c.Queue}, {"table", "TableEndpoint", &c.Table}} {
		address := parts[strings.ToLower(service.part)]
		if address == "" {
			address = protocol + "://" + c.Account + "." + service.name + "." + suffix
		}
		u, err := url.Parse(address)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.User != nil {
			return nil, fmt.Errorf("has a %s that is not an http or https address", service.part)
		}
		*service.to = strings.TrimSuffix(address, "/")
	}
	return c, nil
}

// DefaultEndpointSuffix is where the storage accounts of the public cloud are.
const DefaultEndpointSuffix = "core.windows.net"

func connectionParts(text string) (map[string]string, error) {
	parts := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("is not a list of Name=value parts between semicolons")
		}
		parts[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	return parts, nil
}

func emulator() *Connection {
	at := func(port string) string { return "http://127.0.0.1:" + port + "/" + emulatorAccount }
	return &Connection{Account: emulatorAccount, Key: emulatorKey, Blob: at("10000"), Queue: at("10001"), Table: at("10002")}
}

// Loopback reports whether every service is on this machine.
func (c *Connection) Loopback() bool {
	for _, address := range []string{c.Blob, c.Queue, c.Table} {
		u, err := url.Parse(address)
		if err != nil {
			return false
		}
		host := u.Hostname()
		if ip := net.ParseIP(host); host != "localhost" && !strings.HasSuffix(host, ".localhost") && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}
