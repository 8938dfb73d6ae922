package main

import (
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/immutable"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/counted"
)

func TestTheTimelineHasTheCountsOfAGuardThatWorks(t *testing.T) {
	s := stage(t)
	counts := guardCounts(s.run, s)
	if _, ok := counts(); ok {
		t.Error("no guard")
	}
	written := counted.Stats{Time: s.now.Wall, Guard: immutable.Stats{Streams: 120, OpenWatches: 6, Counters: map[string]int64{"lists": 9}}}
	if err := counted.Write(s.run, written); err != nil {
		t.Fatal(err)
	}
	if got, ok := counts(); !ok || got != (timeline.Counts{Streams: 120, Watches: 6, Lists: 9}) {
		t.Errorf("%+v, %v", got, ok)
	}
	s.now.Wall = s.now.Wall.Add(2 * counted.Stale)
	if _, ok := counts(); ok {
		t.Error("a guard that hangs")
	}
}
