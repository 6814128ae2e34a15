package river

import (
	"testing"
	"time"
)

// newYork has changed its clocks on 2026-03-08 at 2:00 (to 3:00) and will on
// 2026-11-01 at 2:00 (to 1:00).
func newYork(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestParseTime(t *testing.T) { // H05
	zone := newYork(t)
	tests := []struct {
		text string
		zone *time.Location
		want string
	}{
		{"2026-01-02T03:04:05Z", nil, "2026-01-02T03:04:05Z"},
		{"2026-01-02T03:04:05Z", zone, "2026-01-02T03:04:05Z"},
		{"2026-01-02t03:04:05z", nil, "2026-01-02T03:04:05Z"},
		{"2026-01-02 03:04:05 UTC", nil, "2026-01-02T03:04:05Z"},
		{"2026-01-02 03:04Z", nil, "2026-01-02T03:04:00Z"},
		{"2026-01-02T03:04:05.999999999Z", nil, "2026-01-02T03:04:05Z"},
		{"2026-01-02T03:04:05.0000000Z", nil, "2026-01-02T03:04:05Z"},
		{"2026-01-02T03:04:05-05:00", zone, "2026-01-02T08:04:05Z"},
		{"2026-01-02T03:04:05+0530", nil, "2026-01-01T21:34:05Z"},
		{"2026-01-02 03:04:05 +14:00", nil, "2026-01-01T13:04:05Z"},
		{"2028-02-29T00:00:00-00:00", nil, "2028-02-29T00:00:00Z"},
		{"2026-01-02T03:04:05", zone, "2026-01-02T08:04:05Z"},
		{"2026-07-02 03:04", zone, "2026-07-02T07:04:00Z"},
		{"2026-07-02 03:04", time.UTC, "2026-07-02T03:04:00Z"},
		{"2026-03-08T01:59:59", zone, "2026-03-08T06:59:59Z"},
		{"2026-03-08T03:00:00", zone, "2026-03-08T07:00:00Z"},
		{"2026-11-01T00:59:59", zone, "2026-11-01T04:59:59Z"},
		{"2026-11-01T02:00:00", zone, "2026-11-01T07:00:00Z"},
		{"2026-11-01T01:30:00-04:00", zone, "2026-11-01T05:30:00Z"},
		{"1900-01-01T00:00:00Z", nil, "1900-01-01T00:00:00Z"},
		{"2200-12-31T23:59:59Z", nil, "2200-12-31T23:59:59Z"},
	}
	for _, tt := range tests {
		got, problem := parseTime(tt.text, tt.zone)
		if problem != nil {
			t.Errorf("%s: %s", tt.text, problem.problem)
			continue
		}
		if got.Location() != time.UTC || got.Format(time.RFC3339Nano) != tt.want {
			t.Errorf("%s: got %v, want %s", tt.text, got, tt.want)
		}
	}
}

func TestParseTimeProblems(t *testing.T) { // H05
	zone := newYork(t)
	const years = "must lie in the years 1900 to 2200"
	tests := []struct {
		text string
		zone *time.Location
		want timeProblem
	}{
		{"2026-01-02T03:04:05", nil, timeProblem{noZone, noZoneHint}},
		{"2026-03-08T02:30:00", zone, timeProblem{skippedTime, offsetHint}},
		{"2026-11-01T01:30:00", zone, timeProblem{doubledTime, offsetHint}},
		{"1899-12-31T23:59:59Z", nil, timeProblem{years, ""}},
		{"2201-01-01T00:00:00Z", nil, timeProblem{years, ""}},
	}
	for _, bad := range []string{"", "now", "2026-01-02", "2026-01-02T", "2026-01-02T3:04:05Z", "2026-1-2T03:04:05Z", "26-01-02T03:04:05Z",
		"2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-02T24:00:00Z", "2026-01-02T03:60:00Z", "2026-06-30T23:59:60Z",
		"2026-01-02X03:04:05Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04.5Z", "2026-01-02T03:04:05,5Z", "2026-01-02T03:04:Z", "2026-01-02T03:04:",
		"2026-01-02T03:04:05+5", "2026-01-02T03:04:05+05", "2026-01-02T03:04:05+15:00", "2026-01-02T03:04:05+05:60", "2026-01-02T03:04:05+5:000",
		"2026-01-02T03:04:05+0:500", "2026-01-02T03:04:05*05:00", "2026-01-02T03:04:05 EST", "2026-01-02T03:04:05Z ", "2026-01-02T03:04:05ZZ",
		" 2026-01-02T03:04:05Z", "02/01/2026 03:04:05", "20260102T030405Z", "2026-01-02T03:04:05é", "+026-01-02T03:04:05Z"} {
		tests = append(tests, struct {
			text string
			zone *time.Location
			want timeProblem
		}{bad, zone, timeProblem{notATime, ""}})
	}
	for _, tt := range tests {
		got, problem := parseTime(tt.text, tt.zone)
		if problem == nil {
			t.Errorf("%q: accepted as %v", tt.text, got)
		} else if *problem != tt.want {
			t.Errorf("%q: got %+v, want %+v", tt.text, *problem, tt.want)
		}
	}
}

// Every hour of a year, written without zone and read back, is itself or has
// one of the two problems of the change of clocks.
func TestParseTimeInZoneProperty(t *testing.T) {
	for _, name := range []string{"America/New_York", "Australia/Lord_Howe", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Apia"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		var doubled int
		for at := time.Date(2011, 1, 1, 0, 15, 0, 0, time.UTC); at.Year() < 2012; at = at.Add(30 * time.Minute) {
			local := at.In(zone).Format("2006-01-02T15:04:05")
			got, problem := parseTime(local, zone)
			if problem != nil && problem.problem == doubledTime {
				doubled++
			} else if problem != nil || !got.Equal(at) {
				t.Fatalf("%s in %s: got %v, %v, want %v", local, name, got, problem, at)
			}
		}
		// An hour occurs twice, so four half hours, in zones that change by one.
		want := map[string]int{"America/New_York": 4, "Australia/Lord_Howe": 2, "Europe/Berlin": 4, "Pacific/Apia": 4}
		if doubled != want[name] {
			t.Errorf("%s: %d times are given twice, want %d", name, doubled, want[name])
		}
	}
}
