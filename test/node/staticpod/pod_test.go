package staticpod

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

type shape struct {
	Metadata struct{ DeletionGracePeriodSeconds *int }
	Spec     struct {
		TerminationGracePeriodSeconds *int
		InitContainers, Containers    []struct {
			Name, Image string
			Args        []string
		}
	}
}

func pod(t *testing.T, name string, change Change) shape {
	t.Helper()
	text, err := Pod(name, change)
	if err != nil {
		t.Fatal(err)
	}
	var s shape
	if err := yaml.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestShapes(t *testing.T) {
	for name, want := range map[string]struct{ containers, inits, grace, deletion int }{
		"etcd":           {containers: 5, inits: 3},
		"kube-apiserver": {containers: 5, inits: 1, grace: 135},
		"coredns":        {containers: 2, inits: 1, deletion: 65},
		"keepalived":     {containers: 2, inits: 1, deletion: 65},
		"haproxy":        {containers: 2, inits: 1, deletion: 65},
	} {
		t.Run(name, func(t *testing.T) {
			s := pod(t, name, Change{})
			if len(s.Spec.Containers) != want.containers || len(s.Spec.InitContainers) != want.inits {
				t.Errorf("%d containers, %d init containers", len(s.Spec.Containers), len(s.Spec.InitContainers))
			}
			if got := value(s.Spec.TerminationGracePeriodSeconds); got != want.grace {
				t.Errorf("terminationGracePeriodSeconds %d", got)
			}
			if got := value(s.Metadata.DeletionGracePeriodSeconds); got != want.deletion {
				t.Errorf("deletionGracePeriodSeconds %d", got)
			}
			for _, c := range append(s.Spec.InitContainers, s.Spec.Containers...) {
				if c.Image != workload {
					t.Errorf("%s has image %s", c.Name, c.Image)
				}
			}
			if !slices.Contains(Names(), name) {
				t.Error("not among the names")
			}
			short := pod(t, name, Change{Grace: 7})
			if value(short.Metadata.DeletionGracePeriodSeconds)+value(short.Spec.TerminationGracePeriodSeconds) != 7 {
				t.Errorf("shortened: %+v", short)
			}
		})
	}
	if _, err := Pod("nginx", Change{}); err == nil {
		t.Error("a pod that OpenShift has not")
	}
}

func TestChange(t *testing.T) {
	s := pod(t, "etcd", Change{Image: "other", Args: map[string][]string{"etcd": {"--exit", "1"}},
		Edit: func(pod map[string]any) { pod["spec"].(map[string]any)["initContainers"] = nil }})
	for _, c := range s.Spec.Containers {
		if c.Image != "other" || (c.Name == "etcd") != slices.Equal(c.Args, []string{"--exit", "1"}) {
			t.Errorf("%+v", c)
		}
	}
	if len(s.Spec.InitContainers) != 0 {
		t.Errorf("%+v", s.Spec.InitContainers)
	}
}

func value(field *int) int {
	if field == nil {
		return 0
	}
	return *field
}
