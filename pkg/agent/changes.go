package agent

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// changes logs what has changed since the last look, once each, and nothing
// that has not.
type changes struct {
	log *slog.Logger
	// states are the verdicts of each key, joined: a pod may have two.
	states map[restartpolicy.Key]string
	// troubles are what was told to be wrong.
	troubles map[string]bool
	// listeners hear of acts as the log does.
	listeners []Listener
}

func newChanges(log *slog.Logger) *changes {
	return &changes{log: log, states: map[restartpolicy.Key]string{}, troubles: map[string]bool{}}
}

// verdicts logs changes of verdict. What is well when it is first seen is not
// worth a line; nor are the unknown verdicts of all pods while the runtime does
// not answer, which is told once for the runtime.
func (c *changes) verdicts(s *node.Snapshot, verdicts []restartpolicy.Verdict) {
	now := map[restartpolicy.Key]string{}
	details := map[restartpolicy.Key]restartpolicy.Verdict{}
	var order []restartpolicy.Key
	for _, v := range verdicts {
		state := string(v.State)
		if v.State == restartpolicy.Unknown && s.Runtime.Err != nil {
			c.keep(v.PodName, now)
			continue
		}
		if before, ok := now[v.Key]; ok {
			now[v.Key] = before + "+" + state
			continue
		}
		now[v.Key], details[v.Key] = state, v
		order = append(order, v.Key)
	}
	for _, key := range order {
		v, was := details[key], c.states[key]
		if now[key] == was || was == "" && well(v.State) {
			continue
		}
		c.info("verdict changed", target(key, v.Target),
			slog.String("verdict", now[key]), slog.String("was", was), slog.String("detail", v.Detail))
	}
	for key, was := range c.states {
		if _, ok := now[key]; !ok && !gone(was) {
			c.info("verdict gone", target(key, restartpolicy.Target{}), slog.String("was", was))
		}
	}
	c.states = now
}

// keep takes over what was known of a pod.
func (c *changes) keep(pod node.PodName, now map[restartpolicy.Key]string) {
	for key, was := range c.states {
		if key.PodName == pod && pod.Name != "" {
			now[key] = was
		}
	}
}

func well(state restartpolicy.State) bool {
	return state == restartpolicy.Healthy || state == restartpolicy.IntendedDown || state == restartpolicy.Excluded
}

// gone tells verdicts whose end is no news.
func gone(was string) bool {
	return strings.Contains(was, string(restartpolicy.NoManifest)) || well(restartpolicy.State(was))
}

// sources logs what can be seen no longer, and what can be seen again. The
// kubelet's view is not among them: its adapter tells.
func (c *changes) sources(s *node.Snapshot) {
	c.trouble("container runtime (CRI)", s.Runtime.Err)
	c.trouble("manifest directory", s.Intent.Err)
	c.trouble("kubelet configuration", s.Settings.Err)
	c.trouble("kubelet unit", s.Kubelet.Unit.Err)
	c.trouble("runtime unit", s.Runtime.Unit.Err)
	c.state("paused", s.Host.Paused)
	shutdown := ""
	if s.Host.ShuttingDown {
		shutdown = "the node is shutting down"
	}
	c.state("shutting down", shutdown)
	c.state("busy", strings.Join(s.Host.Busy, ", "))
}

// trouble logs when something begins to fail and when it ends, whatever the
// error's words are in between.
func (c *changes) trouble(what string, err error) {
	switch {
	case err != nil && !c.troubles[what]:
		c.log.Warn("cannot see, or use: "+what, "error", firstLine(err.Error()))
	case err == nil && c.troubles[what]:
		c.log.Info("works again: " + what)
	}
	c.troubles[what] = err != nil
}

func (c *changes) state(what, text string) {
	if (text != "") == c.troubles[what] {
		return
	}
	c.troubles[what] = text != ""
	if text != "" {
		c.log.Info("no acts: "+what, "detail", text)
		return
	}
	c.log.Info("over: " + what)
}

// act logs what became of an act.
func (c *changes) act(message string, a restartpolicy.Act) {
	c.info(message, target(a.Key, a.Target),
		slog.String("id", a.ID), slog.String("step", string(a.Kind)), slog.String("result", string(a.Result)),
		slog.String("verdict", string(a.State)), slog.String("reason", a.Reason), slog.String("detail", a.Detail),
		slog.String("evidence", a.Evidence), slog.String("record", a.Record),
		slog.Duration("took", max(0, a.Finished.Boot-a.Began.Boot).Round(time.Millisecond)))
	for _, l := range c.listeners {
		l.Acted(a)
	}
}

// target are the attributes of what a line is about, with the field's keys.
func target(key restartpolicy.Key, t restartpolicy.Target) []slog.Attr {
	attrs := []slog.Attr{slog.String("namespace", key.Namespace), slog.String("pod", key.Name),
		slog.String("container", key.Container), slog.String("containerID", t.ContainerID)}
	if t.ContainerID != "" {
		attrs = append(attrs, slog.Uint64("attempt", uint64(t.Attempt)))
	}
	return attrs
}

// info logs without the attributes that have nothing to say.
func (c *changes) info(message string, about []slog.Attr, more ...slog.Attr) {
	attrs := slices.DeleteFunc(append(about, more...), func(a slog.Attr) bool {
		return a.Value.Kind() == slog.KindString && a.Value.String() == ""
	})
	c.log.LogAttrs(context.Background(), slog.LevelInfo, message, attrs...)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
