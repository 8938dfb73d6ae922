//go:build world

package world

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Shrink looks for a smaller scenario that fails in the same way.
func (p Property) Shrink(d Decision, sc *Scenario) *Scenario {
	kind := class(p.Holds(d, sc))
	fails := func(c *Scenario) bool { return class(p.Holds(d, c)) == kind }
	for again := true; again; {
		again = false
		for _, smaller := range sc.smaller() {
			if fails(smaller) {
				sc, again = smaller, true
				break
			}
		}
	}
	return sc
}

// class is a failure without its figures.
func class(why string) string {
	var out []string
	for _, word := range strings.Fields(why) {
		if !strings.ContainsAny(word, "0123456789") && !strings.HasSuffix(word, ":") {
			out = append(out, word)
		}
	}
	return strings.Join(out, " ")
}

// smaller are scenarios with one thing less.
func (sc *Scenario) smaller() []*Scenario {
	var out []*Scenario
	add := func(change func(*Scenario)) {
		c := *sc
		c.Events = slices.Clone(sc.Events)
		c.Pods = nil
		for _, p := range sc.Pods {
			c.Pods = append(c.Pods, p.clone())
		}
		change(&c)
		if len(c.Pods) == 0 || !c.Pods[0].Static {
			return
		}
		if fmt.Sprintf("%+v", c.text()) != fmt.Sprintf("%+v", sc.text()) {
			out = append(out, &c)
		}
	}
	for i := range sc.Events {
		add(func(c *Scenario) { c.Events = slices.Delete(c.Events, i, i+1) })
	}
	for i := range sc.Pods {
		if len(sc.Pods) > 1 {
			add(func(c *Scenario) {
				for j := range c.Events {
					c.Events[j].Pod = without(c.Events[j].Pod, i, len(c.Pods))
				}
				c.FaultAt.Pod = without(c.FaultAt.Pod, i, len(c.Pods))
				c.Pods = slices.Delete(c.Pods, i, i+1)
			})
		}
	}
	for i, p := range sc.Pods {
		for j := range p.Init {
			add(func(c *Scenario) { c.Pods[i].Init = slices.Delete(c.Pods[i].Init, j, j+1) })
		}
		for j := range p.Main {
			if len(p.Main) > 1 {
				add(func(c *Scenario) { c.Pods[i].Main = slices.Delete(c.Pods[i].Main, j, j+1) })
			}
			add(func(c *Scenario) { c.Pods[i].Main[j].PreStop = 0 })
			add(func(c *Scenario) { c.Pods[i].Main[j].PostStart = 0 })
			add(func(c *Scenario) { c.Pods[i].Main[j].Ends = time.Second })
			add(func(c *Scenario) { c.Pods[i].Main[j].Pull = corev1.PullIfNotPresent })
			add(func(c *Scenario) { c.Pods[i].Main[j].Policy = "" })
			add(func(c *Scenario) { c.Pods[i].Main[j].Liveness = false })
		}
		add(func(c *Scenario) { c.Pods[i].Deletion = 0 })
		add(func(c *Scenario) { c.Pods[i].Grace = 0 })
		add(func(c *Scenario) { c.Pods[i].Selector = false })
		add(func(c *Scenario) {
			c.Pods[i].UID = strings.TrimSuffix(c.Pods[i].UID, digest("uid-in-file", c.Pods[i].Name))
		})
		add(func(c *Scenario) { c.Pods[i].Policy = "Always" })
		add(func(c *Scenario) { c.Pods[i].HostNetwork = true })
		add(func(c *Scenario) { c.Pods[i].Labelled = false })
	}
	add(func(c *Scenario) { c.Slow = 0 })
	add(func(c *Scenario) { c.Monitors, c.KillMode = false, "process" })
	add(func(c *Scenario) { c.Watch = true })
	add(func(c *Scenario) { c.NoHealthz = false })
	add(func(c *Scenario) { c.OpenShift, c.Requires = false, false })
	add(func(c *Scenario) { c.MaxBackOff = 0 })
	add(func(c *Scenario) { c.View = true })
	add(func(c *Scenario) { c.Journal = true })
	add(func(c *Scenario) { c.Verbose = true })
	add(func(c *Scenario) { c.Interval = 5 * time.Second })
	add(func(c *Scenario) { c.Version = "1.33.13" })
	add(func(c *Scenario) { c.AgentAt = 4 * time.Minute })
	return out
}

// without is the index of a pod once the one at i of n is gone.
func without(pod, i, n int) int {
	if pod %= n; pod > i {
		return pod - 1
	}
	return pod
}

// text is the scenario for people.
func (sc *Scenario) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, kubelet %s on %s, %+v\n", sc.Seed, sc.Version, sc.NodeName, sc.Profile)
	fmt.Fprintf(&b, "API away since boot: %v, slow %.2f, agent at %s, until %s\n", sc.APIAway, sc.Slow, clock(sc.AgentAt), clock(sc.Span))
	for _, p := range sc.Pods {
		fmt.Fprintf(&b, "pod %s/%s static=%v hostNetwork=%v policy=%s grace=%s deletion=%s deadline=%s selector=%v uid=%q optOut=%v labelled=%v\n",
			p.Namespace, p.Name, p.Static, p.HostNetwork, p.Policy, p.Grace, p.Deletion, p.Deadline, p.Selector, p.UID, p.OptOut, p.Labelled)
		for i := range p.Init {
			fmt.Fprintf(&b, "  init %+v\n", p.Init[i])
		}
		for i := range p.Main {
			fmt.Fprintf(&b, "  main %+v\n", p.Main[i])
		}
	}
	for _, e := range sc.Events {
		fmt.Fprintf(&b, "%s\n", e)
	}
	if sc.Fault != "" {
		fmt.Fprintf(&b, "fault %s\n", sc.FaultAt)
	}
	for _, m := range sc.Masks {
		fmt.Fprintf(&b, "mask %s\n", m)
	}
	return b.String()
}

// Explain is a scenario with all that happened in it, line by line.
func (sc *Scenario) Explain(d Decision) string {
	r := sc.play(Policy(), d, options{timeline: true})
	return sc.text() + strings.Join(r.timeline, "\n") + "\n"
}
