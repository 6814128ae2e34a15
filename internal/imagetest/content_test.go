//go:build image && linux

package imagetest

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// limit of the Linux image, in bytes: it is pulled at every start of a job.
const limit = 40_000_000

type imageFacts struct {
	Architecture, Os string
	Size             int
	Config           struct {
		User, StopSignal, WorkingDir string
		Entrypoint, Cmd, Env         []string
		Labels                       map[string]string
	}
}

func facts(tb testing.TB, image string) imageFacts {
	tb.Helper()
	var f imageFacts
	check(tb, json.Unmarshal([]byte(docker(tb, "image", "inspect", "--format", "{{json .}}", image)), &f))
	return f
}

func TestImage(t *testing.T) {
	f := facts(t, image(t, linuxVariable))
	t.Logf("%.1f MB", float64(f.Size)/1e6)
	if f.Size >= limit {
		t.Errorf("%d bytes, the limit is %d", f.Size, limit)
	}
	if f.Config.WorkingDir != "/tmp" {
		t.Errorf("starts in %s, where nothing can be written", f.Config.WorkingDir)
	}
	for _, variable := range []string{linuxVariable, wineVariable} {
		t.Run(variable, func(t *testing.T) {
			name := image(t, variable)
			f := facts(t, name)
			if f.Os != "linux" || f.Architecture != "amd64" || f.Config.User != "65532:65532" || f.Config.StopSignal != "SIGTERM" ||
				!slices.Equal(f.Config.Entrypoint, []string{"/rsms-job"}) || len(f.Config.Cmd) != 0 {
				t.Errorf("%+v", f)
			}
			labels := f.Config.Labels
			if labels["org.opencontainers.image.licenses"] != "MIT" {
				t.Errorf("labels %v", labels)
			}
			c := start(t, name, nil, nil, "version", "--json")
			c.exits(0)
			var said struct{ Version, Commit string }
			check(t, json.Unmarshal(c.stdout.Bytes(), &said))
			if said.Version != labels["org.opencontainers.image.version"] || said.Commit != labels["org.opencontainers.image.revision"] || said.Commit == "" {
				t.Errorf("the program says %+v, the labels %v", said, labels)
			}
		})
	}
}

// files is what the Linux image holds, without what Docker puts into every
// container.
func files(tb testing.TB) map[string]*tar.Header {
	tb.Helper()
	list, _ := unpack(tb)
	for name := range list {
		top, _, _ := strings.Cut(name, "/")
		if slices.Contains([]string{"dev", "proc", "sys", ".dockerenv"}, top) ||
			slices.Contains([]string{"etc/hostname", "etc/hosts", "etc/mtab", "etc/resolv.conf"}, name) {
			delete(list, name)
		}
	}
	return list
}

// unpack reads the file system of the Linux image, and its certificates.
func unpack(tb testing.TB) (list map[string]*tar.Header, certificates []byte) {
	tb.Helper()
	id := docker(tb, "create", image(tb, linuxVariable))
	tb.Cleanup(func() { docker(tb, "rm", id) })
	data, err := exec.Command("docker", "export", id).Output()
	check(tb, err)
	list = map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return list, certificates
		}
		check(tb, err)
		list[strings.TrimSuffix(h.Name, "/")] = h
		if strings.HasSuffix(h.Name, "/ca-certificates.crt") {
			certificates, err = io.ReadAll(r)
			check(tb, err)
		}
	}
}

// The image has the program, the certificates and a folder to write in; what
// runs can change nothing else.
func TestFiles(t *testing.T) {
	want := map[string]fs.FileMode{"rsms-job": 0o755, "tmp": fs.ModeDir | fs.ModeSticky | 0o777, "etc": fs.ModeDir | 0o755,
		"etc/ssl": fs.ModeDir | 0o755, "etc/ssl/certs": fs.ModeDir | 0o755, "etc/ssl/certs/ca-certificates.crt": 0o644}
	have := files(t)
	for name, h := range have {
		if mode, ok := want[name]; !ok || h.FileInfo().Mode() != mode || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s: %v, owner %d:%d", name, h.FileInfo().Mode(), h.Uid, h.Gid)
		}
	}
	for name := range want {
		if have[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

// The roots of the services that the program talks to are there.
func TestCertificates(t *testing.T) {
	_, data := unpack(t)
	var names []string
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		check(t, err)
		names = append(names, c.Subject.CommonName)
	}
	for _, name := range []string{"DigiCert Global Root G2", "Microsoft RSA Root Certificate Authority 2017", "Microsoft ECC Root Certificate Authority 2017"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not among the %d roots", name, len(names))
		}
	}
}
