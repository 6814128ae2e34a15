// Package examples holds the basins that ship inside the binary, laid out as a
// folder store. Invariant: every file under store is what the builder in the
// tests makes of the source data, byte for byte.
package examples

import (
	"bytes"
	"embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rsmsjob/internal/river"
)

//go:embed store
var files embed.FS

// Default is what a demonstration runs when nothing else is asked for.
const (
	DefaultBasin    = "antietam"
	DefaultScenario = "1970-03-24"
)

// Scenario names an example.
type Scenario struct{ Basin, ID string }

// Scenarios lists all examples, sorted by basin and id.
func Scenarios() ([]Scenario, error) {
	paths, err := fs.Glob(files, "store/tables/Scenarios/*/*.json")
	if err != nil {
		return nil, err
	}
	var list []Scenario
	for _, p := range paths {
		parts := strings.Split(p, "/")
		list = append(list, Scenario{parts[3], strings.TrimSuffix(parts[4], ".json")})
	}
	return list, nil
}

// Store returns all examples, laid out as a folder store.
func Store() (fs.FS, error) { return fs.Sub(files, "store") }

// Write writes all examples into the folder store at dir, which is made where
// it is missing. Files that are there already are left as they are; kept names
// those that differ from the shipped ones, scenario rows by their own columns
// only, as the job writes the others.
func Write(dir string) (kept []string, err error) {
	root, err := Store()
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		have, err := os.ReadFile(to)
		switch {
		case os.IsNotExist(err):
			return writeWhole(to, data)
		case err == nil && !same(path, have, data):
			kept = append(kept, path)
		}
		return err
	})
	return kept, err
}

// writeWhole writes a file that is whole or not there.
func writeWhole(name string, data []byte) error {
	if err := os.WriteFile(name+".part", data, 0o644); err != nil {
		return err
	}
	return os.Rename(name+".part", name)
}

// same reports whether a file says what the shipped one says.
func same(path string, have, shipped []byte) bool {
	if !strings.HasPrefix(path, "tables/") {
		return bytes.Equal(have, shipped)
	}
	var mine, ours map[string]any
	if json.Unmarshal(have, &mine) != nil || json.Unmarshal(shipped, &ours) != nil {
		return false
	}
	for _, column := range river.ScenarioColumns() {
		if mine[column] != ours[column] {
			return false
		}
	}
	return true
}

// Observation is what was measured at a place: hours from the release to 10 %
// of the peak before it, to the peak, and to 10 % behind it (0 where the
// samples do not reach down to 10 %), and the peak in mg/L.
type Observation struct {
	Name                             string
	LeadHours, PeakHours, TrailHours float64
	PeakMgL                          float64
}

// Observations returns what was measured in an example, in downstream order.
func Observations(s Scenario) ([]Observation, error) {
	f, err := files.Open("store/riverbasin/" + s.Basin + "/observed.csv")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("observed.csv of %s: %w", s.Basin, err)
	}
	var list []Observation
	for _, row := range slices.DeleteFunc(rows[1:], func(r []string) bool { return r[0] != s.ID }) {
		var v [4]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(row[2+i], 64); err != nil {
				return nil, fmt.Errorf("observed.csv of %s: %w", s.Basin, err)
			}
		}
		list = append(list, Observation{Name: row[1], LeadHours: v[0], PeakHours: v[1], PeakMgL: v[2], TrailHours: v[3]})
	}
	return list, nil
}
