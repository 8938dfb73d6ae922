package manifest

import corev1 "k8s.io/api/core/v1"

// forget takes out of a pod what a kubelet of that version does not know and
// therefore ignores, where something is said of it here, or by who judges the
// pod.
//
// By comparison of k8s.io/api core/v1 types.go, v0.30 to v0.37.
func (k kubelet) forget(pod *corev1.Pod) {
	before := func(minor int) bool { return k.minor != 0 && k.minor < minor }
	spec := &pod.Spec
	for i := range spec.Volumes {
		if v := &spec.Volumes[i].VolumeSource; v.Image != nil && before(31) {
			v.Image = nil
			setVolumeDefaults(v)
		}
	}
	for c := range containersOf(spec) {
		if c.Lifecycle != nil && before(33) {
			c.Lifecycle.StopSignal = nil
		}
		if before(34) {
			c.RestartPolicyRules = nil
			for i := range c.Env {
				if from := c.Env[i].ValueFrom; from != nil {
					from.FileKeyRef = nil
				}
			}
		}
	}
}
