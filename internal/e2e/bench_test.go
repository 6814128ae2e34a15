//go:build unix

package e2e

import (
	"testing"
	"time"

	"rsmsjob/internal/storage/faultproxy"
)

// BenchmarkEmptyQueue is a whole process that finds nothing to do: C05, C23.
// requests is what it sent before its end.
func BenchmarkEmptyQueue(b *testing.B) {
	w := newWorld(b)
	p := w.proxy()
	n := 0
	for b.Loop() {
		w.start(via(p)).exits(0)
		n++
	}
	b.ReportMetric(float64(p.Count(faultproxy.Match{}))/float64(n), "requests")
}

// BenchmarkQueueRun is a whole process that takes a message of the shipped
// example to its end. overhead-% is how much of its wall time is neither in the
// engines nor in publishing: start, claim, inputs, check, records, end.
func BenchmarkQueueRun(b *testing.B) {
	w := newWorld(b, longLease)
	w.startWith([]string{"init", "--examples"}).exits(0)
	var wall, work, publish time.Duration
	for b.Loop() {
		w.send(`{"riverbasin_id":"antietam","scenario_id":"1970-03-24","force":true}`)
		began := time.Now()
		k := w.start()
		k.exits(0)
		wall += time.Since(began)
		line := k.said("summary")
		for _, step := range []string{"daflow", "bltm", "ctplt", "cxplt"} {
			work += seconds(line["seconds_"+step])
		}
		publish += seconds(line["seconds_publish"])
	}
	b.ReportMetric(100*float64(wall-work-publish)/float64(wall), "overhead-%")
	b.ReportMetric(100*float64(work)/float64(wall), "engines-%")
	b.ReportMetric(100*float64(publish)/float64(wall), "publish-%")
}

func seconds(value any) time.Duration {
	s, _ := value.(float64)
	return time.Duration(s * float64(time.Second))
}
