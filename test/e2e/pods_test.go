package e2e

import (
	"fmt"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// container is one container of a test pod: its name, workload flags, and more
// YAML lines.
type container struct {
	name string
	args []string
	more []string
}

// podSpec is a static pod for a manifest.
type podSpec struct {
	name       string
	revision   string
	policy     string   // restartPolicy, default Always
	grace      int      // seconds, default 5
	image      string   // default the workload
	network    bool     // in the pod network
	more       []string // of the metadata
	spec       []string
	init       []container
	containers []container
}

// app is the usual pod: two containers that live until they are told to end.
func app(revision string) podSpec {
	return podSpec{name: "app", revision: revision, containers: []container{{name: "main"}, {name: "side"}}}
}

func (p podSpec) manifest() []byte {
	var b strings.Builder
	grace := p.grace
	if grace == 0 {
		grace = 5
	}
	spec := ""
	policy := p.policy
	if policy == "" {
		policy = "Always"
	}
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\n  namespace: kube-system\n  labels: {revision: %q}\n", p.name, p.revision)
	for _, l := range p.more {
		fmt.Fprintf(&b, "  %s\n", l)
	}
	for _, l := range p.spec {
		spec += "  " + l + "\n"
	}
	fmt.Fprintf(&b, "spec:\n%s  hostNetwork: %v\n  restartPolicy: %s\n  terminationGracePeriodSeconds: %d\n", spec, !p.network, policy, grace)
	b.WriteString("  volumes: [{name: flags, hostPath: {path: /var/flags, type: DirectoryOrCreate}}]\n")
	writeContainers(&b, "initContainers", p.image, p.init)
	writeContainers(&b, "containers", p.image, p.containers)
	return []byte(b.String())
}

func writeContainers(b *strings.Builder, field, image string, list []container) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "  %s:\n", field)
	for _, c := range list {
		pull := "IfNotPresent"
		if image == "" {
			image, pull = "localhost/nodekeeper/workload:latest", "Never"
		}
		fmt.Fprintf(b, "  - name: %s\n    image: %s\n    imagePullPolicy: %s\n", c.name, image, pull)
		b.WriteString("    volumeMounts: [{name: flags, mountPath: /var/flags}]\n")
		if len(c.args) > 0 {
			fmt.Fprintf(b, "    args: [%s]\n", `"`+strings.Join(c.args, `", "`)+`"`)
		}
		for _, l := range c.more {
			fmt.Fprintf(b, "    %s\n", l)
		}
	}
}

// put writes the pod's manifest.
func (s *scene) put(p podSpec) {
	s.Helper()
	s.must(s.on.PutManifest(p.name+".yaml", p.manifest()), "put manifest "+p.name)
}

// run puts a pod and waits until all of its containers run.
func (s *scene) run(p podSpec) {
	s.Helper()
	s.put(p)
	for _, c := range p.containers {
		s.eventually(90*time.Second, p.name+"/"+c.name+" runs", func() bool {
			_, err := s.on.RunningContainer(s.ctx, p.name+"-node1", c.name)
			return err == nil
		})
	}
}

// running returns the running container of a pod, which may just be starting.
func (s *scene) running(pod, name string) node.Container {
	s.Helper()
	var c node.Container
	var err error
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		if c, err = s.on.RunningContainer(s.ctx, pod+"-node1", name); err == nil || time.Now().After(end) {
			break
		}
	}
	s.must(err, "find container "+name)
	return c
}

// kill crashes a container and returns the record that died.
func (s *scene) kill(pod, name string) node.Container {
	s.Helper()
	c := s.running(pod, name)
	s.must(s.on.KillContainer(s.ctx, c.ID), "kill "+name)
	s.say("killed %s/%s", pod, name)
	return c
}

// back waits until another container of that name runs.
func (s *scene) back(limit time.Duration, pod string, dead node.Container) node.Container {
	s.Helper()
	var c node.Container
	s.eventually(limit, fmt.Sprintf("%s/%s runs again", pod, dead.Name), func() bool {
		var err error
		c, err = s.on.RunningContainer(s.ctx, pod+"-node1", dead.Name)
		return err == nil && c.ID != dead.ID
	})
	return c
}

// untouched fails unless this very container still runs.
func (s *scene) untouched(c node.Container) {
	s.Helper()
	records, err := s.on.ContainerRecords(s.ctx, "")
	s.must(err, "list containers")
	for _, r := range records {
		if r.ID == c.ID && r.Running() {
			return
		}
	}
	s.Fatalf("sibling %s (%s) was touched", c.Name, c.ID)
}
