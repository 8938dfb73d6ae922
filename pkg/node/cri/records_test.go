package cri_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node/cri/critest"
)

func TestOrder(t *testing.T) {
	r := newRig(t)
	for _, s := range []critest.Sandbox{
		{ID: "5", Namespace: "ns", Name: "b", UID: "1"},
		{ID: "2", Namespace: "ns", Name: "a", UID: "1", Attempt: 0},
		{ID: "1", Namespace: "ns", Name: "a", UID: "1", Attempt: 3},
		{ID: "4", Namespace: "ns", Name: "a", UID: "2", Attempt: 9},
		{ID: "0", Namespace: "an", Name: "z", UID: "1"},
	} {
		r.runtime.AddSandbox(s)
	}
	for _, c := range []critest.Container{
		{ID: "c", SandboxID: "1", Name: "main", Attempt: 2},
		{ID: "a", SandboxID: "1", Name: "main", Attempt: 10},
		{ID: "b", SandboxID: "1", Name: "main", Attempt: 9},
		{ID: "d", SandboxID: "1", Name: "side", Attempt: 11},
		{ID: "orphan", SandboxID: "gone", Name: "main"},
	} {
		r.runtime.AddContainer(c)
	}
	var sandboxes, containers []string
	for _, s := range r.look(t).Sandboxes {
		sandboxes = append(sandboxes, s.ID)
		for _, c := range s.Containers {
			containers = append(containers, c.ID)
		}
	}
	if want := []string{"0", "1", "2", "4", "5"}; !slices.Equal(sandboxes, want) {
		t.Errorf("sandboxes %v, want %v", sandboxes, want)
	}
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(containers, want) {
		t.Errorf("containers %v, want %v", containers, want)
	}
}

func TestWhatTheKubeletWroteIsRead(t *testing.T) {
	r := newRig(t)
	r.runtime.AddSandbox(critest.Sandbox{
		ID: "s", Namespace: "ns", Name: "app", UID: "u", Source: "http",
		Labels: map[string]string{"revision": "7"},
		Annotations: map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": "{a whole manifest}",
			"kubernetes.io/config.hash":                        "u",
		},
	})
	r.runtime.AddContainer(critest.Container{ID: "c", SandboxID: "s", Name: "with", Grace: 0})
	r.runtime.AddContainer(critest.Container{ID: "d", SandboxID: "s", Name: "without", Grace: -1})
	r.runtime.AddContainer(critest.Container{
		ID: "e", SandboxID: "s", Name: "restored", Grace: -1,
		Annotations: map[string]string{"io.kubernetes.container.restartCount": "4", "io.kubernetes.pod.terminationGracePeriod": "x"},
	})
	r.runtime.AddContainer(critest.Container{
		ID: "f", SandboxID: "s", Name: "longer", Grace: 30,
		Annotations: map[string]string{"io.kubernetes.pod.deletionGracePeriod": "65"},
	})
	r.runtime.AddContainer(critest.Container{
		ID: "g", SandboxID: "s", Name: "only", Grace: -1,
		Annotations: map[string]string{"io.kubernetes.pod.deletionGracePeriod": "65"},
	})
	s := r.look(t).Sandboxes[0]
	if s.Source != "http" || !s.Static() || s.Labels["revision"] != "7" || s.Annotations["kubernetes.io/config.hash"] != "u" {
		t.Errorf("sandbox %+v", s)
	}
	if _, there := s.Annotations["kubectl.kubernetes.io/last-applied-configuration"]; there {
		t.Error("the manifest's copy was kept")
	}
	for name, want := range map[string]time.Duration{"with": 0, "without": -time.Second, "restored": -time.Second, "longer": 65 * time.Second, "only": 65 * time.Second} {
		if c, _ := s.Newest(name); c.Grace != want {
			t.Errorf("%s: grace %v, want %v", name, c.Grace, want)
		}
	}
	if c, _ := s.Newest("restored"); c.Attempt != 4 {
		t.Errorf("attempt %d, want the annotation's 4", c.Attempt)
	}
}
