package manifest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// references refuses a pod that needs an object of the API. Kubelets since 1.34
// do not run such a static pod, however long one waits; those before do, but for
// the objects that they never ran one with.
//
// Mirrors kubelet pkg/kubelet/config/common.go tryDecodeSinglePod, v1.30 to
// v1.37, and pkg/api/pod/util.go HasAPIObjectReference, v1.34 to v1.37. A
// reference without a name is none.
func (c *check) references(spec *corev1.PodSpec) {
	const no = "a static pod cannot use %s"
	refers := func(is bool, at, object string) {
		if is {
			c.forbids(noReferences, at, no, object)
		}
	}
	if len(spec.ResourceClaims) > 0 {
		c.forbids(noClaims, "spec.resourceClaims", no, "a resource claim")
	}
	refers(spec.ServiceAccountName != "", "spec.serviceAccountName", "a service account")
	for _, secret := range spec.ImagePullSecrets {
		refers(secret.Name != "", "spec.imagePullSecrets", "a secret")
	}
	for ctr := range containersOf(spec) {
		for _, from := range ctr.EnvFrom {
			refers(from.SecretRef != nil && from.SecretRef.Name != "", "envFrom of container "+ctr.Name, "a secret")
			refers(from.ConfigMapRef != nil && from.ConfigMapRef.Name != "", "envFrom of container "+ctr.Name, "a config map")
		}
		for _, variable := range ctr.Env {
			if from := variable.ValueFrom; from != nil {
				at := "env " + variable.Name + " of container " + ctr.Name
				refers(from.SecretKeyRef != nil && from.SecretKeyRef.Name != "", at, "a secret")
				refers(from.ConfigMapKeyRef != nil && from.ConfigMapKeyRef.Name != "", at, "a config map")
			}
		}
	}
	for i := range spec.Volumes {
		at, v := fmt.Sprintf("spec.volumes[%d]", i), &spec.Volumes[i].VolumeSource
		object := objectOfVolume(v)
		refers(object != "", at, object)
		if v.Projected != nil {
			for _, source := range v.Projected.Sources {
				c.must(source.ClusterTrustBundle == nil, at, no, "a cluster trust bundle")
			}
		}
	}
}
