package manifest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// check holds a pod, defaults applied, against the rules of a kubelet: of its
// validation, those that a person who edits a manifest breaks. It refuses
// nothing that the kubelet accepts; what it does not look at (affinity, network
// volumes, profiles, Windows, resources of the pod as a whole) may be refused
// there.
//
// Mirrors kubelet pkg/apis/core/validation/validation.go ValidatePodCreate, read
// in the last patches of 1.30 to 1.37. A method names the functions that it
// mirrors.
type check struct {
	kubelet
	// refusal is the first thing that the kubelet refuses. doubt is the first
	// that it refuses or not, by what is not known of it.
	refusal, doubt string
}

// must refuses what no kubelet accepts.
func (c *check) must(ok bool, at, why string, args ...any) {
	if !ok && c.refusal == "" {
		c.refusal = at + ": " + fmt.Sprintf(why, args...)
	}
}

// needs refuses what only a kubelet with the feature accepts.
func (c *check) needs(f feature, at, why string, args ...any) {
	c.when(c.has(f), node.No, at, why, args)
}

// forbids refuses what only a kubelet without the feature accepts.
func (c *check) forbids(f feature, at, why string, args ...any) {
	c.when(c.has(f), node.Yes, at, why, args)
}

func (c *check) when(has, refused node.Answer, at, why string, args []any) {
	switch text := fmt.Sprintf(why, args...); {
	case has == refused:
		c.must(false, at, "%s (kubelet 1.%d)", text, c.minor)
	case has == node.Unknown && c.doubt == "":
		c.doubt = at + ": " + text
	}
}

// follows applies one of apimachinery's rules to a field that must be there.
func (c *check) follows(at, value string, rule func(string) []string) {
	c.must(value != "", at, "is needed")
	c.followsIfSet(at, value, rule)
}

func (c *check) followsIfSet(at, value string, rule func(string) []string) {
	if value != "" {
		broken := rule(value)
		c.must(len(broken) == 0, at, "%q: %s", value, strings.Join(broken, "; "))
	}
}

func (c *check) none(errs field.ErrorList) {
	if len(errs) > 0 {
		c.must(false, errs[0].Field, "%s", errs[0].ErrorBody())
	}
}

func oneOf[T ~string](c *check, at string, value T, allowed ...T) {
	c.must(slices.Contains(allowed, value), at, "%q: must be one of %q", value, allowed)
}

// pod mirrors validatePodMetadataAndSpec, ValidatePodSpec, validateRestartPolicy,
// validateShareProcessNamespace, validateHostUsers and ValidateHostAliases. The
// metadata are held against the kubelet's own rules, which are the same in
// k8s.io/apimachinery v0.30 to v0.37.
func (c *check) pod(pod *corev1.Pod) {
	c.none(apivalidation.ValidateObjectMeta(&pod.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata")))
	spec := &pod.Spec
	oneOf(c, "spec.restartPolicy", spec.RestartPolicy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	c.must(len(spec.EphemeralContainers) == 0, "spec.ephemeralContainers", "not possible in a manifest")
	c.must(len(spec.SchedulingGates) == 0, "spec.schedulingGates", "not possible in a manifest")
	c.must(len(spec.Containers) > 0, "spec.containers", "at least one is needed")
	c.containers(spec, c.volumes(spec))

	c.dns(spec)
	c.none(metavalidation.ValidateLabels(spec.NodeSelector, field.NewPath("spec", "nodeSelector")))
	c.podSecurity(spec.SecurityContext)
	if spec.ActiveDeadlineSeconds != nil {
		c.within("spec.activeDeadlineSeconds", *spec.ActiveDeadlineSeconds, 1, math.MaxInt32)
	}
	c.followsIfSet("spec.hostname", spec.Hostname, validation.IsDNS1123Label)
	c.followsIfSet("spec.subdomain", spec.Subdomain, validation.IsDNS1123Label)
	c.followsIfSet("spec.serviceAccountName", spec.ServiceAccountName, validation.IsDNS1123Subdomain)
	c.followsIfSet("spec.priorityClassName", spec.PriorityClassName, validation.IsDNS1123Subdomain)
	if spec.RuntimeClassName != nil {
		c.follows("spec.runtimeClassName", *spec.RuntimeClassName, validation.IsDNS1123Subdomain)
	}
	c.must(!spec.HostPID || !ptr.Deref(spec.ShareProcessNamespace, false), "spec.shareProcessNamespace", "not together with hostPID")
	if !ptr.Deref(spec.HostUsers, true) {
		c.must(!spec.HostPID && !spec.HostIPC, "spec.hostUsers", "false: not together with hostPID or hostIPC")
		if spec.HostNetwork {
			c.needs(usersOnHostNetwork, "spec.hostUsers", "false: not together with hostNetwork")
		}
	}
	for i, alias := range spec.HostAliases {
		at := fmt.Sprintf("spec.hostAliases[%d]", i)
		c.address(at+".ip", alias.IP)
		for _, name := range alias.Hostnames {
			c.follows(at+".hostnames", name, validation.IsDNS1123Subdomain)
		}
	}
	for i := range spec.Tolerations {
		c.toleration(fmt.Sprintf("spec.tolerations[%d]", i), &spec.Tolerations[i])
	}
}

func (c *check) within(at string, value, low, high int64) {
	c.must(low <= value && value <= high, at, "%d: must be between %d and %d", value, low, high)
}

// address mirrors IsValidIPForLegacyField without its strict form, which a
// feature gate decides on.
func (c *check) address(at, ip string) {
	c.must(len(validation.IsValidIPForLegacyField(nil, ip, false, nil)) == 0, at, "%q: not an IP address", ip)
}

// dns mirrors validateDNSPolicy, and validatePodDNSConfig in part.
func (c *check) dns(spec *corev1.PodSpec) {
	oneOf(c, "spec.dnsPolicy", spec.DNSPolicy, corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)
	config := ptr.Deref(spec.DNSConfig, corev1.PodDNSConfig{})
	c.must(spec.DNSPolicy != corev1.DNSNone || len(config.Nameservers) > 0, "spec.dnsConfig.nameservers", "at least one is needed with dnsPolicy None")
	c.must(len(config.Nameservers) <= 3, "spec.dnsConfig.nameservers", "%d of them: at most 3", len(config.Nameservers))
	for _, server := range config.Nameservers {
		c.address("spec.dnsConfig.nameservers", server)
	}
	for _, search := range config.Searches {
		const at = "spec.dnsConfig.searches"
		name := strings.TrimSuffix(search, ".")
		c.must(search == "." || len(validation.IsDNS1123SubdomainWithUnderscore(name)) == 0, at, "%q: not a DNS name", search)
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			c.needs(anySearchName, at, "%q: not a DNS name", search)
		}
	}
}

// toleration mirrors ValidateTolerations.
func (c *check) toleration(at string, t *corev1.Toleration) {
	c.followsIfSet(at+".key", t.Key, validation.IsQualifiedName)
	c.must(t.Key != "" || t.Operator == corev1.TolerationOpExists, at+".operator", "must be Exists without a key")
	c.must(t.TolerationSeconds == nil || t.Effect == corev1.TaintEffectNoExecute, at+".effect", "must be NoExecute with tolerationSeconds")
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		c.followsIfSet(at+".value", t.Value, validation.IsValidLabelValue)
	case corev1.TolerationOpExists:
		c.must(t.Value == "", at+".value", "none with operator Exists")
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
		c.needs(compareTolerations, at+".operator", "%q: not possible", t.Operator)
	default:
		oneOf(c, at+".operator", t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
	}
	if t.Effect != "" {
		oneOf(c, at+".effect", t.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
	}
}
