package history

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

const boot = "boot-1"

func at(d time.Duration) node.Instant { return node.Instant{Boot: d} }

func remembered(looks int) restartpolicy.History {
	return restartpolicy.History{
		BootID: boot, Offset: time.Hour,
		Faults: map[string]restartpolicy.Fault{
			"down|kube-system|etcd-n1|etcd": {State: restartpolicy.InBackOff, Since: 10 * time.Minute, Looks: looks},
		},
		Manifests: map[string]restartpolicy.ManifestSeen{"kube-system/etcd-n1": {Revision: restartpolicy.Revision{Content: "d"}, Since: time.Minute}},
	}
}

func TestDeadlinesSurviveAndLooksDoNot(t *testing.T) {
	dir := t.TempDir()
	if err := New(dir, 3).Save(remembered(7)); err != nil {
		t.Fatal(err)
	}
	h, aside := New(dir, 3).Load(boot, at(20*time.Minute))
	fault := h.Faults["down|kube-system|etcd-n1|etcd"]
	if aside != "" || fault.Since != 10*time.Minute || fault.Looks != 0 {
		t.Errorf("%+v, aside %q", fault, aside)
	}
}

func TestAnotherBootStartsAfresh(t *testing.T) {
	dir := t.TempDir()
	if err := New(dir, 3).Save(remembered(7)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"boot-2", ""} {
		if h, aside := New(dir, 3).Load(id, at(20*time.Minute)); len(h.Faults) != 0 || aside != "" {
			t.Errorf("boot %q: %+v, aside %q", id, h, aside)
		}
	}
}

func TestWrittenOnlyWhenItChangesInSubstance(t *testing.T) {
	dir := t.TempDir()
	f := New(dir, 3)
	path := filepath.Join(dir, Name)
	writes := func(h restartpolicy.History) bool {
		_ = os.Remove(path)
		if err := f.Save(h); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(path)
		return err == nil
	}
	drifted := remembered(4)
	drifted.Offset += time.Millisecond
	stepped := remembered(4)
	stepped.Offset += 3 * time.Second
	for _, c := range []struct {
		what string
		h    restartpolicy.History
		want bool
	}{
		{"the first", remembered(1), true},
		{"one look more", remembered(2), true},
		{"the third look", remembered(3), true},
		{"the fourth look", remembered(4), false},
		{"a drift of the clock", drifted, false},
		{"a step of the clock", stepped, true},
	} {
		if got := writes(c.h); got != c.want {
			t.Errorf("%s: written %v, want %v", c.what, got, c.want)
		}
	}
}

func TestWhatCannotBeIsSetAside(t *testing.T) {
	future, past, text := remembered(3), remembered(3), []byte("{")
	future.Stepped = time.Hour
	past.Manifests["kube-system/etcd-n1"] = restartpolicy.ManifestSeen{Since: -time.Hour}
	for name, content := range map[string][]byte{"future": encoded(t, future), "past": encoded(t, past), "no JSON": text} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, Name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		h, aside := New(dir, 3).Load(boot, at(20*time.Minute))
		if h.BootID != "" || !strings.Contains(aside, "corrupt-1") || strings.Contains(aside, "\n") {
			t.Errorf("%s: %+v, aside %q", name, h, aside)
		}
	}
}

func encoded(t *testing.T, h restartpolicy.History) []byte {
	t.Helper()
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Whatever the file holds, nothing began before the boot, and nothing has been
// seen often enough for an act.
func FuzzLoad(f *testing.F) {
	data, err := json.Marshal(remembered(3))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"bootID":"boot-1","faults":{"x":{"since":-9223372036854775808,"looks":9}}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, Name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		h, _ := New(dir, 3).Load(boot, at(20*time.Minute))
		if h.BootID != "" && h.BootID != boot {
			t.Errorf("of boot %q", h.BootID)
		}
		for id, fault := range h.Faults {
			if fault.Since < 0 || fault.Since > 20*time.Minute || fault.Looks != 0 || fault.LastHung < 0 {
				t.Errorf("%q: %+v", id, fault)
			}
		}
		for pod, seen := range h.Manifests {
			if seen.Since < 0 || seen.Since > 20*time.Minute {
				t.Errorf("%q: %+v", pod, seen)
			}
		}
		restartpolicy.Judge(config.Default().Restart, &node.Snapshot{Taken: at(20 * time.Minute), Host: node.Host{BootID: boot}}, h)
	})
}
