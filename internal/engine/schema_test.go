package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"rsmsjob/internal/reason"
)

// checker holds documents against a schema.
type checker struct{ patterns map[string]*regexp.Regexp }

func (c *checker) pattern(text string) *regexp.Regexp {
	if c.patterns[text] == nil {
		c.patterns[text] = regexp.MustCompile(text)
	}
	return c.patterns[text]
}

// valid holds a value against a JSON Schema, as far as ours goes: a check of
// its own, that shares nothing with the reader. It knows every word that the
// schema may use, and says so where it does not.
func (c *checker) valid(t *testing.T, schema map[string]any, v any) bool {
	t.Helper()
	ok := true
	for word, want := range schema {
		switch word {
		case "$schema", "title", "description", "default", "additionalProperties":
		case "type":
			ok = ok && isType(want.(string), v)
		case "properties":
			if o, is := v.(map[string]any); is {
				for name, inner := range o {
					if p, known := want.(map[string]any)[name]; known {
						ok = c.valid(t, p.(map[string]any), inner) && ok
					} else if schema["additionalProperties"] == false {
						ok = false
					}
				}
			}
		case "required":
			if o, is := v.(map[string]any); is {
				for _, name := range want.([]any) {
					_, has := o[name.(string)]
					ok = ok && has
				}
			}
		case "items":
			if l, is := v.([]any); is {
				for _, item := range l {
					ok = c.valid(t, want.(map[string]any), item) && ok
				}
			}
		case "uniqueItems":
			if l, is := v.([]any); is {
				seen := map[string]bool{}
				for _, item := range l {
					key := fmt.Sprintf("%T %[1]v", plainNumber(item))
					ok, seen[key] = ok && !seen[key], true
				}
			}
		case "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum":
			ok = ok && bounded(word, want.(json.Number), v)
		case "pattern":
			if s, is := v.(string); is {
				ok = ok && c.pattern(want.(string)).MatchString(s)
			}
		case "not":
			ok = ok && !(c.valid(t, want.(map[string]any), v) && isType("string", v))
		default:
			t.Fatalf("the schema has the word %q, which this check does not know", word)
		}
	}
	return ok
}

func plainNumber(v any) any {
	if n, ok := v.(json.Number); ok {
		f, _ := n.Float64()
		return f
	}
	return v
}

func isType(name string, v any) bool {
	switch v := v.(type) {
	case bool:
		return name == "boolean"
	case map[string]any:
		return name == "object"
	case []any:
		return name == "array"
	case string:
		return name == "string"
	case json.Number:
		r, ok := new(big.Rat).SetString(v.String())
		return ok && name == "integer" && r.IsInt()
	}
	return false
}

func bounded(word string, limit json.Number, v any) bool {
	var n int
	switch v := v.(type) {
	case []any:
		if !strings.HasSuffix(word, "Items") {
			return true
		}
		n = len(v)
	case string:
		if !strings.HasSuffix(word, "Length") {
			return true
		}
		n = utf8.RuneCountInString(v)
	case json.Number:
		if !strings.HasSuffix(word, "imum") {
			return true
		}
		f, _ := v.Float64()
		l, _ := limit.Float64()
		return strings.HasPrefix(word, "min") && f >= l || strings.HasPrefix(word, "max") && f <= l
	}
	l, _ := limit.Int64()
	return strings.HasPrefix(word, "min") && n >= int(l) || strings.HasPrefix(word, "max") && n <= int(l)
}

func decoded(t *testing.T, text []byte) map[string]any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// full is an engine.json with every field.
const full = `{
  "$schema": "engine.schema.json",
  "name": "usgs", "version": "1.2",
  "runner": ["wine", "-q"],
  "environment": ["LM_LICENSE_FILE", "OMP_NUM_THREADS=1"],
  "output_limit_mb": 100,
  "steps": {
    "daflow": {"executable": "DAFLOW", "arguments": ["-v"], "stdin": ["FLOW.IN", "BLTM.FLW"], "outputs": ["BLTM.FLW"],
               "exit_codes": [0, 2], "timeout_seconds": 600, "success_text": "NORMAL END", "reads": ["FLOW.IN"], "cache": false},
    "bltm": {}, "ctplt": {}, "cxplt": {}
  }
}`

// at returns what stands at a path of a decoded document, and what sets it.
func at(doc map[string]any, path string) (any, func(any)) {
	parts := strings.Split(path, ".")
	o := doc
	for _, p := range parts[:len(parts)-1] {
		o = o[p].(map[string]any)
	}
	last := parts[len(parts)-1]
	return o[last], func(v any) { o[last] = v }
}

// without removes what stands at a path.
func without(doc map[string]any, path string) {
	parts := strings.Split(path, ".")
	o := doc
	for _, p := range parts[:len(parts)-1] {
		o = o[p].(map[string]any)
	}
	delete(o, parts[len(parts)-1])
}

// variants are values to put in the place of another one: of every type, and
// all words where it takes a string or a list.
func variants(was any) []any {
	many := func(n int, v any) []any { return slices.Repeat([]any{v}, n) }
	distinct := func(n int) []any {
		var l []any
		for i := range n {
			l = append(l, fmt.Sprintf("N%d", i))
		}
		return l
	}
	list := []any{nil, true, false, "true", map[string]any{}, map[string]any{"x": 1}, []any{}, many(21, "x"), many(51, "x"), many(101, "x"), many(1001, "x"),
		distinct(20), distinct(21), distinct(50), distinct(51), distinct(100), distinct(101), distinct(1000), distinct(1001), []any{"a", "a"}, []any{"a", "A"},
		[]any{0}, []any{0, 0}, []any{0, json.Number("0.0")}, []any{-1}, []any{1.5}, []any{"0"}, []any{nil}, []any{[]any{}}, []any{json.Number("2147483647")}, []any{json.Number("2147483648")}}
	for _, n := range []string{"0", "1", "-1", "1.0", "1e2", "1.5", "86400", "86401", "1048576", "1048577", "1e300", "1e-300", "12345678901234567890"} {
		list = append(list, json.Number(n))
	}
	list = append(list, "", "a", []any{""}, []any{"a"}, []any{"a", "b"})
	for _, s := range words() {
		switch was.(type) {
		case string:
			list = append(list, s)
		case []any:
			list = append(list, []any{s})
		}
	}
	return list
}

func words() []string {
	return []string{"", " ", "a", "DAFLOW", "bin/daflow", `bin\daflow`, "./daflow", "/bin/true", `\daflow`, `C:\daflow`, "c:daflow", "..", "../daflow", `..\daflow`,
		"bin/../../daflow", "a..b", "..a", "a..", "...", "bin/", `bin\`, "a/..", "a/.", ".", "a\nb", "a\n", "a\r", "a\x00b", "\ttab", "é à.exe", "Flüsse", strings.Repeat("x", 40),
		strings.Repeat("x", 41), strings.Repeat("x", 100), strings.Repeat("x", 101), strings.Repeat("x", 200), strings.Repeat("x", 201),
		strings.Repeat("é", 200), strings.Repeat("x", 1000), strings.Repeat("é", 1000), strings.Repeat("x", 1001), "bundled", "Bundled", "bundled2", "-x", "a*", "a?", "FLOW.IN", "flow.in",
		"FLOW.INN", "BLTM.OUT", "daflow.stdout", "CXPLT.STDERR", "a.", "a ", ".a", "NAME", "NAME=", "NAME=a=b", "name=x y", "1NAME=x", "NA ME=x", "=x",
		"AZURE_STORAGE_CONNECTION_STRING", "azure_client_secret=x", "AzureWebJobsStorage", "RSMS_MESSAGE", "IDENTITY_HEADER", "MSI_SECRET", "MY_PASSWORD=x",
		"api_token", "NAME=token", "OMP_NUM_THREADS=1", "LD_LIBRARY_PATH", "x_ACCOUNT_KEY_y"}
}

// The schema that is printed and the reader give the same verdict on every
// value at every place.
func TestSchemaAgreesWithReader(t *testing.T) {
	schema := decoded(t, Schema())
	paths := []string{"$schema", "name", "version", "runner", "environment", "output_limit_mb", "steps", "extra", "steps.daflow", "steps.bltm", "steps.extra", "steps.DAFLOW"}
	for _, f := range []string{"executable", "arguments", "stdin", "outputs", "exit_codes", "timeout_seconds", "success_text", "reads", "cache", "extra", "Stdin"} {
		paths = append(paths, "steps.daflow."+f)
	}
	shape, c := manifestShape(), &checker{map[string]*regexp.Regexp{}}
	agree := map[bool]int{}
	try := func(what string, doc map[string]any) {
		t.Helper()
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		wants := c.valid(t, schema, any(decoded(t, text)))
		tree, err := parseTree(text, manifestName)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		tree.check(tree.root, shape, "")
		if got := tree.faults.Len() == 0; got != wants {
			t.Errorf("%s: the reader takes it: %v (%v), the schema: %v", what, got, tree.faults.Err(), wants)
		}
		agree[wants]++
	}
	for _, path := range paths {
		was, _ := at(decoded(t, []byte(full)), path)
		for _, v := range variants(was) {
			doc := decoded(t, []byte(full))
			_, set := at(doc, path)
			set(v)
			try(fmt.Sprintf("%s = %.60v", path, v), doc)
		}
		doc := decoded(t, []byte(full))
		without(doc, path)
		try("without "+path, doc)
	}
	if agree[true] < 100 || agree[false] < 100 {
		t.Errorf("%d good documents and %d bad ones prove little", agree[true], agree[false])
	}
}

// Every default of the schema is what the reader takes where the field is left
// out, and every field of the schema is read.
func TestSchemaDefaults(t *testing.T) {
	schema := decoded(t, Schema())
	bare, err := parseManifest([]byte(`{"steps":{"daflow":{},"bltm":{},"ctplt":{},"cxplt":{}}}`), manifestName)
	if err != nil || bare.tree.faults.Err() != nil {
		t.Fatal(err, bare.tree.faults.Err())
	}
	properties := schema["properties"].(map[string]any)
	initial := func(p any) any { return p.(map[string]any)["default"] }
	if got := initial(properties["name"]); got != bare.name {
		t.Errorf("name %v, the reader takes %v", got, bare.name)
	}
	if got := initial(properties["output_limit_mb"]); got != json.Number(fmt.Sprint(bare.limitMB)) {
		t.Errorf("output_limit_mb %v, the reader takes %v", got, bare.limitMB)
	}
	steps := properties["steps"].(map[string]any)["properties"].(map[string]any)
	if len(steps) != len(bare.steps) {
		t.Errorf("%d steps in the schema, %d read", len(steps), len(bare.steps))
	}
	plain := plainManifest()
	for i, s := range bare.steps {
		p := steps[s.name].(map[string]any)["properties"].(map[string]any)
		for field, takes := range map[string]any{"executable": s.executable, "arguments": append([]string{}, s.args...), "stdin": append([]string{}, s.stdin...),
			"outputs": s.outputs, "exit_codes": s.exitCodes, "timeout_seconds": nil, "success_text": nil, "reads": nil, "cache": s.cache} {
			got, _ := json.Marshal(initial(p[field]))
			want, _ := json.Marshal(takes)
			if !bytes.Equal(got, want) {
				t.Errorf("%s of %s: default %s, the reader takes %s", field, s.name, got, want)
			}
			delete(p, field)
		}
		if len(p) > 0 {
			t.Errorf("fields of %s that nobody looked at: %v", s.name, p)
		}
		if s.at = 0; !reflect.DeepEqual(s, plain.steps[i]) {
			t.Errorf("an empty step is\n%+v, a folder without %s has\n%+v", s, manifestName, plain.steps[i])
		}
	}
	m, err := parseManifest([]byte(full), manifestName)
	if err != nil || m.tree.faults.Err() != nil {
		t.Fatal(err, m.tree.faults.Err())
	}
	d := m.steps[0]
	if m.name != "usgs" || m.version != "1.2" || m.limitMB != 100 || !slices.Equal(m.runner, []string{"wine", "-q"}) || len(m.environment) != 2 ||
		d.executable != "DAFLOW" || !slices.Equal(d.args, []string{"-v"}) || !slices.Equal(d.stdin, []string{"FLOW.IN", "BLTM.FLW"}) ||
		!slices.Equal(d.exitCodes, []int{0, 2}) || d.timeout.Seconds() != 600 || d.success != "NORMAL END" ||
		!slices.Equal(d.reads, []string{"FLOW.IN"}) || d.cache {
		t.Errorf("read %+v", m)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("\xef\xbb\xbf{}"))
	f.Add([]byte(`{"steps":{"daflow":{"outputs":["A","a"]},"daflow":[[[[]]]]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data, manifestName)
		if err == nil && (m == nil || m.tree == nil) {
			t.Error("neither a manifest nor an error")
		}
		if err != nil && len(reason.Faults(err)) == 0 {
			t.Errorf("an error without a place: %v", err)
		}
		if err == nil && m.tree.faults.Len() == 0 && len(m.steps) != len(outputs) {
			t.Errorf("%d steps and no fault", len(m.steps))
		}
	})
}
