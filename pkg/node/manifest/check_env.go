package manifest

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// environment mirrors ValidateEnv, validateEnvVarValueFrom,
// validateObjectFieldSelector, validateContainerResourceFieldSelector,
// ValidateEnvFrom, validateConfigMapKeySelector and validateSecretKeySelector.
func (c *check) environment(at string, ctr *corev1.Container) {
	for i, from := range ctr.EnvFrom {
		at := fmt.Sprintf("%s.envFrom[%d]", at, i)
		c.envName(at+".prefix", from.Prefix)
		c.must((from.ConfigMapRef == nil) != (from.SecretRef == nil), at, "needs either configMapRef or secretRef")
		if from.ConfigMapRef != nil {
			c.follows(at+".configMapRef.name", from.ConfigMapRef.Name, validation.IsDNS1123Subdomain)
		}
		if from.SecretRef != nil {
			c.follows(at+".secretRef.name", from.SecretRef.Name, validation.IsDNS1123Subdomain)
		}
	}
	for i, env := range ctr.Env {
		at := fmt.Sprintf("%s.env[%d]", at, i)
		c.must(env.Name != "", at+".name", "is needed")
		c.envName(at+".name", env.Name)
		if env.ValueFrom == nil {
			continue
		}
		at += ".valueFrom"
		c.must(env.Value == "", at, "not together with a value")
		sources := 0
		if ref := env.ValueFrom.FieldRef; ref != nil {
			sources++
			c.fieldPath(at+".fieldRef", ref)
		}
		if ref := env.ValueFrom.ResourceFieldRef; ref != nil {
			sources++
			c.resourceField(at+".resourceFieldRef", ref)
		}
		if ref := env.ValueFrom.ConfigMapKeyRef; ref != nil {
			sources++
			c.follows(at+".configMapKeyRef.name", ref.Name, validation.IsDNS1123Subdomain)
			c.follows(at+".configMapKeyRef.key", ref.Key, validation.IsConfigMapKey)
		}
		if ref := env.ValueFrom.SecretKeyRef; ref != nil {
			sources++
			c.follows(at+".secretKeyRef.name", ref.Name, validation.IsDNS1123Subdomain)
			c.follows(at+".secretKeyRef.key", ref.Key, validation.IsConfigMapKey)
		}
		if env.ValueFrom.FileKeyRef != nil && sources == 0 {
			c.needs(from(34), at+".fileKeyRef", "not possible")
			sources = 1
		}
		c.must(sources == 1, at, "needs one source, and has %d", sources)
	}
}

func (c *check) envName(at, name string) {
	c.followsIfSet(at, name, validation.IsRelaxedEnvVarName)
	if name != "" && len(validation.IsEnvVarName(name)) > 0 {
		c.needs(anyEnvName, at, "%q: only letters, digits, _, - and . are possible, and no digit first", name)
	}
}

var (
	fieldPaths = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.host", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
	resourceNames = []string{"cpu", "memory", "ephemeral-storage"}
)

// fieldPath mirrors validateObjectFieldSelector and, for 1.30 and 1.31,
// validateDownwardAPIHostIPs.
func (c *check) fieldPath(at string, ref *corev1.ObjectFieldSelector) {
	c.must(ref.APIVersion == "v1", at+".apiVersion", "%q: must be v1", ref.APIVersion)
	name, _, keyed := strings.Cut(ref.FieldPath, "['")
	keyed = keyed && (name == "metadata.labels" || name == "metadata.annotations")
	c.must(keyed || slices.Contains(fieldPaths, ref.FieldPath), at+".fieldPath", "%q: must be one of %q", ref.FieldPath, fieldPaths)
	if ref.FieldPath == "status.hostIPs" {
		c.needs(hostIPs, at+".fieldPath", "%q: not possible", ref.FieldPath)
	}
}

// resourceField mirrors validateContainerResourceFieldSelector.
func (c *check) resourceField(at string, ref *corev1.ResourceFieldSelector) {
	list, name, _ := strings.Cut(ref.Resource, ".")
	c.must(list == "limits" || list == "requests", at+".resource", "%q: must begin with limits. or requests.", ref.Resource)
	c.must(slices.Contains(resourceNames, name) || strings.HasPrefix(name, corev1.ResourceHugePagesPrefix), at+".resource", "%q: must end with one of %q", ref.Resource, resourceNames)
}
