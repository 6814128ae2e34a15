package plume_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/plume"
)

func TestMileKey(t *testing.T) {
	tests := []struct {
		mile float64
		want string
	}{
		{0, "0000.0000"}, {math.Copysign(0, -1), "0000.0000"}, {0.0001, "0000.0001"}, {1, "0001.0000"}, {9.99995, "0010.0000"},
		{981.1, "0981.1000"}, {9999.9999, "9999.9999"},
	}
	for _, tt := range tests {
		if got := plume.MileKey(tt.mile); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.mile, got, tt.want)
		}
	}
}

// The keys are what the verbs of fmt make of their values.
func TestKeysProperty(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	miles := []float64{0, 0.00005, 0.99995, 9.99995, 999.99995, 9999.99994, 9999.99996, 1e5, 1e9, 1e21, -1, -0.00001, 5e-324, math.NaN(), math.Inf(1), math.Inf(-1)}
	branches := []int{0, 1, 9, 10, 99, 100, 999, 1000, -1, math.MaxInt, math.MinInt}
	for range 20_000 {
		miles = append(miles, random.Float64()*math.Pow(10, float64(random.IntN(7)-1)), float64(random.IntN(1e8))/1e4)
		branches = append(branches, random.IntN(1000))
	}
	prefix := []byte("ohio|42|")
	for _, mile := range miles {
		want := string(prefix) + fmt.Sprintf("%09.4f", mile)
		if got := string(plume.AppendMileKey(prefix[:len(prefix):len(prefix)], mile)); got != want || "ohio|42|"+plume.MileKey(mile) != want {
			t.Fatalf("mile %v: %s, want %s", mile, got, want)
		}
	}
	for _, branch := range branches {
		if got, want := plume.BranchKey(branch), fmt.Sprintf("%03d", branch); got != want {
			t.Fatalf("branch %d: %s, want %s", branch, got, want)
		}
	}
}

// The text order of keys is the order of what they stand for, and two miles of
// an index, which are whole ten-thousandths, never share a key.
func TestKeyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	start := time.Date(1899, 12, 31, 23, 0, 0, 0, time.UTC)
	for range 4000 {
		a, b := random.IntN(1e8), random.IntN(1e8)
		if random.IntN(4) == 0 {
			b = min(a+random.IntN(3), 1e8-1) // near neighbours
		}
		ka, kb := plume.MileKey(float64(a)/1e4), plume.MileKey(float64(b)/1e4)
		if strings.Compare(ka, kb) != cmp.Compare(a, b) || len(ka) != 9 {
			t.Fatalf("miles %d, %d ten-thousandths: keys %s, %s", a, b, ka, kb)
		}
		ta, tb := start.Add(time.Duration(a)*time.Minute), start.Add(time.Duration(b)*time.Minute)
		if strings.Compare(plume.TimeKey(ta), plume.TimeKey(tb)) != cmp.Compare(a, b) {
			t.Fatalf("times %v, %v: keys %s, %s", ta, tb, plume.TimeKey(ta), plume.TimeKey(tb))
		}
		ba, bb := 1+a%999, 1+b%999
		if strings.Compare(plume.BranchKey(ba), plume.BranchKey(bb)) != cmp.Compare(ba, bb) {
			t.Fatalf("branches %d, %d: keys %s, %s", ba, bb, plume.BranchKey(ba), plume.BranchKey(bb))
		}
	}
}

func TestTimeKey(t *testing.T) {
	berlin := time.FixedZone("", 2*3600)
	tests := []struct {
		time time.Time
		want string
	}{
		{time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), "20260102T030000Z"},
		{time.Date(2026, 1, 2, 1, 4, 5, 999, berlin), "20260101T230405Z"}, // H05
		{time.Date(1969, 5, 27, 23, 59, 59, 0, time.UTC), "19690527T235959Z"},
	}
	for _, tt := range tests {
		if got := plume.TimeKey(tt.time); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.time, got, tt.want)
		}
	}
}

func TestRowKeys(t *testing.T) {
	r := plume.Row{River: "Wind River", RiverMile: 12.5, Branch: 3, Grid: 9, Time: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)}
	partition, row := r.ByTimeKeys("ohio", "42")
	if partition != "ohio|42|20260102T030000Z" || row != "Wind River|0012.5000|003" {
		t.Errorf("by time: %s, %s", partition, row)
	}
	partition, row = r.ByMileKeys("ohio", "42")
	if partition != "ohio|42|Wind River|0012.5000" || row != "20260102T030000Z|003" {
		t.Errorf("by mile: %s, %s", partition, row)
	}
}

// C86, C87, C89: keys hold nothing that a table or an address would need
// escaped but the bar, and rows that differ in place, time or scenario differ
// in keys.
func TestRowKeysProperty(t *testing.T) {
	allowed := regexp.MustCompile(`^[A-Za-z0-9 ._|-]{1,512}$`)
	random := rand.New(rand.NewPCG(7, 8))
	name := func(alphabet string) string {
		b := []byte{alphabet[0]}
		for range random.IntN(3) {
			b = append(b, alphabet[random.IntN(len(alphabet))])
		}
		return string(b)
	}
	type cell struct {
		basin, scenario, river string
		mile, branch, hour     int
	}
	byTime, byMile := map[[2]string]cell{}, map[[2]string]cell{}
	for range 4000 {
		c := cell{name("a.-_1"), name("1.-_a"), name("R _-.1"), random.IntN(4), 1 + random.IntN(3), random.IntN(4)}
		row := plume.Row{River: c.river, RiverMile: float64(c.mile) / 1e4, Branch: c.branch, Grid: 1 + random.IntN(9),
			Time: time.Date(2026, 1, 1, c.hour, 0, 0, 0, time.UTC)}
		for table, keys := range map[*map[[2]string]cell]func(string, string) (string, string){&byTime: row.ByTimeKeys, &byMile: row.ByMileKeys} {
			var key [2]string
			key[0], key[1] = keys(c.basin, c.scenario)
			if !allowed.MatchString(key[0]) || !allowed.MatchString(key[1]) {
				t.Fatalf("keys %q", key)
			}
			if other, taken := (*table)[key]; taken && other != c {
				t.Fatalf("%+v and %+v share the keys %q", c, other, key)
			}
			(*table)[key] = c
		}
	}
}

func BenchmarkRowKeys(b *testing.B) {
	r := plume.Row{River: "Ohio", RiverMile: 512.25, Branch: 1, Time: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)}
	var key []byte
	b.ReportAllocs()
	for b.Loop() {
		key = r.AppendByTimePartition(key[:0], "ohio", "42")
		key = r.AppendByTimeRow(key[:0])
		key = r.AppendByMilePartition(key[:0], "ohio", "42")
		key = r.AppendByMileRow(key[:0])
	}
}
