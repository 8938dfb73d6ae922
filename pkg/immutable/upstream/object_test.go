package upstream

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

func objectOf(t *testing.T, name string, size int) *wire.Object {
	t.Helper()
	message, err := (&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u", ResourceVersion: "6"},
		Data:       map[string][]byte{"data": make([]byte, size)},
	}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return &wire.Object{Namespace: "ns", Name: name, UID: "u", ResourceVersion: "6", Protobuf: message}
}
