package process_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// A process that starts another and ends while the supervisor looks for them
// hides it. So processes do here, one after the other in a session of their own,
// for as long as it may take to look at all there are.
func TestStraysThatHide(t *testing.T) {
	for i := range 40 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			life := newLifeline(t)
			c := supervised(t, script(t, `exec 9>"$1"
relay() {
	[ "$1" = 0 ] && exec sleep 1000
	(relay $(($1 - 1))) &
	exit
}
if [ "$2" != "" ]; then
	relay "$2"
fi
setsid "$0" "$1" $3 </dev/null >/dev/null 2>&1 &
`))
			c.Args = []string{life.path, "", fmt.Sprint(5 + 5*i)}
			if r := run(t, context.Background(), c); r.ExitCode != 0 || strings.TrimSpace(r.Tail) != "" {
				t.Fatalf("got %+v", r)
			}
			life.dead(t)
		})
	}
	noChildren(t)
}
