package river

import (
	"testing"

	"rsmsjob/internal/reason"
)

const someHydrology = `{"contact":"duty desk, +1 555 0100","hydrology":[
 {"river":"Ohio","river_mile":20,"drainage_area_km2":300,"mean_flow_m3_s":5},
 {"river":"Ohio","river_mile":10,"drainage_area_km2":100,"mean_flow_m3_s":3},
 {"river":"Creek","river_mile":1,"drainage_area_km2":7,"mean_flow_m3_s":0.1}]}`

func TestHydrologyAt(t *testing.T) {
	b, warnings, err := ParseBasin([]byte(someHydrology), "basin.json")
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if b.Contact != "duty desk, +1 555 0100" {
		t.Errorf("contact %q", b.Contact)
	}
	for _, tt := range []struct {
		river          string
		mile           float64
		drainage, flow float64 // 0: not known there
	}{
		{"Ohio", 10, 100, 3}, {"Ohio", 20, 300, 5}, {"Ohio", 15, 200, 4}, {"Ohio", 12.5, 150, 3.5},
		{"Ohio", 9.9999, 0, 0}, {"Ohio", 20.0001, 0, 0}, {"Creek", 1, 7, 0.1}, {"Creek", 1.5, 0, 0}, {"Mud", 10, 0, 0},
	} {
		h, ok := b.HydrologyAt(tt.river, tt.mile)
		if ok != (tt.drainage > 0) || h.DrainageKm2 != tt.drainage || h.MeanFlow != tt.flow {
			t.Errorf("%s mile %v: %+v, %v", tt.river, tt.mile, h, ok)
		}
	}
	if _, ok := new(Basin).HydrologyAt("Ohio", 1); ok {
		t.Error("a basin that says nothing knows hydrology")
	}
}

func TestHydrologyFaults(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"contact":5}`, "basin.json line 1 column 12 contact: must be a string"},
		{`{"hydrology":{}}`, "basin.json line 1 column 14 hydrology: must be a list of objects with river, river_mile, drainage_area_km2 and mean_flow_m3_s"},
		{"{\"hydrology\":[\n 5]}", "basin.json line 2 column 2: must be an object"},
		{"{\"hydrology\":[ {\"river\":\"A\",\"river_mile\":1,\"drainage_area_km2\":1,\"mean_flow_m3_s\":1} ,\n\n  {}]}", "basin.json line 3 column 3 hydrology: river is missing"},
		{`{"hydrology":[{"river":"A","river_mile":1,"drainage_area_km2":0,"mean_flow_m3_s":1}]}`, "basin.json line 1 column 63 drainage_area_km2: must be a number above 0 and at most 10000000"},
		{`{"hydrology":[{"river":"A","river_mile":1,"drainage_area_km2":1,"mean_flow_m3_s":"1"}]}`, "basin.json line 1 column 82 mean_flow_m3_s: must be a number above 0 and at most 1000000"},
		{`{"hydrology":[{"river":"A","river_mile":1,"drainage_area_km2":1,"mean_flow_m3_s":1},{"river":"A","river_mile":1,"drainage_area_km2":1,"mean_flow_m3_s":1}]}`,
			"basin.json line 1 column 85 hydrology: gives a river mile twice"},
	}
	for _, tt := range tests {
		_, _, err := ParseBasin([]byte(tt.text), "basin.json")
		faults := reason.Faults(err)
		if len(faults) == 0 || faults[0].Detail() != tt.want {
			t.Errorf("%s\n got %v\nwant %s", tt.text, err, tt.want)
		}
	}
}
