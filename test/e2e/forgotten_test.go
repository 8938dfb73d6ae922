package e2e

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/staticpod"
)

var kubelets = flag.String("kubelets", "1.33", "versions of the kubelet for the cases that run with several, by comma")

// The original bug in all its forms: with and without a view of the kubelet's
// pods, and in each way in which a new revision comes to a node. The API server
// has not answered since the kubelet started. The revisions differ in nothing
// but an environment variable, so that no label tells them apart.
func TestForgottenInEveryForm(t *testing.T) {
	for _, version := range strings.Split(*kubelets, ",") {
		for name, roll := range rollouts {
			for _, viewed := range []bool{true, false} {
				form := "blind"
				if viewed {
					form = "view"
				}
				t.Run(version+"/"+name+"/"+form, func(t *testing.T) {
					labelled(t, repair, disruptive)
					s := standing(t, node.Options{Kubeconfig: node.APIClosed, Kubelet: version})
					more := []string{}
					limit := 100 * time.Second
					if viewed {
						more = append(more, s.withView())
					} else {
						limit += 2 * time.Minute
					}
					r := roll(s)
					old := s.running(r.pod, r.main)
					s.agent(more...)
					s.eventually(20*time.Second, "the agent has looked", func() bool { return s.says(restartpolicy.Healthy, r.main) })
					r.change()
					time.Sleep(5 * time.Second) // the kubelet has seen it
					dead := s.kill(r.pod, r.main)
					_, body, err := s.box.ContainerLogs(s.ctx, r.namespace, r.pod+"-node1", r.main, false)
					s.must(err, "container logs")
					if !strings.Contains(body, "is not available") {
						t.Fatalf("not the fault of the original report: %q", body)
					}
					renewed := s.back(limit, r.pod, dead)
					if renewed.PodUID == old.PodUID {
						t.Fatal("still the old revision")
					}
					s.eventually(time.Minute, "the old generation is stopped", func() bool {
						records, err := s.box.ContainerRecords(s.ctx, r.pod+"-node1")
						s.must(err, "list containers")
						for _, c := range records {
							if c.PodUID == old.PodUID && c.Running() {
								return false
							}
						}
						return true
					})
					s.eventually(time.Minute, "the status is healthy", func() bool {
						return s.says(restartpolicy.Healthy, r.main) && !s.says(restartpolicy.TwoGenerations, "")
					})
					s.untouched(renewed)
					s.wantActs(restartpolicy.RestartKubelet, restartpolicy.StopOldSandbox)
				})
			}
		}
	}
}

// rollout is a static pod that runs, and a change of its manifest.
type rollout struct {
	namespace, pod, main string
	change               func()
}

var rollouts = map[string]func(*scene) rollout{
	"no UID": func(s *scene) rollout {
		s.run(appWith("1", ""))
		return rollout{"kube-system", "app", "main", func() { s.put(appWith("2", "")) }}
	},
	"UID": func(s *scene) rollout {
		s.run(appWith("1", ""))
		return rollout{"kube-system", "app", "main", func() { s.put(appWith("2", "5f2c9ae0-8f6a-4c3c-9a57-3a4c0a5f0001")) }}
	},
	// The startup monitor of a single node writes the last revision that worked,
	// with a UID of its own.
	"fallback": func(s *scene) rollout {
		pod, err := staticpod.Pod("etcd", staticpod.Change{Grace: 5})
		s.must(err, "make a pod")
		etcd := staticpod.NewInstaller(s.box, s.box.Name, "etcd")
		// Revision 1 is there to fall back to, and only revision 2 has run.
		_, err = s.box.Systemctl(s.ctx, "stop", node.Kubelet)
		s.must(err, "stop kubelet")
		s.must(etcd.InstallRevision(1, pod), "install revision 1")
		s.must(etcd.InstallRevision(2, pod), "install revision 2")
		_, err = s.box.Systemctl(s.ctx, "start", node.Kubelet)
		s.must(err, "start kubelet")
		s.eventually(2*time.Minute, "etcd runs", func() bool {
			_, err := s.box.RunningContainer(s.ctx, "etcd-node1", "etcd-readyz")
			return err == nil
		})
		return rollout{"openshift-etcd", "etcd", "etcd", func() {
			_, err := etcd.Fallback(2, "NotReady", "it did not get ready")
			s.must(err, "fall back")
		}}
	},
	// A restore script moves a manifest back, with its old time.
	"restore by mv": func(s *scene) rollout {
		s.run(appWith("1", ""))
		return rollout{"kube-system", "app", "main", func() {
			s.must(s.box.WriteFile("/var/restored.yaml", appWith("0", "").manifest(), 0o600), "write the older manifest")
			s.shell("touch -d '3 days ago' /var/restored.yaml && mv /var/restored.yaml " + node.ManifestDir + "/app.yaml")
		}}
	},
}

// appWith is the usual pod with another environment, and a UID where one is given.
func appWith(value, uid string) podSpec {
	p := app("same")
	for i := range p.containers {
		p.containers[i].more = []string{"env: [{name: REVISION, value: '" + value + "'}]"}
	}
	if uid != "" {
		p.more = []string{"uid: " + uid}
	}
	return p
}
