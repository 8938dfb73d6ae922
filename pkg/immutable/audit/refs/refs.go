package refs

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// Use is what a pod does with an object, which decides when the kubelet reads it.
type Use int

// The uses.
const (
	// Volume: read at the mount and again at each sync of the pod, for as long
	// as the pod is there.
	Volume Use = iota
	// Pull: an image pull secret, read at each sync of the pod.
	Pull
	// Env: read when a container starts. The kubelet stops the object's
	// reflector after five minutes without a read.
	Env
	// Driver: handed to a volume plugin, which reads it by itself or once; the
	// kubelet's reflector idles out.
	Driver
)

var useNames = [...]string{"volume", "pull", "env", "driver"}

func (u Use) String() string { return useNames[u] }

// Reference is one read of an object by one pod: a volume, a source of a
// projected volume, a pull secret, or the environment of one container.
type Reference struct {
	shape.Key
	Use Use
	// Optional is set when the pod runs without the object.
	Optional bool
}

// Registered tells whether a kubelet follows the pod's objects: it does until
// the pod has ended for good (kubelet pkg/kubelet/kubelet.go SyncPod and
// SyncTerminatedPod).
func Registered(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// Of lists the references of a pod in no particular order. The objects are
// those of VisitPodSecretNames and VisitPodConfigmapNames, kubernetes
// pkg/api/v1/pod/util.go, v1.37.
func Of(pod *corev1.Pod) []Reference {
	c := collector{namespace: pod.Namespace}
	for _, s := range pod.Spec.ImagePullSecrets {
		// A kubelet goes on without a pull secret that is not there.
		c.add(shape.Secrets, s.Name, Pull, true)
	}
	for i := range pod.Spec.InitContainers {
		c.container(pod.Spec.InitContainers[i].EnvFrom, pod.Spec.InitContainers[i].Env)
	}
	for i := range pod.Spec.Containers {
		c.container(pod.Spec.Containers[i].EnvFrom, pod.Spec.Containers[i].Env)
	}
	for i := range pod.Spec.EphemeralContainers {
		c.container(pod.Spec.EphemeralContainers[i].EnvFrom, pod.Spec.EphemeralContainers[i].Env)
	}
	for i := range pod.Spec.Volumes {
		c.secrets(&pod.Spec.Volumes[i].VolumeSource)
		c.configMaps(&pod.Spec.Volumes[i].VolumeSource)
	}
	return c.found
}

type collector struct {
	namespace string
	found     []Reference
}

func (c *collector) add(resource shape.Resource, name string, use Use, optional bool) {
	if name == "" {
		return // as the kubelet's visitor does
	}
	c.found = append(c.found, Reference{shape.Key{Resource: resource, Namespace: c.namespace, Name: name}, use, optional})
}

// container adds the objects of one environment, each once: a kubelet keeps
// what it has read while it makes the environment.
func (c *collector) container(from []corev1.EnvFromSource, env []corev1.EnvVar) {
	whole := collector{namespace: c.namespace}
	for _, f := range from {
		if f.SecretRef != nil {
			whole.add(shape.Secrets, f.SecretRef.Name, Env, is(f.SecretRef.Optional))
		}
		if f.ConfigMapRef != nil {
			whole.add(shape.ConfigMaps, f.ConfigMapRef.Name, Env, is(f.ConfigMapRef.Optional))
		}
	}
	for _, e := range env {
		if e.ValueFrom == nil {
			continue
		}
		if s := e.ValueFrom.SecretKeyRef; s != nil {
			whole.add(shape.Secrets, s.Name, Env, is(s.Optional))
		}
		if m := e.ValueFrom.ConfigMapKeyRef; m != nil {
			whole.add(shape.ConfigMaps, m.Name, Env, is(m.Optional))
		}
	}
	at := map[shape.Key]int{}
	for _, r := range whole.found {
		if i, seen := at[r.Key]; seen {
			c.found[i].Optional = c.found[i].Optional && r.Optional
			continue
		}
		at[r.Key] = len(c.found)
		c.found = append(c.found, r)
	}
}

// secrets adds the Secrets of a volume. The order of cases is the visitor's.
func (c *collector) secrets(v *corev1.VolumeSource) {
	driver := func(s *corev1.LocalObjectReference) {
		if s != nil {
			c.add(shape.Secrets, s.Name, Driver, false)
		}
	}
	switch {
	case v.AzureFile != nil:
		c.add(shape.Secrets, v.AzureFile.SecretName, Driver, false)
	case v.CephFS != nil:
		driver(v.CephFS.SecretRef)
	case v.Cinder != nil:
		driver(v.Cinder.SecretRef)
	case v.FlexVolume != nil:
		driver(v.FlexVolume.SecretRef)
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if s.Secret != nil {
				c.add(shape.Secrets, s.Secret.Name, Volume, is(s.Secret.Optional))
			}
		}
	case v.RBD != nil:
		driver(v.RBD.SecretRef)
	case v.Secret != nil:
		c.add(shape.Secrets, v.Secret.SecretName, Volume, is(v.Secret.Optional))
	case v.ScaleIO != nil:
		driver(v.ScaleIO.SecretRef)
	case v.ISCSI != nil:
		driver(v.ISCSI.SecretRef)
	case v.StorageOS != nil:
		driver(v.StorageOS.SecretRef)
	case v.CSI != nil:
		driver(v.CSI.NodePublishSecretRef)
	}
}

func (c *collector) configMaps(v *corev1.VolumeSource) {
	switch {
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if s.ConfigMap != nil {
				c.add(shape.ConfigMaps, s.ConfigMap.Name, Volume, is(s.ConfigMap.Optional))
			}
		}
	case v.ConfigMap != nil:
		c.add(shape.ConfigMaps, v.ConfigMap.Name, Volume, is(v.ConfigMap.Optional))
	}
}

func is(b *bool) bool { return b != nil && *b }
