package kubeconfig

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/localca"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/pkitest"
)

const listen = "127.0.0.1:6444"

// scene is a node with a kubeconfig and an authority of its own.
type scene struct {
	*testing.T
	ca      *pkitest.Authority
	node    *pkitest.Node
	derived string
	local   []byte
}

func stage(t *testing.T) *scene {
	t.Helper()
	ca := pkitest.New(t)
	s := &scene{T: t, ca: ca, node: ca.NewNode("https://api-int.example.org:6443", "")}
	s.node.Rotate(ca.Kubelet("n1"))
	s.derived = filepath.Join(t.TempDir(), "run", "kubeconfig")
	local, err := localca.Open(t.TempDir(), nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s.local = local.PEM()
	return s
}

func (s *scene) read() *Source {
	s.Helper()
	source, err := Read(s.node.Kubeconfig)
	if err != nil {
		s.Fatal(err)
	}
	return source
}

func (s *scene) derive() {
	s.Helper()
	content, err := Derive(s.read(), listen, s.local)
	if err == nil {
		_, err = Write(s.derived, content)
	}
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) check() []string { return Check(s.derived, s.read(), listen, s.local, time.Now()) }

func TestTheDerivedOneLeadsAClientThroughTheProxy(t *testing.T) {
	s := stage(t)
	before, err := os.ReadFile(s.node.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	s.derive()
	// Client-go, which the kubelet reads it with, sees the proxy.
	c, err := clientcmd.BuildConfigFromFlags("", s.derived)
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "https://"+listen || c.ServerName != "api-int.example.org" || c.Insecure ||
		c.CertFile != filepath.Join(s.node.PKI, "kubelet-client-current.pem") || c.KeyFile != c.CertFile {
		t.Errorf("%+v", c)
	}
	if !bytes.Contains(c.CAData, bytes.TrimSpace(s.ca.PEM)) || !bytes.Contains(c.CAData, bytes.TrimSpace(s.local)) {
		t.Error("a certificate authority is missing")
	}
	if info, err := os.Stat(s.derived); err != nil || info.Mode() != mode {
		t.Errorf("%v, %v", info, err)
	}
	if now, err := os.ReadFile(s.node.Kubeconfig); err != nil || !bytes.Equal(now, before) {
		t.Errorf("the kubelet's own was changed: %v", err)
	}
	if problems := s.check(); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestItIsWrittenOnceAndWhenItsModeIsNotRoots(t *testing.T) {
	s := stage(t)
	s.derive()
	content, err := os.ReadFile(s.derived)
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := Write(s.derived, content); changed || err != nil {
		t.Errorf("%v, %v", changed, err)
	}
	if err := os.Chmod(s.derived, 0o644); err != nil {
		t.Fatal(err)
	}
	if changed, err := Write(s.derived, content); !changed || err != nil {
		t.Errorf("%v, %v", changed, err)
	}
}

func TestRevertRemovesItOnce(t *testing.T) {
	s := stage(t)
	s.derive()
	for _, want := range []bool{true, false} {
		if was, err := Revert(s.derived); was != want || err != nil {
			t.Errorf("%v, %v", was, err)
		}
	}
}

func TestCheckHasALineForEachProblem(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(*scene)
		want string
	}{
		"missing":            {func(s *scene) { _ = os.Remove(s.derived) }, "is missing"},
		"readable by others": {func(s *scene) { _ = os.Chmod(s.derived, 0o644) }, "has mode"},
		"another proxy":      {func(s *scene) { s.replace(listen, "127.0.0.1:7000") }, "the server is"},
		"another name":       {func(s *scene) { s.replace("tls-server-name: api-int", "tls-server-name: api") }, "tls-server-name is"},
		"another file":       {func(s *scene) { s.replace("kubelet-client-current", "other") }, "client-certificate is"},
		"cut":                {func(s *scene) { s.node.Write(s.derived, nil) }, "no current-context"},
		"edited":             {func(s *scene) { s.replace("# Made", "# made") }, "is not what would be derived"},
		"node's authority":   {func(s *scene) { s.local = pkitest.New(s).PEM }, "lacks the node's own"},
		"cluster's authority": {func(s *scene) {
			s.node.Write(filepath.Join(filepath.Dir(s.node.Kubeconfig), "ca.crt"), pkitest.New(s).PEM)
		}, "lacks the cluster's"},
		"no certificate": {func(s *scene) { _ = os.RemoveAll(s.node.PKI) }, "client certificate: "},
		"expired": {func(s *scene) {
			s.node.Rotate(s.ca.Client("system:node:n1", "system:nodes", time.Now().Add(-time.Minute)))
		}, "expired at"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(t)
			s.derive()
			c.harm(s)
			problems := s.check()
			if !strings.Contains(strings.Join(problems, "\n"), c.want) || strings.Contains(strings.Join(problems, ""), "\n") {
				t.Errorf("%q has no %q", problems, c.want)
			}
		})
	}
}

func (s *scene) replace(old, with string) {
	s.Helper()
	text, err := os.ReadFile(s.derived)
	if err != nil {
		s.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		s.Fatalf("no %q in %s", old, text)
	}
	s.node.Write(s.derived, []byte(strings.ReplaceAll(string(text), old, with)))
}

// text is a kubeconfig with one field of the cluster and one of the user more.
func text(cluster, user string) string {
	return `apiVersion: v1
kind: Config
clusters:
- {name: other, cluster: {server: "http://192.0.2.9", insecure-skip-tls-verify: true}}
- {name: c, cluster: {` + cluster + `}}
users:
- {name: other, user: {token: abc}}
- {name: u, user: {` + user + `}}
contexts:
- {name: other, context: {cluster: other, user: other}}
- {name: x, context: {cluster: c, user: u}}
current-context: x
`
}

func TestOnlyTheCurrentContextCounts(t *testing.T) {
	s, err := parse([]byte(text(`server: "https://[2001:db8::1]:6443/k8s", certificate-authority: ca.crt`,
		`client-certificate: pki/a.pem, client-key: /b.pem`)), "/etc/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	if s.ServerName != "2001:db8::1" || s.Address() != "[2001:db8::1]:6443" || s.CAFile != "/etc/kubernetes/ca.crt" ||
		s.CertificateFile != "/etc/kubernetes/pki/a.pem" || s.KeyFile != "/b.pem" {
		t.Errorf("%+v", s)
	}
	s.Path, s.CA = "/k", []byte("A")
	derived, err := Derive(s, listen, []byte("B"))
	if err != nil || !strings.Contains(string(derived), "server: https://"+listen+"/k8s\n") {
		t.Errorf("%s, %v", derived, err)
	}
}

func TestInlineDataStaysInline(t *testing.T) {
	s, err := parse([]byte(text(`server: "https://api", certificate-authority-data: Q0E=, certificate-authority: none`,
		`client-certificate-data: Q0VSVA==, client-key-data: S0VZ, client-certificate: none, client-key: none`)), "/")
	if err != nil {
		t.Fatal(err)
	}
	if string(s.CA) != "CA" || s.CAFile != "" || string(s.CertificateData) != "CERT" || s.CertificateFile != "" || string(s.KeyData) != "KEY" ||
		s.Address() != "api:443" {
		t.Errorf("%+v", s)
	}
	derived, err := Derive(s, listen, nil)
	if err != nil || !strings.Contains(string(derived), "client-key-data: S0VZ\n") {
		t.Errorf("%s, %v", derived, err)
	}
}

func TestWhatTheProxyCannotWorkWithIsRefusedInALine(t *testing.T) {
	const server, certificate = `server: "https://api", certificate-authority: ca`, `client-certificate: a, client-key: b`
	for name, c := range map[string]struct{ text, want string }{
		"nothing":         {"", "no current-context"},
		"no YAML":         {"a: [", "no valid YAML"},
		"something else":  {"kind: Pod", `kind "Pod"`},
		"another version": {"apiVersion: v2", `apiVersion "v2"`},
		"no context":      {"current-context: x", `no context "x"`},
		"no cluster":      {"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]", `no cluster "c"`},
		"no user":         {"current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c}]", `no user "u"`},
		"no server":       {text("", certificate), "no server"},
		"no host":         {text(`server: "https://"`, certificate), "is not a URL with a host"},
		"plain HTTP":      {text(`server: "http://api", certificate-authority: ca`, certificate), "is not https"},
		"a query":         {text(`server: "https://api?a=b", certificate-authority: ca`, certificate), "more than a host"},
		"not verified":    {text(server+", insecure-skip-tls-verify: true", certificate), "insecure-skip-tls-verify"},
		"no authority":    {text(`server: "https://api"`, certificate), "no certificate-authority"},
		"bad proxy":       {text(server+`, proxy-url: "::"`, certificate), "proxy-url"},
		"no certificate":  {text(server, ""), "no client-certificate"},
		"no key":          {text(server, "client-certificate: a"), "no client-key"},
		"exec":            {text(server, certificate+", exec: {command: aws}"), "an exec plugin"},
		"auth provider":   {text(server, certificate+", auth-provider: {name: gcp}"), "an auth-provider"},
		"token":           {text(server, "token: SECRET"), "a bearer token"},
		"token file":      {text(server, certificate+", tokenFile: /t"), "a bearer token"},
		"password":        {text(server, "username: a, password: SECRET"), "a password"},
		"impersonation":   {text(server, certificate+", as: root"), "impersonation"},
		"bad base64":      {text(server, `client-certificate-data: "SECRET!"`), "no valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse([]byte(c.text), "/")
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%v has no %q", err, c.want)
			}
		})
	}
}

func TestANodeThatHasNotJoinedIsTold(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "kubeconfig")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	s := stage(t)
	s.node.Write(filepath.Join(filepath.Dir(s.node.Kubeconfig), "ca.crt"), []byte("none"))
	if _, err := Read(s.node.Kubeconfig); err == nil || !strings.Contains(err.Error(), "no certificate in it") {
		t.Error(err)
	}
}

// FuzzKubeconfig holds what is read to client-go: where a kubeconfig is not
// refused, both see the same server and the same credentials.
func FuzzKubeconfig(f *testing.F) {
	f.Add([]byte(text(`server: "https://api:6443", certificate-authority: ca`, `client-certificate: a, client-key: b`)))
	f.Add([]byte(text(`server: "https://api", certificate-authority-data: Q0E=`, `client-certificate-data: Q0E=, client-key-data: Q0E=`)))
	f.Add([]byte(`{"current-context":"","contexts":[{"name":""}],"clusters":[{"name":""}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parse(data, "/d")
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Error(err)
			}
			return
		}
		theirs, err := clientcmd.Load(data)
		if err != nil {
			t.Skip("client-go refuses it: " + err.Error())
		}
		context := theirs.Contexts[theirs.CurrentContext]
		if context == nil {
			t.Fatalf("client-go has no context %q", theirs.CurrentContext)
		}
		c, u := theirs.Clusters[context.Cluster], theirs.AuthInfos[context.AuthInfo]
		if c == nil || u == nil {
			t.Fatal("client-go finds no cluster or user")
		}
		if u.Exec != nil || u.AuthProvider != nil || u.Token+u.TokenFile+u.Username+u.Password+u.Impersonate != "" || c.InsecureSkipTLSVerify {
			t.Errorf("%+v is not refused", u)
		}
		if len(c.CertificateAuthorityData) > 0 && !bytes.Equal(c.CertificateAuthorityData, s.CA) ||
			c.TLSServerName != "" && c.TLSServerName != s.ServerName ||
			!bytes.Equal(u.ClientCertificateData, s.CertificateData) || !bytes.Equal(u.ClientKeyData, s.KeyData) {
			t.Errorf("%+v, %+v differ from %+v", c, u, s)
		}
		if _, err := Derive(s, listen, []byte("CA")); err != nil {
			t.Error(err)
		}
	})
}
