package restartpolicy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/manifest"
)

// read writes one manifest and reads it as for a kubelet of that version.
func read(t *testing.T, version, text string) node.Intent {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "typo.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := manifest.NewReader()
	r.For(version)
	r.Gates(nil, true)
	return r.Read(dir, "node1")
}

func podYAML(metadata, spec string) string {
	if metadata != "" {
		metadata = ", " + metadata
	}
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: typo, namespace: kube-system" + metadata + "}\nspec: {" + spec + "}\n"
}

// Given a manifest that the kubelet refuses or skips, beside pods that run, when
// it stays there, then it is reported and nothing is done. kubelet
// pkg/kubelet/config/common.go tryDecodeSinglePod, config.go and kubelet.go
// HandlePodAdditions.
func TestManifestThatTheKubeletDoesNotTakeIsReported(t *testing.T) {
	t.Parallel()
	const good = `containers: [{name: main, image: x}]`
	for name, text := range map[string]string{
		"a port that is none":             podYAML("", `containers: [{name: main, image: x, ports: [{containerPort: 70000}]}]`),
		"a request above its limit":       podYAML("", `containers: [{name: main, image: x, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]`),
		"a probe without a port":          podYAML("", `containers: [{name: main, image: x, livenessProbe: {httpGet: {path: /}}}]`),
		"a pull policy that is none":      podYAML("", `containers: [{name: main, image: x, imagePullPolicy: Allways}]`),
		"two ports on the host's network": podYAML("", `hostNetwork: true, containers: [{name: main, image: x, ports: [{containerPort: 1000, hostPort: 2000}]}]`),
		"two containers of one name":      podYAML("", `containers: [{name: main, image: x}, {name: main, image: x}]`),
		"a mount without its volume":      podYAML("", `containers: [{name: main, image: x, volumeMounts: [{name: data, mountPath: /d}]}]`),
		"no container":                    podYAML("", `containers: []`),
		"a restart policy that is none":   podYAML("", `restartPolicy: Sometimes, `+good),
		"a name in upper case":            "apiVersion: v1\nkind: Pod\nmetadata: {name: Typo, namespace: kube-system}\nspec: {" + good + "}\n",
		"a saved mirror pod":              podYAML(`annotations: {kubernetes.io/config.mirror: 0a1b}`, good),
		"a pod that was being deleted":    podYAML(`deletionTimestamp: "2026-01-01T00:00:00Z"`, good),
		"no pod at all":                   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: typo}\n",
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				intent := read(t, "1.37.2", text)
				line := newWorld(1).watch(30*time.Minute, func(s *node.Snapshot, _ time.Duration) {
					s.Intent.Pods, s.Intent.Problems = append(s.Intent.Pods, intent.Pods...), intent.Problems
					see(s)
				})
				line.quiet(t, "neither kubelet nor runtime is at fault, and the other pod runs")
				if !line.reports(ManifestBad) {
					line.show(t)
					t.Error("not reported")
				}
			})
		}
	}
}

// A pod with a status in its manifest is a pod like any other, and runs.
func TestSavedStatusIsNoReasonToRefuse(t *testing.T) {
	t.Parallel()
	intent := read(t, "1.37.2", podYAML("", `containers: [{name: main, image: x}]`)+"status: {phase: Failed}\n")
	if len(intent.Pods) != 1 || len(intent.Problems) > 0 {
		t.Errorf("%+v", intent)
	}
}

// What one version refuses, another takes.
func TestManifestThatOnlyALaterKubeletTakesIsReported(t *testing.T) {
	t.Parallel()
	intent := read(t, "1.30.14", podYAML("", `restartPolicy: Never, containers: [{name: main, image: x, restartPolicy: Always, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [3]}}]}]`))
	line := newWorld(1).watch(30*time.Minute, func(s *node.Snapshot, _ time.Duration) {
		s.Settings.Version = "1.30.14"
		s.Intent.Pods, s.Intent.Problems = append(s.Intent.Pods, intent.Pods...), intent.Problems
		silent(s)
	})
	line.quiet(t, "a kubelet of 1.30 knows no restart policy of a regular container")
}

func TestOneUIDInTwoManifestsIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"app", "copy"} {
		text := "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: kube-system, uid: uid}\nspec: {containers: [{name: c0, image: x}]}\n"
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	intent := manifest.NewReader().Read(dir, "node1")
	for way, see := range ways {
		t.Run(way, func(t *testing.T) {
			line := newWorld(1).watch(time.Hour, func(s *node.Snapshot, _ time.Duration) {
				s.Intent = intent
				see(s)
			})
			line.quiet(t, "the kubelet takes the two for one pod")
			if !line.reports(ManifestBad) {
				t.Error("not reported")
			}
		})
	}
}

// What is hidden from the agent may well run.
func TestHiddenManifestsPodIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	w.crash(0, 1)
	w.watch(2*time.Hour, func(s *node.Snapshot, _ time.Duration) {
		s.Intent.Problems = []node.ManifestProblem{{Path: "/m/app.yaml", Pod: s.Intent.Pods[0].Name, Kind: node.ProblemHidden, Message: "/root cannot be seen"}}
		s.Intent.Pods = nil
	}).quiet(t, "what the manifest wants is not known")
}

// The kubelet's own word stands above all rules that the agent knows.
func TestRefusalInTheJournalIsReportedInItsWords(t *testing.T) {
	t.Parallel()
	const words = `invalid pod: spec.containers[0].resizePolicy: Forbidden`
	line := newWorld(1).watch(2*time.Hour, func(s *node.Snapshot, since time.Duration) {
		addPod(s, "new", nil)
		s.Runtime.Sandboxes, s.Kubelet.View.Pods = s.Runtime.Sandboxes[:1], s.Kubelet.View.Pods[:1]
		refuses(s, "/m/new.yaml", words)
	})
	line.quiet(t, "it is refused, over and over again")
	if v := line.verdict(t, "kube-system/new-node1"); v.State != ManifestBad || !strings.Contains(v.Detail, words) {
		t.Errorf("%s: %s", v.State, v.Detail)
	}
}

// Given a kubelet of a new version that refuses the only manifest, whose pod still
// runs from before, when its list of pods is empty, then it is not called blocked.
func TestEmptyListOfAKubeletThatRefusesTheOnlyManifest(t *testing.T) {
	t.Parallel()
	newWorld(1).watch(2*time.Hour, func(s *node.Snapshot, _ time.Duration) {
		s.Kubelet.View.Pods = []node.PodView{}
		refuses(s, "/m/app.yaml", "invalid pod")
	}).quiet(t, "it says why it lists no pod")
}

// Nor does a kubelet that has no pods, since its only manifest cannot be taken.
func TestKubeletWithoutAnyPodIsNotBlocked(t *testing.T) {
	t.Parallel()
	newWorld(1).watch(2*time.Hour, func(s *node.Snapshot, _ time.Duration) {
		s.Runtime.Sandboxes = nil
		s.Kubelet.View = node.View{Source: node.ViewPods, SourcesNotReady: true, Pods: []node.PodView{}}
	}).quiet(t, "the kubelet lives, and knows of no pod")
}

// Given a refused manifest that is mended, when the kubelet takes it and never
// begins, then the old refusal does not stand in the way of the cure.
func TestRefusalOfAnEarlierContentIsNoAnswer(t *testing.T) {
	t.Parallel()
	const mended = 10 * time.Minute
	var last time.Duration
	line := newWorld(1).watch(time.Hour, func(s *node.Snapshot, since time.Duration) {
		m := addPod(s, "new", nil)
		s.Runtime.Sandboxes, s.Kubelet.View.Pods = s.Runtime.Sandboxes[:1], s.Kubelet.View.Pods[:1]
		m.Digest = "refused"
		if since < mended {
			last = s.Taken.Boot
		} else {
			m.Digest = "mended"
		}
		refuses(s, "/m/new.yaml", "invalid pod")
		s.Kubelet.Told.Manifests["/m/new.yaml"] = node.Said{At: last, Message: "invalid pod"}
	})
	line.first(t, RestartKubelet, mended+200*time.Second, mended+5*time.Minute)
}

// Whether the kubelet takes a manifest may hang on a gate that is not known: then
// its silence alone does not prove that it has.
func TestManifestInDoubtIsNotCalledForgotten(t *testing.T) {
	t.Parallel()
	newWorld(1).watch(2*time.Hour, func(s *node.Snapshot, _ time.Duration) {
		m := addPod(s, "new", nil)
		m.Doubt = "the gate ContainerRestartRules decides"
		s.Runtime.Sandboxes, s.Kubelet.View.Pods = s.Runtime.Sandboxes[:1], s.Kubelet.View.Pods[:1]
		silent(s)
	}).quiet(t, "the kubelet may well refuse it")
}

// Without the kubelet's word nobody knows whether it has accepted a manifest.
func TestNeverStartedNeedsTheKubeletsWord(t *testing.T) {
	t.Parallel()
	for name, told := range map[string]node.Told{
		"no journal":                      {},
		"the journal begins just now":     {From: time.Hour},
		"the journal cannot be read":      {Err: os.ErrPermission},
		"the journal has been cut lately": {From: bootTime + 59*time.Minute},
	} {
		for way, see := range map[string]func(*node.Snapshot){"with a view": func(*node.Snapshot) {}, "blind": blind} {
			t.Run(name+", "+way, func(t *testing.T) {
				newWorld(1).watch(time.Hour, func(s *node.Snapshot, _ time.Duration) {
					addPod(s, "new", nil)
					s.Runtime.Sandboxes, s.Kubelet.View.Pods = s.Runtime.Sandboxes[:1], s.Kubelet.View.Pods[:1]
					see(s)
					s.Kubelet.Told = told
					if told.From > 0 {
						s.Kubelet.Told.From = max(told.From, s.Taken.Boot-30*time.Second)
					}
				}).quiet(t, "it may have been refused")
			})
		}
	}
}

// refuses is a journal in which the kubelet refuses a manifest with each listing.
func refuses(s *node.Snapshot, path, message string) {
	silent(s)
	s.Kubelet.Told.Manifests = map[string]node.Said{path: {At: s.Taken.Boot - 7*time.Second, Message: message}}
}
