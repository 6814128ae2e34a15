package examples

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/plume"
)

// antietamCase is testdata/source/antietam/case.json.
type antietamCase struct {
	Reaches map[string][]struct {
		X0    float64 `json:"x0_km"`
		X1    float64 `json:"x1_km"`
		Q     float64 `json:"Q_m3s"`
		A     float64 `json:"A_m2"`
		Slope float64 `json:"slope"`
		D     float64 `json:"D_m2s"`
	}
	Releases map[string]struct {
		Mass  float64 `json:"mass_kg"`
		Sites []struct {
			Label    string
			Peak     float64 `json:"peak_h"`
			Recovery float64 `json:"recovery"`
			X        float64 `json:"x_river_km"`
			Q        float64 `json:"Q_m3s"`
		}
	}
}

const (
	release1970 = "ANT 3-24-70"
	release1969 = "ANT 5-27-69"
)

func antietamLayout(t *testing.T) (*layout, *antietamCase) {
	var c antietamCase
	readJSON(t, "antietam/case.json", &c)
	l := &layout{river: "Antietam Creek", title: "Antietam Creek dye studies 1969-70, flows of 1970-03-24", gridKm: 0.5,
		lateralKm: 1, peak: 15, sites: map[string]float64{}}
	for _, s := range c.Releases[release1970].Sites {
		l.sites[strings.TrimPrefix(s.Label, release1970+" ")] = s.X
	}
	// The areas of 1969 are known for two stretches only. The upper one covers
	// three reaches of 1970: each gets the share it had of the mean area then.
	low := c.Reaches[release1969]
	var volume float64
	for _, r := range c.Reaches[release1970][:3] {
		volume += r.A * (r.X1 - r.X0)
	}
	mean := volume / low[0].X1
	const a2 = 0.66
	for i, r := range c.Reaches[release1970] {
		h := hydraulics{from: round(r.X0, 4), to: round(r.X1, 4), a2: a2, slope: r.Slope, w1: 14.2, w2: 0.26, dq: r.D}
		switch {
		case i < 3:
			h.a0, h.a1 = throughBoth(low[0].Q, low[0].A*r.A/mean, r.Q, r.A, a2)
		case i == 3:
			h.a0, h.a1 = throughBoth(low[1].Q, low[1].A, r.Q, r.A, a2)
		default:
			// No low flow was measured here: the part of A0 is that of reach 4.
			part := l.reaches[3].a0 / c.Reaches[release1970][3].A
			h.a0 = part * r.A
			h.a1 = (1 - part) * r.A / math.Pow(r.Q, a2)
		}
		h.a0, h.a1 = significant(h.a0), significant(h.a1)
		l.reaches = append(l.reaches, h)
	}
	return l, &c
}

// throughBoth solves A = A0 + A1*Q^a2 through two measured areas.
func throughBoth(q, a, qHigh, aHigh, a2 float64) (a0, a1 float64) {
	a1 = (aHigh - a) / (math.Pow(qHigh, a2) - math.Pow(q, a2))
	return a - a1*math.Pow(q, a2), a1
}

func stationsOf(c *antietamCase, release string) []station {
	sites := c.Releases[release].Sites
	list := []station{{0, sites[0].Q}}
	for _, s := range sites {
		list = append(list, station{s.X, s.Q})
	}
	return list
}

func buildAntietam(t *testing.T) map[string][]byte {
	l, c := antietamLayout(t)
	branches := map[string]any{}
	for b, r := range l.reaches {
		branches[strconv.Itoa(b+1)] = map[string]any{"coefficient_m2_s": r.dq}
	}
	start := time.Date(1969, 5, 27, 12, 0, 0, 0, time.UTC)
	scenario := func(name, when, release string, more map[string]any) []byte {
		s := map[string]any{"Name": name, "SpillRiver": l.river, "SpillMile": 0, "SpillTime": when,
			"SpillMassKg": c.Releases[release].Mass, "SimulationHours": 72, "TimeStepMinutes": 3,
			"OutputIntervalMinutes": 30, "ConcentrationTolerance": 0.0001, "ThresholdMgL": 0.001}
		for k, v := range more {
			s[k] = v
		}
		return document(t, s)
	}
	return map[string][]byte{
		"riverbasin/antietam/README.md":          readText(t, "antietam.md"),
		"riverbasin/antietam/FLOW.IN":            l.flowIn(t, stationsOf(c, release1970)),
		"riverbasin/antietam/RiverMileIndex.csv": l.index(),
		"riverbasin/antietam/NFQ.csv":            l.nfq(stationsOf(c, release1969), start, 96),
		"riverbasin/antietam/basin.json": document(t, map[string]any{"name": "Antietam Creek, Maryland",
			"dispersion": map[string]any{"branches": branches}}),
		"riverbasin/antietam/observed.csv": antietamObserved(t),
		"tables/Scenarios/antietam/1970-03-24.json": scenario("Dye release of 24 March 1970, with the loss of dye",
			"1970-03-24T12:00:00Z", release1970, map[string]any{"HalfLifeHours": 33}),
		"tables/Scenarios/antietam/1970-03-24-conservative.json": scenario("Dye release of 24 March 1970, as if no dye were lost",
			"1970-03-24T12:00:00Z", release1970, nil),
		"tables/Scenarios/antietam/1969-05-27.json": scenario("Dye release of 27 May 1969 at low flow, with the loss of dye",
			start.Format(time.RFC3339), release1969, map[string]any{"HalfLifeHours": 33, "FlowSource": "nfq", "SimulationHours": 96,
				"TimeStepMinutes": 10}),
	}
}

// sample is one water sample of the source, µg/L; conservative is NaN where the
// source has none.
type sample struct{ hours, observed, conservative float64 }

// samplesOf reads the samples of a release by site.
func samplesOf(t *testing.T, release string) (sites []string, samples map[string][]sample) {
	f, err := os.Open("testdata/source/antietam/curves.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	samples = map[string][]sample{}
	for _, row := range rows[1:] {
		if row[at["release"]] != release {
			continue
		}
		value := func(column string) float64 {
			if row[at[column]] == "" {
				return math.NaN()
			}
			v, err := strconv.ParseFloat(row[at[column]], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		site := strings.TrimPrefix(row[at["label"]], release+" ")
		if samples[site] == nil {
			sites = append(sites, site)
		}
		samples[site] = append(samples[site], sample{value("t_h"), value("C_obs_ugL"), value("C_conservative_ugL")})
	}
	return sites, samples
}

// curve is the observed curve of a site in mg/L times a factor.
func curve(samples []sample, factor float64) *plume.Curve {
	c := &plume.Curve{}
	for _, s := range samples {
		c.Add(s.hours, s.observed*factor/1000)
	}
	return c
}

// conservativeFactor is what the conservative column of a site was multiplied
// by: one number per site, so that the mass is the same at all of them. The
// median is taken because single values of the column are mistyped in the source
// (S5: 70.97 for 20.97, 70.38 for 20.38, 3.57 for 9.57, and one blank).
func conservativeFactor(samples []sample) float64 {
	var ratios []float64
	for _, s := range samples {
		if s.observed > 0 && !math.IsNaN(s.conservative) {
			ratios = append(ratios, s.conservative/s.observed)
		}
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

func antietamObserved(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString(observedHeader)
	for _, v := range []struct {
		scenario, release string
		conservative      bool
	}{
		{"1969-05-27", release1969, false},
		{"1970-03-24", release1970, false},
		{"1970-03-24-conservative", release1970, true},
	} {
		sites, samples := samplesOf(t, v.release)
		for _, site := range sites {
			factor := 1.0
			if v.conservative {
				factor = conservativeFactor(samples[site])
			}
			s := plume.ShapeOf(curve(samples[site], factor))
			fmt.Fprintf(&b, "%s,%s,%.3f,%.3f,%.6f,%.3f\n", v.scenario, site, s.LeadHours, s.PeakHours, s.PeakMgL, s.TrailHours)
		}
	}
	return b.Bytes()
}
