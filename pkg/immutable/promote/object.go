package promote

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Resource is the API's plural.
type Resource string

// The resources that can be immutable.
const (
	Secrets    Resource = "secrets"
	ConfigMaps Resource = "configmaps"
)

// Object is what is known of one Secret or ConfigMap.
type Object struct {
	Resource Resource
	Meta     metav1.ObjectMeta
	// Namespace is the metadata of the namespace it is in.
	Namespace metav1.ObjectMeta
	// Content is nil while only the metadata has been read.
	Content *Content
	// UnchangedSince is when the content was first seen as it is now; zero if it
	// has not been seen before.
	UnchangedSince time.Time
	// Use is nil while nobody has looked who uses the object.
	Use *Use
}

// Content is what metadata does not tell.
type Content struct {
	Immutable *bool
	// Type is a Secret's, and empty for a ConfigMap.
	Type corev1.SecretType
	// Text is a ConfigMap's data, Binary a Secret's data or a ConfigMap's
	// binaryData.
	Text   map[string]string
	Binary map[string][]byte
}

// Use is what the namespace of an object says of it.
type Use struct {
	// Pods is how many pods name it.
	Pods int
	// Reloaded names a pod among them that asks for a restart when it changes.
	Reloaded string
	// Checksummed names a pod among them whose template carries a checksum of its
	// configuration: a chart that edits in place.
	Checksummed string
	// PullSecretOf names a service account that lists it.
	PullSecretOf string
}

// ContentOfSecret borrows the Secret's maps.
func ContentOfSecret(s *corev1.Secret) *Content {
	return &Content{Immutable: s.Immutable, Type: s.Type, Binary: s.Data}
}

// ContentOfConfigMap borrows the ConfigMap's maps.
func ContentOfConfigMap(c *corev1.ConfigMap) *Content {
	return &Content{Immutable: c.Immutable, Text: c.Data, Binary: c.BinaryData}
}
