package manifests

import (
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nodekeeper/nodekeeper/test/apiserver"
	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

// may is a question of kubectl auth can-i: VERB GROUP/RESOURCE/SUBRESOURCE NAME -n
// NAMESPACE, or a path instead of a resource.
type may struct {
	verb, group, resource, sub, name, namespace, path string
	want                                              bool
}

// rights asks the server what each account may do. Whatever is not in manifests/
// was not applied: nothing else gives these accounts rights.
func rights(t *testing.T, s *apiserver.Server) {
	for _, account := range []struct {
		namespace, name string
		table           []may
	}{
		{"nodekeeper", "nodekeeper-metrics", []may{
			{verb: "create", group: "authentication.k8s.io", resource: "tokenreviews", want: true},
			{verb: "create", group: "authorization.k8s.io", resource: "subjectaccessreviews", want: true},
			{verb: "get", group: "nodekeeper.io", resource: "metrics", namespace: "nodekeeper"},
			{verb: "get", path: "/metrics"},
			{verb: "get", resource: "secrets", namespace: "nodekeeper"},
			{verb: "list", resource: "pods", namespace: "nodekeeper"},
			{verb: "get", resource: "nodes"},
			{verb: "get", resource: "nodes", sub: "proxy"},
			{verb: "impersonate", resource: "users"},
		}},
		{"nodekeeper", "nodekeeper-metrics-reader", []may{
			{verb: "get", group: "nodekeeper.io", resource: "metrics", namespace: "nodekeeper", want: true},
			{verb: "get", group: "nodekeeper.io", resource: "metrics", namespace: "default"},
			{verb: "create", group: "nodekeeper.io", resource: "metrics", namespace: "nodekeeper"},
			{verb: "get", path: "/metrics"},
			{verb: "get", path: "/logs/"},
			{verb: "get", resource: "secrets", namespace: "nodekeeper"},
			{verb: "get", resource: "nodes", sub: "metrics"},
			{verb: "create", group: "authentication.k8s.io", resource: "tokenreviews"},
		}},
		{"nodekeeper-promote", "nodekeeper-promote", []may{
			{verb: "get", resource: "secrets", namespace: "default", want: true},
			{verb: "list", resource: "secrets", want: true},
			{verb: "patch", resource: "secrets", namespace: "default", want: true},
			{verb: "patch", resource: "configmaps", namespace: "default", want: true},
			{verb: "list", resource: "pods", want: true},
			{verb: "list", resource: "serviceaccounts", want: true},
			{verb: "list", resource: "namespaces", want: true},
			{verb: "create", resource: "events", namespace: "default", want: true},
			{verb: "update", group: "coordination.k8s.io", resource: "leases", name: "nodekeeper-promote", namespace: "nodekeeper-promote", want: true},
			{verb: "create", resource: "secrets", namespace: "nodekeeper-promote", want: true},
			{verb: "create", resource: "secrets", namespace: "default"},
			{verb: "update", resource: "secrets", namespace: "default"},
			{verb: "delete", resource: "secrets", namespace: "default"},
			{verb: "delete", resource: "secrets", namespace: "nodekeeper-promote"},
			{verb: "deletecollection", resource: "configmaps", namespace: "default"},
			{verb: "watch", resource: "secrets"},
			{verb: "update", group: "coordination.k8s.io", resource: "leases", name: "another", namespace: "nodekeeper-promote"},
			{verb: "update", group: "coordination.k8s.io", resource: "leases", name: "nodekeeper-promote", namespace: "kube-node-lease"},
			{verb: "get", resource: "nodes"},
			{verb: "get", resource: "nodes", sub: "proxy"},
			{verb: "create", resource: "pods", namespace: "default"},
			{verb: "create", resource: "pods", sub: "exec", namespace: "default"},
			{verb: "create", resource: "serviceaccounts", sub: "token", namespace: "default"},
			{verb: "patch", group: "admissionregistration.k8s.io", resource: "validatingadmissionpolicies"},
			{verb: "create", group: "rbac.authorization.k8s.io", resource: "rolebindings", namespace: "default"},
			{verb: "escalate", group: "rbac.authorization.k8s.io", resource: "clusterroles"},
		}},
	} {
		t.Run(account.name, func(t *testing.T) {
			client, err := kubernetes.NewForConfig(s.AsAccount(t, account.namespace, account.name))
			if err != nil {
				t.Fatal(err)
			}
			ask(t, client, account.table)
		})
	}

	// The role of readers is bound to nobody; bound, it is what the plugin needs.
	t.Run("nodekeeper-reader", func(t *testing.T) {
		client, err := kubernetes.NewForConfig(s.As(t, "somebody", "people"))
		if err != nil {
			t.Fatal(err)
		}
		needed := []may{
			{verb: "list", resource: "nodes"}, {verb: "get", resource: "nodes", sub: "proxy"}, {verb: "get", resource: "pods", namespace: "default"},
		}
		ask(t, client, needed)
		_, err = s.Admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "readers"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "nodekeeper-reader"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "people"}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		controlplane.Until(t, 20*time.Second, "the binding to be in force", func() bool { return allowed(t, client, needed[0]) })
		for i := range needed {
			needed[i].want = true
		}
		ask(t, client, append(needed,
			may{verb: "create", resource: "nodes", sub: "proxy"}, may{verb: "patch", resource: "nodes"},
			may{verb: "list", resource: "pods"}, may{verb: "get", resource: "secrets", namespace: "default"}))
	})

	// Every account that something runs as is in a table above.
	t.Run("no other account", func(t *testing.T) {
		found := 0
		for _, overlay := range overlays {
			for _, o := range apiserver.Build(t, root+"/overlays/"+overlay) {
				if o.GetKind() == "ServiceAccount" {
					found++
				}
			}
		}
		if found != 3*len(overlays) {
			t.Errorf("%d accounts in all overlays: have a table for each", found)
		}
	})
}

func ask(t *testing.T, client kubernetes.Interface, table []may) {
	t.Helper()
	for _, q := range table {
		if got := allowed(t, client, q); got != q.want {
			t.Errorf("can-i %s %s%s %s/%s %s -n %s: %v", q.verb, q.path, q.group, q.resource, q.sub, q.name, q.namespace, got)
		}
	}
}

func allowed(t *testing.T, client kubernetes.Interface, q may) bool {
	t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{}
	if q.path != "" {
		review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: q.verb, Path: q.path}
	} else {
		review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Verb: q.verb, Group: q.group, Resource: q.resource, Subresource: q.sub, Name: q.name, Namespace: q.namespace}
	}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}
