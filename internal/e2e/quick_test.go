package e2e

import ("testing";"time";"rsmsjob/internal/storage/faultproxy")

func TestQuick(t *testing.T) {
	t0:=time.Now()
	ref := reference(t, nil)
	t.Log(len(ref), time.Since(t0))
	w := newWorld(t)
	w.scenario("s1", nil)
	w.send(order("s1"))
	p := w.proxy()
	t0=time.Now()
	k := w.run(via(p))
	t.Log(time.Since(t0), k.cmd.ProcessState.UserTime(), k.cmd.ProcessState.SystemTime())
	k.exits(0)
	t.Log(k.stderr.String())
	for i, r := range p.Requests() { t.Log(i, r.Service, r.Operation, r.Path, r.Status, r.At.Sub(t0)) }
	_ = faultproxy.Blob
	w.completed("s1", ref)
}
