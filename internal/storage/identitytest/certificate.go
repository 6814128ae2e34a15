package identitytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateFiles are paths of PEM files: the authority, and what it gave to
// the emulator.
type certificateFiles struct{ roots, certificate, key string }

// certificates makes an authority and a certificate for hosts and for this
// machine, valid from an hour ago for a day.
func certificates(dir string, hosts []string) (certificateFiles, *x509.CertPool, error) {
	files := certificateFiles{filepath.Join(dir, "roots.pem"), filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "key.pem")}
	begin := time.Now().Add(-time.Hour)
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: begin, NotAfter: begin.Add(25 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	server := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test storage"},
		NotBefore: begin, NotAfter: authority.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: hosts, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return files, nil, err
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return files, nil, err
	}
	root, err := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return files, nil, err
	}
	leaf, err := x509.CreateCertificate(rand.Reader, server, authority, &serverKey.PublicKey, authorityKey)
	if err != nil {
		return files, nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		return files, nil, err
	}
	for _, f := range []struct {
		path, kind string
		data       []byte
	}{{files.roots, "CERTIFICATE", root}, {files.certificate, "CERTIFICATE", leaf}, {files.key, "PRIVATE KEY", key}} {
		if err := os.WriteFile(f.path, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.data}), 0o600); err != nil {
			return files, nil, err
		}
	}
	pool := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(root)
	if err != nil {
		return files, nil, err
	}
	pool.AddCert(parsed)
	return files, pool, nil
}
