package remedy

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// factsBytes bounds facts.json.
const factsBytes = 4 << 20

// facts is facts.json: what the act rests upon. The types of pkg/node hold
// errors, and time stamps that JSON cannot express; these are their shadows.
type facts struct {
	Why     any          `json:"why"`
	Taken   node.Instant `json:"taken"`
	Host    node.Host    `json:"host"`
	Kubelet kubeletFacts `json:"kubelet"`
	Runtime runtimeFacts `json:"runtime"`
	Pods    []podFacts   `json:"pods,omitempty"`
}

type kubeletFacts struct {
	Unit            unitFacts `json:"unit"`
	Healthy         bool      `json:"healthy"`
	HealthError     string    `json:"healthError,omitempty"`
	ViewSource      string    `json:"viewSource"`
	SourcesNotReady bool      `json:"sourcesNotReady"`
	ViewError       string    `json:"viewError,omitempty"`
	ManifestError   string    `json:"manifestError,omitempty"`
}

type runtimeFacts struct {
	Name           string             `json:"name"`
	Version        string             `json:"version"`
	Error          string             `json:"error,omitempty"`
	Unit           unitFacts          `json:"unit"`
	MonitorsInUnit bool               `json:"monitorsInUnit"`
	Calls          []node.RuntimeCall `json:"calls,omitempty"`
}

type unitFacts struct {
	node.Unit
	Err string `json:",omitempty"` // hides the error of node.Unit
}

type podFacts struct {
	node.PodName
	Manifest  string         `json:"manifest,omitempty"`
	Digest    string         `json:"digest,omitempty"`
	Modified  string         `json:"modified,omitempty"`
	View      *viewFacts     `json:"view,omitempty"`
	Sandboxes []sandboxFacts `json:"sandboxes,omitempty"`
}

type viewFacts struct {
	UID         string                   `json:"uid"`
	Phase       corev1.PodPhase          `json:"phase"`
	Reason      string                   `json:"reason,omitempty"`
	Message     string                   `json:"message,omitempty"`
	Terminating bool                     `json:"terminating"`
	Statuses    []corev1.ContainerStatus `json:"statuses,omitempty"`
}

type sandboxFacts struct {
	ID         string           `json:"id"`
	UID        string           `json:"uid"`
	Attempt    uint32           `json:"attempt"`
	Ready      bool             `json:"ready"`
	Source     string           `json:"source"`
	Created    string           `json:"created"`
	Containers []containerFacts `json:"containers,omitempty"`
}

type containerFacts struct {
	ID       string              `json:"id"`
	Name     string              `json:"name"`
	Attempt  uint32              `json:"attempt"`
	State    node.ContainerState `json:"state"`
	Created  string              `json:"created"`
	Started  string              `json:"started,omitempty"`
	Finished string              `json:"finished,omitempty"`
	ExitCode int32               `json:"exitCode"`
	Reason   string              `json:"reason,omitempty"`
	LogPath  string              `json:"logPath,omitempty"`
	Grace    string              `json:"grace"`
	Process  node.Process        `json:"process"`
}

// facts writes facts.json. A part that is too large leaves room for the rest.
func (b *evidenceDir) facts(x subject) {
	s := x.snap
	f := facts{Why: x.why, Taken: s.Taken, Host: s.Host,
		Kubelet: kubeletFacts{
			Unit: unitOf(s.Kubelet.Unit), Healthy: s.Kubelet.Healthy, HealthError: text(s.Kubelet.HealthErr),
			ViewSource: string(s.Kubelet.View.Source), SourcesNotReady: s.Kubelet.View.SourcesNotReady,
			ViewError: text(s.Kubelet.View.Err), ManifestError: text(s.Intent.Err),
		},
		Runtime: runtimeFacts{
			Name: s.Runtime.Name, Version: s.Runtime.Version, Error: text(s.Runtime.Err),
			Unit: unitOf(s.Runtime.Unit), MonitorsInUnit: s.Runtime.MonitorsInUnit, Calls: s.Runtime.Calls,
		},
	}
	for _, pod := range x.pods() {
		f.Pods = append(f.Pods, podFactsOf(s, pod))
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err == nil && len(data) > factsBytes {
		b.miss("pods in facts.json", "larger than the limit")
		f.Pods = nil
		data, err = json.MarshalIndent(f, "", "  ")
	}
	if err != nil {
		b.miss("facts.json", err)
		return
	}
	b.put("facts.json", append(data, '\n'))
}

// pods are the pods that the evidence is about: the one, or every static pod.
func (x subject) pods() []node.PodName {
	if !x.wide {
		return []node.PodName{x.key.PodName}
	}
	var out []node.PodName
	seen := map[node.PodName]bool{}
	add := func(name node.PodName) {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	if x.key.Name != "" {
		add(x.key.PodName)
	}
	for _, m := range x.snap.Intent.Pods {
		add(m.Name)
	}
	for _, sb := range x.snap.Runtime.Sandboxes {
		if sb.Static() {
			add(sb.Pod)
		}
	}
	return out
}

func podFactsOf(s *node.Snapshot, pod node.PodName) podFacts {
	f := podFacts{PodName: pod}
	if m, ok := s.Intent.Find(pod); ok {
		f.Manifest, f.Digest, f.Modified = m.Path, m.Digest, timestamp(m.Modified)
	}
	if v, ok := s.Kubelet.View.Find(pod); ok {
		f.View = &viewFacts{v.UID, v.Phase, v.Reason, v.Message, v.Terminating, v.Statuses}
	}
	for _, sb := range s.Runtime.Of(pod) {
		out := sandboxFacts{ID: sb.ID, UID: sb.UID, Attempt: sb.Attempt, Ready: sb.Ready, Source: sb.Source, Created: timestamp(sb.CreatedAt)}
		for _, c := range sb.Containers {
			out.Containers = append(out.Containers, containerFacts{
				ID: c.ID, Name: c.Name, Attempt: c.Attempt, State: c.State,
				Created: timestamp(c.CreatedAt), Started: timestamp(c.StartedAt), Finished: timestamp(c.FinishedAt),
				ExitCode: c.ExitCode, Reason: c.Reason, LogPath: c.LogPath, Grace: c.Grace.String(), Process: c.Process,
			})
		}
		f.Sandboxes = append(f.Sandboxes, out)
	}
	return f
}

func unitOf(u node.Unit) unitFacts { return unitFacts{u, text(u.Err)} }

// stamp keeps also dates that are absurd: CRI-O dates an end that it missed
// to the year 1754, and JSON has no year beyond 9999.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
