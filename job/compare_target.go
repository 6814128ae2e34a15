package main

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"rsmsjob/internal/compare"
	"rsmsjob/internal/message"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// target is a result that a user names.
type target struct {
	side            string // A or B
	label           string // as it was named
	dir             string // the folder store, "" for the store of the settings
	basin, scenario string // "" where the job alone is named
	job             string // "" for any
}

// storeMark stands between a folder store and what is in it. One colon would
// not do: C:ohio/42 is a path on Windows.
const storeMark = "::"

// parseTarget reads how a user names a result. Ids begin with a letter or a
// digit and have no colon, and a path here is absolute or begins with a dot, so
// nothing can be taken for something else.
func parseTarget(text string) (target, error) {
	if i := strings.LastIndex(text, storeMark); i >= 0 {
		if i == 0 {
			return target{}, usage("%s: there is no folder in front of %s", text, storeMark)
		}
		return parseIDs(text, text[:i], text[i+len(storeMark):])
	}
	if filepath.IsAbs(text) || text != "" && (text[0] == '.' || os.IsPathSeparator(text[0])) {
		return resultFolder(text)
	}
	return parseIDs(text, "", text)
}

// parseIDs reads BASIN/SCENARIO[@JOB], or JOB.
func parseIDs(text, dir, ids string) (target, error) {
	t := target{label: text, dir: dir}
	if isJob(ids) {
		t.job = ids
		return t, nil
	}
	ids, job, named := strings.Cut(ids, "@")
	basin, scenario, ok := strings.Cut(ids, "/")
	if !ok || strings.Contains(scenario, "/") || named && job == "" {
		return t, usage("%q names no result: BASIN/SCENARIO, or DIR%sBASIN/SCENARIO for one in a folder store, with @JOB behind it where it "+
			"must be of that job; a job id alone for a folder store; the path of a result's folder is absolute or begins with ./", text, storeMark)
	}
	if _, err := scenarioMessage(basin, scenario); err != nil {
		return t, usage("%q: %w", text, err)
	}
	t.basin, t.scenario, t.job = basin, scenario, job
	return t, nil
}

// isJob reports whether a text is a job id.
func isJob(text string) bool {
	m := &message.Message{Type: message.TypeRun, Version: message.Version, Basin: "any", Scenario: "any", JobID: text}
	_, err := m.Encode()
	return text != "" && err == nil
}

// resultFolder reads the path of a result in a folder store.
func resultFolder(text string) (target, error) {
	full, err := filepath.Abs(text)
	if err != nil {
		return target{}, usage("%q: %w", text, err)
	}
	basin, scenario := filepath.Dir(full), filepath.Base(full)
	results := filepath.Dir(basin)
	if filepath.Base(results) != "rsms-results" {
		return target{}, usage("%q is not the folder of a result: DIR/rsms-results/BASIN/SCENARIO of a folder store DIR, which has the rows of the plume beside it", text)
	}
	t, err := parseIDs(text, filepath.Dir(results), filepath.Base(basin)+"/"+scenario)
	return t, err
}

// resultStore is a store whose results can be compared.
type resultStore interface {
	store
	compare.Store
}

// openResults opens the store that the settings name.
func (a *app) openResults() (resultStore, error) {
	if a.config.StoreDir != "" {
		return a.openFolder()
	}
	return a.openAzure()
}

// storeOf opens the store of a target.
func (a *app) storeOf(t target) (resultStore, error) {
	if t.dir == "" {
		return a.openResults()
	}
	dir, err := filepath.Abs(t.dir)
	if err != nil {
		return nil, usage("%q: %w", t.label, err)
	}
	folder, err := storage.OpenFolder(dir)
	if err != nil {
		return nil, usage("%q: %w", t.label, err)
	}
	return folder, nil
}

// openResult opens the result of a target.
func (a *app) openResult(ctx context.Context, s resultStore, t target) (r *compare.Result, err error) {
	if t.basin == "" {
		if t.basin, t.scenario, err = a.findJob(t); err != nil {
			return nil, err
		}
	}
	err = a.first(ctx, s, "", func(ctx context.Context) (err error) {
		r, err = compare.Open(ctx, s, compare.Target{Basin: t.basin, Scenario: t.scenario, Side: t.side, Label: t.label})
		return err
	})
	if err == nil && t.job != "" && t.job != r.Marker.JobID {
		return nil, reason.New(reason.ScenarioNotFound, "%s, %s: the result that is there is of job %s; a store keeps the last result of a scenario only",
			t.side, t.label, r.Marker.JobID)
	}
	return r, err
}

// findJob looks for the result of a job in a folder store. Run records are kept
// by scenario, so this reads every result.json; an account may have too many.
func (a *app) findJob(t target) (basin, scenario string, err error) {
	dir := cmp.Or(t.dir, a.config.StoreDir)
	if dir == "" {
		return "", "", usage("%s, %s: an account is not searched for a job; name the result as BASIN/SCENARIO@%s", t.side, t.label, t.job)
	}
	root := os.DirFS(dir)
	names, err := fs.Glob(root, "rsms-results/*/*/"+publish.MarkerName)
	if err != nil {
		return "", "", err
	}
	var found []string
	for _, name := range names {
		if jobOf(root, name) == t.job {
			found = append(found, strings.TrimPrefix(path.Dir(name), "rsms-results/"))
		}
	}
	switch len(found) {
	case 0:
		return "", "", reason.New(reason.ScenarioNotFound, "%s, %s: no result is of job %s; a store keeps the last result of a scenario only, which BASIN/SCENARIO names", t.side, t.label, t.job)
	case 1:
		basin, scenario, _ = strings.Cut(found[0], "/")
		return basin, scenario, nil
	}
	return "", "", usage("%s, %s: %d results are of job %s: %s; name one of them", t.side, t.label, len(found), t.job, strings.Join(found, ", "))
}

// jobOf is the job of a result, "" where that cannot be read.
func jobOf(root fs.FS, name string) string {
	f, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	m, err := publish.ReadMarker(f)
	if err != nil {
		return ""
	}
	return m.JobID
}
