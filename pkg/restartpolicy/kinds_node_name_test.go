package restartpolicy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/manifest"
)

// belief lets the agent read the manifests for one name, while the pods that run
// have another.
func belief(s *node.Snapshot, believed, real string) {
	s.Settings.NodeName, s.Intent.NodeName = believed, believed
	for i := range s.Intent.Pods {
		m := &s.Intent.Pods[i]
		base := strings.TrimSuffix(m.Name.Name, "-node1")
		m.Name.Name = base + "-" + strings.ToLower(believed)
		m.Pod.Name = m.Name.Name
	}
	rename := func(name *node.PodName) {
		name.Name = strings.TrimSuffix(name.Name, "-node1") + "-" + strings.ToLower(real)
	}
	for i := range s.Runtime.Sandboxes {
		rename(&s.Runtime.Sandboxes[i].Pod)
	}
	for i := range s.Kubelet.View.Pods {
		rename(&s.Kubelet.View.Pods[i].Name)
	}
}

// Given a node whose name the agent has wrong, when all of its pods run, then
// nothing is done: no manifest stands for a pod that waits.
func TestNothingIsDoneUnderAWrongNodeName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ believed, real string }{
		"the host has a domain, the node has none":               {"node1.example.com", "node1"},
		"the node has a domain, the host has none":               {"node1", "node1.example.com"},
		"the host name went back to its default":                 {"localhost", "node1"},
		"an instance's name, and the host name of a cloud":       {"ip-10-0-0-7", "i-0abc.eu-west-1.compute.internal"},
		"OpenStack adds its domain to the host name":             {"ocp-x7k-master-0.novalocal", "ocp-x7k-master-0"},
		"the certificate is for another node":                    {"master-1", "master-0"},
		"the node's name ends like the wrong one":                {"node1", "db-node1"},
		"the node's name ends like the wrong one, with a number": {"0", "master-0"},
		"upper case, and still another name":                     {"NODE2", "node1"},
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				newWorld(1).watch(15*time.Minute, func(s *node.Snapshot, _ time.Duration) {
					addPod(s, "etcd", nil)
					belief(s, c.believed, c.real)
					see(s)
				}).quiet(t, "every pod runs, and no manifest's pod was ever meant to have the name that is looked for")
			})
		}
	}
}

// A static pod may be called after another node, for example a mirror of its
// data: what counts is how the names end.
func TestBaseNameOfAPodProvesNothingAboutTheNode(t *testing.T) {
	t.Parallel()
	newWorld(1).watch(time.Hour, func(s *node.Snapshot, _ time.Duration) {
		addPod(s, "backup-of-node2", nil)
		belief(s, "node2", "node1")
	}).quiet(t, "app-node1 and backup-of-node2-node1 run: the node is node1")
}

// Given a host that is renamed while the kubelet runs on under its old name, when
// the manifests are read for the new one, then nothing is done.
func TestRenamedHostIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "apiVersion: v1\nkind: Pod\nmetadata: {name: app, namespace: kube-system}\nspec: {containers: [{name: c0, image: x}]}\n"
	if err := os.WriteFile(filepath.Join(dir, "app.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := manifest.NewReader()
	newWorld(1).watch(time.Hour, func(s *node.Snapshot, since time.Duration) {
		name := "node1"
		if since > time.Minute {
			name = "node1.example.com"
		}
		s.Intent = r.Read(dir, name)
	}).quiet(t, "a restart would make the kubelet take the new name, and give each pod a new UID")
}

// Where the name cannot be proved, no fault whatever leads to an act.
func TestWithoutAProvedNameNoFaultLeadsToAnAct(t *testing.T) {
	t.Parallel()
	for name, fault := range curable {
		t.Run(name, func(t *testing.T) {
			w, alter := fault()
			line := w.watch(30*time.Minute, func(s *node.Snapshot, since time.Duration) {
				alter(s, since)
				s.Settings.NodeName, s.Settings.NodeNameErr = "", errors.New("two processes are kubelets: 812 and 4711")
			})
			line.quiet(t, "whose pods these are is not known")
			if !slices.ContainsFunc(line.last, func(v Verdict) bool {
				return slices.ContainsFunc(v.Inhibitors, func(i Inhibitor) bool { return i.Name == "node-name" && strings.Contains(i.Detail, "4711") })
			}) {
				t.Error("the reason does not show")
			}
		})
	}
}

// The name itself plays no part: whatever a node is called, the same happens.
func TestNameOfTheNodeChangesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"node1", "NODE1", "n", "ip-10-0-0-7.eu-west-1.compute.internal", "master-0", "1"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2)
			w.crash(0, 1)
			w.until(10*time.Minute, func(s *node.Snapshot, _ time.Duration) { belief(s, name, name) }).
				first(t, RestartKubelet, 150*time.Second, 165*time.Second)
		})
	}
}

// A pod of a former name that still runs does not hold back the cure of those
// that have the present one.
func TestOnePodOfTheProvedNameIsEnough(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	w.crash(0, 1)
	w.watch(10*time.Minute, func(s *node.Snapshot, _ time.Duration) {
		s.Runtime.Sandboxes = append(s.Runtime.Sandboxes, node.Sandbox{ID: "former", UID: "former", Ready: true, Source: "file",
			Pod: node.PodName{Namespace: "kube-system", Name: "app-localhost"}})
	}).first(t, RestartKubelet, 150*time.Second, 165*time.Second)
}
