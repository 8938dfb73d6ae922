package e2e

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/staticpod"
)

var quietSpan = flag.Duration("quiet-span", 30*time.Minute, "how long the node of each quiet case is watched")

// A node like those of OpenShift on which everything is as somebody wants it, or
// is wrong in a way that no restart mends: no act, whatever it is, and the status
// says what it is.
func TestQuietNode(t *testing.T) {
	type situation struct {
		options node.Options
		// begin makes the node so.
		begin func(s *scene)
		// says is what the status says at the end; empty for nothing special.
		says string
	}
	foreverUndo := func(s *scene, undo func(context.Context) error, err error) {
		s.must(err, "set it up")
		s.Cleanup(func() { _ = undo(context.Background()) })
	}
	app := func(s *scene) { s.run(app("1")) }
	situations := map[string]situation{
		"healthy": {begin: func(*scene) {}},
		"the host is renamed": {begin: func(s *scene) {
			undo, err := s.box.SetHostname(s.ctx, "renamed.example.com")
			foreverUndo(s, undo, err)
		}},
		"a refused manifest beside good ones": {says: "ports", begin: func(s *scene) {
			bad := podSpec{name: "typo", containers: []container{{name: "main", more: []string{"ports: [{containerPort: 70000}]"}}}}
			s.put(bad)
		}},
		"a saved mirror pod": {says: "kubernetes.io/config.mirror", begin: func(s *scene) {
			s.put(podSpec{name: "saved", more: []string{`annotations: {kubernetes.io/config.mirror: "0123456789abcdef", kubernetes.io/config.source: file}`},
				containers: []container{{name: "main"}}})
		}},
		"a manifest with a deletionTimestamp": {says: "deletionTimestamp", begin: func(s *scene) {
			s.put(podSpec{name: "deleted", more: []string{`deletionTimestamp: "2026-11-30T10:00:00Z"`}, containers: []container{{name: "main"}}})
		}},
		"CNI away for 15 minutes": {begin: func(s *scene) {
			undo, err := s.box.MoveNetworkAway(s.ctx)
			s.must(err, "move CNI away")
			s.after(min(15*time.Minute, *quietSpan*3/4), func() {
				s.statusSays("network")
				s.must(undo(s.ctx), "bring CNI back")
			})
			net := podSpec{name: "net", network: true, containers: []container{{name: "main"}}}
			s.put(net)
		}},
		"an image that cannot be pulled": {says: "Image", begin: func(s *scene) {
			r, err := s.box.ServeRegistry(s.ctx)
			s.must(err, "serve a registry")
			s.Cleanup(r.Close)
			r.SetRefused(true)
			s.put(podSpec{name: "pull", image: r.Image("gone"), containers: []container{{name: "main"}}})
		}},
		"an image that is pulled for 8 minutes": {says: "healthy", begin: func(s *scene) {
			r, err := s.box.ServeRegistry(s.ctx)
			s.must(err, "serve a registry")
			s.Cleanup(r.Close)
			r.SetSlow(min(8*time.Minute, *quietSpan/2))
			s.put(podSpec{name: "pull", image: r.Image("slow"), containers: []container{{name: "main"}}})
		}},
		"a build with runc run for 8 minutes, beside a crash loop": {begin: func(s *scene) {
			undo, err := s.box.RunForeign(s.ctx, "build", "")
			s.must(err, "run a build")
			s.after(min(8*time.Minute, *quietSpan/2), func() { s.must(undo(s.ctx), "end the build") })
			s.put(podSpec{name: "loop", containers: []container{{name: "main", args: []string{"--exit", "1"}}}})
		}},
		"a rollout with a deletionGracePeriodSeconds of 600": {options: node.Options{Kubeconfig: node.APIClosed}, begin: func(s *scene) {
			slow := func(revision string) podSpec {
				return podSpec{name: "slow", revision: revision, more: []string{"deletionGracePeriodSeconds: 600"},
					containers: []container{{name: "main", args: []string{"--term-delay", "300s"}}, {name: "side"}}}
			}
			s.run(slow("1"))
			s.put(slow("2"))
		}},
		"systemctl stop crio takes 200 s": {says: "somebody stopped it", begin: func(s *scene) {
			undo, err := s.box.SlowStop(s.ctx, node.CRIO, 200*time.Second)
			foreverUndo(s, undo, err)
			_, _, err = s.box.Exec(s.ctx, "systemctl", "stop", "--no-block", "crio")
			s.must(err, "stop crio")
		}},
		"healthzPort 0": {options: node.Options{KubeletConfig: func(c map[string]any) { c["healthzPort"] = 0 }}, begin: func(*scene) {}},
		"a created container of another pod": {begin: func(s *scene) {
			s.must(s.createdElsewhere(), "create a container by hand")
		}},
		"an admin removes and stops what crictl lists": {begin: func(s *scene) {
			for range 3 {
				s.shell(`for c in $(crictl ps -q); do crictl stop -t 1 $c; done; for c in $(crictl ps -aq --state exited); do crictl rm $c; done; for p in $(crictl pods -q); do crictl stopp $p; crictl rmp $p; done || true`)
				time.Sleep(20 * time.Second)
			}
		}},
		"the whole node stands still for 10 minutes": {begin: func(s *scene) {
			s.kill("app", "main")
			s.must(s.box.Suspend(), "stop everything")
			time.Sleep(min(10*time.Minute, *quietSpan/3))
			s.must(s.box.Resume(), "go on")
		}},
	}
	for name, it := range situations {
		t.Run(name, func(t *testing.T) {
			labelled(t, quiet, slow)
			s := standing(t, it.options)
			app(s)
			s.openShiftPods()
			s.agent()
			began := time.Now()
			it.begin(s)
			for time.Since(began) < *quietSpan {
				time.Sleep(10 * time.Second)
				if err := s.noActs(); err != nil {
					t.Fatalf("after %v: %v", time.Since(began).Round(time.Second), err)
				}
			}
			s.statusSays(it.says)
			s.say("no act in %v", *quietSpan)
		})
	}
}

// statusSays tells that the status says something.
func (s *scene) statusSays(text string) {
	out, _, _ := s.box.Exec(s.ctx, node.AgentProgram, "status", "-o", "wide")
	if !strings.Contains(out, text) {
		s.Errorf("the status does not say %q:\n%s", text, out)
	}
}

// openShiftPods runs static pods of the shapes that OpenShift's own have.
func (s *scene) openShiftPods() {
	s.Helper()
	for _, name := range []string{"etcd", "coredns"} {
		pod, err := staticpod.Pod(name, staticpod.Change{Grace: 5})
		s.must(err, "make "+name)
		s.must(staticpod.NewInstaller(s.box, s.box.Name, name).InstallRevision(1, pod), "install "+name)
		s.eventually(2*time.Minute, name+" runs", func() bool {
			_, err := s.box.RunningContainer(s.ctx, name+"-node1", name)
			return err == nil
		})
	}
}

// after does something later, while the case goes on.
func (s *scene) after(d time.Duration, do func()) {
	timer := time.AfterFunc(d, do)
	s.Cleanup(func() { timer.Stop() })
}

// createdElsewhere makes a container of a pod that is no static pod, and does
// not start it.
func (s *scene) createdElsewhere() error {
	s.shell(`cat > /tmp/pod.json <<'J'
{"metadata": {"name": "cronjob-x", "namespace": "default", "uid": "u2"}, "linux": {"security_context": {"namespace_options": {"network": 2}}}}
J
cat > /tmp/ctr.json <<'J'
{"metadata": {"name": "job"}, "image": {"image": "localhost/nodekeeper/workload:latest"}, "linux": {}}
J
id=$(crictl runp /tmp/pod.json) && crictl create $id /tmp/ctr.json /tmp/pod.json`)
	out, _, err := s.box.Exec(s.ctx, "crictl", "ps", "-a", "--state", "created", "-q")
	if err == nil && strings.TrimSpace(out) == "" {
		err = fmt.Errorf("there is none")
	}
	return err
}

// Kubelet or CRI-O are killed between create and start of a container, 20 times
// in a row for a main, a sidecar and an init container: what is left over is
// removed, and holds back no cure.
func TestLeftoversAreRemoved(t *testing.T) {
	for _, killed := range []string{"kubelet", "crio"} {
		for _, of := range []string{"bys-main", "bys-car", "bys-prep"} {
			t.Run(killed+" at the start of "+of, func(t *testing.T) {
				labelled(t, repair, disruptive, slow)
				s := standing(t, node.Options{Kubeconfig: node.APIClosed, CRIProxy: true})
				s.run(app("1"))
				s.run(podSpec{name: "bys", containers: []container{{name: "bys-main"}}, init: []container{
					{name: "bys-prep", args: []string{"--exit", "0"}}, {name: "bys-car", more: []string{"restartPolicy: Always"}}}})
				s.agent("steps: {removeContainer: {perHour: 0, gap: 1s, gapMax: 1s}}")
				kill := s.box.KillKubeletAtStart
				if killed == "crio" {
					kill = s.box.KillRuntimeAtStart
				}
				for n := range 20 {
					s.must(kill(s.ctx, of, func() error {
						if of != "bys-prep" {
							s.kill("bys", of)
							return nil
						}
						// It is started in a new sandbox only.
						s.shell("crictl --timeout 60s stopp $(crictl pods --name bys-node1 --state ready -q)")
						return nil
					}), "kill "+killed)
					// The kubelet's own removal of what is left over may take 2 minutes, in
					// which it does nothing else for the pod.
					s.eventually(10*time.Minute, fmt.Sprintf("bys runs again, %d", n+1), func() bool {
						for _, name := range []string{"bys-main", "bys-car"} {
							if _, err := s.box.RunningContainer(s.ctx, "bys-node1", name); err != nil {
								return false
							}
						}
						return true
					})
				}
				s.eventually(20*time.Minute, "no leftover stays", func() bool {
					out, _, err := s.box.Exec(s.ctx, "crictl", "ps", "-a", "--state", "created", "-q")
					return err == nil && strings.TrimSpace(out) == ""
				})
				for _, a := range s.acts() {
					if a.Kind != restartpolicy.RemoveContainer {
						t.Errorf("act %s for %s", a.Kind, a.Key)
					}
				}
				s.put(app("2"))
				time.Sleep(5 * time.Second)
				dead := s.kill("app", "main")
				s.back(5*time.Minute, "app", dead)
			})
		}
	}
}

// The infra process and its conmon are killed together: CRI-O calls the sandbox
// ready for ever, and starts nothing in it.
func TestSandboxLost(t *testing.T) {
	labelled(t, repair, disruptive)
	s := standing(t, node.Options{})
	p := app("1")
	p.spec = []string{"shareProcessNamespace: true"}
	s.run(p)
	s.agent()
	old := s.running("app", "main")
	s.must(s.box.KillInfra(s.ctx, old.SandboxID), "kill the infra process and its conmon")
	s.back(4*time.Minute, "app", old)
	s.wantActs(restartpolicy.StopSandbox)
}

// A second attempt of a container runs beside the first: the older is ended.
func TestTwoAttemptsRun(t *testing.T) {
	labelled(t, repair)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent()
	first, side := s.running("app", "main"), s.running("app", "side")
	second, err := s.box.StartSecond(s.ctx, first.ID)
	s.must(err, "start a second attempt")
	s.eventually(4*time.Minute, "one of them is ended", func() bool {
		return s.kinds() == "stop-container"
	})
	s.untouched(side)
	s.untouched(second)
}

// Two manifests give one UID: both are reported by it, and nothing is done.
func TestTwoManifestsOfOneUID(t *testing.T) {
	labelled(t, quiet)
	s := standing(t, node.Options{})
	const uid = "9c3f3a70-0000-4000-8000-000000000001"
	one := podSpec{name: "one", more: []string{"uid: " + uid}, containers: []container{{name: "main"}}}
	two := one
	two.name = "two"
	s.run(one)
	s.put(two)
	s.agent("deadlines: {neverStarted: 10s}")
	s.eventually(time.Minute, "the UID is named", func() bool { return s.says(restartpolicy.ManifestBad, uid) })
	s.throughout(2*time.Minute, "no act", s.noActs)
}

// A manifest is linked into a directory that our unit could hide: it is read as
// the kubelet reads it, and its pod is guarded.
func TestManifestLinkedIntoHome(t *testing.T) {
	labelled(t, repair)
	s := standing(t, node.Options{})
	linked := podSpec{name: "linked", containers: []container{{name: "main"}}}
	s.must(s.box.WriteFile("/root/linked.yaml", linked.manifest(), 0o600), "write the manifest")
	s.shell("ln -s /root/linked.yaml " + node.ManifestDir + "/linked.yaml")
	s.eventually(time.Minute, "it runs", func() bool {
		_, err := s.box.RunningContainer(s.ctx, "linked-node1", "main")
		return err == nil
	})
	s.agent()
	main := s.running("linked", "main")
	s.must(s.box.KillMonitorAndInit(s.ctx, main.ID), "kill conmon and init")
	s.back(2*time.Minute, "linked", main)
	s.wantActs(restartpolicy.StopContainer)
}

// A healthy node of OpenShift's kind, shortly, with all at once that looks odd
// and is not: the standing check of every change.
func TestOddButQuietNode(t *testing.T) {
	labelled(t, quiet)
	s := standing(t, node.Options{Kubeconfig: node.APIClosed})
	s.run(app("1"))
	s.openShiftPods()
	s.must(s.createdElsewhere(), "create a container by hand")
	undoForeign, err := s.box.RunForeign(s.ctx, "build", "")
	s.must(err, "run a build")
	t.Cleanup(func() { _ = undoForeign(context.Background()) })
	s.put(podSpec{name: "typo", containers: []container{{name: "main", more: []string{"ports: [{containerPort: 70000}]"}}}})
	s.put(podSpec{name: "saved", more: []string{`annotations: {kubernetes.io/config.mirror: "0123456789abcdef"}`}, containers: []container{{name: "main"}}})
	s.put(podSpec{name: "loop", containers: []container{{name: "main", args: []string{"--exit", "1"}}}})
	s.agent()
	undoName, err := s.box.SetHostname(s.ctx, "renamed.example.com")
	s.must(err, "rename the host")
	t.Cleanup(func() { _ = undoName(context.Background()) })
	s.throughout(7*time.Minute, "no act", s.noActs)
	for _, words := range []string{"node1, by --hostname-override, kubelet 1.33.13", "config.mirror", "70000"} {
		if out, _, _ := s.box.Exec(s.ctx, node.AgentProgram, "status", "-o", "wide"); !strings.Contains(out, words) {
			t.Errorf("the status does not say %q:\n%s", words, out)
		}
	}
}
