package compare

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"rsmsjob/internal/plume"
)

// Names in a page are text, whatever is in them, and the page asks for nothing.
func TestPage(t *testing.T) {
	a, b := newDraft(), newDraft()
	const name = `<script>alert("&")</script>`
	a.Intakes.Intakes[0].Name, b.Intakes.Intakes[0].Name = name, name
	b.Rows[0].ConcentrationMgL = 9
	report, err := Results(t.Context(), a.open(t, name), b.open(t, "b"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := pageOf(t, report)
	for _, no := range []string{"<script", "http:", "https:", "src=", "<link", "@import", "url("} {
		if strings.Contains(text, no) {
			t.Errorf("the page has %s", no)
		}
	}
	for _, yes := range []string{"&lt;script&gt;alert(&#34;&amp;&#34;)&lt;/script&gt;", "different: ConcentrationMgL of PlumeByTime (1)", "default-src 'none'"} {
		if !strings.Contains(text, yes) {
			t.Errorf("the page does not have %s", yes)
		}
	}
	if !IsPage([]byte(text)[:PageHead]) {
		t.Error("the page is not known again")
	}
	for _, other := range []string{"", "<!DOCTYPE html>\n<html><head></head></html>", "x" + text, pageMark} {
		if IsPage([]byte(other)) {
			t.Errorf("%.60q is taken for a page", other)
		}
	}
}

func pageOf(t *testing.T, r *Report) string {
	t.Helper()
	var page bytes.Buffer
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// Every table has a caption that is a heading, a header for each column and row,
// and can be scrolled by keyboard; every row has as many cells as the head.
func TestPageTables(t *testing.T) {
	a, b := newDraft(), newDraft()
	b.Rows[0].ConcentrationMgL = 9
	a.Intakes.Intakes[0].Name, b.Intakes.Intakes[0].Name = strings.Repeat("long", 200), strings.Repeat("long", 200)
	b.Balance.Add(start.AddDate(0, 0, 1), plume.Ledger{InjectedKg: 100, InRiverKg: 100})
	report := compared(t, a, b, Options{})
	dec := xml.NewDecoder(strings.NewReader(pageOf(t, report)))
	dec.Strict, dec.AutoClose = false, xml.HTMLAutoClose
	tables, captions, columns, cells, scopes := 0, 0, 0, 0, map[string]int{}
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			if end, ok := token.(xml.EndElement); ok && end.Name.Local == "tr" {
				if columns == 0 {
					columns = cells
				} else if cells != columns || scopes["row"] != 1 {
					t.Errorf("table %d: a row has %d cells and %d headers, the head has %d cells", tables, cells, scopes["row"], columns)
				}
			}
			continue
		}
		attribute := map[string]string{}
		for _, a := range e.Attr {
			attribute[a.Name.Local] = a.Value
		}
		switch e.Name.Local {
		case "div":
			if attribute["tabindex"] != "0" || attribute["role"] != "region" || attribute["aria-label"] == "" {
				t.Errorf("a table that no keyboard scrolls: %v", attribute)
			}
		case "table":
			tables, columns = tables+1, 0
		case "caption":
			captions++
		case "tr":
			cells, scopes = 0, map[string]int{}
		case "th":
			cells++
			scopes[attribute["scope"]]++
		case "td":
			cells++
		}
	}
	if !strings.Contains(pageOf(t, report), `<th scope="row" class="long">longlong`) {
		t.Error("a long name is not wrapped")
	}
	if tables != 7 || captions != tables {
		t.Errorf("%d tables, %d captions", tables, captions)
	}
}

// A name in the text obeys nobody: it is neither another line nor a command of
// the terminal.
func TestTextIsPlain(t *testing.T) {
	a, b := newDraft(), newDraft()
	const name = "x\x1b[2J\ny\tz"
	a.Intakes.Intakes[0].Name, b.Intakes.Intakes[0].Name = name, name
	long := plume.Intake{Name: strings.Repeat("ä", 10_000)}
	a.Intakes.Intakes, b.Intakes.Intakes = append(a.Intakes.Intakes, long), append(b.Intakes.Intakes, long)
	var out bytes.Buffer
	if err := compared(t, a, b, Options{}).Text(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(line)); n > 4*widest {
			t.Errorf("a line of %d characters", n)
		}
	}
	if text := out.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, "\n  x?[2J?y?z  ") {
		t.Errorf("text %q", text)
	}
}
