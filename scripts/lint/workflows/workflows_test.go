package workflows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

const folder = "../../../.github/workflows"

func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(folder, "*.y*ml"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Check(data) {
			t.Errorf("%s: %v", filepath.Base(file), f)
		}
	}
}

// The release builds the platforms that are promised, signs them, and pushes the
// image by commit and by version.
func TestRelease(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(folder, "release.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"linux/amd64 linux/arm64 windows/amd64", "SHA256SUMS", "subject-path: dist/*", `push "$REPOSITORY:$COMMIT"`,
		`push "$REPOSITORY:$VERSION"`, "subject-digest: ", "needs: ci", "--password-stdin"} {
		if !strings.Contains(string(data), part) {
			t.Errorf("release.yml lacks %s", part)
		}
	}
}

// Every package that is tested on Windows exists.
func TestPackages(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(folder, "ci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, step := range get(doc.Content[0], "jobs", "windows", "steps").Content {
		words := strings.Fields(value(step, "run"))
		if len(words) < 3 || words[1] != "test" {
			continue
		}
		for _, p := range words[2:] {
			n++
			if info, err := os.Stat(filepath.Join("../../..", p)); err != nil || !info.IsDir() {
				t.Errorf("no package %s", p)
			}
		}
	}
	if n < 10 {
		t.Errorf("%d packages are tested on Windows", n)
	}
}

// Scripts are read by bash and golden files byte for byte, also where git is set to
// write the line ends of Windows.
func TestAttributes(t *testing.T) {
	data, err := os.ReadFile("../../../.gitattributes")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"* text=auto eol=lf", "**/testdata/** -text"} {
		if !strings.Contains("\n"+string(data), "\n"+line+"\n") {
			t.Errorf(".gitattributes lacks %s", line)
		}
	}
}

const good = `on: push
permissions:
  contents: read
defaults:
  run:
    shell: bash
jobs:
  a:
    if: vars.RSMS_WORKFLOWS == 'true'
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    permissions:
      contents: write
    steps:
      - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2
        with:
          persist-credentials: false
      - run: make
  b:
    uses: ./.github/workflows/a.yml
`

// Each rule finds what it is for, and nothing else.
func TestRules(t *testing.T) {
	change := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	for _, c := range []struct{ rule, name, text string }{
		{"", "nothing", good},
		{Syntax, "no YAML", "a: [\n"},
		{Syntax, "empty", ""},
		{Syntax, "no trigger", change("on: push", "name: a")},
		{Syntax, "no steps", change("    steps:", "    others:")},
		{Syntax, "an empty step", change("- run: make", "- name: make")},
		{Permissions, "none", change("permissions:\n  contents: read\n", "")},
		{Permissions, "all", change("permissions:\n  contents: read\n", "permissions: write-all\n")},
		{Permissions, "write for every job", change("contents: read", "contents: write")},
		{Permissions, "all for a job", change("permissions:\n      contents: write", "permissions: write-all")},
		{Pinned, "a tag", change("@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2", "@v6.0.2")},
		{Pinned, "no version", change(" # v6.0.2", "")},
		{Pinned, "the latest machine", change("ubuntu-24.04", "ubuntu")},
		{Pinned, "an image", change("run: make", "run: docker pull a/b:latest")},
		{Pinned, "a workflow of others", change("./.github/workflows/a.yml", "a/b/.github/workflows/a.yml@v1")},
		{Timeout, "none", change("    timeout-minutes: 5\n", "")},
		{Switch, "none", change("    if: vars.RSMS_WORKFLOWS == 'true'\n", "")},
		{Shell, "none", change("shell: bash", "shell: sh")},
		{Injection, "a title", change("run: make", "run: echo ${{ github.event.pull_request.title }}")},
		{LineEnds, "none", change("ubuntu-24.04", "windows-2022")},
		{"", "kept", change("ubuntu-24.04", "windows-2022")[:strings.Index(good, "      - uses")+len("windows-2022")-len("ubuntu-24.04")] +
			"      - run: git config --global core.autocrlf false\n" + good[strings.Index(good, "      - uses"):]},
		{Credentials, "checkout", change("persist-credentials: false", "fetch-depth: 1")},
		{Credentials, "a secret", change("- run: make", "- run: make\n        env:\n          A: ${{ secrets.A }}")},
	} {
		t.Run(strings.TrimSpace(c.rule+" "+c.name), func(t *testing.T) {
			findings := Check([]byte(c.text))
			for _, f := range findings {
				if f.Rule != c.rule {
					t.Errorf("%v", f)
				}
			}
			if (len(findings) > 0) != (c.rule != "") {
				t.Errorf("found %v", findings)
			}
		})
	}
}
