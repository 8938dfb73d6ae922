package agent

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// live runs the loop of a scene for so long, with the scene's clock that moves
// by an interval a look.
func (s *scene) live(span time.Duration) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan struct{})
	s.looking = func() { s.pass(s.cfg.Interval.Duration) }
	go func() { defer close(ended); s.Agent.Run(ctx) }()
	<-time.After(span)
	synctest.Wait()
	cancel()
	<-ended
}

func logged(c *config.Configuration) { c.Directories.Log = filepath.Join(c.Directories.Run, "log") }

// timeline are the lines of a kind; of verdicts, those on pods.
func (s *scene) timeline(kind timeline.Kind) []timeline.Line {
	s.Helper()
	h, err := timeline.Read(s.cfg.Directories.Log, time.Time{})
	if err != nil || h.Skipped > 0 {
		s.Fatal(h.Skipped, err)
	}
	var lines []timeline.Line
	for _, l := range h.Lines {
		if service := l.Kind == timeline.Verdict && l.Pod == ""; l.Kind == kind && !service {
			lines = append(lines, l)
		}
	}
	return lines
}

func TestTheTimelineHoldsChangesAndSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stage(t, logged)
		s.chronicle.counts = func() (timeline.Counts, bool) { return timeline.Counts{Streams: 7}, s.looks > 100 }
		s.live(8 * time.Minute)
		s.start()
		s.node = stale()
		s.node.Intent.Pods[0].Pod.Labels = map[string]string{"revision": "8"}
		s.live(time.Second)

		started, verdicts := s.timeline(timeline.Started), s.timeline(timeline.Verdict)
		if len(started) != 2 || started[0].BootID != "boot-1" || started[0].UpSeconds != 36000 || started[0].Version != "v1" {
			t.Errorf("started: %+v", started)
		}
		// Well when first seen is worth a line here: a report begins somewhere.
		if len(verdicts) != 2 || verdicts[0].State != "healthy" || verdicts[0].Pod != etcd.Name || verdicts[0].Container != "etcd" ||
			verdicts[1].State != "stale-running" || verdicts[1].Revision != "8" || verdicts[1].Detail == "" {
			t.Errorf("verdicts: %+v", verdicts)
		}
		if n := len(s.timeline(timeline.Alive)); n != 1 {
			t.Errorf("%d signs of life in eight minutes", n)
		}
		if n := len(s.timeline(timeline.Ended)); n != 2 {
			t.Errorf("%d ends", n)
		}
	})
}

func TestTheProxysCountsAreALineAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stage(t, logged)
		s.chronicle.counts = func() (timeline.Counts, bool) { return timeline.Counts{Streams: 7, Watches: 2}, true }
		s.live(5*time.Minute + time.Second)
		lines := s.timeline(timeline.Proxy)
		if len(lines) != 6 || *lines[0].Counts != (timeline.Counts{Streams: 7, Watches: 2}) {
			t.Errorf("%d lines in five minutes: %+v", len(lines), lines)
		}
		if n := len(s.timeline(timeline.Alive)); n != 0 {
			t.Errorf("%d signs of life beside them", n)
		}
	})
}

func TestANewRevisionAndAPodThatIsGoneAreChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stage(t, logged)
		end := s.chronicle.run("v1", "boot-1", (*fakeClock)(s))
		s.watch(10 * time.Second)
		s.node.Intent.Pods[0].Pod.Annotations = map[string]string{"revision": "9"}
		s.watch(10 * time.Second)
		s.node.Intent.Pods, s.node.Runtime.Sandboxes, s.node.Kubelet.View.Pods = nil, nil, []node.PodView{}
		s.watch(10 * time.Second)
		end()
		lines := s.timeline(timeline.Verdict)
		if len(lines) != 3 || lines[1].Revision != "9" || lines[1].State != "healthy" || lines[2].State != timeline.Gone {
			t.Errorf("%+v", lines)
		}
	})
}

// A full or broken disk costs the timeline, and nothing else.
func TestLooksGoOnWithoutATimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stage(t, logged)
		if err := os.WriteFile(s.cfg.Directories.Log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.live(time.Hour)
		if s.published().Agent.Looks < 700 || s.logged("the timeline loses lines") != 1 {
			t.Errorf("%d looks\n%s", s.published().Agent.Looks, s.log.String())
		}
	})
}
