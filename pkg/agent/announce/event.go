package announce

import (
	"fmt"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Reasons of events.
const (
	EventRestarted     = "StaticPodRestarted"
	EventRestartFailed = "StaticPodRestartFailed"
	EventDown          = "StaticPodDown"
	EventCrash         = "CrashRecorded"
)

const (
	normal  = "Normal"
	warning = "Warning"
	// maxMessage is the API server's bound, in bytes.
	maxMessage = 1024
)

// event is one thing that happened. Those with equal subjects are one series.
type event struct {
	subject
	Type, Message string
}

// subject is what an event is about; an empty pod stands for the node.
type subject struct {
	Reason                            string
	Namespace, Pod, PodUID, Container string
}

// ofVerdict tells that something is down beyond its deadline.
func ofVerdict(v status.Verdict) event {
	what := "the pod"
	if v.Container != "" {
		what = "container " + v.Container
	}
	return event{subject{EventDown, v.Namespace, v.Pod, v.PodUID, v.Container}, warning,
		fmt.Sprintf("%s has been %s for %s: %s", what, v.State, time.Duration(v.ForSeconds)*time.Second, v.Detail)}
}

// ofAct tells what came of an act; false for one that is no news. An act that
// was carried out is not told before its effect is known.
func ofAct(a restartpolicy.Act) (event, bool) {
	s := subject{Namespace: a.Key.Namespace, Pod: a.Key.Name, PodUID: a.Target.UID, Container: a.Key.Container}
	if s.Pod == "" {
		s.Container = ""
	}
	switch a.Result {
	case restartpolicy.ResultHealed:
		s.Reason = EventRestarted
		return event{s, normal, fmt.Sprintf("%s (%s) runs again after %s", a.Key, a.State, a.Kind)}, true
	case restartpolicy.ResultFailed:
		s.Reason = EventRestartFailed
		return event{s, warning, fmt.Sprintf("%s (%s): %s failed: %s", a.Key, a.State, a.Kind, a.Detail)}, true
	case restartpolicy.ResultInVain:
		s.Reason = EventRestartFailed
		return event{s, warning, fmt.Sprintf("%s (%s): %s did not help", a.Key, a.State, a.Kind)}, true
	}
	return event{}, false
}

// ofRecord tells of a crash. What the container wrote is not for everybody who
// may read events.
func ofRecord(e record.Entry) event {
	return event{subject{EventCrash, e.Namespace, e.Pod, e.PodUID, e.Container}, warning,
		fmt.Sprintf("attempt %d of container %s ended: %s (%s); its log is kept as record %s", e.Attempt.Attempt, e.Container, e.Class, e.ClassReason, e.ID)}
}

// apiEvent is core/v1 Event, which kubectl get events and describe show.
type apiEvent struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Metadata   metadata  `json:"metadata"`
	Involved   reference `json:"involvedObject"`
	Reason     string    `json:"reason"`
	Message    string    `json:"message"`
	Type       string    `json:"type"`
	Source     source    `json:"source"`
	First      time.Time `json:"firstTimestamp"`
	Last       time.Time `json:"lastTimestamp"`
	Count      int       `json:"count"`
	Controller string    `json:"reportingComponent"`
	Instance   string    `json:"reportingInstance"`
}

type metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

type reference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
	FieldPath  string `json:"fieldPath,omitempty"`
}

type source struct {
	Component string `json:"component"`
	Host      string `json:"host,omitempty"`
}

// component is who tells.
const component = "nodekeeper"

// toAPI makes the object of a series.
func (s *series) toAPI(node string) apiEvent {
	out := apiEvent{
		APIVersion: "v1", Kind: "Event",
		Metadata: metadata{s.name, s.Namespace},
		// The pod's UID is the static pod's, by which kubectl describe finds the
		// events of its mirror.
		Involved: reference{APIVersion: "v1", Kind: "Pod", Namespace: s.Namespace, Name: s.Pod, UID: s.PodUID},
		Reason:   s.Reason, Message: short(s.Message), Type: s.Type,
		Source: source{component, node},
		First:  s.first.UTC().Truncate(time.Second), Last: s.last.UTC().Truncate(time.Second), Count: s.count,
		Controller: "nodekeeper.io/agent", Instance: node,
	}
	if s.Container != "" {
		out.Involved.FieldPath = "spec.containers{" + s.Container + "}"
	}
	if s.Pod == "" {
		// As the kubelet's own: kubectl describe node looks for the name as UID.
		out.Metadata.Namespace = nodeNamespace
		out.Involved = reference{Kind: "Node", Name: node, UID: node}
	}
	return out
}

// nodeNamespace is where events about what has no namespace are.
const nodeNamespace = "default"

func short(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxMessage {
		return text
	}
	const rest = "…"
	return strings.ToValidUTF8(text[:maxMessage-len(rest)], "") + rest
}
