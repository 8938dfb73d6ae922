package manifest

import corev1 "k8s.io/api/core/v1"

// objectOfVolume names the kind of API object that a volume needs, or returns
// "" if it needs none.
func objectOfVolume(v *corev1.VolumeSource) string {
	switch {
	case v.ConfigMap != nil:
		return "a config map"
	case v.Secret != nil, v.AzureFile != nil, secretOfVolume(v):
		return "a secret"
	case v.CSI != nil:
		return "a CSI driver"
	case v.Glusterfs != nil:
		return "endpoints (GlusterFS)"
	case v.PersistentVolumeClaim != nil, v.Ephemeral != nil:
		return "a persistent volume claim"
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			if object := objectOfProjection(&v.Projected.Sources[i]); object != "" {
				return object
			}
		}
	}
	return ""
}

// secretOfVolume tells whether a network volume signs in with a secret.
func secretOfVolume(v *corev1.VolumeSource) bool {
	named := func(r *corev1.LocalObjectReference) bool { return r != nil && r.Name != "" }
	switch {
	case v.CephFS != nil:
		return named(v.CephFS.SecretRef)
	case v.Cinder != nil:
		return named(v.Cinder.SecretRef)
	case v.FlexVolume != nil:
		return named(v.FlexVolume.SecretRef)
	case v.RBD != nil:
		return named(v.RBD.SecretRef)
	case v.ScaleIO != nil:
		return named(v.ScaleIO.SecretRef)
	case v.ISCSI != nil:
		return named(v.ISCSI.SecretRef)
	case v.StorageOS != nil:
		return named(v.StorageOS.SecretRef)
	}
	return false
}

func objectOfProjection(p *corev1.VolumeProjection) string {
	switch {
	case p.ConfigMap != nil:
		return "a config map"
	case p.Secret != nil:
		return "a secret"
	case p.ServiceAccountToken != nil:
		return "a service account"
	case p.ClusterTrustBundle != nil:
		return "a cluster trust bundle"
	case p.PodCertificate != nil:
		return "a pod certificate"
	case p.DownwardAPI != nil:
		return ""
	}
	return "an unknown projected source"
}
