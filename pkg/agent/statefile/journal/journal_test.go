package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

const boot = "boot-1"

func at(d time.Duration) node.Instant {
	return node.Instant{Wall: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(d), Boot: d}
}

func act(kind restartpolicy.StepKind, result restartpolicy.Result, when time.Duration) restartpolicy.Act {
	return restartpolicy.Act{
		BootID: boot, Began: at(when), Result: result,
		Step: restartpolicy.Step{Kind: kind, State: restartpolicy.Forgotten, Reason: "exited with code 1",
			Key: restartpolicy.Key{PodName: node.PodName{Namespace: "kube-system", Name: "etcd-n1"}, Container: "etcd"}},
	}
}

func open(t *testing.T, dir string) *Journal {
	t.Helper()
	j, aside, err := Open(dir, boot, at(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if aside != "" {
		t.Fatalf("set aside: %s", aside)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func begin(t *testing.T, j *Journal, a restartpolicy.Act) restartpolicy.Act {
	t.Helper()
	a, err := j.Begin(a)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTheLastResultOfEachActHolds(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	first := begin(t, j, act(restartpolicy.RestartKubelet, restartpolicy.ResultStarted, time.Minute))
	begin(t, j, act(restartpolicy.StopContainer, restartpolicy.ResultStarted, 2*time.Minute))
	first.Result = restartpolicy.ResultDone
	if err := j.Update(first); err != nil {
		t.Fatal(err)
	}
	want := j.Acts()
	if want[0].Result != restartpolicy.ResultDone || want[1].Result != restartpolicy.ResultStarted || want[0].ID == want[1].ID {
		t.Errorf("acts %+v", want)
	}
	if diff := cmp.Diff(want, open(t, dir).Acts()); diff != "" {
		t.Errorf("after a restart: %s", diff)
	}
	read, err := Read(dir)
	if diff := cmp.Diff(want, read); diff != "" || err != nil {
		t.Errorf("read only: %v %s", err, diff)
	}
}

func TestEveryTornEndIsTolerated(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	for range 3 {
		begin(t, j, act(restartpolicy.RestartKubelet, restartpolicy.ResultStarted, time.Minute))
	}
	data, err := os.ReadFile(j.path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range data {
		torn := t.TempDir()
		if err := os.WriteFile(filepath.Join(torn, Name), data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		j := open(t, torn)
		j.sync = unsynced
		whole := bytes.Count(data[:cut], []byte("\n"))
		begin(t, j, act(restartpolicy.StopContainer, restartpolicy.ResultStarted, 2*time.Minute))
		if got := len(open(t, torn).Acts()); got != whole+1 {
			t.Fatalf("cut at %d: %d acts, want %d", cut, got, whole+1)
		}
	}
}

func TestDryRunActsCountInADryRunOnly(t *testing.T) {
	j := open(t, t.TempDir())
	begin(t, j, act(restartpolicy.StopContainer, restartpolicy.ResultDone, time.Minute))
	begin(t, j, act(restartpolicy.RestartKubelet, restartpolicy.ResultDryRun, 2*time.Minute))
	if got := j.Ledger(false).Acts; len(got) != 1 || got[0].Kind != restartpolicy.StopContainer {
		t.Errorf("ledger %+v", got)
	}
	if got := j.Ledger(true).Acts; len(got) != 2 {
		t.Errorf("ledger of a dry run %+v", got)
	}
}

func TestAnActThatIsNotOnDiskIsNotAnnounced(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	j.sync = func(*os.File) error { return errors.New("no space left") }
	if _, err := j.Begin(act(restartpolicy.StopContainer, restartpolicy.ResultStarted, 0)); err == nil {
		t.Error("no error")
	}
	if len(j.Acts()) != 0 {
		t.Errorf("acts %+v", j.Acts())
	}
	j.sync = (*os.File).Sync
	begin(t, j, act(restartpolicy.RestartKubelet, restartpolicy.ResultStarted, time.Minute))
	if acts := open(t, dir).Acts(); len(acts) != 1 || acts[0].Kind != restartpolicy.RestartKubelet {
		t.Errorf("after a restart %+v", acts)
	}
}

func TestAJournalThatMakesNoSenseIsSetAsideAndRemembered(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, Name)
	if err := os.WriteFile(path, []byte("{\"id\":\"1\"}\n\x00\x00\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, aside, err := Open(dir, boot, at(time.Hour))
	if err != nil || !strings.Contains(aside, "line 1") || strings.Contains(aside, "\n") {
		t.Fatalf("aside %q, %v", aside, err)
	}
	defer j.Close()
	if _, err := os.Stat(path + ".corrupt-1"); err != nil {
		t.Error(err)
	}
	if n := len(j.Ledger(true).Acts); n != 0 {
		t.Errorf("%d acts count", n)
	}
	for name, c := range map[string]struct {
		boot string
		now  node.Instant
		want time.Duration
	}{
		"the same boot":        {boot, at(90 * time.Minute), 30 * time.Minute},
		"wall clock back":      {boot, node.Instant{Wall: time.Unix(0, 0), Boot: 90 * time.Minute}, 30 * time.Minute},
		"another boot":         {"boot-2", node.Instant{Wall: at(2 * time.Hour).Wall, Boot: time.Minute}, time.Hour},
		"another boot in 1970": {"boot-2", node.Instant{Wall: time.Unix(0, 0), Boot: time.Minute}, time.Minute},
	} {
		if age, lost := open(t, dir).Lost(c.boot, c.now); !lost || age != c.want {
			t.Errorf("%s: %v, %v; want %v", name, age, lost, c.want)
		}
	}
}
