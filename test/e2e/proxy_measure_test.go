package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// families are the ConfigMaps that every namespace of OpenShift has.
var families = []string{"kube-root-ca.crt", "openshift-service-ca.crt"}

// sentinels has the guard watch one of each family.
const sentinels = "sentinels: [kube-root-ca.crt, openshift-service-ca.crt]"

// population is pods over several namespaces, each with Secrets and ConfigMaps of its
// own and its namespace's families; some wait for a Secret that is not there.
type population struct {
	pods, namespaces             int
	immutable, mutable, missing  int // in all
	mounts                       [][]mount
	immutableNames, mutableNames map[string]bool
}

func newPopulation(pods, namespaces, immutable, mutable, missing int) *population {
	c := &population{pods: pods, namespaces: namespaces, immutable: immutable, mutable: mutable, missing: missing,
		mounts: make([][]mount, pods), immutableNames: map[string]bool{}, mutableNames: map[string]bool{}}
	add := func(i int, m mount) { c.mounts[i%pods] = append(c.mounts[i%pods], m) }
	for i := range pods {
		for _, name := range families {
			add(i, mount{name: name})
		}
	}
	for i := range immutable {
		name := fmt.Sprint("secret-", i)
		c.immutableNames[name] = true
		add(i, mount{name: name, secret: true, immutable: true})
	}
	for i := range mutable {
		name := fmt.Sprint("config-", i)
		c.mutableNames[name] = true
		add(i, mount{name: name})
	}
	for i := range missing {
		add(i, mount{name: fmt.Sprint("missing-", i), secret: true, optional: true})
	}
	return c
}

func (c *population) namespace(pod int) string { return fmt.Sprint("ns-", pod%c.namespaces) }

// populate makes everything; the pods are bound and last.
func (s *scene) populate(c *population) {
	s.Helper()
	var spaces, accounts, objects, pods []object
	for n := range c.namespaces {
		space := namespace(c.namespace(n))
		spaces, accounts = append(spaces, space[0]), append(accounts, space[1:]...)
		for _, name := range families {
			objects = append(objects, mount{name: name}.object(c.namespace(n)))
		}
	}
	for p, mounts := range c.mounts {
		for _, m := range mounts {
			if !m.optional && !slices.Contains(families, m.name) {
				objects = append(objects, m.object(c.namespace(p)))
			}
		}
		pods = append(pods, pod(c.namespace(p), fmt.Sprint("p", p), mounts...))
	}
	for _, each := range [][]object{spaces, accounts, objects, pods} {
		s.createAll(each)
	}
	s.say("%d pods in %d namespaces, %d immutable Secrets, %d ConfigMaps, %d of the families, %d missing Secrets",
		c.pods, c.namespaces, c.immutable, c.mutable, c.namespaces*len(families), c.missing)
}

// counters are the API server's and etcd's own.
type counters struct {
	// open are WATCHes of one Secret or ConfigMap.
	open int
	// reads are how often the API server asked etcd for its revision or for one
	// object, for Secrets and ConfigMaps; ranges all reads of etcd.
	reads, ranges int
}

func (s *scene) counters() counters {
	s.Helper()
	var c counters
	_, text, err := s.call(http.MethodGet, "/metrics", "", "")
	s.must(err, "ask the API server for its metrics")
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `resource="secrets"`) && !strings.Contains(line, `resource="configmaps"`) {
			continue
		}
		switch {
		case strings.HasPrefix(line, "apiserver_longrunning_requests{") && strings.Contains(line, `scope="resource"`) && strings.Contains(line, `verb="WATCH"`):
			c.open += value(line)
		case strings.HasPrefix(line, "etcd_requests_total{") && (strings.Contains(line, `operation="get"`) || strings.Contains(line, `operation="getCurrentResourceVersion"`)):
			c.reads += value(line)
		}
	}
	response, err := s.box.HTTPClient().Get("http://127.0.0.1:2379/metrics")
	s.must(err, "ask etcd for its metrics")
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	s.must(err, "ask etcd for its metrics")
	for line := range strings.Lines(string(metrics)) {
		if strings.HasPrefix(line, "etcd_mvcc_range_total ") {
			c.ranges = value(line)
		}
	}
	return c
}

// value is a sample's in the text format.
func value(line string) int {
	f, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " ")+1:]), 64)
	if err != nil {
		return -1
	}
	return int(f)
}

// conversation is what the API server heard of the node's objects.
type conversation struct {
	lists, watches, gets, immutableWatches int
	// peak is the most requests, peakWatches the most WATCHes, within any second.
	peak, peakWatches int
}

func converse(requests []heard, c *population) conversation {
	var out conversation
	var all, watches []time.Time
	for _, h := range onObjects(requests) {
		if h.ObjectRef.Name == "" {
			continue
		}
		all = append(all, h.RequestReceivedTimestamp)
		switch h.Verb {
		case "list":
			out.lists++
		case "get":
			out.gets++
		case "watch":
			out.watches++
			watches = append(watches, h.RequestReceivedTimestamp)
			if c.immutableNames[h.ObjectRef.Name] {
				out.immutableWatches++
			}
		}
	}
	out.peak, out.peakWatches = busiest(all), busiest(watches)
	return out
}

// busiest is the most within any second; the moments are in order.
func busiest(at []time.Time) int {
	most, from := 0, 0
	for i, t := range at {
		for t.Sub(at[from]) >= time.Second {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

func (c conversation) String() string {
	return fmt.Sprintf("%5d LIST %5d WATCH (%4d immutable) %5d GET, peak %4d/s (WATCH %3d/s)", c.lists, c.watches, c.immutableWatches, c.gets, c.peak, c.peakWatches)
}

var lateRead = regexp.MustCompile(`MountVolume\.SetUp failed for volume \\?"([^"\\]+).*failed to sync (?:secret|configmap) cache: timed out waiting for the condition`)

// lateReads are the kubelet's mounts that failed because an object did not come
// within its second: lines of its journal since a moment, and volumes of them.
// Events are what the API server was told of it.
func (s *scene) lateReads(since time.Time) (lines, volumes, events int) {
	s.Helper()
	journal, _, err := s.box.Exec(s.ctx, "journalctl", "--no-pager", "--output=cat", "--unit="+node.Kubelet, fmt.Sprintf("--since=@%d", since.Unix()))
	s.must(err, "read the kubelet's journal")
	seen := map[string]bool{}
	for line := range strings.Lines(journal) {
		// Each failure is told by the mounter and as an event.
		if m := lateRead.FindStringSubmatch(line); m != nil && strings.Contains(line, "nestedpendingoperations.go") {
			lines++
			seen[m[1]] = true
		}
	}
	_, answer, err := s.call(http.MethodGet, "/api/v1/events?fieldSelector=reason=FailedMount", "", "")
	s.must(err, "list events")
	var list struct {
		Items []struct {
			Message       string
			Count         int
			LastTimestamp time.Time
		}
	}
	s.must(json.Unmarshal(answer, &list), "list events")
	for _, e := range list.Items {
		if strings.Contains(e.Message, "cache: timed out waiting for the condition") && !e.LastTimestamp.Before(since.Truncate(time.Second)) {
			events += e.Count
		}
	}
	return lines, len(seen), events
}

// arrivals changes objects, several at a time, and takes for each the time until
// its new value is in its pod. Volumes have one pod each.
func (s *scene) arrivals(limit time.Duration, volumes []string, value string, change func(volume string) error) (took []time.Duration) {
	s.Helper()
	var mu sync.Mutex // guards changed
	changed := map[string]time.Time{}
	next := make(chan string)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for v := range next {
				at := time.Now()
				if err := change(v); err != nil {
					s.Error(err)
				}
				mu.Lock()
				changed[v] = at
				mu.Unlock()
			}
		})
	}
	work.Go(func() {
		for _, v := range volumes {
			next <- v
		}
		close(next)
	})
	arrived := map[string]bool{}
	for end := time.Now().Add(limit); len(arrived) < len(volumes) && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		mounted, err := s.mounted()
		s.must(err, "look at what is mounted")
		mu.Lock()
		for v, at := range changed {
			if !arrived[v] && slices.Contains(mounted[v], value) {
				arrived[v] = true
				took = append(took, time.Since(at))
			}
		}
		mu.Unlock()
	}
	work.Wait()
	if missing := len(volumes) - len(arrived); missing > 0 {
		s.Errorf("%d of %d changes had not arrived after %v", missing, len(volumes), limit)
	}
	slices.Sort(took)
	return took
}

// quantile is of a sorted list.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Round(10 * time.Millisecond)
}
