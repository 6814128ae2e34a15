package pipeline

import (
	"strings"
	"testing"

	"rsmsjob/internal/reason"
)

// A full disk is the cause of what an engine left undone, and passes.
func TestFullDisk(t *testing.T) {
	for _, code := range reason.Codes() {
		err := reason.New(code, "what the engine did")
		if got := withFree(leastRoom, err); got != err {
			t.Errorf("%s with room: %v", code, got)
		}
		got := withFree(leastRoom-1, err)
		switch code {
		case reason.EngineFailed, reason.EngineOutputMissing, reason.EngineOutputInvalid:
			if detail := reason.Detail(got); reason.Of(got) != reason.StorageUnavailable || !strings.Contains(detail, "RSMS_WORK_DIR is full") || !strings.Contains(detail, "what the engine did") {
				t.Errorf("%s without room: %s %s", code, reason.Of(got), detail)
			}
		default:
			if got != err {
				t.Errorf("%s without room: %v", code, got)
			}
		}
	}
	if withFree(0, nil) != nil {
		t.Error("a run that went well failed")
	}
	if err := noRoom(t.TempDir(), nil); err != nil {
		t.Error(err)
	}
}
