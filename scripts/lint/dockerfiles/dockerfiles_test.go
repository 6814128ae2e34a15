package dockerfiles

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// system is what a Dockerfile of this repository makes an image for.
func system(name string) string {
	if strings.HasSuffix(name, ".windows") {
		return "windows"
	}
	return "linux"
}

func TestOurs(t *testing.T) {
	files, err := filepath.Glob("../../../Dockerfile*")
	if err != nil || len(files) != 3 {
		t.Fatalf("Dockerfiles: %v, %v", files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			findings, err := Check(t.Context(), name, text, system(name))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range findings {
				t.Errorf("%s", f)
			}
		})
	}
}

const (
	metadata = `LABEL org.opencontainers.image.version="1" org.opencontainers.image.revision="1" org.opencontainers.image.source="" org.opencontainers.image.licenses="MIT"` + "\n"
	good     = "FROM scratch\n" + metadata + "COPY a /a\nUSER 65532:65532\nENTRYPOINT [\"/a\"]\n"
)

// Every rule fires on a file that is good but for one thing, and on no other.
func TestRules(t *testing.T) {
	change := strings.NewReplacer
	for _, c := range []struct {
		rule, name string
		os         string
		text       string
	}{
		{"", "good", "linux", good},
		{"", "a stage as base", "linux", "FROM scratch AS one\nCOPY a /a\n" + change("scratch", "one").Replace(good)},
		{"", "a tag", "linux", change("scratch", "debian:bookworm-20260824-slim").Replace(good)},
		{"", "a digest", "linux", change("scratch", "debian@sha256:"+strings.Repeat("a", 64)).Replace(good)},
		{"", "a tag by argument", "linux", "ARG BASE=localhost:5000/debian:12\n" + change("scratch", "${BASE}").Replace(good)},
		{"", "windows", "windows", change("scratch", "nanoserver:ltsc2022", "65532:65532", "ContainerUser").Replace(good)},
		{Pinned, "no tag", "linux", change("scratch", "debian").Replace(good)},
		{Pinned, "no tag, a port", "linux", change("scratch", "localhost:5000/debian").Replace(good)},
		{Pinned, "latest", "linux", change("scratch", "debian:latest").Replace(good)},
		{Pinned, "latest by argument", "linux", "ARG BASE=debian:latest\n" + change("scratch", "${BASE}").Replace(good)},
		{Pinned, "in an earlier stage", "linux", "FROM golang AS one\nCOPY a /a\n" + change("COPY a", "COPY --from=one /a").Replace(good)},
		{"", "files of a stage by number", "linux", "FROM scratch\nCOPY a /a\n" + change("COPY a", "COPY --from=0 /a").Replace(good)},
		{"", "files of an image with a tag", "linux", change("COPY a", "COPY --from=busybox:1.37.0 /a").Replace(good)},
		{Pinned, "files of an image", "linux", change("COPY a", "COPY --from=busybox /a").Replace(good)},
		{Pinned, "files of the latest image", "linux", change("COPY a", "COPY --from=golang:latest /a").Replace(good)},
		{Pinned, "a mounted image", "linux", change("USER", "RUN --mount=type=bind,from=busybox,target=/b /b/bin/true\nUSER").Replace(good)},
		{"", "a mounted stage", "linux", "FROM scratch AS one\nCOPY a /a\n" + change("USER", "RUN --mount=type=bind,from=one,target=/b /b/a\nUSER").Replace(good)},
		{NoAdd, "address", "linux", change("COPY a /a", "ADD https://example.com/a /a").Replace(good)},
		{NoAdd, "file", "linux", change("COPY", "ADD").Replace(good)},
		{NoSecret, "in a variable", "linux", change("USER", "ENV AZURE_STORAGE_CONNECTION_STRING=x\nUSER").Replace(good)},
		{NoSecret, "in an argument", "linux", change("USER", "ARG STORAGE_SAS\nUSER").Replace(good)},
		{NoSecret, "in an argument of the whole file", "linux", "ARG CONNECTIONSTRING\n" + good},
		{NoSecret, "a connection string of another name", "linux", change("USER", "ENV STORE=\"AccountName=a;AccountKey=b\"\nUSER").Replace(good)},
		{NoSecret, "a signed address", "linux", change("USER", "ARG SOURCE=https://a.example/b?sv=1&sig=c\nUSER").Replace(good)},
		{NoSecret, "in a label", "linux", change("USER", "LABEL store="+strings.Repeat("k", 86)+"==\nUSER").Replace(good)},
		{NoSecret, "in a command", "linux", change("USER", "RUN echo \"AccountKey=b\" >/a\nUSER").Replace(good)},
		{NoSecret, "settings as a file", "linux", change("COPY a", "COPY .env").Replace(good)},
		{NoSecret, "settings of an environment", "linux", change("COPY a", "COPY config/.env.production").Replace(good)},
		{NoSecret, "a certificate with its key", "windows", change("scratch", "nanoserver:ltsc2022", "65532:65532", "ContainerUser", "COPY a", "COPY site.pfx").Replace(good)},
		{"", "three letters of another word", "linux", change("USER", "ENV DISASTER_NAME=flood\nUSER").Replace(good)},
		{"SecretsUsedInArgOrEnv", "a word that BuildKit knows", "linux", change("USER", "ARG API_TOKEN\nUSER").Replace(good)},
		{NoDownload, "curl", "linux", change("USER", "RUN curl -fsSL https://example.com/a -o /a\nUSER").Replace(good)},
		{NoDownload, "PowerShell", "windows", change("scratch", "nanoserver:ltsc2022", "USER 65532:65532", "RUN powershell iwr https://example.com/a\nUSER ContainerUser").Replace(good)},
		{ExecForm, "none", "linux", change("ENTRYPOINT [\"/a\"]\n", "").Replace(good)},
		{ExecForm, "shell", "linux", change("[\"/a\"]", "/a").Replace(good)},
		{NotRoot, "none", "linux", change("USER 65532:65532\n", "").Replace(good)},
		{NotRoot, "root", "linux", change("65532:65532", "root").Replace(good)},
		{NotRoot, "zero", "linux", change("65532", "0").Replace(good)},
		{NotRoot, "a name", "linux", change("65532:65532", "nobody").Replace(good)},
		{NotRoot, "root again", "linux", change("ENTRYPOINT", "USER 0\nENTRYPOINT").Replace(good)},
		{NotRoot, "administrator", "windows", change("scratch", "nanoserver:ltsc2022", "65532:65532", "ContainerAdministrator").Replace(good)},
		{Labels, "none", "linux", change(metadata, "").Replace(good)},
		{Labels, "one is missing", "linux", change("image.revision", "image.revisions").Replace(good)},
		{"UndefinedVar", "a variable that nobody sets", "linux", change("COPY a /a", "COPY a $NOWHERE/a").Replace(good)},
		{"MultipleInstructionsDisallowed", "two entry points", "linux", good + "ENTRYPOINT [\"/b\"]\n"},
		{"LegacyKeyValueFormat", "a space for =", "linux", change("USER", "ENV A b\nUSER").Replace(good)},
		{"Build", "a stage that does not exist", "linux", change("COPY a", "COPY --from=1 /a").Replace(good)},
	} {
		t.Run(strings.TrimSpace(c.rule+" "+c.name), func(t *testing.T) {
			findings, err := Check(t.Context(), "Dockerfile", []byte(c.text), c.os)
			if err != nil {
				t.Fatal(err)
			}
			var rules []string
			for _, f := range findings {
				// BuildKit calls a shell as entry point by another name too.
				if f.Rule != "JSONArgsRecommended" && !slices.Contains(rules, f.Rule) {
					rules = append(rules, f.Rule)
				}
			}
			if got := strings.Join(rules, " "); got != c.rule {
				t.Errorf("found %v, want %q", findings, c.rule)
			}
		})
	}
}

// The builder gets nothing but what image.sh has put together.
func TestContext(t *testing.T) {
	text, err := os.ReadFile("../../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for l := range strings.Lines(string(text)) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			patterns = append(patterns, l)
		}
	}
	if got := strings.Join(patterns, " "); got != "* !bin/image" {
		t.Errorf(".dockerignore lets through: %s", got)
	}
}
