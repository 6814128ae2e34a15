package config

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseConnection(t *testing.T) {
	const key = "AccountKey=Y2FuYXJ5LWtleQ=="
	at := func(host string) [3]string {
		return [3]string{"https://ohio.blob." + host, "https://ohio.queue." + host, "https://ohio.table." + host}
	}
	for _, tt := range []struct {
		name, text string
		account    string
		addresses  [3]string // blob, queue, table
		loopback   bool
	}{
		{"key", "DefaultEndpointsProtocol=https;AccountName=ohio;" + key + ";EndpointSuffix=core.windows.net", "ohio", at("core.windows.net"), false},
		{"defaults, other case, spaces", " accountname = ohio ; ACCOUNTKEY=Y2FuYXJ5LWtleQ== ;; ", "ohio", at("core.windows.net"), false},
		{"another cloud", "AccountName=ohio;" + key + ";EndpointSuffix=core.usgovcloudapi.net", "ohio", at("core.usgovcloudapi.net"), false},
		{"signature", "AccountName=ohio;SharedAccessSignature=?sv=1&sig=a%3D=", "ohio", at("core.windows.net"), false},
		{"emulator", "UseDevelopmentStorage=true;", emulatorAccount, [3]string{"http://127.0.0.1:10000/devstoreaccount1",
			"http://127.0.0.1:10001/devstoreaccount1", "http://127.0.0.1:10002/devstoreaccount1"}, true},
		{"emulator elsewhere", "DefaultEndpointsProtocol=http;AccountName=a;" + key +
			";BlobEndpoint=http://localhost:1/a/;QueueEndpoint=http://[::1]:2/a;TableEndpoint=http://x.localhost:3/a", "a",
			[3]string{"http://localhost:1/a", "http://[::1]:2/a", "http://x.localhost:3/a"}, true},
		{"one service elsewhere", "AccountName=a;" + key + ";BlobEndpoint=http://127.0.0.1:1/a;QueueEndpoint=http://127.0.0.1:2/a", "a",
			[3]string{"http://127.0.0.1:1/a", "http://127.0.0.1:2/a", "https://a.table.core.windows.net"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := ParseConnection(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if c.Account != tt.account || [3]string{c.Blob, c.Queue, c.Table} != tt.addresses || c.Loopback() != tt.loopback || (c.Key == "") == (c.SAS == "") {
				text, _ := json.Marshal(c)
				t.Errorf("got %s, loopback %t", text, c.Loopback())
			}
			if sas := c.SAS.Reveal(); sas != "" && sas != "sv=1&sig=a%3D=" {
				t.Errorf("signature %s", sas)
			}
		})
	}
}

// What is wrong is named, what stands there is not.
func TestParseConnectionRefuses(t *testing.T) {
	const start = "AccountName=canary;AccountKey=Y2FuYXJ5LWtleQ=="
	for text, want := range map[string]string{
		"":                                                   "has no AccountName",
		"canary":                                             "is not a list of Name=value parts between semicolons",
		"AccountKey=Y2FuYXJ5":                                "has no AccountName",
		"UseDevelopmentStorage=false":                        "has no AccountName",
		"AccountName=canary":                                 "has neither AccountKey nor SharedAccessSignature",
		start + ";SharedAccessSignature=canary":              "has AccountKey and SharedAccessSignature; one is wanted",
		"AccountName=a;AccountKey=canary?":                   "has an AccountKey that is not base64",
		start + ";BlobEndpoint=canary":                       "has a BlobEndpoint that is not an http or https address",
		start + ";QueueEndpoint=ftp://canary":                "has a QueueEndpoint that",
		start + ";TableEndpoint=https://x/?sig=canary":       "has a TableEndpoint that",
		start + ";TableEndpoint=https://canary:canary@x/":    "has a TableEndpoint that",
		start + ";DefaultEndpointsProtocol=canary":           "has a BlobEndpoint that",
		start + ";EndpointSuffix=x y":                        "has a BlobEndpoint that",
		"AccountName=ca nary;AccountKey=Y2FuYXJ5LWtleQ==":    "has a BlobEndpoint that",
		start + ";BlobEndpoint=http://[::1;QueueEndpoint=x/": "has a BlobEndpoint that",
	} {
		c, err := ParseConnection(text)
		if c != nil || err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, %v, want %s", text, c, err, want)
		}
	}
}

func FuzzParseConnection(f *testing.F) {
	for _, seed := range []string{cloud, emulated, "AccountName=a;SharedAccessSignature=?x", "=;=", ";;a", "AccountName=a;AccountKey=;BlobEndpoint=http://[::1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConnection(text)
		if (c == nil) != (err != nil) {
			t.Fatalf("%v besides %v", c, err)
		}
		if err == nil && (c.Account == "" || c.Blob == "" || c.Queue == "" || c.Table == "" || (c.Key == "") == (c.SAS == "")) {
			t.Errorf("something is missing for %q", text)
		}
	})
}
