package expect

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
)

// Of is what is known of an object that was read and that a pod refers to. Who
// promotes also waits until it has seen the content unchanged for some days, and
// looks at who else uses the object: what is promotable here is what passes all
// rules but those.
func Of(o promote.Object, now time.Time) Object {
	if o.Content != nil && o.Content.Immutable != nil && *o.Content.Immutable {
		return Object{State: Immutable}
	}
	o.UnchangedSince = now
	if o.Use == nil {
		o.Use = &promote.Use{Pods: 1}
	}
	v := promote.Judge(o, promote.Policy{Now: now})
	if v.Promote {
		return Object{State: Mutable, Promotable: true}
	}
	return Object{State: Mutable, Why: string(v.Rule)}
}
