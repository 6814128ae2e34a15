package compare

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"strings"
	"text/tabwriter"
)

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "A %s\nB %s\n%s\n", r.A.Label, r.B.Label, r.verdict())
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	for _, s := range r.sections() {
		fmt.Fprintf(&b, "\n%s", s.Title)
		if s.Note != "" {
			fmt.Fprintf(&b, ": %s", s.Note)
		}
		b.WriteByte('\n')
		if err := s.table(&b); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// table writes aligned columns; no line ends in blanks.
func (s *section) table(w *bytes.Buffer) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	rows := s.Rows
	if len(s.Head) > 0 {
		rows = append([][]string{s.Head}, rows...)
	}
	for _, row := range rows {
		fmt.Fprintf(t, "  %s\n", strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		w.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return nil
}

// HTML writes the report as one page that needs nothing else: no script, no
// other file, no network.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("page").Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, map[string]any{"Same": r.Same, "A": r.A.Label, "B": r.B.Label, "Verdict": r.verdict(),
		"Warnings": r.Warnings, "Sections": r.sections()})
}

const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Comparison of {{.A}} and {{.B}}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; color: #1a1a1a; background: #fff; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.verdict { padding: .75rem 1rem; border-left: .5rem solid #0b5394; background: #eef4fa; overflow-wrap: anywhere; }
.verdict.different { border-color: #a64b00; background: #fdf1e7; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #ccc; text-align: left; vertical-align: top; }
@media print { body { margin: 0; max-width: none; } .scroll { overflow: visible; } }
</style>
</head>
<body>
<h1>{{.A}} and {{.B}}</h1>
<p class="verdict{{if not .Same}} different{{end}}"><strong>{{.Verdict}}</strong></p>
{{- range .Warnings}}
<p>Warning: {{.}}</p>
{{- end}}
{{- range .Sections}}
<h2>{{.Title}}</h2>
{{- if .Note}}
<p>{{.Note}}</p>
{{- end}}
{{- if .Rows}}
<div class="scroll" tabindex="0" role="region" aria-label="{{.Title}}">
<table>
{{- if .Head}}
<thead><tr>{{range .Head}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
{{- end}}
<tbody>
{{- range .Rows}}
<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{- end}}
</tbody>
</table>
</div>
{{- end}}
{{- end}}
</body>
</html>
`
