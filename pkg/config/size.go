package config

import "k8s.io/apimachinery/pkg/api/resource"

// Size is a number of bytes as Kubernetes writes quantities: "2Gi", "500M".
type Size string

// Bytes is the number; 0 for a Size that does not validate.
func (s Size) Bytes() int64 {
	q, err := resource.ParseQuantity(string(s))
	if err != nil {
		return 0
	}
	return q.Value()
}
