package expect

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/refs"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// State is what is known of an object.
type State int

// The states.
const (
	// Unknown: nobody was allowed to look. It is counted as one that can
	// change, so that nothing is promised for it.
	Unknown State = iota
	Mutable
	Immutable
	Missing
)

// Object is a live object, or the lack of one.
type Object struct {
	State State
	// Promotable is set when the object could be made immutable; otherwise Why
	// is the rule against it. Only for Mutable ones.
	Promotable bool
	Why        string
}

// Counts are of one node, or of several added up.
type Counts struct {
	Pods int `json:"pods"`
	// Objects is D, the sum of the next four.
	Objects   int `json:"objects"`
	Immutable int `json:"immutable"`
	Mutable   int `json:"mutable"`
	EnvOnly   int `json:"envOnly"`
	Missing   int `json:"missing"`
	// Unknown are those of Mutable and EnvOnly that nobody was allowed to look at.
	Unknown int `json:"unknown"`
	// Members are those of Mutable that belong to a sentinel family, of which
	// there are Families here.
	Members  int `json:"familyMembers"`
	Families int `json:"families"`
	// Promotable are those of Mutable, and PromotableEnv those of EnvOnly, that
	// could be made immutable; Refused are the others, by the rule against it.
	Promotable    int            `json:"promotable"`
	PromotableEnv int            `json:"promotableEnvOnly"`
	Refused       map[string]int `json:"notPromotable,omitempty"`
	// Reads are the references that are read at each sync of a pod, Once those
	// that are read at the start of a container, or never by the kubelet itself.
	Reads int `json:"reads"`
	Once  int `json:"readsOnce"`
	// ReadObjects are the distinct objects of Reads.
	ReadObjects int `json:"readObjects"`
}

// Judge tells what is known of an object.
type Judge func(shape.Key) Object

// use is how all pods of a node together use an object.
type use struct {
	// kept is set when it is read for as long as a pod is there, needed when
	// some container does not start without it.
	kept, needed bool
}

// Count counts the objects that the pods of one node reference. Pods that have
// ended are left out. Families are names of ConfigMaps.
func Count(pods []*corev1.Pod, look Judge, families []string) Counts {
	var c Counts
	uses := map[shape.Key]use{}
	for _, pod := range pods {
		if !refs.Registered(pod) {
			continue
		}
		c.Pods++
		for _, r := range refs.Of(pod) {
			kept := r.Use == refs.Volume || r.Use == refs.Pull
			if kept {
				c.Reads++
			} else {
				c.Once++
			}
			u := uses[r.Key]
			uses[r.Key] = use{u.kept || kept, u.needed || r.Use == refs.Env && !r.Optional}
		}
	}
	members := map[string]bool{}
	for key, u := range uses {
		c.Objects++
		if u.kept {
			c.ReadObjects++
		}
		o := look(key)
		switch {
		case o.State == Immutable:
			c.Immutable++
			continue
		// A container that cannot start for want of it is tried again at each
		// sync, so that the watch does not idle out.
		case o.State == Missing && (u.kept || u.needed):
			c.Missing++
			continue
		case u.kept:
			c.Mutable++
		default:
			c.EnvOnly++
		}
		if o.State == Missing {
			continue
		}
		if u.kept && key.Resource == shape.ConfigMaps && slices.Contains(families, key.Name) {
			members[key.Name] = true
			c.Members++
		}
		switch {
		case o.State == Unknown:
			c.Unknown++
		case !o.Promotable:
			c.refuse(o.Why, 1)
		case u.kept:
			c.Promotable++
		default:
			c.PromotableEnv++
		}
	}
	c.Families = len(members)
	return c
}

func (c *Counts) refuse(why string, n int) {
	if c.Refused == nil {
		c.Refused = map[string]int{}
	}
	c.Refused[why] += n
}

// Add adds the counts of another node. Objects that both reference count twice,
// as they do for the API server.
func (c *Counts) Add(o Counts) {
	c.Pods += o.Pods
	c.Objects += o.Objects
	c.Immutable += o.Immutable
	c.Mutable += o.Mutable
	c.EnvOnly += o.EnvOnly
	c.Missing += o.Missing
	c.Unknown += o.Unknown
	c.Members += o.Members
	c.Families += o.Families
	c.Promotable += o.Promotable
	c.PromotableEnv += o.PromotableEnv
	for why, n := range o.Refused {
		c.refuse(why, n)
	}
	c.Reads += o.Reads
	c.Once += o.Once
	c.ReadObjects += o.ReadObjects
}
