//go:build world

package world

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// nodeOf draws a node with its pods.
func nodeOf(seed uint64, r *stream) *Scenario {
	sc := &Scenario{Seed: seed, Span: r.between(20*time.Minute, time.Hour).Round(time.Second)}
	sc.AgentAt = oneOf(r, 4*time.Minute, 5*time.Minute, 20*time.Second, time.Minute)
	sc.Profile = Profile{
		Version:  oneOf(r, "1.30.14", "1.33.13", "1.33.13", "1.37.2", "1.37.2"),
		NodeName: "node1", Override: r.chance(0.5), View: r.chance(0.6),
		Verbose: r.chance(0.6), Journal: r.chance(0.75), Standalone: r.chance(0.2), Watch: !r.chance(0.1),
		OpenShift: r.chance(0.5), Monitors: r.chance(0.15), KillMode: oneOf(r, "process", "control-group"), NoHealthz: r.chance(0.1),
		Interval: oneOf(r, 5*time.Second, 5*time.Second, 10*time.Second, 20*time.Second),
	}
	sc.Requires = sc.OpenShift || r.chance(0.3)
	if r.chance(0.1) {
		sc.MaxBackOff = oneOf(r, 10*time.Second, 60*time.Second)
	}
	if r.chance(0.2) {
		sc.Slow = r.float()
	}
	sc.Eager = r.chance(0.2)
	names := []string{"etcd", "apiserver", "controller", "scheduler", "coredns", "keepalived", "haproxy"}
	for i := range 1 + r.upTo(6) {
		p := podOf(r, names[i], sc.Standalone)
		if p.Volume == "secret" && (sc.Version == "1.37.2" || sc.Standalone) {
			p.Volume = "" // refused since 1.34; without an API server there are none
		}
		sc.Pods = append(sc.Pods, p)
	}
	if !sc.Standalone {
		for i := range r.upTo(4) {
			p := podOf(r, fmt.Sprintf("job%d", i), false)
			p.Static, p.UID, p.Namespace, p.HostPort = false, fmt.Sprintf("api-uid-%d", i), "default", 0
			sc.Pods = append(sc.Pods, p)
		}
	}
	return sc
}

// podOf draws a pod as people write them.
func podOf(r *stream, name string, standalone bool) *Pod {
	p := &Pod{Namespace: "kube-system", Name: name, Static: true, HostNetwork: r.chance(0.6), Policy: corev1.RestartPolicyAlways}
	switch {
	case r.chance(0.06):
		p.Policy = corev1.RestartPolicyOnFailure
	case r.chance(0.06):
		p.Policy = corev1.RestartPolicyNever
	}
	if r.chance(0.5) {
		p.Grace = r.between(5*time.Second, 3*time.Minute).Round(time.Second)
	}
	if r.chance(0.05) {
		p.Grace = 10 * time.Minute
	}
	if r.chance(0.15) {
		p.Deletion = oneOf(r, 65*time.Second, 65*time.Second, 300*time.Second, 600*time.Second)
	}
	p.Selector = !standalone && r.chance(0.05)
	if r.chance(0.1) {
		p.UID = digest("uid-in-file", name)
	}
	p.Labelled = r.chance(0.3)
	if r.chance(0.25) {
		p.Volume = oneOf(r, "nfs", "secret")
	}
	if r.chance(0.03) {
		p.Deadline = r.between(5*time.Minute, 20*time.Minute).Round(time.Second)
	}
	if r.chance(0.04) {
		p.OptOut = true
	}
	if r.chance(0.25) {
		for i := range 1 + r.upTo(2) {
			c := containerOf(r, fmt.Sprintf("init%d", i), name, p)
			c.Sidecar = r.chance(0.4)
			if !c.Sidecar {
				c.Lives, c.PostStart, c.Liveness = r.between(100*time.Millisecond, 20*time.Second), 0, false
			}
			p.Init = append(p.Init, c)
		}
	}
	for i := range 1 + min(r.upTo(5), r.upTo(5)) {
		c := containerOf(r, fmt.Sprintf("main%d", i), name, p)
		if r.chance(0.05) {
			c.Policy = oneOf(r, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever)
		}
		p.Main = append(p.Main, c)
	}
	return p
}

func containerOf(r *stream, name, pod string, p *Pod) Container {
	c := Container{Name: name, Image: "registry/" + pod + "/" + name + ":1",
		Pull: oneOf(r, corev1.PullIfNotPresent, corev1.PullIfNotPresent, corev1.PullNever, corev1.PullIfNotPresent, corev1.PullAlways)}
	switch {
	case r.chance(0.15):
		c.Ends = time.Hour
	case r.chance(0.3):
		c.Ends = r.between(time.Second, p.grace())
	default:
		c.Ends = r.between(0, time.Second)
	}
	if r.chance(0.1) {
		c.PreStop = r.between(time.Second, p.grace()+5*time.Second)
	}
	if r.chance(0.08) {
		c.PostStart = oneOf(r, r.between(100*time.Millisecond, 5*time.Second), r.between(5*time.Second, 4*time.Minute))
	}
	c.Liveness = r.chance(0.3)
	return c
}
