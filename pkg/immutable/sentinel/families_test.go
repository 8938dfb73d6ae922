package sentinel

import (
	"slices"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

func ca(namespace string) shape.Key {
	return shape.Key{Resource: shape.ConfigMaps, Namespace: namespace, Name: "kube-root-ca.crt"}
}

func TestOneMemberIsTheSentinelUntilItLeaves(t *testing.T) {
	f := New([]string{"kube-root-ca.crt"})
	f.Join(ca("a"))
	f.Join(ca("b"))
	f.Join(ca("c"))
	f.Join(ca("a"))
	if !f.Sentinel(ca("a")) || f.Sentinel(ca("b")) {
		t.Error("the first to join is not the only sentinel")
	}
	if got := f.Others(ca("a")); !slices.Equal(got, []shape.Key{ca("b"), ca("c")}) {
		t.Errorf("the others are %v", got)
	}
	if _, ok := f.Leave(ca("b")); ok {
		t.Error("an heir was named though the sentinel stayed")
	}
	if heir, ok := f.Leave(ca("a")); !ok || heir != ca("c") {
		t.Errorf("the heir is %v, %t", heir, ok)
	}
	if _, ok := f.Leave(ca("a")); ok {
		t.Error("one who had left was inherited from again")
	}
	if _, ok := f.Leave(ca("c")); ok || f.Member(ca("c")) {
		t.Error("an empty family has an heir")
	}
}

func TestOnlyConfigMapsOfTheNamesAreCovered(t *testing.T) {
	f := New([]string{"kube-root-ca.crt"})
	secret, other := ca("a"), ca("a")
	secret.Resource, other.Name = shape.Secrets, "settings"
	for _, key := range []shape.Key{secret, other} {
		f.Join(key)
		if f.Covers(key) || f.Member(key) || f.Sentinel(key) {
			t.Errorf("%s is covered", key)
		}
	}
}
