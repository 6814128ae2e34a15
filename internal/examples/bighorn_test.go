package examples

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"
)

// bighornCase is testdata/source/wind-bighorn/case.json.
type bighornCase struct {
	Reaches []struct {
		X0    float64            `json:"x0_km"`
		X1    float64            `json:"x1_km"`
		A1    float64            `json:"A1"`
		A2    float64            `json:"A2"`
		A0    float64            `json:"A0"`
		Slope float64            `json:"slope"`
		W1    float64            `json:"W1"`
		W2    float64            `json:"W2"`
		D     map[string]float64 `json:"D_m2s"`
	}
	Releases map[string][]struct {
		X        float64 `json:"x_km"`
		Q        float64 `json:"Q_m3s"`
		Lead     float64 `json:"lead10_h"`
		Peak     float64 `json:"peak_h"`
		Trail    float64 `json:"trail10_h"`
		Mean     float64 `json:"mean_h"`
		UnitPeak float64 `json:"unit_peak_per_h"`
	}
}

const (
	releaseMarch = "WIN 3-21-71"
	releaseJune  = "WIN 6-29-71"
	bighornMass  = 100.0 // kg; the real mass is not known
)

func (c *bighornCase) stations(release string) []station {
	list := []station{{0, c.Releases[release][0].Q}}
	for _, s := range c.Releases[release] {
		list = append(list, station{s.X, s.Q})
	}
	return list
}

func bighornLayout(t *testing.T) (*layout, *bighornCase) {
	var c bighornCase
	readJSON(t, "wind-bighorn/case.json", &c)
	l := &layout{river: "Wind-Bighorn River", title: "Wind and Bighorn River dye study 1971, flows of 1971-03-21",
		gridKm: 1, lateralKm: 4, peak: 300, sites: map[string]float64{}}
	from := 0.0
	for i, r := range c.Reaches {
		to := round(r.X1, 4)
		h := hydraulics{from: from, to: to, a0: r.A0, a1: r.A1, a2: r.A2, slope: r.Slope, w1: r.W1, w2: r.W2}
		// One factor for both flows: the geometric mean of the two that the
		// dispersion coefficients give.
		product := 1.0
		for _, release := range []string{releaseMarch, releaseJune} {
			q := flowAt(c.stations(release), (from+to)/2)
			u := q / (r.A1 * math.Pow(q, r.A2))
			product *= r.D[release] / (u * u * 900)
		}
		h.dq = math.Sqrt(product)
		l.reaches = append(l.reaches, h)
		l.sites[fmt.Sprintf("B%d", i+1)] = to
		from = to
	}
	return l, &c
}

func buildBighorn(t *testing.T) map[string][]byte {
	l, c := bighornLayout(t)
	branches := map[string]any{}
	for b, r := range l.reaches {
		branches[strconv.Itoa(b+1)] = map[string]any{"dqq": round(r.dq, 4)}
	}
	start := time.Date(1971, 6, 29, 12, 0, 0, 0, time.UTC)
	scenario := func(name, when, source string, hours int) []byte {
		return document(t, map[string]any{"Name": name, "SpillRiver": l.river, "SpillMile": 0, "SpillTime": when,
			"SpillMassKg": bighornMass, "SimulationHours": hours, "TimeStepMinutes": 5, "OutputIntervalMinutes": 60,
			"FlowSource": source, "ThresholdMgL": 0.01})
	}
	return map[string][]byte{
		"riverbasin/wind-bighorn/README.md":          readText(t, "wind-bighorn.md"),
		"riverbasin/wind-bighorn/FLOW.IN":            l.flowIn(t, c.stations(releaseMarch)),
		"riverbasin/wind-bighorn/RiverMileIndex.csv": l.index(),
		"riverbasin/wind-bighorn/NFQ.csv":            l.nfq(c.stations(releaseJune), start, 48),
		"riverbasin/wind-bighorn/basin.json": document(t, map[string]any{"name": "Wind and Bighorn River, Wyoming",
			"dispersion": map[string]any{"branches": branches}}),
		"riverbasin/wind-bighorn/observed.csv":          bighornObserved(c),
		"tables/Scenarios/wind-bighorn/1971-03-21.json": scenario("Dye release of 21 March 1971, 55 m3/s", "1971-03-21T12:00:00Z", "basin", 84),
		"tables/Scenarios/wind-bighorn/1971-06-29.json": scenario("Dye release of 29 June 1971, 233 m3/s", start.Format(time.RFC3339), "nfq", 48),
	}
}

// bighornObserved turns unit peaks C*Q/M in 1/h into mg/L for the mass of the
// example.
func bighornObserved(c *bighornCase) []byte {
	var b bytes.Buffer
	b.WriteString(observedHeader)
	for _, v := range []struct{ scenario, release string }{{"1971-03-21", releaseMarch}, {"1971-06-29", releaseJune}} {
		for i, s := range c.Releases[v.release] {
			fmt.Fprintf(&b, "%s,B%d,%.3f,%.3f,%.6f,%.3f\n", v.scenario, i+1, s.Lead, s.Peak, s.UnitPeak*bighornMass/s.Q/3.6, s.Trail)
		}
	}
	return b.Bytes()
}
