package restartpolicy

import (
	"strconv"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// clockStep is by how much wall and boot clock must part between two looks to
// count as a step of the wall clock.
const clockStep = 2 * time.Second

// History is what the judge remembers between looks. It belongs to one boot:
// Judge starts afresh when the boot ID differs. The zero value is a fresh one.
type History struct {
	BootID string `json:"bootID"`
	// Offset is wall minus boot clock at the last look; Stepped is when it last
	// jumped, on the boot clock.
	Offset  time.Duration `json:"offset"`
	Stepped time.Duration `json:"stepped"`
	// Faults by key and class.
	Faults map[string]Fault `json:"faults,omitempty"`
	// Manifests by pod name.
	Manifests map[string]ManifestSeen `json:"manifests,omitempty"`
}

// Fault is the memory of one finding.
type Fault struct {
	State   State  `json:"state"`
	Subject string `json:"subject"`
	// Since is the first look that saw it; Looks counts those in a row.
	Since time.Duration `json:"since"`
	Looks int           `json:"looks"`
	// LastHung is the last look at which a start hung, 0 for never.
	LastHung time.Duration `json:"lastHung,omitempty"`
}

// ManifestSeen is when a manifest took its present content at its present path.
type ManifestSeen struct {
	Path   string        `json:"path"`
	Digest string        `json:"digest"`
	Since  time.Duration `json:"since"`
}

// next returns the history after one more look, findings included. The
// argument is not changed.
func (h History) next(s *node.Snapshot, findings []finding) History {
	out := History{
		BootID:    s.Host.BootID,
		Offset:    time.Duration(s.Taken.Wall.UnixNano()) - s.Taken.Boot,
		Faults:    make(map[string]Fault, len(findings)),
		Manifests: make(map[string]ManifestSeen, len(s.Intent.Pods)),
	}
	fresh := h.BootID != s.Host.BootID
	if fresh {
		h = History{Offset: out.Offset}
	}
	out.Stepped = h.Stepped
	if d := out.Offset - h.Offset; d > clockStep || d < -clockStep {
		out.Stepped = s.Taken.Boot
	}
	h.nextManifests(s, fresh, &out)
	h.nextFaults(s, findings, &out)
	return out
}

func (h History) nextManifests(s *node.Snapshot, fresh bool, out *History) {
	if s.Intent.Err != nil {
		out.Manifests = h.Manifests
		return
	}
	for i := range s.Intent.Pods {
		m := &s.Intent.Pods[i]
		name := m.Name.String()
		seen, ok := h.Manifests[name]
		if !ok || seen.Digest != m.Digest || seen.Path != m.Path {
			seen = ManifestSeen{Path: m.Path, Digest: m.Digest, Since: s.Taken.Boot}
			if fresh {
				age := max(0, s.Taken.Wall.Sub(m.Modified))
				seen.Since = max(0, s.Taken.Boot-age)
			}
		}
		out.Manifests[name] = seen
	}
}

func (h History) nextFaults(s *node.Snapshot, findings []finding, out *History) {
	blind := map[node.PodName]bool{}
	for i := range findings {
		f := &findings[i]
		if f.state == Unknown {
			blind[f.key.PodName] = true
			continue
		}
		id := faultID(f)
		old, ok := h.Faults[id]
		now := Fault{State: f.state, Subject: subject(f), Since: s.Taken.Boot, Looks: 1}
		if ok && old.Subject == now.Subject {
			now.Since, now.LastHung = old.Since, old.LastHung
			if old.State == now.State {
				now.Looks = old.Looks + 1
			}
		}
		if f.state == StartHung {
			now.LastHung = s.Taken.Boot
		}
		out.Faults[id] = now
	}
	// What could not be seen this time is remembered, and must be confirmed
	// anew before anything is done about it.
	for id, f := range h.Faults {
		if _, ok := out.Faults[id]; ok {
			continue
		}
		if name := podOf(id); blind[name] && name.Name != "" {
			f.Looks = 0
			out.Faults[id] = f
		}
	}
}

// class groups the states that one broken container may pass through, so that
// the time it has been down is not forgotten on the way.
func class(state State) string {
	switch state {
	case InBackOff, StartHung, StartFailing, Husk, Inverted:
		return "down"
	}
	return string(state)
}

// faultID is the key of a fault: "class|namespace|pod|container".
func faultID(f *finding) string {
	return class(f.state) + "|" + f.key.Namespace + "|" + f.key.Name + "|" + f.key.Container
}

func podOf(faultID string) node.PodName {
	parts := splitID(faultID)
	return node.PodName{Namespace: parts[1], Name: parts[2]}
}

func splitID(id string) [4]string {
	var parts [4]string
	i := 0
	for _, r := range id {
		if r == '|' && i < 3 {
			i++
			continue
		}
		parts[i] += string(r)
	}
	return parts
}

// subject is what a fault is about: another container or generation is another
// fault.
func subject(f *finding) string {
	switch class(f.state) {
	case "down", string(StaleRunning):
		return f.target.ContainerID + "/" + strconv.Itoa(int(f.target.Attempt))
	case string(TwoGenerations), string(WaitingForOld):
		return f.target.SandboxID
	case string(Rejected), string(NeverStarted):
		return f.target.UID + f.target.Digest
	}
	return ""
}
