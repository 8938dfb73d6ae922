package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pkitest"
)

// joined makes the scene a node of an API server, whose one pod mounts a Secret
// that was made anew since.
func (s *scene) joined() (kubelet string) {
	s.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/pods", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"items":[{"metadata":{"name":"p","namespace":"ns","uid":"1234"},"status":{"phase":"Running","startTime":%q},
			"spec":{"volumes":[{"name":"v","secret":{"secretName":"s"}},{"name":"t","emptyDir":{}}]}}]}`, s.now.Wall.Add(-time.Hour).Format(time.RFC3339))
	})
	mux.HandleFunc("GET /api/v1/namespaces/ns/secrets/s", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"metadata":{"name":"s","uid":"new","creationTimestamp":%q},"immutable":true,"data":{"k":"aHVudGVyMg=="}}`, s.now.Wall.Add(-time.Minute).Format(time.RFC3339))
	})
	authority := pkitest.New(s)
	server := httptest.NewUnstartedServer(mux)
	pair := authority.Server("api.example.com")
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair.Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool()}
	server.StartTLS()
	s.Cleanup(server.Close)
	node := authority.NewNode(server.URL, "api.example.com")
	node.Rotate(authority.Kubelet("n1"))
	s.write(s.config, "apiVersion: nodekeeper.io/v1alpha1\nkind: Configuration\nproxy: {kubeconfig: "+node.Kubeconfig+"}\n")

	kubelet = s.TempDir()
	volume := filepath.Join(kubelet, "pods", "1234", "volumes", "kubernetes.io~secret", "v")
	written := filepath.Join(volume, "..2026_03_01_11_00_00.1")
	if err := os.MkdirAll(written, 0o755); err != nil {
		s.Fatal(err)
	}
	s.write(filepath.Join(written, "k"), "hunter1")
	if err := os.Symlink(filepath.Base(written), filepath.Join(volume, "..data")); err != nil {
		s.Fatal(err)
	}
	hour := s.now.Wall.Add(-time.Hour)
	if err := os.Chtimes(written, hour, hour); err != nil {
		s.Fatal(err)
	}
	return kubelet
}

func TestAnImmutableSecretThatWasMadeAnewIsFound(t *testing.T) {
	s := stage(t)
	kubelet := s.joined()
	code, out, err := s.call("audit", "--mounts", "--kubelet-dir", kubelet)
	if code != 0 || !strings.Contains(out, "1 recreated") || !strings.Contains(out, "kubernetes#119733") || strings.Contains(out, "hunter") {
		t.Error(code, out, err)
	}
	code, out, err = s.call("audit", "--mounts", "--kubelet-dir", kubelet, "-o", "json")
	var a struct {
		Mounts struct {
			Node   string
			Mounts []struct{ Verdict, LiveUID, Pod string }
		}
	}
	if code != 0 || json.Unmarshal([]byte(out), &a) != nil || a.Mounts.Node != "n1" || len(a.Mounts.Mounts) != 1 {
		t.Fatal(code, out, err)
	}
	if m := a.Mounts.Mounts[0]; m.Verdict != "recreated" || m.LiveUID != "new" || m.Pod != "ns/p" {
		t.Errorf("%+v", m)
	}
}

func TestAnAuditReadsFilesOnTheNode(t *testing.T) {
	s := stage(t)
	dir := filepath.Join("..", "..", "pkg", "immutable", "audit", "view", "testdata")
	svg := filepath.Join(t.TempDir(), "a.svg")
	code, out, err := s.call("audit", "--audit-log", filepath.Join(dir, "audit.log"), "--journal", filepath.Join(dir, "journal.txt"), "--svg", svg)
	if code != 0 || !strings.Contains(out, "AUDIT LOG") || !strings.Contains(out, "JOURNAL") {
		t.Error(code, out, err)
	}
	if picture, err := os.ReadFile(svg); err != nil || !strings.Contains(string(picture), "</svg>") {
		t.Error(err)
	}
}

func TestAnAuditThatCannotLookSaysWhy(t *testing.T) {
	s := stage(t)
	if code, _, err := s.call("audit"); code != 2 || !strings.Contains(err, "--mounts") {
		t.Error(code, err)
	}
	s.write(s.config, "apiVersion: nodekeeper.io/v1alpha1\nkind: Configuration\nproxy: {kubeconfig: "+filepath.Join(t.TempDir(), "gone")+"}\n")
	if code, out, err := s.call("audit", "--mounts"); code != 1 || !strings.Contains(err, "read the kubelet's kubeconfig") || out != "" {
		t.Error(code, out, err)
	}
}
