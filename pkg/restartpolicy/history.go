package restartpolicy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const (
	// clockStep is by how much wall and boot clock must part between two looks
	// to count as a step of the wall clock.
	clockStep = 2 * time.Second
	// lookSlack is how much longer than two intervals the time between two looks
	// may be before the rest of it counts as not lived: the looks take time too.
	lookSlack = 20 * time.Second
	// pauses is how many times in which nobody looked are remembered.
	pauses = 16
	// pastContents is how many earlier contents of a manifest are remembered.
	pastContents = 4
)

// History is what the judge remembers between looks. It belongs to one boot:
// Judge starts afresh when the boot ID differs. The zero value is a fresh one.
// All times are on the boot clock, moved on by the time in which nobody looked:
// a fault has the age that somebody has lived through.
type History struct {
	BootID string `json:"bootID"`
	// Looked is when the last look was.
	Looked time.Duration `json:"looked,omitempty"`
	// Answered is the last look at which the runtime answered.
	Answered time.Duration `json:"answered,omitempty"`
	// Offset is wall minus boot clock at the last look; Stepped is when it last
	// jumped.
	Offset  time.Duration `json:"offset"`
	Stepped time.Duration `json:"stepped"`
	// Kubelet and Runtime are since when their present processes run.
	Kubelet ProcessSeen `json:"kubelet"`
	Runtime ProcessSeen `json:"runtime"`
	// Pauses are the latest times in which nobody looked.
	Pauses []Pause `json:"pauses,omitempty"`
	// Faults by key and class.
	Faults map[string]Fault `json:"faults,omitempty"`
	// Manifests by pod name.
	Manifests map[string]ManifestSeen `json:"manifests,omitempty"`
}

// Pause is a time in which nobody looked: the length of it, up to a moment.
type Pause struct {
	Until  time.Duration `json:"until"`
	Length time.Duration `json:"length"`
}

// ProcessSeen is one process of a service.
type ProcessSeen struct {
	// Started identifies it, Since is the same less the time not lived.
	Started time.Duration `json:"started,omitempty"`
	Since   time.Duration `json:"since,omitempty"`
}

// Fault is the memory of one finding.
type Fault struct {
	State   State  `json:"state"`
	Subject string `json:"subject"`
	// Since is the first look that saw it; Looks counts those in a row. First is
	// the same look, not moved on: acts since then were meant for it.
	Since time.Duration `json:"since"`
	First time.Duration `json:"first,omitempty"`
	Looks int           `json:"looks"`
	// Before is the last look before First at which the runtime answered, 0 if
	// there was none: it may have begun right after that.
	Before time.Duration `json:"before,omitempty"`
	// Proved is since when all claims of its proof hold, 0 while one does not.
	Proved time.Duration `json:"proved,omitempty"`
	// Held is the last look at which they held.
	Held time.Duration `json:"held,omitempty"`
	// Wait is the longest that it was to be waited for.
	Wait time.Duration `json:"wait,omitempty"`
	// Seen is the last look that saw it.
	Seen time.Duration `json:"seen,omitempty"`
	// LastHung is the last look at which a start hung, 0 for never.
	LastHung time.Duration `json:"lastHung,omitempty"`
	// HungSince is since when one start after the other hangs.
	HungSince time.Duration `json:"hungSince,omitempty"`
}

// ManifestSeen is what is remembered of one pod's manifest.
type ManifestSeen struct {
	Revision
	// Since is when it took its present content at its present path.
	Since time.Duration `json:"since"`
	// UIDs are those of the pod's sandboxes while it has had this content;
	// Before are those that were there when it took it, before our eyes.
	UIDs   []string `json:"uids,omitempty"`
	Before []string `json:"before,omitempty"`
	// Gone is set while there is no manifest, and the pod still has a sandbox.
	Gone bool `json:"gone,omitempty"`
	// Changed is set once the content has changed before our eyes.
	Changed bool `json:"changed,omitempty"`
	// Ran is set once a sandbox of this content has been seen.
	Ran bool `json:"ran,omitempty"`
	// Rejected is the reason for which the kubelet's present process rejected it,
	// where only its journal tells.
	Rejected string `json:"rejected,omitempty"`
	// Past are earlier contents, newest last, with the UIDs that they had.
	Past []Revision `json:"past,omitempty"`
}

// Revision is one content of a manifest at one path: the same again has the
// same UID again, unless the file names one.
type Revision struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	// UID is the kubelet's for it, or empty while it is not known; Had are those
	// of the sandboxes that were there with an earlier content.
	UID string   `json:"uid,omitempty"`
	Had []string `json:"had,omitempty"`
}

// begin returns the history at the beginning of a look, before there are any
// findings. The argument is not changed.
func (h History) begin(s *node.Snapshot, sandboxes map[node.PodName][]*node.Sandbox) History {
	now := s.Taken.Boot
	out := History{BootID: s.Host.BootID, Looked: now, Offset: time.Duration(s.Taken.Wall.UnixNano()) - now}
	fresh := h.BootID != s.Host.BootID
	if fresh {
		h = History{Offset: out.Offset, Looked: now}
	}
	out.Pauses, out.Answered = h.Pauses, h.Answered
	if d := notLived(s, h.Looked); d > 0 {
		h = h.skip(d)
		out.Pauses = append(slices.Clip(h.Pauses), Pause{now, d})
		out.Pauses = out.Pauses[max(0, len(out.Pauses)-pauses):]
	}
	out.Faults, out.Stepped = h.Faults, h.Stepped
	if d := out.Offset - h.Offset; d > clockStep || d < -clockStep {
		out.Stepped = now
	}
	out.Kubelet = h.Kubelet.next(kubeletStarted(s))
	out.Runtime = h.Runtime.next(s.Runtime.Unit.ProcessStarted)
	if out.Kubelet.Started != h.Kubelet.Started {
		h = h.forgetUIDs()
	}
	out.Manifests = h.nextManifests(s, fresh, sandboxes)
	return out
}

// notLived is the time since the last look in which nobody looked.
func notLived(s *node.Snapshot, last time.Duration) time.Duration {
	if last == 0 {
		return 0
	}
	return max(0, s.Taken.Boot-last-2*s.Interval-lookSlack)
}

// skip moves everything on by a time that nobody lived through.
func (h History) skip(d time.Duration) History {
	later := func(t time.Duration) time.Duration {
		if t == 0 {
			return 0
		}
		return t + d
	}
	out := h
	out.Stepped, out.Kubelet.Since, out.Runtime.Since = later(h.Stepped), later(h.Kubelet.Since), later(h.Runtime.Since)
	out.Faults = make(map[string]Fault, len(h.Faults))
	for id, f := range h.Faults {
		f.Since, f.LastHung, f.HungSince = later(f.Since), later(f.LastHung), later(f.HungSince)
		f.Proved, f.Seen, f.Held = later(f.Proved), later(f.Seen), later(f.Held)
		out.Faults[id] = f
	}
	out.Manifests = make(map[string]ManifestSeen, len(h.Manifests))
	for name, m := range h.Manifests {
		m.Since = later(m.Since)
		out.Manifests[name] = m
	}
	return out
}

// lived is the part of an age, up to now, that somebody has lived through.
func (h History) lived(age, now time.Duration) time.Duration {
	began := now - age
	for _, p := range h.Pauses {
		age -= max(0, p.Until-max(began, p.Until-p.Length))
	}
	return age
}

// next takes over what is known of a process that runs on.
func (p ProcessSeen) next(started time.Duration) ProcessSeen {
	if started != p.Started {
		return ProcessSeen{Started: started, Since: started}
	}
	return p
}

func (h History) nextManifests(s *node.Snapshot, fresh bool, sandboxes map[node.PodName][]*node.Sandbox) map[string]ManifestSeen {
	if s.Intent.Err != nil {
		return h.Manifests
	}
	out := make(map[string]ManifestSeen, len(s.Intent.Pods))
	for i := range s.Intent.Pods {
		m := &s.Intent.Pods[i]
		name := m.Name.String()
		seen, ok := h.Manifests[name]
		now := Revision{Path: m.Path, Content: contentOf(m)}
		switch {
		case !ok:
			seen = ManifestSeen{Revision: now, Since: s.Taken.Boot}
			if fresh {
				age := max(0, s.Taken.Wall.Sub(m.Modified))
				seen.Since = max(0, s.Taken.Boot-age)
			}
		case seen.Path != now.Path || seen.Content != now.Content:
			seen = seen.change(now, s.Taken.Boot)
		case seen.Gone:
			seen.Gone, seen.Since = false, s.Taken.Boot
		}
		if s.Runtime.Err == nil {
			seen.UIDs = generations(sandboxes[m.Name], seen.UIDs)
		}
		out[name] = seen
	}
	// A manifest that is out for a moment comes back as the same, or as another.
	for name, seen := range h.Manifests {
		if _, ok := out[name]; !ok && s.Runtime.Err == nil && len(generations(sandboxes[parsePodName(name)], nil)) > 0 {
			seen.Gone = true
			out[name] = seen
		}
	}
	return out
}

func (m ManifestSeen) change(to Revision, now time.Duration) ManifestSeen {
	was := m.Revision
	was.Had = m.UIDs
	past := append(slices.Clone(m.Past), was)
	past = past[max(0, len(past)-pastContents):]
	var had []string
	for _, r := range past {
		if r.Path == to.Path && r.Content == to.Content {
			to.UID, had = r.UID, r.Had
		}
	}
	// What was there with this very content is not of an older one.
	before := slices.DeleteFunc(slices.Clone(m.UIDs), func(uid string) bool { return uid == to.UID || slices.Contains(had, uid) })
	return ManifestSeen{Revision: to, Since: now, Before: before, Changed: true, Ran: len(had) > 0, Past: past}
}

// forgetUIDs forgets which UID a content has: another program of the kubelet may
// hash it to another.
func (h History) forgetUIDs() History {
	manifests := make(map[string]ManifestSeen, len(h.Manifests))
	for name, m := range h.Manifests {
		m.UID, m.Rejected, m.Past = "", "", slices.Clone(m.Past)
		for i := range m.Past {
			m.Past[i].UID = ""
		}
		manifests[name] = m
	}
	h.Manifests = manifests
	return h
}

// contentOf is the content's digest, or the bytes' where that is not known.
func contentOf(m *node.Manifest) string {
	if m.Content != "" {
		return m.Content
	}
	return m.Digest
}

// generations are the UIDs of a static pod that the runtime knows; as before
// where they are the same.
func generations(sandboxes []*node.Sandbox, before []string) []string {
	var room [4]string
	out := room[:0]
	for _, sb := range sandboxes {
		if sb.Static() && !slices.Contains(out, sb.UID) {
			out = append(out, sb.UID)
		}
	}
	if slices.Equal(out, before) {
		return before
	}
	return slices.Clone(out)
}

// end returns the history after the look, with its findings.
func (h History) end(s *node.Snapshot, findings []finding) History {
	before := h.Faults
	h.Faults = make(map[string]Fault, len(findings))
	unseen := map[node.PodName]bool{}
	for i := range findings {
		f := &findings[i]
		if f.state == Unknown {
			unseen[f.key.PodName] = true
			continue
		}
		f.id = faultID(f)
		id := f.id
		old, ok := before[id]
		now := Fault{State: f.state, Subject: subject(f), Since: s.Taken.Boot, First: s.Taken.Boot, Before: h.Answered, Looks: 1, Wait: f.wait}
		if ok && old.Subject == now.Subject {
			now.Since, now.First, now.Before, now.LastHung, now.HungSince = old.Since, old.First, old.Before, old.LastHung, old.HungSince
			if class(f.state) == "down" || f.state == RuntimeDown {
				// What is waited for may end, and takes its time even then.
				now.Wait = max(now.Wait, old.Wait)
			}
			if old.State == now.State {
				now.Looks, now.Proved, now.Held = old.Looks+1, old.Proved, old.Held
			}
		}
		if f.state == StartHung {
			if now.LastHung == 0 || s.Taken.Boot-now.LastHung > blink {
				now.HungSince = s.Taken.Boot
			}
			now.LastHung = s.Taken.Boot
		}
		now.Seen = s.Taken.Boot
		h.Faults[id] = now
	}
	if s.Runtime.Err == nil {
		h.Answered = s.Taken.Boot
	}
	// What could not be seen this time is remembered, and must be confirmed
	// anew before anything is done about it.
	for id, f := range before {
		if _, ok := h.Faults[id]; ok {
			continue
		}
		name := podOf(id)
		inTurn := f.State == StartFailing && s.Taken.Boot-f.Seen < failingInTurn
		away := s.Taken.Boot-f.Seen > blink
		if unseen[name] && (name.Name != "" || !away) || inTurn || !away && name.Name != "" && !s.Kubelet.View.Known() {
			f.Looks = 0
			if away && !inTurn {
				f.Proved = 0
			}
			h.Faults[id] = f
		}
	}
	return h
}

// failingInTurn is how long the kubelet may say something else of a container
// between two of the failures that it names: its longest back-off, and a sync.
const failingInTurn = 8 * time.Minute

// class groups the states that one broken container may pass through, so that
// the time it has been down is not forgotten on the way.
func class(state State) string {
	switch state {
	case InBackOff, StartHung, CreatedNotStarted, OutOfOrder, UnreadableRecord, Starting:
		return "down"
	case StopHung:
		return string(WaitingForOld)
	}
	return string(state)
}

// faultID is the key of a fault: "class|namespace|pod|container".
func faultID(f *finding) string {
	return class(f.state) + "|" + f.key.Namespace + "|" + f.key.Name + "|" + f.key.Container
}

func podOf(faultID string) node.PodName {
	parts := strings.SplitN(faultID, "|", 4)
	return node.PodName{Namespace: parts[1], Name: parts[2]}
}

func parsePodName(text string) node.PodName {
	namespace, name, _ := strings.Cut(text, "/")
	return node.PodName{Namespace: namespace, Name: name}
}

// subject is what a fault is about: another container, generation or process
// is another fault.
func subject(f *finding) string {
	if f.newest != nil {
		return f.newest.ID + "/" + strconv.Itoa(int(f.newest.Attempt))
	}
	switch class(f.state) {
	case "down", string(StaleRunning), string(DuplicateRunning):
		return f.target.ContainerID + "/" + strconv.Itoa(int(f.target.Attempt))
	case string(WaitingForOld):
		// Its time counts from when the first container of the old one went down.
		return f.target.SandboxID + "/" + strconv.FormatBool(f.down)
	case string(TwoGenerations), string(SandboxLost), string(Leftover):
		return f.target.SandboxID
	case string(Rejected), string(NeverStarted), string(ManifestNotRead):
		return f.target.UID + f.target.Digest
	case string(KubeletDown), string(RuntimeDown):
		return f.target.Process.String()
	}
	return ""
}

// kubeletStarted is when the kubelet's process began: the unit's main process,
// unless that is a wrapper around it.
func kubeletStarted(s *node.Snapshot) time.Duration {
	k := s.Kubelet
	if k.Process.PID == 0 || k.Process.PID == k.Unit.MainPID {
		return k.Unit.ProcessStarted
	}
	return k.Process.Started
}
