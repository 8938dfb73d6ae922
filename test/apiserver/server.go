package apiserver

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

// Server is an etcd and an API server of the test's own, which end with it.
type Server struct {
	// Host is the address, https://127.0.0.1:PORT.
	Host string
	// Config is an admin's (system:masters), without a limit of its rate.
	Config *rest.Config
	// Admin is a client with Config.
	Admin *kubernetes.Clientset

	ca *controlplane.Authority
}

// Start starts both, empty, and waits until the API server is ready. The flags
// are added to the API server's. Without the components the test is skipped.
func Start(t *testing.T, flags ...string) *Server {
	t.Helper()
	c := controlplane.Start(t, controlplane.Options{Flags: flags})
	s := &Server{Host: "https://" + c.Host, ca: c.CA}
	s.Config = s.As(t, "admin", "system:masters")
	s.Config.QPS = -1
	var err error
	if s.Admin, err = kubernetes.NewForConfig(s.Config); err != nil {
		t.Fatal(err)
	}
	return s
}

// As is the configuration of a client with a certificate of its own.
func (s *Server) As(t *testing.T, user, group string) *rest.Config {
	t.Helper()
	p := s.ca.Issue(t, user, group)
	return &rest.Config{Host: s.Host, TLSClientConfig: rest.TLSClientConfig{CAData: s.ca.PEM, CertData: p.Certificate, KeyData: p.Key}}
}

// AsAccount is the configuration of a client with a service account's token.
// The account has to exist.
func (s *Server) AsAccount(t *testing.T, namespace, name string) *rest.Config {
	t.Helper()
	token, err := s.Admin.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &rest.Config{Host: s.Host, BearerToken: token.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: s.ca.PEM}}
}
