//go:build unix

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"rsmsjob/internal/message"
	"rsmsjob/internal/storage/faultproxy"
)

// A message that expires under the work is replaced by one that does not: the
// result is whole, nothing is lost, not even with the worker.
func TestMessageExpires(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		t.Run(map[bool]string{false: "worked on", true: "worker dies"}[kill], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			_, expires := w.sendFor(order("s1"), 4*time.Second)
			g, runner := newGate(t, "bltm")
			k := w.start(runner)
			g.reached()
			poll(t, "the message would have expired", func() bool { return time.Now().After(expires.Add(time.Second)) })
			if n := w.length(w.queue); n != 1 {
				t.Errorf("%d messages while it is worked on", n)
			}
			if kill {
				k.kill()
				w.drain()
			} else {
				g.open()
				k.exits(0)
			}
			w.whole("s1")
			w.settled()
			w.told("s1", "Completed", 1, 1)
		})
	}
}

// sendFor sends a message that expires, and returns its id and when it does.
func (w *world) sendFor(text string, life time.Duration) (id string, expires time.Time) {
	w.Helper()
	client, err := azqueue.NewServiceClientFromConnectionString("DefaultEndpointsProtocol=http;"+w.connection, nil)
	check(w, err)
	sent, err := client.NewQueueClient(w.names.Queue).EnqueueMessage(w.Context(), text,
		&azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr(int32(life.Seconds()))})
	check(w, err)
	return *sent.Messages[0].MessageID, *sent.Messages[0].ExpirationTime
}

// A message that is replaced by a copy stays the same job: wherever the worker
// dies, a run that was wanted by force happens once, and is told of once.
func TestCopyIsTheSameJob(t *testing.T) {
	t.Parallel()
	queue := func(w *world) string { return "/" + w.names.Queue + "/" }
	for _, tt := range []struct {
		point
		runs int // after the kill
	}{
		{point{name: "before the original goes", match: at(faultproxy.QueueSend, queue), executed: true}, 1},
		{point{name: "in mid-run", match: operation(faultproxy.TableTransaction)}, 1},
		{point{name: "before the copy goes", match: operation(faultproxy.QueueDelete), skip: 1}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			job, _ := w.sendFor(fmt.Sprintf(`{"riverbasin_id":%q,"scenario_id":"s1","force":true,"note":1.50}`, basin), 40*time.Second)
			k := w.killAt(tt.point)
			if got := k.job(); got != job && tt.name != "before the original goes" {
				t.Errorf("the first worker calls the job %q, want %q", got, job)
			}
			pollEvery(t, slow, "every message is visible", func() bool {
				n := w.length(w.queue)
				return n > 0 && len(w.peek(w.queue)) == n
			})
			copies := 0
			for _, sent := range w.peek(w.queue) {
				m, err := message.Decode([]byte(sent.Text))
				check(t, err)
				if sent.ID != job {
					copies++
					if m.JobID != job || !m.Force || m.Scenario != "s1" || fmt.Sprint(m.Metadata["note"]) != "1.50" {
						t.Errorf("the copy is %+v", m)
					}
				}
			}
			if copies != 1 {
				t.Errorf("%d copies", copies)
			}
			ran := 0
			for _, k := range w.drain() {
				if got := k.job(); got != job {
					t.Errorf("a worker calls the job %q, want %q", got, job)
				}
				if k.said("engine done") != nil {
					ran++
				}
			}
			if ran != tt.runs {
				t.Errorf("%d runs after the kill, want %d", ran, tt.runs)
			}
			w.promise("s1")
			w.isCompleted("s1", job)
			w.settled()
			if all := w.notices(); len(all) != 1 || len(all[job]) != 1 {
				t.Errorf("the done-notices are %+v", all)
			}
		})
	}
}

// job is the job that the last line of the log which knows one is of.
func (k *worker) job() string {
	k.world.Helper()
	job := ""
	for _, line := range k.log() {
		if id, ok := line["job_id"].(string); ok {
			job = id
		}
	}
	return job
}
