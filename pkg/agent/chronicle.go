package agent

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

const (
	// aliveEvery is the longest time without a line: a node that goes down
	// without a word was looked at until about then.
	aliveEvery = 5 * time.Minute
	// countEvery is the time between two lines of the proxy's counts.
	countEvery = time.Minute
	// closeTime bounds the wait for the last lines.
	closeTime = 2 * time.Second
)

// chronicle notes in the timeline what has changed since the last look. It
// belongs to the loop; the disk is its writer's.
type chronicle struct {
	writer *timeline.Writer
	counts func() (timeline.Counts, bool)
	noted  map[restartpolicy.Key]noted
	// spoke and counted are on the boot clock.
	spoke, counted time.Duration
}

type noted struct{ state, revision string }

// newChronicle returns nil where there is no directory for it, of which every
// method does nothing.
func newChronicle(dir string, counts func() (timeline.Counts, bool), log *slog.Logger) *chronicle {
	if dir == "" {
		return nil
	}
	return &chronicle{writer: timeline.NewWriter(timeline.New(dir), log), counts: counts}
}

// run writes until the returned function has been called.
func (c *chronicle) run(version, bootID string, clock node.Clock) (end func()) {
	if c == nil {
		return func() {}
	}
	now := clock.Now()
	c.writer.Add(timeline.Line{Time: now.Wall, Kind: timeline.Started, BootID: bootID, UpSeconds: seconds(now.Boot), Version: version})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { // ends with the returned function, unless a disk hangs: then with the process
		defer close(ended)
		c.writer.Run(ctx)
	}()
	return func() {
		c.writer.Add(timeline.Line{Time: clock.Now().Wall, Kind: timeline.Ended})
		cancel()
		select {
		case <-ended:
		case <-time.After(closeTime):
		}
	}
}

// looked notes what a look changed: states are the verdicts of each key.
func (c *chronicle) looked(s *node.Snapshot, states map[restartpolicy.Key]string, verdicts []restartpolicy.Verdict) {
	if c == nil {
		return
	}
	lines := append(c.changed(s, states, verdicts), c.count(s.Taken)...)
	if len(lines) == 0 && s.Taken.Boot-c.spoke >= aliveEvery {
		lines = append(lines, timeline.Line{Time: s.Taken.Wall, Kind: timeline.Alive})
	}
	if len(lines) == 0 {
		return
	}
	c.spoke = s.Taken.Boot
	if !c.writer.Add(lines...) {
		// What was not taken is noted again.
		c.noted = nil
	}
}

func (c *chronicle) changed(s *node.Snapshot, states map[restartpolicy.Key]string, verdicts []restartpolicy.Verdict) []timeline.Line {
	details := map[restartpolicy.Key]string{}
	for _, v := range verdicts {
		details[v.Key] = cmp.Or(details[v.Key], v.Detail)
	}
	revisions := map[node.PodName]string{}
	for _, m := range s.Intent.Pods {
		if m.Pod != nil {
			revisions[m.Name] = cmp.Or(m.Pod.Labels[revisionKey], m.Pod.Annotations[revisionKey])
		}
	}
	now := make(map[restartpolicy.Key]noted, len(states))
	var lines []timeline.Line
	note := func(key restartpolicy.Key, n noted) {
		lines = append(lines, timeline.Line{Time: s.Taken.Wall, Kind: timeline.Verdict, Namespace: key.Namespace, Pod: key.Name,
			Container: key.Container, State: n.state, Revision: n.revision, Detail: details[key]})
	}
	for key, state := range states {
		now[key] = noted{state, revisions[key.PodName]}
		if was, known := c.noted[key]; !known || was != now[key] {
			note(key, now[key])
		}
	}
	for key := range c.noted {
		if _, is := now[key]; !is {
			note(key, noted{state: timeline.Gone})
		}
	}
	c.noted = now
	slices.SortFunc(lines, func(a, b timeline.Line) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod), strings.Compare(a.Container, b.Container))
	})
	return lines
}

// revisionKey is the label, or annotation, of OpenShift's static pods (library-go
// pkg/operator/staticpod/controller/installer).
const revisionKey = "revision"

func (c *chronicle) count(now node.Instant) []timeline.Line {
	if c.counts == nil || c.counted != 0 && now.Boot-c.counted < countEvery {
		return nil
	}
	c.counted = now.Boot
	counts, ok := c.counts()
	if !ok {
		return nil
	}
	return []timeline.Line{{Time: now.Wall, Kind: timeline.Proxy, Counts: &counts}}
}
