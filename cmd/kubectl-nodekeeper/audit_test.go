package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// auditScene is a cluster of two nodes. The first has a pod with an immutable
// Secret, a ConfigMap whose namespace asks for promotion, one that is missing,
// and a CA bundle; of the second the kubelet does not answer.
type auditScene struct {
	*scene
	mu     sync.Mutex // guards what follows
	paths  []string
	denied string
}

func stageAudit(t *testing.T) *auditScene {
	t.Helper()
	s := &auditScene{scene: &scene{T: t, kubeconfig: filepath.Join(t.TempDir(), "config")}}
	s.write(s.kubeconfig, "")
	mux := http.NewServeMux()
	answer := func(path, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, body) })
	}
	answer("/api/v1/nodes", `{"items":[{"metadata":{"name":"n1"}},{"metadata":{"name":"n2"}}]}`)
	answer("/api/v1/nodes/n1", `{"metadata":{"name":"n1","annotations":{"node.alpha.kubernetes.io/ttl":"15"}},"status":{"nodeInfo":{"kubeletVersion":"v1.37.2"}}}`)
	answer("/api/v1/nodes/n2", `{"metadata":{"name":"n2"},"status":{"nodeInfo":{"kubeletVersion":"v1.34.1"}}}`)
	answer("/api/v1/nodes/n1/proxy/configz", `{"kubeletconfig":{"configMapAndSecretChangeDetectionStrategy":"Watch","syncFrequency":"1m0s","featureGates":{"WatchListClient":true}}}`)
	mux.HandleFunc("GET /api/v1/nodes/n2/proxy/configz", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "nodes", "no")
	})
	mux.HandleFunc("GET /api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		switch r.FormValue("fieldSelector") + r.FormValue("continue") {
		case "spec.nodeName=n1":
			fmt.Fprint(w, `{"metadata":{"continue":"more"},"items":[{"metadata":{"name":"a","namespace":"ci"},"spec":{"volumes":[
				{"name":"s","secret":{"secretName":"own-a"}},{"name":"m","configMap":{"name":"settings"}},{"name":"g","configMap":{"name":"gone","optional":true}},
				{"name":"k","projected":{"sources":[{"configMap":{"name":"kube-root-ca.crt"}}]}}]}}]}`)
		case "spec.nodeName=n1more":
			fmt.Fprint(w, `{"items":[{"metadata":{"name":"b","namespace":"ci"},"status":{"phase":"Succeeded"},"spec":{"volumes":[{"name":"s","secret":{"secretName":"of-ended"}}]}}]}`)
		case "spec.nodeName=n2":
			fmt.Fprint(w, `{"items":[{"metadata":{"name":"c","namespace":"dark"},"spec":{"imagePullSecrets":[{"name":"pull"}],"containers":[{"envFrom":[{"configMapRef":{"name":"env"}}]}]}}]}`)
		default:
			http.Error(w, "which node?", http.StatusBadRequest)
		}
	})
	answer("/api/v1/namespaces", `{"items":[{"metadata":{"name":"ci","labels":{"nodekeeper.io/immutable-policy":"promote"}}},{"metadata":{"name":"dark"}}]}`)
	mux.HandleFunc("GET /api/v1/namespaces/ci/secrets", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("continue") == "" {
			fmt.Fprint(w, `{"metadata":{"continue":"more"},"items":[{"metadata":{"name":"another"},"data":{"x":"aHVudGVyMg=="}}]}`)
			return
		}
		fmt.Fprint(w, `{"items":[{"metadata":{"name":"own-a"},"immutable":true,"data":{"x":"aHVudGVyMg=="}}]}`)
	})
	answer("/api/v1/namespaces/ci/configmaps", `{"items":[{"metadata":{"name":"kube-root-ca.crt"}},{"metadata":{"name":"settings","managedFields":[
		{"manager":"people","operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:x":{}}}}]},"data":{"x":"1"}}]}`)
	answer("/api/v1/namespaces/dark/configmaps", `{"items":[{"metadata":{"name":"env"}}]}`)
	mux.HandleFunc("GET /api/v1/namespaces/dark/secrets", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "secrets", `secrets is forbidden: User "eve" cannot list resource "secrets"`)
	})
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.paths = append(s.paths, r.URL.Path)
		denied := s.denied != "" && strings.HasPrefix(r.URL.Path, s.denied)
		s.mu.Unlock()
		if denied {
			refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "", "denied")
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	return s
}

func TestAnAuditCountsWhatPodsReferTo(t *testing.T) {
	s := stageAudit(t)
	for form, file := range map[string]string{"table": "audit-all.txt", "wide": "audit-wide.txt"} {
		code, out, err := s.call("audit", "--all-nodes", "-o", form)
		if code != 0 || err != "" {
			t.Fatal(code, err)
		}
		s.golden(file, out)
		if form == "table" {
			s.narrow(out)
		}
		if strings.Contains(out, "hunter2") || strings.Contains(out, "aHVudGVyMg") {
			t.Error("a Secret is shown")
		}
	}
	code, out, err := s.call("audit", "n1", "-o", "json")
	if code != 0 {
		t.Fatal(code, err)
	}
	var a struct {
		Pods struct {
			GuardPays bool `json:"guardPays"`
			Nodes     []struct {
				Node, Version, Strategy                                   string
				Objects, Immutable, Mutable, Missing, Unknown, Promotable int
				FamilyMembers                                             int
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatal(err, out)
	}
	n := a.Pods.Nodes[0]
	if a.Pods.GuardPays || n.Node != "n1" || n.Version != "v1.37.2" || n.Strategy != "Watch" || n.Objects != 4 || n.Immutable != 1 ||
		n.Mutable != 2 || n.Missing != 1 || n.Promotable != 1 || n.FamilyMembers != 1 {
		t.Errorf("%+v", a)
	}
}

func TestAnAuditOfFilesAsksNoCluster(t *testing.T) {
	s := stageAudit(t)
	dir := filepath.Join("..", "..", "pkg", "immutable", "audit", "view", "testdata")
	svg := filepath.Join(t.TempDir(), "a.svg")
	code, out, err := s.call("audit", "--audit-log", filepath.Join(dir, "audit.log"), "--journal", filepath.Join(dir, "journal.txt"), "--svg", svg)
	if code != 0 || err != "" || !strings.Contains(out, "AUDIT LOG") || !strings.Contains(out, "SIDE BY SIDE") {
		t.Error(code, err, out)
	}
	if len(s.paths) != 0 {
		t.Errorf("the cluster was asked: %v", s.paths)
	}
	code, out, err = s.call("audit", "n1", "--audit-log", filepath.Join(dir, "audit.log"))
	if code != 0 || !strings.Contains(out, "pods, for one start") || strings.Contains(out, "n2") {
		t.Error(code, err, out)
	}
	code, _, err = s.call("audit", "--audit-log", filepath.Join(dir, "gone.log"))
	if code != 1 || !strings.Contains(err, "no such file") {
		t.Error(code, err)
	}
}

func TestAnAuditSaysWhatItMayNotRead(t *testing.T) {
	s := stageAudit(t)
	s.denied = "/api/v1/nodes/n1"
	code, out, err := s.call("audit", "--all-nodes")
	if code != 1 || !strings.Contains(err, "node n1: denied") || !strings.Contains(out, "n2") {
		t.Error(code, err, out)
	}
	s.denied = "/api/v1/namespaces"
	code, out, err = s.call("audit", "n1")
	if code != 0 || !strings.Contains(out, "4 objects could not be looked at") || !strings.Contains(out, "the secrets of ci are not known: denied") {
		t.Error(code, err, out)
	}
	s.denied = "/"
	if code, out, err = s.call("audit", "n1"); code != 1 || out != "" {
		t.Error(code, err, out)
	}
}

func TestAnAuditOfNothingIsBadUsage(t *testing.T) {
	s := stageAudit(t)
	for _, args := range [][]string{{"audit"}, {"audit", "--svg", "x", "n1"}, {"audit", "n1", "--all-nodes"}, {"audit", "../n1"}, {"audit", "--journal", "-", "--audit-log", "-"}} {
		if code, _, err := s.call(args...); code != 2 || err == "" {
			t.Error(args, code, err)
		}
	}
}

func TestAnInterruptedAuditEnds(t *testing.T) {
	s := stageAudit(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, err bytes.Buffer
	p := newPlugin(&out, &err, func() time.Time { return now })
	if code := p.execute(ctx, []string{"audit", "n1", "--server", s.server.URL, "--kubeconfig", s.kubeconfig}); code != 1 || out.Len() != 0 {
		t.Error(code, out.String(), err.String())
	}
}
