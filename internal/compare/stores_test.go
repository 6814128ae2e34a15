package compare

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
)

// published publishes a draft as a run does.
func published(t *testing.T, store publish.Store, d *draft) {
	t.Helper()
	rows := func(list []plume.Row) publish.Rows {
		return func(emit func(plume.Row) error) error {
			for _, row := range list {
				if err := emit(row); err != nil {
					return err
				}
			}
			return nil
		}
	}
	byMile := byMileOf(d.Rows)
	slices.SortStableFunc(byMile, func(x, y plume.Row) int { return cmp.Compare(y.RiverMile, x.RiverMile) }) // as they are where miles fall
	_, err := publish.Publish(t.Context(), store, func() error { return nil }, func() time.Time { return start }, &publish.Result{
		ByTime: rows(d.Rows), ByMile: rows(byMile), Marker: d.Marker,
		Blobs: []publish.Blob{publish.JSON(edgeDocument, d.Edges), publish.JSON(balanceDocument, d.Balance), publish.JSON(intakeDocument, d.Intakes),
			publish.JSON(storage.RunPrefix+d.Marker.JobID+"/params.json", d.Params)}})
	if err != nil {
		t.Fatal(err)
	}
}

// The two stores keep the rows of one time in different order; a result is the
// same in both, and one without rows is one, too.
func TestStores(t *testing.T) {
	azure := azurite.Open(t, azurite.Connection(t), azurite.NewNames().Layout)
	if err := azure.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	folder, err := storage.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	both := map[string]interface {
		Store
		publish.Store
	}{"azure": azure, "folder": folder}
	empty := newDraft()
	empty.Rows = nil
	for name, d := range map[string]*draft{"some rows": randomDraft(rand.New(rand.NewPCG(8, 8))), "no rows": empty, "few rows": newDraft()} {
		var results []*Result
		for label, store := range both {
			published(t, store, d)
			r, err := Open(t.Context(), store, Target{"tiny", "s1", "A", label})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			results = append(results, r)
		}
		report, err := Results(t.Context(), results[0], results[1], Options{Abs: ptr(0.0), Rel: ptr(0.0), Scratch: scratchFile(t)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !report.Same || report.Rows.Both != len(d.Rows) || report.ByMile.Both != len(d.Rows) || !report.Inputs.Same() {
			t.Errorf("%s: %s, rows %+v, %+v, inputs %+v", name, report.verdict(), report.Rows, report.ByMile, report.Inputs)
		}
	}
	for label, store := range both {
		if _, err := Open(t.Context(), store, Target{"tiny", "s2", "A", label}); reason.Of(err) != reason.ScenarioNotFound {
			t.Errorf("%s: a result that is not there: %v", label, err)
		}
		if _, err := Open(t.Context(), store, Target{"tiny", "nul", "A", label}); reason.Of(err) != reason.EngineOutputInvalid {
			t.Errorf("%s: an id that no store takes: %v", label, err)
		}
	}
}
