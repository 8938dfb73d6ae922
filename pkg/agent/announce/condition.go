package announce

import (
	"fmt"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
)

// ConditionType is the one condition: True is trouble, as with DiskPressure.
const ConditionType = "StaticPodContainersDown"

// Reasons of the condition.
const (
	// ReasonAllRunning goes with False.
	ReasonAllRunning = "AllRunning"
	// ReasonContainersDown goes with True: down, or wrong, beyond the deadline.
	ReasonContainersDown = "ContainersDown"
	// ReasonCannotLook goes with Unknown: runtime or manifests cannot be seen.
	ReasonCannotLook = "AgentCannotLook"
)

const (
	// named containers are in the message; more are counted.
	named = 5
	// blindTime is how long a source may be away before the condition says so.
	blindTime = time.Minute
)

// condition is what is to be told, without its times.
type condition struct{ Status, Reason, Message string }

// describe says what a status means. Only what may change the condition is in
// the message: no span of time, or each look would be news.
func describe(s *status.Status, blind time.Duration) condition {
	var down []string
	for _, v := range s.Verdicts {
		if v.Overdue {
			down = append(down, nameOf(v)+" ("+string(v.State)+")")
		}
	}
	switch {
	case len(down) > 0:
		more := ""
		if n := len(down) - named; n > 0 {
			down, more = down[:named], fmt.Sprintf(" and %d more", n)
		}
		return condition{"True", ReasonContainersDown, "down or wrong beyond the deadline: " + strings.Join(down, ", ") + more}
	case blind >= blindTime:
		return condition{"Unknown", ReasonCannotLook, "the agent cannot see " + blindness(s)}
	}
	return condition{"False", ReasonAllRunning, "all static pods run, or are about to"}
}

// blindness names the sources without which nothing can be said.
func blindness(s *status.Status) string {
	var what []string
	if s.Node.Runtime.Error != "" {
		what = append(what, "the container runtime")
	}
	if s.Node.Manifests.Error != "" {
		what = append(what, "the static pod manifests")
	}
	return strings.Join(what, " and ")
}

func nameOf(v status.Verdict) string {
	switch {
	case v.Pod == "":
		return v.Container
	case v.Container == "":
		return v.Namespace + "/" + v.Pod
	}
	return v.Namespace + "/" + v.Pod + "/" + v.Container
}

// nodeCondition is core/v1 NodeCondition.
type nodeCondition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	LastHeartbeatTime  time.Time `json:"lastHeartbeatTime"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

func (n nodeCondition) says(c condition) bool {
	return n.Status == c.Status && n.Reason == c.Reason && n.Message == c.Message
}

// next is the condition to write in the place of what the API server has; nil for
// nothing.
func (c condition) next(has *nodeCondition, now time.Time) nodeCondition {
	// The API server keeps whole seconds.
	now = now.UTC().Truncate(time.Second)
	out := nodeCondition{ConditionType, c.Status, c.Reason, c.Message, now, now}
	if has != nil && has.Status == c.Status {
		out.LastTransitionTime = has.LastTransitionTime
	}
	return out
}
