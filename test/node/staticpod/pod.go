package staticpod

import (
	"embed"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed pods
var pods embed.FS

// Names are the pods that Pod knows.
func Names() []string { return []string{"etcd", "kube-apiserver", "coredns", "keepalived", "haproxy"} }

// Change is how a pod differs from OpenShift's.
type Change struct {
	// Image of all containers; default the box's workload.
	Image string
	// Grace replaces the seconds of the grace, wherever the pod has them; 0
	// leaves them.
	Grace int
	// Args replaces the workload's flags by container.
	Args map[string][]string
	// Edit changes the pod in the end.
	Edit func(pod map[string]any)
}

// Pod is the manifest of a pod of that name, with the workload in place of its
// programs. It has the placeholders that an Installer fills.
func Pod(name string, change Change) ([]byte, error) {
	text, err := pods.ReadFile("pods/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("static pod %q: there are %s", name, strings.Join(Names(), ", "))
	}
	var pod map[string]any
	if err := yaml.Unmarshal(text, &pod); err != nil {
		return nil, fmt.Errorf("static pod %s: %w", name, err)
	}
	spec, metadata := pod["spec"].(map[string]any), pod["metadata"].(map[string]any)
	for _, field := range []string{"initContainers", "containers"} {
		for _, one := range spec[field].([]any) {
			dress(one.(map[string]any), change)
		}
	}
	if change.Grace > 0 {
		if _, ok := metadata["deletionGracePeriodSeconds"]; ok {
			metadata["deletionGracePeriodSeconds"] = change.Grace
		} else {
			spec["terminationGracePeriodSeconds"] = change.Grace
		}
	}
	if change.Edit != nil {
		change.Edit(pod)
	}
	return yaml.Marshal(pod)
}

// workload is the box's image: components.WorkloadImage.
const workload = "localhost/nodekeeper/workload:latest"

func dress(container map[string]any, change Change) {
	container["image"] = workload
	if change.Image != "" {
		container["image"] = change.Image
	}
	container["imagePullPolicy"] = "IfNotPresent"
	container["terminationMessagePolicy"] = "FallbackToLogsOnError"
	if args, ok := change.Args[container["name"].(string)]; ok {
		container["args"] = args
	}
}
