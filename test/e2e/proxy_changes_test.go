package e2e

import (
	"fmt"
	"testing"
	"time"
)

// What changes reaches the files of pods as fast as without the guard, sentinels
// on: 100 ConfigMaps; some deleted and made anew under their name; a family in
// all namespaces; and Secrets that were missing.
func TestChangesReachThePods(t *testing.T) {
	labelled(t, guard)
	var slowest [2]time.Duration
	t.Run("side by side", func(t *testing.T) {
		for i, name := range []string{"direct", "through the guard"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				slowest[i] = changes(t, i == 1)
			})
		}
	})
	if slowest[0] > 0 && slowest[1] > slowest[0]+time.Second {
		t.Errorf("p99 of the way into the pods is %v through the guard, %v without", slowest[1], slowest[0])
	}
}

// changes returns the p99 of the 100 changes' way.
func changes(t *testing.T, through bool) time.Duration {
	options := viaProxy()
	options.PlainRuntime = true
	// The kubelet takes changes over when it next looks at a pod: once a minute
	// by default, which would hide everything else.
	options.KubeletConfig = func(config map[string]any) { config["syncFrequency"] = "1s" }
	s := stage(t, options)
	s.guarded(through, sentinels)
	own := s.counters().open
	c := newPopulation(20, 20, 40, 100, 4)
	began := time.Now()
	s.populate(c)
	s.eventually(3*time.Minute, "all pods run", func() bool { return s.runningPods("") == c.pods })

	// Mutable and missing ones, and of the families all or one each.
	watched := c.mutable + c.missing + len(families)*c.namespaces
	if through {
		watched = c.mutable + c.missing + len(families)
	}
	s.eventually(90*time.Second, fmt.Sprintf("%d WATCHes are open", watched), func() bool { return s.counters().open-own == watched })
	talk := converse(since(s.audit(), time.Since(began)), c)
	lines, volumes, _ := s.lateReads(began)
	s.say("start: %v; %d mounts of %d volumes failed for a read of more than 1 s", talk, lines, volumes)
	if through && talk.immutableWatches+talk.watches != watched {
		t.Errorf("%d WATCHes, %d of them of immutable objects; want %d and 0", talk.watches, talk.immutableWatches, watched)
	}

	var all []string
	for i := range c.mutable {
		all = append(all, fmt.Sprint("config-", i))
	}
	path := func(volume string) string {
		var i int
		_, err := fmt.Sscanf(volume, "config-%d", &i)
		s.must(err, "name a ConfigMap")
		return "/api/v1/namespaces/" + c.namespace(i%c.pods) + "/configmaps/" + volume
	}
	took := s.arrivals(time.Minute, all, "changed", func(v string) error {
		return s.patch(path(v), `{"data":{"value":"changed"}}`)
	})
	again := s.arrivals(time.Minute, all[:10], "again", func(v string) error {
		if err := s.remove(path(v)); err != nil {
			return err
		}
		o := mount{name: v}.object("")
		o.path = path(v)[:len(path(v))-len(v)-1]
		if err := s.create(o); err != nil {
			return err
		}
		return s.patch(path(v), `{"data":{"value":"again"}}`)
	})
	var missing []string
	for i := range c.missing {
		missing = append(missing, fmt.Sprint("missing-", i))
	}
	appeared := s.arrivals(time.Minute, missing, "there", func(v string) error {
		var i int
		if _, err := fmt.Sscanf(v, "missing-%d", &i); err != nil {
			return err
		}
		return s.create(namespaced(c.namespace(i), "secrets", fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\nstringData: {value: there}\n", v)))
	})
	family := s.familyChange(c)
	s.say("from a change to the pod's file: p50 %v, p99 %v, last %v; deleted and made anew %v; missing before %v; a family in %d namespaces %v",
		quantile(took, 0.5), quantile(took, 0.99), quantile(took, 1), quantile(again, 1), quantile(appeared, 1), c.namespaces, family.Round(10*time.Millisecond))
	return quantile(took, 0.99)
}

// familyChange changes a family in all namespaces, as its publisher does, and
// takes the time until all pods have it.
func (s *scene) familyChange(c *population) time.Duration {
	s.Helper()
	began := time.Now()
	for n := range c.namespaces {
		s.must(s.patch("/api/v1/namespaces/"+c.namespace(n)+"/configmaps/"+families[0], `{"data":{"value":"rotated"}}`), "change a family")
	}
	s.eventually(90*time.Second, "all pods have the family's change", func() bool {
		mounted, err := s.mounted()
		rotated := 0
		for _, v := range mounted[mount{name: families[0]}.volume()] {
			if v == "rotated" {
				rotated++
			}
		}
		return err == nil && rotated == c.pods
	})
	return time.Since(began)
}
