package scalesim

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestTimelineIsInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var line timeline[int]
	inside := 0
	lastAt, last := time.Duration(-1), -1
	for put := 0; put < 5000 || inside > 0; {
		if put < 5000 && (inside == 0 || random.IntN(2) == 0) {
			line.put(max(lastAt, 0)+time.Duration(random.IntN(5)), put)
			put++
			inside++
			continue
		}
		at, what := line.take()
		inside--
		if at < lastAt || at == lastAt && what < last {
			t.Fatalf("%d at %d after %d at %d", what, at, last, lastAt)
		}
		lastAt, last = at, what
	}
	if line.due(1 << 62) {
		t.Error("an empty line has something due")
	}
}
