package mounts

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/refs"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

const (
	// skew is how far the clocks of the node and the API server may differ.
	skew = 5 * time.Second
	// settle is how long a change may take to be mounted: two syncs of a pod
	// with their jitter.
	settle = 3 * time.Minute
)

// Verdict is what the comparison says.
type Verdict string

// The verdicts, worst first.
const (
	// Recreated: the files differ, and were written before the live object was
	// created.
	Recreated Verdict = "recreated"
	// Stale: the files differ although the object has not changed for minutes.
	Stale Verdict = "stale"
	// Predecessor: the files were written before the live object was created,
	// and are what it would give.
	Predecessor Verdict = "predecessor"
	// Gone: there is no live object.
	Gone Verdict = "gone"
	// Unseen: one of the two could not be looked at.
	Unseen Verdict = "unseen"
	// Changing: the files differ, and the object has changed just now.
	Changing Verdict = "changing"
	// Same: nothing differs.
	Same Verdict = "same"
)

// Verdicts are all of them, worst first.
var Verdicts = [...]Verdict{Recreated, Stale, Predecessor, Gone, Unseen, Changing, Same}

// Live is an object as the API server has it.
type Live struct {
	UID       string
	Immutable bool
	Created   time.Time
	// Changed is when its data was last written; zero if that is not known.
	Changed time.Time
	Data    map[string][]byte
}

// Look asks for a live object; nil without an error if there is none.
type Look func(context.Context, shape.Key) (*Live, error)

// Mount is one object in one volume of one pod.
type Mount struct {
	Pod       string         `json:"pod"` // namespace/name
	PodUID    string         `json:"podUID"`
	Volume    string         `json:"volume"`
	Resource  shape.Resource `json:"resource"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Verdict   Verdict        `json:"verdict"`
	Why       string         `json:"why,omitempty"`
	Immutable bool           `json:"immutable"`
	LiveUID   string         `json:"liveUID,omitempty"`
	Created   *time.Time     `json:"liveCreated,omitempty"`
	Written   *time.Time     `json:"mountWritten,omitempty"`
}

// Compare looks at all volumes below the kubelet's directory, /var/lib/kubelet,
// that the pods of its node have. Each object is asked for once. An error is the
// context's; what cannot be looked at is a mount that is Unseen.
func Compare(ctx context.Context, dir string, pods []*corev1.Pod, look Look, now time.Time) ([]Mount, error) {
	c := comparison{ctx: ctx, look: look, now: now, known: map[shape.Key]answer{}}
	all := []Mount{}
	for _, pod := range pods {
		if !refs.Registered(pod) || pod.Status.StartTime == nil {
			continue // it has no volumes, or none any more
		}
		for i := range pod.Spec.Volumes {
			name := pod.Spec.Volumes[i].Name
			v := volumeOf(pod.Namespace, &pod.Spec.Volumes[i])
			mounts := c.volume(v, filepath.Join(dir, "pods", string(pod.UID), "volumes", v.plugin, name))
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for _, m := range mounts {
				m.Pod, m.PodUID, m.Volume = pod.Namespace+"/"+pod.Name, string(pod.UID), name
				all = append(all, m)
			}
		}
	}
	return all, nil
}

type comparison struct {
	ctx   context.Context
	look  Look
	now   time.Time
	known map[shape.Key]answer
}

type answer struct {
	live *Live
	err  error
}

func (c *comparison) volume(v volume, dir string) []Mount {
	if len(v.sources) == 0 {
		return nil
	}
	data := make([]map[string][]byte, len(v.sources))
	for at, s := range v.sources {
		a, ok := c.known[s.key]
		if !ok {
			a.live, a.err = c.look(c.ctx, s.key)
			c.known[s.key] = a
		}
		if a.live != nil {
			data[at] = a.live.Data
		}
	}
	// The files come after the objects, so that a change in between looks like
	// one that has just been made.
	files, written, err := v.read(dir)
	differences := v.compare(files, data)
	mounts := make([]Mount, len(v.sources))
	for at, s := range v.sources {
		m := &mounts[at]
		m.Resource, m.Namespace, m.Name = s.key.Resource, s.key.Namespace, s.key.Name
		a := c.known[s.key]
		switch {
		case errors.Is(err, fs.ErrNotExist):
			m.Verdict, m.Why = Unseen, "not mounted yet, or not on this node"
		case err != nil:
			m.Verdict, m.Why = Unseen, err.Error()
		case a.err != nil:
			m.Verdict, m.Why = Unseen, a.err.Error()
		default:
			m.Written = &written
			m.judge(a.live, s.optional, differences[at], c.now)
		}
	}
	return mounts
}

// judge sets what a comparison means. Difference is in words, empty for none.
func (m *Mount) judge(live *Live, optional bool, difference string, now time.Time) {
	if live == nil {
		m.Verdict = Gone
		switch {
		case optional && difference == "":
			m.Verdict = Same
		case difference != "":
			m.Why = "deleted, still mounted"
		}
		return
	}
	m.Immutable, m.LiveUID, m.Created = live.Immutable, live.UID, &live.Created
	earlier := m.Written.Add(skew).Before(live.Created)
	switch {
	case difference == "" && !earlier:
		m.Verdict = Same
	case difference == "":
		m.Verdict, m.Why = Predecessor, "written before the live object was created, same content"
	case earlier:
		m.Verdict, m.Why = Recreated, difference+"; written before the live object was created"
	case now.Sub(live.Changed) < settle, live.Changed.IsZero() && !live.Immutable:
		// The kubelet may be about to write it.
		m.Verdict, m.Why = Changing, difference
	default:
		m.Verdict, m.Why = Stale, difference+"; the object has not changed for minutes"
	}
}
