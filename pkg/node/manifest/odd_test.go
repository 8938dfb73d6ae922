package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func TestWhatTheKubeletTakesUpAndNeverRuns(t *testing.T) {
	for text, names := range map[string]string{
		"apiVersion: v1\nkind: Pod\nmetadata: {name: x-n, uid: u, annotations: {kubernetes.io/config.mirror: abc}}\nspec: {nodeName: other, containers: [{name: a, image: i}]}\n":  "metadata.annotations[kubernetes.io/config.mirror]",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: x-n, annotations: {kubernetes.io/config.mirror: ''}}\nspec: {containers: [{name: a, image: i, imagePullPolicy: Allways}]}\n":  "kubernetes.io/config.mirror",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: x-n, deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 30}\nspec: {containers: [{name: a, image: i}]}\n": "metadata.deletionTimestamp",
	} {
		intent := read(t, readerFor("1.33.1"), text)
		if len(intent.Problems) != 1 {
			t.Errorf("%d pods of\n%s", len(intent.Pods), text)
			continue
		}
		p := intent.Problems[0]
		if p.Kind != node.ProblemRefused || p.Pod.Name != "x-n-n" || !strings.Contains(p.Message, names) || !strings.Contains(p.Message, "never runs it; remove the") {
			t.Errorf("problem %+v", p)
		}
	}
}

// A status does nothing: the kubelet makes every phase Pending.
func TestAStatusInAManifestIsNoProblem(t *testing.T) {
	for _, version := range everyVersion() {
		onlyPodOf(t, read(t, readerFor(version), mainOf("")+"status: {phase: Failed, reason: Evicted, containerStatuses: [{name: main, ready: false, restartCount: 7}]}\n"), "default/x-n")
	}
}

func TestOneThatNeverRunsTakesTheNameOfOneThatWould(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "a.yaml", mainOf(""))
	odd := write(t, dir, "b.yaml", strings.Replace(mainOf(""), "{name: x}", "{name: x, deletionTimestamp: '2026-01-01T00:00:00Z'}", 1))

	intent := readerFor("1.33.1").Read(dir, "n")

	if len(intent.Pods) != 0 || len(intent.Problems) != 2 {
		t.Fatalf("%d pods, problems %+v", len(intent.Pods), intent.Problems)
	}
	if a, b := intent.Problems[0], intent.Problems[1]; a.Path != good || a.Kind != node.ProblemDuplicate || b.Path != odd || b.Kind != node.ProblemRefused {
		t.Errorf("problems %+v", intent.Problems)
	}
}

func TestARefusedFileTakesNoName(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", mainOf(""))
	write(t, dir, "b.yaml", mainOf("imagePullPolicy: Allways"))
	if m := onlyPod(t, readerFor("1.33.1").Read(dir, "n")); filepath.Base(m.Path) != "a.yaml" {
		t.Errorf("path %s", m.Path)
	}
}

func TestTwoPodsOfOneUID(t *testing.T) {
	dir := t.TempDir()
	of := func(name, uid string) string {
		return strings.Replace(mainOf(""), "{name: x}", "{name: "+name+", uid: "+uid+"}", 1)
	}
	a := write(t, dir, "a.yaml", of("one", "u1"))
	b := write(t, dir, "b.yaml", of("two", "u1"))
	write(t, dir, "c.yaml", of("three", "u2"))
	write(t, dir, "d.yaml", of("four", "''"))
	write(t, dir, "e.yaml", of("five", "''"))
	write(t, dir, "c.yaml.bak", of("three", "u2")) // the same pod: its name decides

	intent := readerFor("1.33.1").Read(dir, "n")

	var pods []string
	for _, m := range intent.Pods {
		pods = append(pods, m.Pod.Name)
	}
	if got := strings.Join(pods, " "); got != "three-n four-n five-n" {
		t.Errorf("pods %s", got)
	}
	for i, want := range []struct{ path, pod, other string }{{a, "one-n", b}, {b, "two-n", a}} {
		p := intent.Problems[i]
		if p.Path != want.path || p.Kind != node.ProblemDuplicate || p.Pod.Name != want.pod || !strings.Contains(p.Message, `"u1"`) || !strings.Contains(p.Message, want.other) {
			t.Errorf("problem %+v", p)
		}
	}
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	if got := len(readerFor("1.33.1").Read(dir, "n").Pods); got != 4 {
		t.Errorf("%d pods after one of the two is gone", got)
	}
}

// A pod whose file cannot be read so far still has a manifest.
func TestAProblemRemembersWhosFileItIs(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "m.yaml", manifestOf("etcd", "kube-system", ""))
	r := later(NewReader())
	onlyPod(t, r.Read(dir, "n"))
	for _, text := range []string{"half: [", "", "half: [written"} {
		write(t, dir, "m.yaml", text)
		if p := r.Read(dir, "n").Problems; len(p) != 1 || p[0].Pod.String() != "kube-system/etcd-n" {
			t.Fatalf("problems %+v", p)
		}
		r.For("1.33.1")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	link(t, "/root/of/nobody", path)
	if p := r.Read(dir, "n").Problems; len(p) != 1 || p[0].Kind != node.ProblemHidden || p[0].Pod.String() != "kube-system/etcd-n" {
		t.Fatalf("problems %+v", p)
	}
}
