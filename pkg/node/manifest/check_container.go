package manifest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// checkContainers checks init and regular containers, whose names share one
// space.
func checkContainers(spec *corev1.PodSpec, volumes map[string]bool) error {
	names := make(map[string]bool)
	for _, group := range []struct {
		field      string
		containers []corev1.Container
	}{
		{"spec.containers", spec.Containers},
		{"spec.initContainers", spec.InitContainers},
	} {
		for i := range group.containers {
			container := &group.containers[i]
			field := fmt.Sprintf("%s[%d]", group.field, i)
			if err := checkContainer(field, container, volumes); err != nil {
				return err
			}
			if names[container.Name] {
				return fmt.Errorf("%s.name %q: used twice", field, container.Name)
			}
			names[container.Name] = true
		}
	}
	return nil
}

// checkContainer mirrors validateContainerCommon, ValidateVolumeMounts and
// validateContainerRestartPolicy in part.
func checkContainer(field string, c *corev1.Container, volumes map[string]bool) error {
	if err := follows(field+".name", c.Name, validation.IsDNS1123Label); err != nil {
		return err
	}
	if c.Image == "" {
		return fmt.Errorf("%s.image: is needed", field)
	}
	mounted := make(map[string]bool, len(c.VolumeMounts))
	for i, mount := range c.VolumeMounts {
		at := fmt.Sprintf("%s.volumeMounts[%d]", field, i)
		switch {
		case !volumes[mount.Name]:
			return fmt.Errorf("%s.name %q: no such volume in spec.volumes", at, mount.Name)
		case mount.MountPath == "":
			return fmt.Errorf("%s.mountPath: is needed", at)
		case mounted[mount.MountPath]:
			return fmt.Errorf("%s.mountPath %q: used twice", at, mount.MountPath)
		}
		mounted[mount.MountPath] = true
	}
	if c.RestartPolicy == nil {
		if len(c.RestartPolicyRules) > 0 {
			return fmt.Errorf("%s.restartPolicyRules: need a restartPolicy of the container", field)
		}
		return nil
	}
	switch *c.RestartPolicy {
	case corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever:
		return nil
	}
	return fmt.Errorf("%s.restartPolicy %q: must be Always, OnFailure or Never", field, *c.RestartPolicy)
}
