package manifests

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/manifest"
)

var (
	seed  = flag.Uint64("seed", 137, "of the generated pods")
	cases = flag.Int("cases", 2_000, "how many pods are generated for each set of feature gates")
)

// gateSets are the defaults, and each gate that a rule asks for, the other way.
var gateSets = []map[string]bool{
	{},
	{"ContainerRestartRules": false, "RestartAllContainersOnContainerExits": false},
	{"RestartAllContainersOnContainerExits": false},
	{"TaintTolerationComparisonOperators": true, "UserNamespacesHostNetworkSupport": true},
}

// TestNothingIsRefusedThatTheKubeletRuns: whatever the reader refuses, the
// kubelet refuses too; and it says how much of what the kubelet refuses the
// reader finds, by the kind of mistake.
func TestNothingIsRefusedThatTheKubeletRuns(t *testing.T) {
	for i, gates := range gateSets {
		t.Run(fmt.Sprint(gates), func(t *testing.T) {
			overrides := featuregatetesting.FeatureOverrides{}
			for name, on := range gates {
				overrides[featuregate.Feature(name)] = on
			}
			featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, overrides)
			dir, kinds := t.TempDir(), map[string]string{}
			g := generator{rand.New(rand.NewPCG(*seed, uint64(i)))}
			for i := range *cases {
				pod, kind := g.pod(i), mistakes[g.IntN(len(mistakes))]
				kind.make(g, pod)
				kinds[fileOf(i)] = kind.kind
				write(t, dir, i, asYAML(t, pod))
			}
			kubelet := takenFrom(t, dir)
			ours := readerOf(gates).Read(dir, nodeName)
			for _, p := range ours.Problems {
				if kubelet.refused[filepath.Base(p.Path)] == "" {
					t.Errorf("the kubelet runs it: %s", p.Message)
				}
			}
			for _, m := range ours.Pods {
				if m.Doubt != "" {
					t.Errorf("all is known, and there is a doubt about %s: %s", m.Path, m.Doubt)
				}
			}
			report(t, kubelet, ours, kinds)
			knowsLess(t, kubelet, ours, manifest.NewReader().Read(dir, nodeName))
		})
	}
}

func readerOf(gates map[string]bool) *manifest.Reader {
	r := manifest.NewReader()
	r.For(version)
	r.Gates(gates, true)
	return r
}

func fileOf(i int) string { return fmt.Sprintf("%06d.yaml", i) }

func write(t *testing.T, dir string, i int, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, fileOf(i)), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func asYAML(t *testing.T, pod *corev1.Pod) []byte {
	t.Helper()
	text, err := yaml.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// knowsLess: a reader that does not know the version refuses nothing that runs,
// and does not call acceptable what is refused for the version's sake.
func knowsLess(t *testing.T, kubelet taken, ours, unknown node.Intent) {
	t.Helper()
	refused := map[string]string{}
	for _, p := range ours.Problems {
		refused[p.Path] = p.Message
	}
	for _, p := range unknown.Problems {
		if kubelet.refused[filepath.Base(p.Path)] == "" {
			t.Errorf("without a version: the kubelet runs it: %s", p.Message)
		}
	}
	for _, m := range unknown.Pods {
		if message := refused[m.Path]; message != "" && m.Doubt == "" {
			t.Errorf("without a version there is no doubt: %s", message)
		}
	}
}

func report(t *testing.T, kubelet taken, ours node.Intent, kinds map[string]string) {
	t.Helper()
	found := map[string]bool{}
	for _, p := range ours.Problems {
		found[filepath.Base(p.Path)] = true
	}
	type count struct {
		refused, found int
		missed         string
	}
	counts, all := map[string]*count{}, count{}
	for name, why := range kubelet.refused {
		c := counts[kinds[name]]
		if c == nil {
			c = &count{}
			counts[kinds[name]] = c
		}
		c.refused++
		all.refused++
		if found[name] {
			c.found++
			all.found++
		} else {
			c.missed = ", not: " + why[:min(200, len(why))]
		}
	}
	var lines []string
	for kind, c := range counts {
		lines = append(lines, fmt.Sprintf("%5d of %5d  %s%s", c.found, c.refused, kind, c.missed))
	}
	slices.Sort(lines)
	t.Logf("the kubelet refuses %d of %d manifests, the reader %d of those (%.1f %%):\n%s", all.refused, len(kinds), all.found,
		100*float64(all.found)/float64(max(all.refused, 1)), strings.Join(lines, "\n"))
}

// TestContentFollowsTheUID: a file that is changed is another pod to the kubelet
// if and only if its content is another.
func TestContentFollowsTheUID(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(*seed, 100))}
	dir := t.TempDir()
	r := readerOf(nil)
	observe := func() (map[string]string, map[string]string) {
		uids, contents := map[string]string{}, map[string]string{}
		for name, uid := range takenFrom(t, dir).uids {
			uids[name] = string(uid)
		}
		for _, m := range r.Read(dir, nodeName).Pods {
			contents[m.Name.String()] = m.Content
		}
		return uids, contents
	}
	pods := make([]*corev1.Pod, *cases)
	for i := range pods {
		pods[i] = g.pod(i)
		if g.chance(60) {
			mistakes[g.IntN(len(mistakes))].make(g, pods[i])
		}
		write(t, dir, i, asYAML(t, pods[i]))
	}
	uids, contents := observe()
	for i, pod := range pods {
		switch g.IntN(5) {
		case 0: // the same in other words
			text, err := json.MarshalIndent(pod, "  ", "\t")
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, i, append([]byte("# changed\n\n"), text...))
		case 1: // with every default spelled out
			legacyscheme.Scheme.Default(pod)
			write(t, dir, i, asYAML(t, pod))
		case 2, 3: // another pod of that name
			if mistakes[g.IntN(len(mistakes))].make(g, pod); g.chance(50) {
				pod.Spec.Containers[0].Image = "other"
			}
			write(t, dir, i, asYAML(t, pod))
		}
	}
	newUIDs, newContents := observe()
	same, different := 0, 0
	for name, uid := range uids {
		if contents[name] == "" || newContents[name] == "" || newUIDs[name] == "" {
			continue // refused, before or after
		}
		sameUID, sameContent := uid == newUIDs[name], contents[name] == newContents[name]
		if sameUID != sameContent {
			t.Errorf("%s: the same UID %t, the same content %t", name, sameUID, sameContent)
		}
		if sameUID {
			same++
		} else {
			different++
		}
	}
	t.Logf("%d pods are the same after a change of their files, %d are not", same, different)
	if same == 0 || different == 0 {
		t.Error("one of the two does not occur")
	}
}

// TestRecordedManifests: the files that the reader's own tests go by.
func TestRecordedManifests(t *testing.T) {
	const files = "../../../pkg/node/manifest/testdata/"
	if refused := takenFrom(t, files+"accepted").refused; len(refused) > 0 {
		t.Errorf("refused: %v", refused)
	}
	if uids := takenFrom(t, files+"refused").uids; len(uids) > 0 {
		t.Errorf("taken: %v", uids)
	}
}
