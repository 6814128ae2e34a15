package river

import (
	"testing"
)

func TestParseBasin(t *testing.T) {
	b, warnings, err := ParseBasin([]byte(`{"name":"Ohio Öst","time_zone":"America/New_York","intakes_threshold_mg_l":0.001,
 "dispersion":{"branches":{"3":{"dqq":0.5},"12":{"coefficient_m2_s":40},"7":{}},"dqq":0.25,"dqq_step_minutes":30}}`), "basin.json")
	if err != nil {
		t.Fatal(err)
	}
	wantWarnings(t, warnings)
	if b.Name != "Ohio Öst" || b.Zone.String() != "America/New_York" || b.ThresholdMgL != 0.001 {
		t.Errorf("got %+v", b)
	}
	for branch, want := range map[int]Dispersion{
		1:  {DispersionDQQ, 0.25, 30},
		3:  {DispersionDQQ, 0.5, 30},
		12: {DispersionCoefficient, 40, 0},
		7:  {DispersionDQQ, 0.25, 30}, // says nothing of its own
	} {
		if got := b.Dispersion(branch); got != want {
			t.Errorf("branch %d: %+v, want %+v", branch, got, want)
		}
	}
}

func TestParseBasinLittle(t *testing.T) {
	tests := []struct {
		text     string
		want     Dispersion
		warnings []string
	}{
		{`{}`, Dispersion{}, nil},
		{"\xef\xbb\xbf {}\r\n", Dispersion{}, nil},
		{`{"name":null,"time_zone":null,"intakes_threshold_mg_l":null,"dispersion":null}`, Dispersion{}, nil},
		{`{"dispersion":{"dqq":null,"branches":null,"coefficient_m2_s":0}}`, Dispersion{DispersionCoefficient, 0, 0}, nil},
		{`{"dispersion":{"dqq":1}}`, Dispersion{DispersionDQQ, 1, 15}, nil},
		{`{"dispersion":{"dqq":0}}`, Dispersion{DispersionDQQ, 0, 15}, nil},
		{"{\"Name\":\"x\",\n\"dispersion\":{\"branches\":{\n\"1\":{\"dq\":1}},\"d\":2}}", Dispersion{}, []string{
			`basin.json line 1: the name "Name" is not known and is left out`,
			`basin.json line 3: the name "dq" is not known and is left out`,
			`basin.json line 3: the name "d" is not known and is left out`}},
	}
	for _, tt := range tests {
		b, warnings, err := ParseBasin([]byte(tt.text), "basin.json")
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		wantWarnings(t, warnings, tt.warnings...)
		if got := b.Dispersion(1); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.text, got, tt.want)
		}
	}
}

// Where basin.json is missing, the zero Basin says nothing and is valid.
func TestZeroBasin(t *testing.T) {
	var b Basin
	if got := b.Dispersion(1); got != (Dispersion{}) || b.Zone != nil {
		t.Errorf("got %+v", got)
	}
	if err := b.Validate(fork()); err != nil {
		t.Error(err)
	}
}

func TestParseBasinFaults(t *testing.T) {
	const (
		zone = "time_zone: must be a time zone of the IANA database like America/New_York"
		dqq  = "dqq: must be a number from 0 to 100"
	)
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty file", "", []string{"basin.json line 1 column 1: is not JSON from here on"}},
		{"not an object", "[]", []string{"basin.json line 1 column 1: must be an object"}},
		{"comment", "{\n  // none\n}", []string{"basin.json line 2 column 3: is not JSON from here on"}},
		{"twice", "{\"name\":\"a\",\n \"name\":\"b\"}", []string{`basin.json line 2 column 2: a name is given twice (found "name")`}},
		{"types", `{"name":5,"time_zone":[],"intakes_threshold_mg_l":"1","dispersion":0.25}`, []string{
			`basin.json line 1 column 9 name: must be a string (found "5")`,
			`basin.json line 1 column 23 time_zone: must be a string (found "[]")`,
			`basin.json line 1 column 51 intakes_threshold_mg_l: must be a number above 0 and at most 1000000 (found "\"1\"")`,
			"basin.json line 1 column 68: must be an object"}},
		{"values", "{\"name\":\"a\\tb\",\"intakes_threshold_mg_l\":0,\n\"dispersion\":{\"dqq\":-1,\"dqq_step_minutes\":0,\"branches\":{\"1\":{\"coefficient_m2_s\":1e6}}}}", []string{
			`basin.json line 1 column 9 name: holds a control character (found "a\tb")`,
			`basin.json line 1 column 41 intakes_threshold_mg_l: must be a number above 0 and at most 1000000 (found "0")`,
			"basin.json line 2 column 21 " + dqq + ` (found "-1")`,
			`basin.json line 2 column 43 dqq_step_minutes: must be a number from 0.1 to 1440 (found "0")`,
			`basin.json line 2 column 81 coefficient_m2_s: must be a number from 0 to 100000 (found "1e6")`}},
		{"beyond all numbers", `{"dispersion":{"dqq":1e999}}`, []string{"basin.json line 1 column 22 " + dqq + ` (found "1e999")`}},
		{"zones", `{"time_zone":"Mars/Olympus"}`, []string{"basin.json line 1 column 14 " + zone + ` (found "Mars/Olympus")`}},
		{"zone of the machine", `{"time_zone":"Local"}`, []string{"basin.json line 1 column 14 " + zone + ` (found "Local")`}},
		{"no zone", `{"time_zone":""}`, []string{"basin.json line 1 column 14 " + zone}},
		{"path as a zone", `{"time_zone":"../../etc/passwd"}`, []string{"basin.json line 1 column 14 " + zone + ` (found "../../etc/passwd")`}},
		{"both", `{"dispersion":{"dqq":1,"coefficient_m2_s":2}}`, []string{"basin.json line 1 column 43 coefficient_m2_s: dqq and coefficient_m2_s are both given"}},
		{"branch names", `{"dispersion":{"branches":{"0":{},"x":{},"01":{},"1000":{},"2":5}}}`, []string{
			`basin.json line 1 column 28 branches: must be named by branch numbers from 1 to 999 (found "0")`,
			`basin.json line 1 column 35 branches: must be named by branch numbers from 1 to 999 (found "x")`,
			`basin.json line 1 column 42 branches: must be named by branch numbers from 1 to 999 (found "01")`,
			`basin.json line 1 column 50 branches: must be named by branch numbers from 1 to 999 (found "1000")`,
			"basin.json line 1 column 64: must be an object"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, _, err := ParseBasin([]byte(tt.text), "basin.json")
			if b != nil || err == nil {
				t.Fatalf("accepted: %+v", b)
			}
			wantFaults(t, err, tt.want...)
		})
	}
}

func TestBasinValidate(t *testing.T) {
	b, _, err := ParseBasin([]byte("{\"dispersion\":{\"dqq\":1,\"branches\":{\"3\":{\"dqq\":1},\n \"4\":{\"dqq\":1}}}}"), "basin.json")
	if err != nil {
		t.Fatal(err)
	}
	wantFaults(t, b.Validate(fork()), "basin.json line 2 column 2 branches: branch 4 is not in the network, which has the branches 1 to 3")
}
