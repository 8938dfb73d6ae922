package manifest

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
)

// resources mirrors validateResourceRequirements and
// ValidateResourceQuantityValue, without what is peculiar to huge pages.
func (c *check) resources(at string, r corev1.ResourceRequirements) {
	for field, list := range map[string]corev1.ResourceList{"limits": r.Limits, "requests": r.Requests} {
		for name, quantity := range list {
			at := fmt.Sprintf("%s.%s[%s]", at, field, name)
			c.resourceName(at, string(name))
			c.must(quantity.Sign() >= 0, at, "%s: must not be negative", quantity.String())
			c.must(!isExtended(name) || quantity.MilliValue()%1000 == 0, at, "%s: must be a whole number", quantity.String())
		}
	}
	for name, request := range r.Requests {
		limit, limited := r.Limits[name]
		at := fmt.Sprintf("%s.requests[%s]", at, name)
		if isExtended(name) {
			c.must(limited && request.Cmp(limit) == 0, at, "%s: the same limit is needed", request.String())
		} else if limited {
			c.must(request.Cmp(limit) <= 0, at, "%s: more than the limit of %s", request.String(), limit.String())
		}
	}
}

// resourceName mirrors validateResourceName and ValidateContainerResourceName.
func (c *check) resourceName(at, name string) {
	c.follows(at, name, validation.IsQualifiedName)
	if !strings.Contains(name, "/") {
		c.must(slices.Contains(resourceNames, name) || strings.HasPrefix(name, corev1.ResourceHugePagesPrefix), at, "not a resource of containers")
	}
}

// isExtended mirrors pkg/apis/core/helper IsExtendedResourceName.
func isExtended(name corev1.ResourceName) bool {
	text := string(name)
	return strings.Contains(text, "/") && !strings.Contains(text, corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(text, corev1.DefaultResourceRequestsPrefix)
}

// podSecurity mirrors validatePodSpecSecurityContext in part.
func (c *check) podSecurity(sc *corev1.PodSecurityContext) {
	const at = "spec.securityContext"
	c.id(at+".fsGroup", sc.FSGroup)
	c.id(at+".runAsUser", sc.RunAsUser)
	c.id(at+".runAsGroup", sc.RunAsGroup)
	for i := range sc.SupplementalGroups {
		c.id(at+".supplementalGroups", &sc.SupplementalGroups[i])
	}
	if p := sc.FSGroupChangePolicy; p != nil {
		oneOf(c, at+".fsGroupChangePolicy", *p, corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways)
	}
	c.seccomp(at, sc.SeccompProfile)
}

// security mirrors ValidateSecurityContext in part.
func (c *check) security(at string, sc *corev1.SecurityContext, hostUsers bool) {
	if sc == nil {
		return
	}
	c.id(at+".runAsUser", sc.RunAsUser)
	c.id(at+".runAsGroup", sc.RunAsGroup)
	if m := sc.ProcMount; m != nil {
		oneOf(c, at+".procMount", *m, corev1.DefaultProcMount, corev1.UnmaskedProcMount)
		c.must(!hostUsers || *m != corev1.UnmaskedProcMount, at+".procMount", "Unmasked needs hostUsers: false")
	}
	if !ptr.Deref(sc.AllowPrivilegeEscalation, true) {
		c.must(!ptr.Deref(sc.Privileged, false), at+".allowPrivilegeEscalation", "false: not together with privileged")
		c.must(sc.Capabilities == nil || !slices.Contains(sc.Capabilities.Add, "CAP_SYS_ADMIN"), at+".allowPrivilegeEscalation", "false: not together with CAP_SYS_ADMIN")
	}
	c.seccomp(at, sc.SeccompProfile)
}

// seccomp mirrors validateSeccompProfileField.
func (c *check) seccomp(at string, p *corev1.SeccompProfile) {
	if p != nil {
		oneOf(c, at+".seccompProfile.type", p.Type, corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
		c.must((p.Type == corev1.SeccompProfileTypeLocalhost) == (p.LocalhostProfile != nil), at+".seccompProfile.localhostProfile", "belongs to type Localhost")
		c.descends(at+".seccompProfile.localhostProfile", ptr.Deref(p.LocalhostProfile, ""))
	}
}

func (c *check) id(at string, id *int64) {
	if id != nil {
		c.must(len(validation.IsValidUserID(*id)) == 0, at, "%d: must be between 0 and 2147483647", *id)
	}
}
