package e2e

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/test/node"
)

var (
	fullPods = flag.Int("full-pods", 250, "pods of TestFullNode, with 8 objects each")
	fullSpan = flag.Duration("full-span", 10*time.Minute, "how long TestFullNode counts from the start of the kubelet")
	fullWays = flag.String("full-ways", "guard,Watch,Cache,Get", "what TestFullNode compares: the guard, and the kubelet's strategies without it")
)

// A full node of a real kubelet: 250 pods, 2,000 objects of which 90 % are
// immutable, two families in 100 namespaces, all there when the kubelet starts;
// through the guard, directly, and, with a fifth of the pods, by the kubelet's
// other strategies. By turns: they share the machine.
func TestFullNode(t *testing.T) {
	labelled(t, guard, slow)
	for way := range strings.SplitSeq(*fullWays, ",") {
		t.Run(way, func(t *testing.T) {
			pods, span := *fullPods, *fullSpan
			if way == "Cache" || way == "Get" {
				pods, span = max(1, pods/5), min(span, 3*time.Minute)
			}
			fullNode(t, way, pods, span)
		})
	}
}

func fullNode(t *testing.T, way string, pods int, span time.Duration) {
	through := way == "guard"
	options := viaProxy()
	options.PlainRuntime = true
	options.KubeletConfig = func(config map[string]any) {
		config["maxPods"] = pods + 10
		if !through {
			config["configMapAndSecretChangeDetectionStrategy"] = way
		}
	}
	s := stage(t, options)
	s.guarded(through, sentinels)
	_, err := s.box.Systemctl(s.ctx, "stop", node.Kubelet)
	s.must(err, "stop the kubelet")
	own := s.counters().open
	objects := 8 * pods
	c := newPopulation(pods, max(1, pods*2/5), objects*9/10, objects/10, max(1, pods/50))
	s.populate(c)

	before, began := s.counters(), time.Now()
	_, err = s.box.Systemctl(s.ctx, "start", node.Kubelet)
	s.must(err, "start the kubelet")
	s.eventually(30*time.Minute, "all pods run", func() bool {
		time.Sleep(time.Second)
		return s.runningPods("") == c.pods
	})
	ran := time.Since(began)
	s.throughout(max(time.Second, span-ran), "counting", func() error { return nil })
	counted := min(time.Since(began), max(span, ran))
	talk, after := converse(since(s.audit(), time.Since(began)), c), s.counters()
	lines, volumes, events := s.lateReads(began)
	load, err := os.ReadFile("/proc/loadavg")
	s.must(err, "read the load")
	open := after.open - own
	s.say("%-5s start   %v; %d WATCHes open; etcd: %d reads for objects, %d ranges; %d pods ran after %v; %d mounts of %d volumes failed for a read of more than 1 s (%d events); counted %v, load %s",
		way, talk, open, after.reads-before.reads, after.ranges-before.ranges, pods, ran.Round(time.Second), lines, volumes, events, counted.Round(time.Second), strings.Fields(string(load))[0])

	again := time.Now()
	_, err = s.box.Systemctl(s.ctx, "restart", node.Kubelet)
	s.must(err, "restart the kubelet")
	s.throughout(time.Minute, "the kubelet has started anew", func() error { return nil })
	restart := converse(since(s.audit(), time.Since(again)), c)
	end := s.counters()
	lines, volumes, _ = s.lateReads(again)
	s.say("%-5s restart %v; %d WATCHes open; etcd: %d reads for objects, %d ranges; %d mounts of %d volumes failed for a read of more than 1 s; longest gap between two renewals of the lease %v",
		way, restart, end.open-own, end.reads-after.reads, end.ranges-after.ranges, lines, volumes, leaseGap(s.audit(), began.Add(15*time.Second)).Round(100*time.Millisecond))

	var changing []string
	for i := range min(c.mutable, 100) {
		changing = append(changing, fmt.Sprint("config-", i))
	}
	took := s.arrivals(5*time.Minute, changing, "changed", func(v string) error {
		var i int
		if _, err := fmt.Sscanf(v, "config-%d", &i); err != nil {
			return err
		}
		return s.patch("/api/v1/namespaces/"+c.namespace(i%c.pods)+"/configmaps/"+v, `{"data":{"value":"changed"}}`)
	})
	s.say("%-5s %d changes to the pods' files, at the kubelet's own pace of a minute: p50 %v, p99 %v", way, len(changing), quantile(took, 0.5), quantile(took, 0.99))
	if through {
		stats, err := s.box.ReadFile("/run/nodekeeper/proxy/stats.json")
		s.must(err, "read the guard's counters")
		s.Logf("guard's counters: %s", stats)
		s.holds(c, talk, restart, open)
	} else if way == "Watch" && talk.watches < objects {
		t.Errorf("the stock kubelet opened %d WATCHes of %d objects: nothing was measured", talk.watches, objects)
	}
}

// holds compares a guarded node with what the guard promises.
func (s *scene) holds(c *population, start, restart conversation, open int) {
	s.Helper()
	if n := start.immutableWatches + restart.immutableWatches; n != 0 {
		s.Errorf("%d WATCHes of immutable objects", n)
	}
	watched := c.mutable + c.missing + len(families)
	if start.watches > 250 || start.watches != watched {
		s.Errorf("%d WATCHes at the start, want %d, and at most 250", start.watches, watched)
	}
	if open != watched {
		s.Errorf("%d WATCHes open, want %d: mutable, missing and sentinels", open, watched)
	}
	if restart.watches != 0 {
		s.Errorf("a restart of the kubelet opened %d WATCHes", restart.watches)
	}
	bucket := config.Default().Proxy.Watches
	if most := bucket.Burst + bucket.PerSecond; start.peakWatches > most {
		s.Errorf("%d WATCHes within a second, the bucket allows %d", start.peakWatches, most)
	}
}
