package compare

import (
	"bytes"
	"html/template"
	"io"
)

// pageMark is in the head of every page.
const pageMark = `<meta name="generator" content="rsms-job compare">`

// PageHead is how much of a page from its beginning IsPage wants to see, in
// bytes.
const PageHead = 512

// IsPage reports whether a file that begins so is a page of HTML.
func IsPage(head []byte) bool {
	return bytes.HasPrefix(head, []byte("<!DOCTYPE html>")) && bytes.Contains(head, []byte(pageMark))
}

// HTML writes the report as one page that needs nothing else: no script, no
// other file, no network.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"long": long}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, map[string]any{"Same": r.Same, "A": r.A.Label, "B": r.B.Label, "Verdict": r.verdict(),
		"Warnings": r.Warnings, "Sections": r.sections()})
}

// long reports whether a cell is wrapped, within words too if it must be. The
// others are a number, a time, or a name of ours.
func long(cell string) bool { return len(cell) > 24 }

const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
` + pageMark + `
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Comparison of {{.A}} and {{.B}}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; color: #1a1a1a; background: #fff; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 0; }
section { margin: 2rem 0; }
.verdict { padding: .75rem 1rem; border-left: .5rem solid #0b5394; background: #eef4fa; overflow-wrap: anywhere; }
.verdict.different { border-color: #a64b00; background: #fdf1e7; }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline: 2px solid #0b5394; outline-offset: 2px; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .5rem; }
caption p { margin: .25rem 0 0; }
tbody th { font-weight: normal; }
.long { overflow-wrap: anywhere; min-width: 16rem; }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #ccc; text-align: left; vertical-align: top; }
@media print { body { margin: 0; max-width: none; } .scroll { overflow: visible; } }
</style>
</head>
<body>
<main>
<h1>{{.A}} and {{.B}}</h1>
<p class="verdict{{if not .Same}} different{{end}}"><strong>{{.Verdict}}</strong></p>
{{- range .Warnings}}
<p>Warning: {{.}}</p>
{{- end}}
{{- range .Sections}}
<section>
{{- if .Rows}}
<div class="scroll" tabindex="0" role="region" aria-label="{{.Title}}">
<table>
<caption><h2>{{.Title}}</h2>{{if .Note}}<p>{{.Note}}</p>{{end}}</caption>
<thead><tr>{{range .Head}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>
{{- range .Rows}}
<tr>{{range $i, $cell := .}}{{if $i}}<td{{if long $cell}} class="long"{{end}}>{{$cell}}</td>{{else}}<th scope="row"{{if long $cell}} class="long"{{end}}>{{$cell}}</th>{{end}}{{end}}</tr>
{{- end}}
</tbody>
</table>
</div>
{{- else}}
<h2>{{.Title}}</h2>
<p>{{.Note}}</p>
{{- end}}
</section>
{{- end}}
</main>
</body>
</html>
`
