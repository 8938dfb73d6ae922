package promote

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote/controller"
	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

// program runs the program itself, as its service account.
func program(t *testing.T, c *cluster) {
	s := c.scene(t, "program", true)
	s.configMap(metav1.ObjectMeta{Name: "a"}, settings)
	s.pod("p", nil, nil, []string{"a"})

	binary := filepath.Join(t.TempDir(), "nodekeeper-promote")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, "./cmd/promote")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	account := c.AsAccount(t, account, account)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	s.must(clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: account.Host, CertificateAuthorityData: account.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"a": {Token: account.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "a"}},
		CurrentContext: "x",
	}, kubeconfig))
	run := func(arguments ...string) string {
		t.Helper()
		var said bytes.Buffer
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"--kubeconfig", kubeconfig, "--once", "--namespace-selector=scene=program"}, arguments...)...)
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", arguments, err, said.String())
		}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss > 128<<10 {
			t.Errorf("it took %d KiB, more than its limit", usage.Maxrss)
		}
		return said.String()
	}
	if said := run(); strings.Contains(said, "immutable\"") {
		t.Errorf("content that has just been seen for the first time is a week old:\n%s", said)
	}
	if said := run("--min-age=0"); !strings.Contains(said, `msg="would make immutable" resource=configmaps namespace=team-program name=a`) || len(s.immutable()) != 0 {
		t.Errorf("dry run:\n%s", said)
	}
	if said := run("--min-age=0", "--dry-run=false"); !strings.Contains(said, `msg="made immutable"`) || len(s.immutable()) != 1 {
		t.Errorf("run:\n%s", said)
	}
	watched(t, binary, kubeconfig)
}

// As rbac.yaml says: bound in one namespace, it works there.
func accountOfOneNamespace(t *testing.T, c *cluster) {
	inside, outside := c.scene(t, "inside", true), c.scene(t, "outside", true)
	for _, s := range []*scene{inside, outside} {
		s.own = account
		s.configMap(metav1.ObjectMeta{Name: "a"}, settings)
		s.secret(metav1.ObjectMeta{Name: "a"}, corev1.SecretTypeOpaque, map[string][]byte{"k": []byte("v")})
		s.pod("p", nil, []string{"a"}, []string{"a"})
	}
	inside.must(c.Admin.RbacV1().ClusterRoleBindings().Delete(t.Context(), account, metav1.DeleteOptions{}))
	_, err := c.Admin.RbacV1().RoleBindings(inside.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account, Name: account}},
	}, metav1.CreateOptions{})
	inside.must(err)
	config := c.AsAccount(t, account, account)
	of := func(s *scene) (*controller.Controller, error) {
		p := s.promoter(func(o *controller.Options) { o.Config = config })
		return p, p.Pass(t.Context())
	}
	controlplane.Until(t, 20*time.Second, "the rights outside to end", func() bool { _, err := of(outside); return err != nil })
	if _, err := of(outside); err == nil || !strings.Contains(fmt.Sprint(err), "forbidden") {
		t.Errorf("outside: %v", err)
	}
	p, err := of(inside)
	inside.must(err)
	if n := p.Counts(); n.Promoted != 2 || n.Failed != 0 {
		t.Errorf("%+v", n)
	}
}
