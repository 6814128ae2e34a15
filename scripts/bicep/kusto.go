package bicepcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// Where scripts/kusto.sh puts the language service, and what asks it.
const (
	kustoFolder = "../../.cache/kusto"
	kustoScript = "../kusto/check.js"
)

// Kusto has the language service of Kusto read texts, and returns for each what
// is wrong in it. Tables and columns must be there. It needs Node.js and what
// scripts/kusto.sh has installed, and takes seconds to start: ask once, for all.
func Kusto(texts []string) ([][]string, error) {
	schema := map[string]string{}
	for name, columns := range tables {
		var list []string
		for _, column := range slices.Sorted(maps.Keys(columns)) {
			list = append(list, column+":"+columns[column])
		}
		schema[name] = "(" + strings.Join(list, ", ") + ")"
	}
	asked, err := json.Marshal(map[string]any{"tables": schema, "queries": texts})
	if err != nil {
		return nil, err
	}
	var errs bytes.Buffer
	c := exec.Command("node", kustoScript, kustoFolder)
	c.Stdin, c.Stderr = bytes.NewReader(asked), &errs
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("the language service of Kusto does not answer, is it installed (scripts/kusto.sh install)? %w\n%s", err, &errs)
	}
	var answers [][]struct {
		At   int
		Code string
		Text string
	}
	if err := json.Unmarshal(out, &answers); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", kustoScript, err)
	}
	if len(answers) != len(texts) {
		return nil, fmt.Errorf("%s was asked for %d queries and answered %d", kustoScript, len(texts), len(answers))
	}
	problems := make([][]string, len(texts))
	for i, answer := range answers {
		for _, p := range answer {
			problems[i] = append(problems[i], fmt.Sprintf("character %d: %s: %s", p.At+1, p.Code, p.Text))
		}
	}
	return problems, nil
}
