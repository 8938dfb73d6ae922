package manifest

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// setName gives a pod the name and the namespace under which the kubelet runs
// it. The UID is left out.
//
// Mirrors kubelet pkg/kubelet/config/common.go applyDefaults and
// generatePodName, v1.37.
func setName(pod *corev1.Pod, nodeName string) {
	pod.Name += "-" + strings.ToLower(nodeName)
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
}

// setDefaults fills in the API's defaults that all versions have: validation
// sees them, and a manifest that spells one out is the same pod to the kubelet.
// Those of network volumes are left out.
//
// Mirrors kubelet pkg/apis/core/v1/defaults.go and zz_generated.defaults.go
// SetObjectDefaults_Pod, v1.37.
func setDefaults(pod *corev1.Pod) {
	spec := &pod.Spec
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	orDefault(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	orDefault(&spec.DNSPolicy, corev1.DNSClusterFirst)
	orDefault(&spec.SchedulerName, corev1.DefaultSchedulerName)
	orDefaultTo(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	orDefaultTo(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	if *spec.TerminationGracePeriodSeconds < 0 { // not refused, but taken for one second
		*spec.TerminationGracePeriodSeconds = 1
	}
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	for i := range spec.Volumes {
		setVolumeDefaults(&spec.Volumes[i].VolumeSource)
	}
	for c := range containersOf(spec) {
		setContainerDefaults(c, spec.HostNetwork)
	}
}

func setContainerDefaults(c *corev1.Container, hostNetwork bool) {
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = corev1.PullIfNotPresent
		if isLatest(c.Image) {
			c.ImagePullPolicy = corev1.PullAlways
		}
	}
	orDefault(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	orDefault(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		port := &c.Ports[i]
		orDefault(&port.Protocol, corev1.ProtocolTCP)
		if hostNetwork {
			orDefault(&port.HostPort, port.ContainerPort)
		}
	}
	for i := range c.Env {
		from := ptr.Deref(c.Env[i].ValueFrom, corev1.EnvVarSource{})
		if from.FieldRef != nil {
			orDefault(&from.FieldRef.APIVersion, "v1")
		}
		if from.FileKeyRef != nil {
			orDefaultTo(&from.FileKeyRef.Optional, false)
		}
	}
	if c.Resources.Limits != nil && c.Resources.Requests == nil {
		c.Resources.Requests = corev1.ResourceList{}
	}
	for name, limit := range c.Resources.Limits {
		if _, ok := c.Resources.Requests[name]; !ok {
			c.Resources.Requests[name] = limit.DeepCopy()
		}
	}
	for _, list := range []corev1.ResourceList{c.Resources.Limits, c.Resources.Requests} {
		for name, quantity := range list {
			quantity.RoundUp(resource.Milli)
			list[name] = quantity
		}
	}
	for probe := range probesOf(c) {
		orDefault(&probe.TimeoutSeconds, 1)
		orDefault(&probe.PeriodSeconds, 10)
		orDefault(&probe.SuccessThreshold, 1)
		orDefault(&probe.FailureThreshold, 3)
		if probe.GRPC != nil {
			orDefaultTo(&probe.GRPC.Service, "")
		}
	}
	for action := range httpActionsOf(c) {
		orDefault(&action.Path, "/")
		orDefault(&action.Scheme, corev1.URISchemeHTTP)
	}
}

func setVolumeDefaults(v *corev1.VolumeSource) {
	if len(sourcesOf(v)) == 0 {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if v.HostPath != nil {
		orDefaultTo(&v.HostPath.Type, corev1.HostPathUnset)
	}
	if v.ConfigMap != nil {
		orDefaultTo(&v.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if v.Secret != nil {
		orDefaultTo(&v.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if v.DownwardAPI != nil {
		orDefaultTo(&v.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		setItemDefaults(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		orDefaultTo(&v.Projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
		for _, source := range v.Projected.Sources {
			if source.DownwardAPI != nil {
				setItemDefaults(source.DownwardAPI.Items)
			}
			if source.ServiceAccountToken != nil {
				orDefaultTo(&source.ServiceAccountToken.ExpirationSeconds, 3600)
			}
		}
	}
}

func setItemDefaults(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		if items[i].FieldRef != nil {
			orDefault(&items[i].FieldRef.APIVersion, "v1")
		}
	}
}

// isLatest tells whether an image has the tag "latest", or no tag and no digest.
//
// Mirrors kubelet pkg/util/parsers/parsers.go ParseImageName, v1.37, for names
// that are valid.
func isLatest(image string) bool {
	name, _, digest := strings.Cut(image, "@")
	_, tag, tagged := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	return tag == "latest" || !tagged && !digest
}

func orDefault[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

func orDefaultTo[T any](field **T, value T) {
	if *field == nil {
		*field = ptr.To(value)
	}
}
