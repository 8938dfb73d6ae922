package promote

import corev1 "k8s.io/api/core/v1"

// References calls visitor for each Secret and ConfigMap that the kubelet reads for
// a pod, as often as the pod names it: Kubernetes pkg/api/v1/pod/util.go
// VisitPodSecretNames and VisitPodConfigmapNames, v1.37.
func References(pod *corev1.Pod, visitor func(resource Resource, name string)) {
	visit := func(resource Resource, name string) {
		if name != "" {
			visitor(resource, name)
		}
	}
	secret := func(r *corev1.LocalObjectReference) {
		if r != nil {
			visit(Secrets, r.Name)
		}
	}
	for i := range pod.Spec.ImagePullSecrets {
		secret(&pod.Spec.ImagePullSecrets[i])
	}
	for _, c := range pod.Spec.InitContainers {
		inEnvironment(c.Env, c.EnvFrom, visit)
	}
	for _, c := range pod.Spec.Containers {
		inEnvironment(c.Env, c.EnvFrom, visit)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		inEnvironment(c.Env, c.EnvFrom, visit)
	}
	for _, v := range pod.Spec.Volumes {
		inVolume(v.VolumeSource, visit, secret)
	}
}

func inEnvironment(env []corev1.EnvVar, from []corev1.EnvFromSource, visit func(Resource, string)) {
	for _, e := range env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			visit(Secrets, e.ValueFrom.SecretKeyRef.Name)
		}
		if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
			visit(ConfigMaps, e.ValueFrom.ConfigMapKeyRef.Name)
		}
	}
	for _, f := range from {
		if f.SecretRef != nil {
			visit(Secrets, f.SecretRef.Name)
		}
		if f.ConfigMapRef != nil {
			visit(ConfigMaps, f.ConfigMapRef.Name)
		}
	}
}

func inVolume(v corev1.VolumeSource, visit func(Resource, string), secret func(*corev1.LocalObjectReference)) {
	switch {
	case v.Secret != nil:
		visit(Secrets, v.Secret.SecretName)
	case v.ConfigMap != nil:
		visit(ConfigMaps, v.ConfigMap.Name)
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if s.Secret != nil {
				visit(Secrets, s.Secret.Name)
			}
			if s.ConfigMap != nil {
				visit(ConfigMaps, s.ConfigMap.Name)
			}
		}
	case v.CSI != nil:
		secret(v.CSI.NodePublishSecretRef)
	case v.CephFS != nil:
		secret(v.CephFS.SecretRef)
	case v.Cinder != nil:
		secret(v.Cinder.SecretRef)
	case v.FlexVolume != nil:
		secret(v.FlexVolume.SecretRef)
	case v.RBD != nil:
		secret(v.RBD.SecretRef)
	case v.ScaleIO != nil:
		secret(v.ScaleIO.SecretRef)
	case v.ISCSI != nil:
		secret(v.ISCSI.SecretRef)
	case v.StorageOS != nil:
		secret(v.StorageOS.SecretRef)
	case v.AzureFile != nil:
		visit(Secrets, v.AzureFile.SecretName)
	}
}
