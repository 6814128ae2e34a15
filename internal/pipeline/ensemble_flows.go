package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/reason"
)

// sharedFlows are the flows of one level: what the flow engine left in a folder.
type sharedFlows struct {
	dir   string
	names []string
	// link is set where members may have the very files: our own engines only read
	// them.
	link   bool
	forget func(ctx context.Context) // drops them from the step cache
	once   sync.Once
}

// doubt drops the flows from the step cache where a member failed on them, for which
// they may be to blame: the next ensemble computes them.
func (f *sharedFlows) doubt(ctx context.Context, err error) {
	switch reason.Of(err) {
	case reason.EngineFailed, reason.EngineTimeout, reason.EngineOutputMissing, reason.EngineOutputInvalid:
		f.once.Do(func() { f.forget(ctx) })
	}
}

// shareFlows returns, by flow level, what computes its flows: once, for the first
// member that asks. An error is that of all its members.
func (m *members) shareFlows(ctx context.Context) map[int]func() (*sharedFlows, error) {
	levels := map[int]func() (*sharedFlows, error){}
	for _, d := range m.draws {
		if levels[d.FlowLevel] == nil {
			levels[d.FlowLevel] = sync.OnceValues(func() (*sharedFlows, error) { return m.computeFlows(ctx, d) })
		}
	}
	return levels
}

func (m *members) flowsDir(level int) string {
	return filepath.Join(m.dir, fmt.Sprintf("ensemble-flows-%d", level))
}

// computeFlows computes the flows of a draw.
func (m *members) computeFlows(ctx context.Context, d ensemble.Draw) (*sharedFlows, error) {
	plan, err := m.plan(d)
	if err != nil {
		return nil, err
	}
	f := &sharedFlows{dir: m.flowsDir(d.FlowLevel), link: !m.flows.Foreign}
	if err := lay(plan, f.dir); err != nil {
		return nil, err
	}
	before, err := namesOf(f.dir)
	if err != nil {
		return nil, err
	}
	runner := m.runner(plan, m.flows)
	runner.Cache = m.steps // the next ensemble on these flows need not compute them
	f.forget = runner.Forget
	if err := runner.Run(ctx, f.dir); err != nil {
		return nil, noRoom(f.dir, err)
	}
	// A foreign engine may leave more than the flows, which another one reads.
	after, err := namesOf(f.dir)
	f.names = slices.DeleteFunc(after, func(name string) bool {
		return slices.Contains(before, name) || slices.Contains(m.flows.Logs(), name)
	})
	return f, err
}

// namesOf lists the files of a folder, and nothing else that is in it.
func namesOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "a folder of the ensemble cannot be read"}
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// into gives a member the flows, in its folder, and returns the names of the files.
func (f *sharedFlows) into(dir string) ([]string, error) {
	for _, name := range f.names {
		from, to := filepath.Join(f.dir, name), filepath.Join(dir, name)
		if f.link && os.Link(from, to) == nil {
			continue
		}
		if err := copyFile(from, to); err != nil {
			return nil, &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "the flows could not be copied for a run of the ensemble; is the disk of RSMS_WORK_DIR full?"}
		}
	}
	return f.names, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// dropFlows removes what was computed of flows.
func (m *members) dropFlows() {
	for level := range m.levels {
		m.remove(m.flowsDir(level))
	}
}
