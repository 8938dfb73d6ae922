package status

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

func sample() Status {
	soon := int64(0)
	return Status{
		APIVersion: APIVersion, Kind: Kind,
		Agent: Agent{Version: "v1", PID: 7, Looks: 3, IntervalSeconds: 5, BootID: "boot-1",
			Taken: node.Instant{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Boot: time.Hour}},
		Verdicts: []Verdict{
			{Namespace: "kube-system", Pod: "etcd-n1", Container: "etcd", State: restartpolicy.Forgotten, Next: &soon, Overdue: true},
			{Container: "kubelet.service", State: restartpolicy.Healthy},
		},
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("without a file: %v", err)
	}
	if err := Write(dir, sample()); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if diff := cmp.Diff(sample(), got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if got.Overdue() != 1 || !got.Verdicts[0].Trouble() || got.Verdicts[1].Trouble() {
		t.Errorf("%d overdue", got.Overdue())
	}
}

func TestStale(t *testing.T) {
	acting := sample()
	acting.Agent.Acting = &Acting{AtMostSeconds: 180}
	for name, c := range map[string]struct {
		s    Status
		boot string
		age  time.Duration
		want bool
	}{
		"fresh":                {sample(), "boot-1", 5 * time.Second, false},
		"three intervals late": {sample(), "boot-1", 25 * time.Second, false},
		"too late":             {sample(), "boot-1", 26 * time.Second, true},
		"of another boot":      {sample(), "boot-2", 0, true},
		"in an act":            {acting, "boot-1", 200 * time.Second, false},
		"in an act for ever":   {acting, "boot-1", 206 * time.Second, true},
	} {
		if got := c.s.Stale(c.boot, node.Instant{Boot: time.Hour + c.age}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"nodekeeper.io/v1alpha1","kind":"Status","verdicts":[{"nextInSeconds":1}]}`))
	f.Add([]byte(`{"kind":3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, Name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Read(dir)
		if err == nil && s.Kind != Kind {
			t.Errorf("kind %q", s.Kind)
		}
		s.Stale("boot-1", node.Instant{})
		s.Overdue()
	})
}
