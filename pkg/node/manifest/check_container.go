package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// containers mirrors validateContainers, validateInitContainers,
// checkHostPortConflicts and validatePodHostNetworkDeps.
func (c *check) containers(spec *corev1.PodSpec, volumes map[string]*corev1.VolumeSource) {
	names := make(map[string]bool)
	hostPorts := make(map[string]bool)
	for i := range spec.Containers {
		ctr, at := &spec.Containers[i], fmt.Sprintf("spec.containers[%d]", i)
		c.container(at, ctr, spec, volumes, names)
		c.ports(at, ctr.Ports, hostPorts)
		for j, port := range ctr.Ports {
			c.must(!spec.HostNetwork || port.HostPort == port.ContainerPort, fmt.Sprintf("%s.ports[%d].hostPort", at, j),
				"%d: must be the containerPort, %d, with hostNetwork", port.HostPort, port.ContainerPort)
		}
		c.hooks(at, ctr, spec)
		c.restartPolicy(at, ctr)
	}
	for i := range spec.InitContainers {
		ctr, at := &spec.InitContainers[i], fmt.Sprintf("spec.initContainers[%d]", i)
		c.container(at, ctr, spec, volumes, names)
		c.ports(at, ctr.Ports, make(map[string]bool)) // they run one by one
		if ptr.Deref(ctr.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			c.hooks(at, ctr, spec)
		} else {
			c.must(ctr.Lifecycle == nil && ctr.LivenessProbe == nil && ctr.ReadinessProbe == nil && ctr.StartupProbe == nil,
				at, "an init container has no probes and no lifecycle without restartPolicy Always")
		}
		c.restartPolicyOfInit(at, ctr)
	}
}

// container mirrors validateContainerCommon, validateContainerOnlyForPod,
// validatePullPolicy and validateResizePolicy.
func (c *check) container(at string, ctr *corev1.Container, spec *corev1.PodSpec, volumes map[string]*corev1.VolumeSource, names map[string]bool) {
	c.follows(at+".name", ctr.Name, validation.IsDNS1123Label)
	c.must(!names[ctr.Name], at+".name", "%q: used twice", ctr.Name)
	names[ctr.Name] = true
	c.must(ctr.Image != "", at+".image", "is needed")
	c.must(ctr.Image == strings.TrimSpace(ctr.Image), at+".image", "%q: begins or ends with a space", ctr.Image)
	oneOf(c, at+".imagePullPolicy", ctr.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	oneOf(c, at+".terminationMessagePolicy", ctr.TerminationMessagePolicy, corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	c.environment(at, ctr)
	c.mounts(at, ctr, volumes)
	c.resources(at+".resources", ctr.Resources)
	c.security(at+".securityContext", ctr.SecurityContext, ptr.Deref(spec.HostUsers, true))
	for i, p := range ctr.ResizePolicy {
		at := fmt.Sprintf("%s.resizePolicy[%d]", at, i)
		oneOf(c, at+".resourceName", p.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)
		oneOf(c, at+".restartPolicy", p.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)
		c.must(spec.RestartPolicy != corev1.RestartPolicyNever || p.RestartPolicy == corev1.NotRequired, at+".restartPolicy", "must be NotRequired with the pod's restartPolicy Never")
	}
}

// ports mirrors validateContainerPorts and AccumulateUniqueHostPorts.
func (c *check) ports(at string, ports []corev1.ContainerPort, hostPorts map[string]bool) {
	names := make(map[string]bool)
	for i, port := range ports {
		at := fmt.Sprintf("%s.ports[%d]", at, i)
		c.followsIfSet(at+".name", port.Name, validation.IsValidPortName)
		c.must(port.Name == "" || !names[port.Name], at+".name", "%q: used twice", port.Name)
		names[port.Name] = true
		c.within(at+".containerPort", int64(port.ContainerPort), 1, 65535)
		oneOf(c, at+".protocol", port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		if port.HostPort != 0 {
			c.within(at+".hostPort", int64(port.HostPort), 1, 65535)
			key := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			c.must(!hostPorts[key], at+".hostPort", "%d: used twice", port.HostPort)
			hostPorts[key] = true
		}
	}
}

// restartPolicy mirrors validateContainers and validateContainerRestartPolicy.
func (c *check) restartPolicy(at string, ctr *corev1.Container) {
	switch {
	case ctr.RestartPolicy != nil:
		c.needs(restartPolicies, at+".restartPolicy", "possible for init containers only")
		c.restartRules(at, ctr)
	case len(ctr.RestartPolicyRules) > 0:
		c.forbids(restartPolicies, at+".restartPolicyRules", "need a restartPolicy of the container")
	}
}

// restartPolicyOfInit mirrors validateInitContainerRestartPolicy and the rules
// about resizePolicy in validateInitContainers.
func (c *check) restartPolicyOfInit(at string, ctr *corev1.Container) {
	always := ptr.Deref(ctr.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
	switch {
	case ctr.RestartPolicy == nil && len(ctr.RestartPolicyRules) > 0:
		c.forbids(from(35), at+".restartPolicyRules", "need a restartPolicy of the container")
	case always && len(ctr.RestartPolicyRules) > 0:
		// Where rules are no feature at all, they are not looked at.
		c.when(both(c.has(restartPolicies), not(c.has(restartAll))), node.Yes, at+".restartPolicyRules", "not with restartPolicy Always", nil)
		c.restartRules(at, ctr)
	case ctr.RestartPolicy != nil && !always:
		c.needs(restartPolicies, at+".restartPolicy", "%q: an init container can only have Always", *ctr.RestartPolicy)
		c.restartRules(at, ctr)
	}
	if len(ctr.ResizePolicy) > 0 {
		c.needs(resizeOfInit, at+".resizePolicy", "not possible for init containers")
	}
	for _, p := range ctr.ResizePolicy {
		if !always && p.RestartPolicy == corev1.RestartContainer {
			c.forbids(from(36), at+".resizePolicy", "RestartContainer is not possible for an init container without restartPolicy Always")
		}
	}
}

// restartRules are looked at where they are a feature. A policy of its own that
// is unknown is refused by all.
func (c *check) restartRules(at string, ctr *corev1.Container) {
	oneOf(c, at+".restartPolicy", *ctr.RestartPolicy, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever)
	at += ".restartPolicyRules"
	if len(ctr.RestartPolicyRules) > 20 {
		c.forbids(restartPolicies, at, "%d of them: at most 20", len(ctr.RestartPolicyRules))
	}
	for i, rule := range ctr.RestartPolicyRules {
		at := fmt.Sprintf("%s[%d]", at, i)
		switch rule.Action {
		case corev1.ContainerRestartRuleActionRestart:
		case corev1.ContainerRestartRuleActionRestartAllContainers:
			c.when(both(c.has(restartPolicies), not(c.has(restartAll))), node.Yes, at+".action", "%q: not possible", []any{rule.Action})
		default:
			c.forbids(restartPolicies, at+".action", "%q: must be Restart or RestartAllContainers", rule.Action)
		}
		if rule.ExitCodes == nil || len(rule.ExitCodes.Values) > 255 ||
			rule.ExitCodes.Operator != corev1.ContainerRestartRuleOnExitCodesOpIn && rule.ExitCodes.Operator != corev1.ContainerRestartRuleOnExitCodesOpNotIn {
			c.forbids(restartPolicies, at+".exitCodes", "the operator In or NotIn and at most 255 values are needed")
		}
	}
}

// mounts mirrors ValidateVolumeMounts and validateMountPropagation.
func (c *check) mounts(at string, ctr *corev1.Container, volumes map[string]*corev1.VolumeSource) {
	used := make(map[string]bool)
	privileged := ctr.SecurityContext != nil && ptr.Deref(ctr.SecurityContext.Privileged, false)
	for i, m := range ctr.VolumeMounts {
		at := fmt.Sprintf("%s.volumeMounts[%d]", at, i)
		c.must(volumes[m.Name] != nil, at+".name", "%q: no such volume in spec.volumes", m.Name)
		c.must(m.MountPath != "", at+".mountPath", "is needed")
		c.must(!used[m.MountPath], at+".mountPath", "%q: used twice", m.MountPath)
		used[m.MountPath] = true
		c.descends(at+".subPath", m.SubPath)
		c.descends(at+".subPathExpr", m.SubPathExpr)
		c.must(m.SubPath == "" || m.SubPathExpr == "", at+".subPathExpr", "not together with subPath")
		propagation := ptr.Deref(m.MountPropagation, corev1.MountPropagationNone)
		oneOf(c, at+".mountPropagation", propagation, corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional)
		c.must(privileged || propagation != corev1.MountPropagationBidirectional, at+".mountPropagation", "Bidirectional is for privileged containers only")
	}
}

// descends mirrors validateLocalDescendingPath and validatePathNoBacksteps.
func (c *check) descends(at, name string) {
	c.must(!path.IsAbs(name), at, "%q: must be relative", name)
	c.noBacksteps(at, name)
}

func (c *check) noBacksteps(at, name string) {
	c.must(!slices.Contains(strings.Split(name, "/"), ".."), at, "%q: must not contain ..", name)
}
