//go:build chromium

package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// drive is what a reader does, added to the page; what comes of it is written into
// the title.
const drive = `
const seen = [], by = (id) => document.getElementById(id), line = () => by("profile-0").getAttribute("points");
const slider = by("when"), first = line();
seen.push("tables " + document.querySelectorAll("table caption").length);
seen.push("controls " + !by("controls").hidden);
slider.value = "12"; slider.dispatchEvent(new Event("input"));
seen.push("slider " + (line() !== first && by("clock").textContent !== "" && slider.getAttribute("aria-valuetext") === by("clock").textContent));
slider.dispatchEvent(new KeyboardEvent("keydown", {key: " ", cancelable: true}));
seen.push("plays " + (by("play").textContent === "Pause" && by("clock").getAttribute("aria-live") === "off"));
by("play").click();
seen.push("pauses " + (by("play").textContent === "Play" && by("clock").getAttribute("aria-live") === "polite"));
dispatchEvent(new Event("beforeprint"));
seen.push("prints " + [...document.querySelectorAll("details")].every((part) => part.open));
seen.push("fits " + (document.documentElement.scrollWidth <= innerWidth));
document.title = seen.join(", ");
`

// A real browser shows the page without an error, and its slider, its button and
// its keys work, on a wide screen and on a narrow one.
func TestInBrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("these tests need chromium (Debian: apt-get install chromium): %v", err)
	}
	s := small()
	s.rivers, s.intakes = []string{"Ohio", "Beaver"}, 20 // more places than are open
	s.nameOf = func(i int) string { return strings.Repeat("Waterworks </script> ", 8) + plain(i) }
	text := page(t, s.report())
	sum := sha256.Sum256([]byte(drive))
	allowed := strings.Replace(text, "script-src ", "script-src &#39;sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"&#39; ", 1)
	allowed = strings.Replace(allowed, "</body>", "<script>"+drive+"</script></body>", 1)
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(allowed), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, size := range []string{"1280,900", "500,900"} {
		var said bytes.Buffer
		c := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
			"--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--window-size="+size, "--dump-dom", "file://"+file)
		c.Stderr, c.WaitDelay = &said, 10*time.Second
		dom, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", size, err, said.String())
		}
		title := regexp.MustCompile(`<title>(.*?)</title>`).FindStringSubmatch(string(dom))
		if want := "tables 4, controls true, slider true, plays true, pauses true, prints true, fits true"; title == nil || title[1] != want {
			t.Errorf("%s: %q, want %s", size, title, want)
		}
		for line := range strings.Lines(said.String()) {
			if strings.Contains(line, "CONSOLE") {
				t.Errorf("%s: the console says %s", size, line)
			}
		}
	}
}

// A script that is not the page's own does not run.
func TestPolicyHolds(t *testing.T) {
	text := strings.Replace(page(t, small().report()), "</body>", `<script>document.title = "ran"</script></body>`, 1)
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	dom, err := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+file).Output()
	if err != nil || strings.Contains(string(dom), "<title>ran") {
		t.Errorf("a foreign script ran, or %v", err)
	}
}
