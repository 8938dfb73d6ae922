package manifest

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// check refuses a pod, defaults applied, that the kubelet would refuse. Of the
// kubelet's validation it holds what a person who edits a manifest gets wrong:
// names, containers, mounts, restart policies. It refuses nothing that the
// kubelet accepts.
//
// Mirrors kubelet pkg/apis/core/validation ValidatePodCreate, v1.37, in part.
func check(pod *corev1.Pod) error {
	if err := follows("metadata.name", pod.Name, validation.IsDNS1123Subdomain); err != nil {
		return err
	}
	if err := follows("metadata.namespace", pod.Namespace, validation.IsDNS1123Label); err != nil {
		return err
	}
	spec := &pod.Spec
	switch spec.RestartPolicy {
	case corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever:
	default:
		return fmt.Errorf("spec.restartPolicy %q: must be Always, OnFailure or Never", spec.RestartPolicy)
	}
	switch {
	case len(spec.EphemeralContainers) > 0:
		return errors.New("spec.ephemeralContainers: not possible in a manifest")
	case len(spec.SchedulingGates) > 0:
		return errors.New("spec.schedulingGates: not possible in a manifest")
	case len(spec.Containers) == 0:
		return errors.New("spec.containers: at least one is needed")
	}
	volumes, err := checkVolumes(spec.Volumes)
	if err != nil {
		return err
	}
	return checkContainers(spec, volumes)
}

// checkVolumes returns the names of a pod's volumes.
func checkVolumes(volumes []corev1.Volume) (map[string]bool, error) {
	names := make(map[string]bool, len(volumes))
	for i, volume := range volumes {
		field := fmt.Sprintf("spec.volumes[%d].name", i)
		if err := follows(field, volume.Name, validation.IsDNS1123Label); err != nil {
			return nil, err
		}
		if names[volume.Name] {
			return nil, fmt.Errorf("%s %q: used twice", field, volume.Name)
		}
		names[volume.Name] = true
	}
	return names, nil
}

// follows applies one of apimachinery's rules to a field that must be there.
func follows(field, value string, rule func(string) []string) error {
	if value == "" {
		return fmt.Errorf("%s: is needed", field)
	}
	if broken := rule(value); len(broken) > 0 {
		return fmt.Errorf("%s %q: %s", field, value, strings.Join(broken, "; "))
	}
	return nil
}
