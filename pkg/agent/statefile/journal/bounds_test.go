package journal

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

func TestTheJournalIsBoundedAndKeepsWhatBudgetsNeed(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	j.sync = unsynced
	begin(t, j, act(LostKind, restartpolicy.ResultRefused, 0))
	for i := range 300 {
		begin(t, j, act(restartpolicy.RestartKubelet, restartpolicy.ResultDone, time.Duration(i)*time.Second))
	}
	for i := range 1500 {
		begin(t, j, act(restartpolicy.StopContainer, restartpolicy.ResultRefused, time.Duration(i)*time.Second))
		if len(j.Acts()) > maxActs || j.size > maxBytes {
			t.Fatalf("%d acts, %d bytes", len(j.Acts()), j.size)
		}
	}
	real, lost := 0, false
	for _, a := range open(t, dir).Acts() {
		lost = lost || a.Kind == LostKind
		if a.Result == restartpolicy.ResultDone {
			real++
		}
	}
	if real != 300 || !lost {
		t.Errorf("%d real acts left of 300, note of a lost journal: %v", real, lost)
	}
}

// unsynced spares the disk of whoever runs the tests.
func unsynced(*os.File) error { return nil }

func TestBytesAreBoundedToo(t *testing.T) {
	j := open(t, t.TempDir())
	j.sync = unsynced
	a := act(restartpolicy.RestartKubelet, restartpolicy.ResultStarted, time.Minute)
	a.Reason, a.Evidence = strings.Repeat("x", 5000), strings.Repeat("e", 4000)
	for range 400 {
		begin(t, j, a)
	}
	info, err := os.Stat(j.path)
	if err != nil || info.Size() > maxBytes || info.Size() != j.size {
		t.Errorf("size %d, known %d, %v", info.Size(), j.size, err)
	}
	for i, kept := range j.Acts() {
		if i > 0 && len(kept.ID) < len(j.Acts()[i-1].ID) {
			t.Errorf("order: %s after %s", kept.ID, j.Acts()[i-1].ID)
		}
	}
	if last := j.Acts()[len(j.Acts())-1]; last.ID != "400" {
		t.Errorf("the newest act is %s", last.ID)
	}
}
