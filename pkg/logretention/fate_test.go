package logretention

import (
	"errors"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/ending"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func TestFate(t *testing.T) {
	name := node.PodName{Namespace: "kube-system", Name: "etcd"}
	end := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	before, after := end.Add(-time.Minute), end.Add(time.Minute)
	manifest := func(digest string, modified time.Time) node.Intent {
		return node.Intent{Pods: []node.Manifest{{Name: name, Digest: digest, Modified: modified}}}
	}
	own := node.Sandbox{ID: "s1", Pod: name, UID: "uid1", CreatedAt: before}
	sandboxes := func(more ...node.Sandbox) node.Runtime { return node.Runtime{Sandboxes: append(more, own)} }
	view := func(uid string) node.Kubelet {
		return node.Kubelet{View: node.View{Source: node.ViewPods, Pods: []node.PodView{{Name: name, UID: uid}}}}
	}
	tests := []struct {
		name     string
		snapshot *node.Snapshot
		digest   string
		byURL    bool
		finished time.Time
		want     ending.Fate
	}{
		{"no look yet", nil, "d1", false, end, ending.FateUnknown},
		{"as it was", &node.Snapshot{Intent: manifest("d1", before)}, "d1", false, end, ending.Stays},
		{"first seen without its manifest", &node.Snapshot{Intent: manifest("d1", before)}, "", false, end, ending.FateUnknown},
		{"changed", &node.Snapshot{Intent: manifest("d2", before)}, "d1", false, end, ending.Replaced},
		{"changed in the same moment", &node.Snapshot{Intent: manifest("d2", end.Add(coarse))}, "d1", false, end, ending.Replaced},
		{"changed after the end", &node.Snapshot{Intent: manifest("d2", after)}, "d1", false, end, ending.Stays},
		{"changed, end unknown", &node.Snapshot{Intent: manifest("d2", after)}, "d1", false, time.Time{}, ending.Replaced},
		{"removed", &node.Snapshot{}, "d1", false, end, ending.Removed},
		{"of a URL", &node.Snapshot{}, "", true, end, ending.FateUnknown},
		{"directory not listed", &node.Snapshot{Intent: node.Intent{Err: errors.New("EIO")}}, "d1", false, end, ending.FateUnknown},
		{"file does not parse", &node.Snapshot{Intent: node.Intent{Problems: []node.ManifestProblem{{Kind: node.ProblemUnparsable, Pod: name}}}},
			"d1", false, end, ending.FateUnknown},
		{"a file of nobody knows whom", &node.Snapshot{Intent: node.Intent{Problems: []node.ManifestProblem{{Kind: node.ProblemUnreadable}}}},
			"d1", false, end, ending.FateUnknown},
		{"its UID is another pod's too", &node.Snapshot{Intent: node.Intent{Problems: []node.ManifestProblem{{Kind: node.ProblemDuplicate, Pod: name}}}},
			"d1", false, end, ending.FateUnknown},
		{"another pod's file", &node.Snapshot{Intent: node.Intent{Problems: []node.ManifestProblem{{Kind: node.ProblemUnparsable, Pod: node.PodName{Name: "x"}}}}},
			"d1", false, end, ending.Removed},
		{"the kubelet has another UID", &node.Snapshot{Intent: manifest("d2", before), Kubelet: view("uid2")}, "", false, end, ending.Replaced},
		{"the kubelet has this UID", &node.Snapshot{Intent: manifest("d1", before), Kubelet: view("uid1")}, "d1", false, end, ending.Stays},
		{"a newer sandbox", &node.Snapshot{Intent: manifest("d2", before), Runtime: sandboxes(node.Sandbox{ID: "s2", Pod: name, UID: "uid2", CreatedAt: end})},
			"", false, end, ending.Replaced},
		{"an older sandbox", &node.Snapshot{Intent: manifest("d1", before), Runtime: sandboxes(node.Sandbox{ID: "s0", Pod: name, UID: "uid0", CreatedAt: before.Add(-time.Hour)})},
			"d1", false, end, ending.Stays},
		{"a newer sandbox of a URL", &node.Snapshot{Runtime: sandboxes(node.Sandbox{ID: "s2", Pod: name, UID: "uid2", CreatedAt: end})},
			"", true, end, ending.Replaced},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := &attempt{digest: tt.digest, byURL: tt.byURL, birth: record.Birth{
				Attempt: record.Attempt{Namespace: name.Namespace, Pod: name.Name, PodUID: "uid1", SandboxID: "s1"}, Seen: before,
			}}
			if got := fate(tt.snapshot, a, tt.finished); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestAKillTooSoonForTheKubelet(t *testing.T) {
	changed := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a := &attempt{birth: record.Birth{Attempt: record.Attempt{Namespace: "kube-system", Pod: "app"}}}
	snap := &node.Snapshot{Intent: node.Intent{Pods: []node.Manifest{{Name: a.podName(), Modified: changed}}}}
	for name, is := range map[string]struct {
		grace time.Duration
		after time.Duration
		want  bool
	}{
		"within the grace period": {30 * time.Second, 5 * time.Second, true},
		"after it":                {30 * time.Second, 31 * time.Second, false},
		"about its end":           {30 * time.Second, 29 * time.Second, false},
		"before the change":       {30 * time.Second, -time.Second, false},
		"no grace known":          {-1, time.Second, false},
	} {
		a.seen.Grace = is.grace
		if got := tooSoon(snap, a, changed.Add(is.after)); got != is.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	a.seen.Grace = 30 * time.Second
	if tooSoon(&node.Snapshot{}, a, changed.Add(time.Second)) || tooSoon(nil, a, changed) || tooSoon(snap, a, time.Time{}) {
		t.Error("too soon for what is not known")
	}
}
