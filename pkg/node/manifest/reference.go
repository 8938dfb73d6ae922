package manifest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// checkReferences refuses a pod that needs an object of the API: the kubelet
// does not run such a static pod, however long one waits.
//
// Mirrors kubelet pkg/api/pod/util.go HasAPIObjectReference, v1.37.
func checkReferences(spec *corev1.PodSpec) error {
	switch {
	case spec.ServiceAccountName != "":
		return referenceTo("spec.serviceAccountName", "a service account")
	case len(spec.ResourceClaims) > 0:
		return referenceTo("spec.resourceClaims", "a resource claim")
	}
	for _, secret := range spec.ImagePullSecrets {
		if secret.Name != "" {
			return referenceTo("spec.imagePullSecrets", "a secret")
		}
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			if err := checkEnvironment(&containers[i]); err != nil {
				return err
			}
		}
	}
	for i := range spec.Volumes {
		field := "spec.volumes[" + spec.Volumes[i].Name + "]"
		if object := objectOfVolume(&spec.Volumes[i].VolumeSource); object != "" {
			return referenceTo(field, object)
		}
	}
	return nil
}

func referenceTo(field, object string) error {
	return fmt.Errorf("%s: a static pod cannot use %s", field, object)
}

// checkEnvironment ignores references without a name, as the kubelet does.
func checkEnvironment(c *corev1.Container) error {
	for _, from := range c.EnvFrom {
		if from.SecretRef != nil && from.SecretRef.Name != "" {
			return referenceTo("envFrom of container "+c.Name, "a secret")
		}
		if from.ConfigMapRef != nil && from.ConfigMapRef.Name != "" {
			return referenceTo("envFrom of container "+c.Name, "a config map")
		}
	}
	for _, variable := range c.Env {
		from := variable.ValueFrom
		if from == nil {
			continue
		}
		if from.SecretKeyRef != nil && from.SecretKeyRef.Name != "" {
			return referenceTo("env "+variable.Name+" of container "+c.Name, "a secret")
		}
		if from.ConfigMapKeyRef != nil && from.ConfigMapKeyRef.Name != "" {
			return referenceTo("env "+variable.Name+" of container "+c.Name, "a config map")
		}
	}
	return nil
}
