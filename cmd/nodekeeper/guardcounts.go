package main

import (
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/immutable"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/counted"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// guardCounts reads for the timeline what a working guard has written into dir.
func guardCounts(dir string, clock node.Clock) func() (timeline.Counts, bool) {
	return func() (timeline.Counts, bool) {
		s, _, err := counted.Read(dir)
		if err != nil || !s.Fresh(clock.Now().Wall) {
			return timeline.Counts{}, false
		}
		return timeline.Counts{
			Streams: s.Guard.Streams, Watches: s.Guard.OpenWatches, Lists: s.Guard.Counters[immutable.Lists.String()],
		}, true
	}
}
