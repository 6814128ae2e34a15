package bicepcheck

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// templates reads those of the project; there must be nothing wrong with their
// syntax.
func templates(t *testing.T) *Bundle {
	t.Helper()
	b, problems, err := Load(os.DirFS("../../bicep"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Fatal(p)
	}
	return b
}

func TestTemplates(t *testing.T) {
	for _, p := range Check(templates(t)) {
		t.Error(p)
	}
}

func TestLoadWithoutMain(t *testing.T) {
	folder := fstest.MapFS{"modules/a.bicep": {Data: []byte("var a = 1\n")}}
	if _, _, err := Load(folder); err == nil || err.Error() != "there is no main.bicep" {
		t.Errorf("Load: %v", err)
	}
}

// TestAlertsReadWhatIsLogged: the alerts read lines of the log by their words.
func TestAlertsReadWhatIsLogged(t *testing.T) {
	var program strings.Builder
	for _, folder := range []string{"../../job", "../../internal"} {
		err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			src, err := os.ReadFile(folder + "/" + name)
			program.Write(src)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range []string{`"message claimed"`, `"dequeue_count"`, `"inserted_at"`, `"message put into the poison queue`, `"exit", code`} {
		if !strings.Contains(program.String(), words) {
			t.Errorf("the program does not log %s any more; modules/alerts.bicep looks for it", words)
		}
	}
}
