package metrics

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/immutable"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/counted"
)

// outcomes of the kubelet's requests that the guard counts by itself; those that
// are none of its are counted in front of it.
var outcomes = []immutable.Counter{
	immutable.ServedFresh, immutable.ServedLive, immutable.ServedStale, immutable.ServedOlder, immutable.ServedWatch,
	immutable.PassedStreams, immutable.PassedObjects, immutable.PassedBytes, immutable.PassedLarge, immutable.PassedVersion,
	immutable.PassedShape, immutable.PassedClosing, immutable.PassedAnswer, immutable.Refused, immutable.Abandoned,
}

// addGuard adds nothing where there is no watch guard, and of one that is dead
// or hangs that it is.
func (m *Metrics) addGuard(p *page) {
	s, there, err := counted.Read(m.Proxy)
	if !there {
		return
	}
	up := err == nil && s.Fresh(m.Clock.Now().Wall)
	p.add("nodekeeper_proxy_up", truth(up))
	if up {
		addGuardCounts(p, s)
	}
	if _, err := os.Lstat(m.Derived); errors.Is(err, fs.ErrNotExist) {
		s.Bypass = append(s.Bypass, counted.Direct)
	}
	for _, way := range counted.Bypasses {
		p.add("nodekeeper_proxy_bypass", truth(slices.Contains(s.Bypass, way) && (up || way == counted.Direct)), string(way))
	}
	if up {
		p.add("nodekeeper_proxy_late_answers_total", float64(s.Guard.Counters[immutable.FirstReadsLate.String()]))
	}
}

func addGuardCounts(p *page, s counted.Stats) {
	count := func(c immutable.Counter) float64 { return float64(s.Guard.Counters[c.String()]) }
	for _, c := range outcomes {
		p.add("nodekeeper_proxy_requests_total", count(c), c.String())
	}
	p.add("nodekeeper_proxy_requests_total", float64(s.Front.Passed), "passed_other")
	for _, r := range []struct {
		counter      immutable.Counter
		verb, result string
	}{
		{immutable.ListsAnswered, "list", "ok"}, {immutable.ListFailures, "list", "failed"},
		{immutable.WatchesAccepted, "watch", "ok"}, {immutable.WatchFailures, "watch", "failed"}, {immutable.Expired, "watch", "expired"},
	} {
		p.add("nodekeeper_proxy_upstream_requests_total", count(r.counter), r.verb, r.result)
	}
	p.add("nodekeeper_proxy_streams", float64(s.Guard.Streams))
	p.add("nodekeeper_proxy_upstream_watches", float64(s.Guard.OpenWatches))
	p.add("nodekeeper_proxy_objects", float64(s.Guard.Objects))
	p.add("nodekeeper_proxy_cache_bytes", float64(s.Guard.Bytes))
}
