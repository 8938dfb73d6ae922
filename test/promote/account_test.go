package promote

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote/controller"
	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

const account = "nodekeeper-promote"

// The rights of manifests/promote are enough: everything the promoter does works
// with them, through Run with its lease.
func accountIsEnough(t *testing.T, c *cluster) {
	s := c.scene(t, "account", true)
	s.own = account
	s.configMap(metav1.ObjectMeta{Name: "a"}, settings)
	s.secret(metav1.ObjectMeta{Name: "a"}, "", map[string][]byte{"k": []byte("v")})
	s.secret(metav1.ObjectMeta{Name: "pull"}, "kubernetes.io/dockerconfigjson", map[string][]byte{".dockerconfigjson": []byte("{}")})
	s.pod("p", nil, []string{"a", "pull"}, []string{"a"})
	for _, dry := range []bool{true, false} {
		p := s.promoter(func(o *controller.Options) { o.Config, o.Once, o.DryRun = c.AsAccount(t, account, account), true, dry })
		s.must(p.Run(t.Context()))
		n := p.Counts()
		if n.Failed != 0 || dry && n.WouldPromote != 3 || !dry && n.Promoted != 3 {
			t.Errorf("dry run %v: %+v", dry, n)
		}
	}
	if len(s.events(controller.EventPromoted)) != 3 || len(s.events(controller.EventWouldPromote)) != 3 {
		t.Error("events are missing")
	}
	lease, err := c.Admin.CoordinationV1().Leases(account).Get(t.Context(), account, metav1.GetOptions{})
	s.must(err)
	if *lease.Spec.HolderIdentity != "" {
		t.Error("the lease was not given back")
	}
	// It never looks at its own history as a candidate.
	if immutable := s.immutable(); len(immutable) != 3 {
		t.Errorf("%v", immutable)
	}
}

// A stolen token can do no more than promote.
func accountIsBound(t *testing.T, c *cluster) {
	s := c.scene(t, "bound", true)
	config := c.AsAccount(t, account, account)
	client, err := kubernetes.NewForConfig(config)
	s.must(err)
	s.secret(metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"is": "there"}, Labels: map[string]string{"is": "there"}}, "", map[string][]byte{"k": []byte("v")})
	s.configMap(metav1.ObjectMeta{Name: "a"}, settings)
	secrets, configMaps := client.CoreV1().Secrets(s.namespace), client.CoreV1().ConfigMaps(s.namespace)
	patch := func(text string) error {
		_, err := secrets.Patch(t.Context(), "a", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	controlplane.Until(t, 20*time.Second, "the policy to be in force", func() bool {
		err := patch(`{"metadata":{"labels":{"try":"` + time.Now().Format("150405.000000") + `"}}}`)
		return err != nil
	})
	for _, text := range []string{
		`{"data":{"k":"b3RoZXI="}}`,
		`{"immutable":true,"data":{"k":"b3RoZXI="}}`,
		`{"immutable":true,"data":null}`,
		`{"immutable":true,"stringData":{"new":"key"}}`,
		`{"immutable":true,"metadata":{"annotations":{"nodekeeper.io/immutable-policy":"x"}}}`,
		`{"immutable":true,"metadata":{"annotations":{"is":"other"}}}`,
		`{"immutable":true,"metadata":{"annotations":{"is":null}}}`,
		`{"immutable":true,"metadata":{"annotations":null}}`,
		`{"immutable":true,"metadata":{"labels":{"is":null}}}`,
		`{"immutable":true,"metadata":{"finalizers":["a/b"]}}`,
		`{"immutable":true,"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}}`,
		`{"metadata":{"annotations":{"nodekeeper.io/immutable-reason":"x"}}}`,
	} {
		if err := patch(text); err == nil || !strings.Contains(err.Error(), "the promoter may") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := configMaps.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"immutable":true,"binaryData":{"b":"AA=="}}`), metav1.PatchOptions{}); err == nil {
		t.Error("it may add binary data to a ConfigMap")
	}
	for what, do := range map[string]func() error{
		"delete a Secret": func() error { return secrets.Delete(t.Context(), "a", metav1.DeleteOptions{}) },
		"watch Secrets":   func() error { _, err := secrets.Watch(t.Context(), metav1.ListOptions{}); return err },
		"get pods": func() error {
			_, err := client.CoreV1().Pods(s.namespace).Get(t.Context(), "p", metav1.GetOptions{})
			return err
		},
		"read nodes": func() error { _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); return err },
		"create a Secret elsewhere": func() error {
			_, err := secrets.Create(t.Context(), s.secretOf("b"), metav1.CreateOptions{})
			return err
		},
		"label a namespace": func() error {
			_, err := client.CoreV1().Namespaces().Patch(t.Context(), s.namespace, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			return err
		},
		"delete in its own namespace": func() error { return client.CoreV1().Secrets(account).Delete(t.Context(), "x", metav1.DeleteOptions{}) },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("it may %s: %v", what, err)
		}
	}
	s.must(patch(`{"immutable":true,"metadata":{"annotations":{"` + promote.ReasonKey + `":"x"}}}`))
}
