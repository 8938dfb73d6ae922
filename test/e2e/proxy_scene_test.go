package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// proxySettings lead the guard to the box's kubelet.
const proxySettings = "proxy: {kubeconfig: " + node.KubeletKubeconfig + ", certificates: " + node.KubeletPKI + "}"

// guarded boots a node whose kubelet goes through the watch guard, or directly.
func (s *scene) guarded(through bool, more string) {
	s.Helper()
	settings := proxySettings
	if more != "" {
		settings = strings.TrimSuffix(proxySettings, "}") + ", " + more + "}"
	}
	s.agent(settings)
	if !through {
		return
	}
	s.must(s.box.InstallProxy(s.ctx), "install the proxy")
	s.eventually(30*time.Second, "the kubelet goes through the proxy", func() bool {
		out, _, err := s.box.Exec(s.ctx, "sh", "-c", "tr '\\0' ' ' < /proc/$(pidof kubelet)/cmdline")
		return err == nil && strings.Contains(out, "--kubeconfig=/run/nodekeeper/kubeconfig")
	})
}

// workload is pods with Secrets and ConfigMaps of their own, in one namespace.
type workload struct {
	namespace                   string
	pods                        int
	immutableSecrets, configMap int // of each pod
}

func (w workload) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default, namespace: %[1]s}\n", w.namespace)
	for p := range w.pods {
		var mounts, volumes []string
		for i := range w.immutableSecrets {
			name := fmt.Sprintf("imm-%d-%d", p, i)
			fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\nimmutable: true\nstringData: {value: %[1]s}\n", name, w.namespace)
			mounts = append(mounts, fmt.Sprintf("{name: %s, mountPath: /mnt/%[1]s}", name))
			volumes = append(volumes, fmt.Sprintf("{name: %s, secret: {secretName: %[1]s}}", name))
		}
		for i := range w.configMap {
			name := fmt.Sprintf("cm-%d-%d", p, i)
			fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {value: %[1]s}\n", name, w.namespace)
			mounts = append(mounts, fmt.Sprintf("{name: %s, mountPath: /mnt/%[1]s}", name))
			volumes = append(volumes, fmt.Sprintf("{name: %s, configMap: {name: %[1]s}}", name))
		}
		fmt.Fprintf(&b, `---
apiVersion: v1
kind: Pod
metadata: {name: p%d, namespace: %s}
spec:
  nodeName: node1
  hostNetwork: true
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: localhost/nodekeeper/workload:latest
    imagePullPolicy: Never
    volumeMounts: [%s]
  volumes: [%s]
`, p, w.namespace, strings.Join(mounts, ", "), strings.Join(volumes, ", "))
	}
	return b.String()
}

// kubectl runs as an admin in the box.
func (s *scene) kubectl(args ...string) (string, error) {
	out, stderr, err := s.box.Exec(s.ctx, append([]string{"kubectl", "--kubeconfig", node.AdminKubeconfig}, args...)...)
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, stderr)
	}
	return out, nil
}

// apply makes a workload and waits until all of its pods run.
func (s *scene) apply(w workload) {
	s.Helper()
	file := "/root/" + w.namespace + ".yaml"
	s.must(s.box.WriteFile(file, []byte(w.yaml()), 0o600), "write the workload")
	_, err := s.kubectl("apply", "-f", file)
	s.must(err, "apply the workload")
	s.eventually(3*time.Minute, fmt.Sprintf("%d pods of %s run", w.pods, w.namespace), func() bool {
		out, err := s.kubectl("-n", w.namespace, "get", "pods", "--no-headers")
		return err == nil && strings.Count(out, "Running") == w.pods
	})
}

// heard is one request that the API server's audit log has.
type heard struct {
	AuditID, Stage, Verb, UserAgent, RequestURI string
	User                                        struct{ Username string }
	ObjectRef                                   struct{ Resource, Namespace, Name string }
	RequestReceivedTimestamp                    time.Time
}

// audit are the node's requests so far, each once, oldest first.
func (s *scene) audit() []heard {
	s.Helper()
	data, err := s.box.ReadFile(node.AuditLog)
	s.must(err, "read the audit log")
	seen := map[string]bool{}
	var out []heard
	for line := range strings.Lines(string(data)) {
		var h heard
		if json.Unmarshal([]byte(line), &h) != nil || seen[h.AuditID] || h.User.Username != "system:node:node1" {
			continue
		}
		seen[h.AuditID] = true
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b heard) int { return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp) })
	return out
}

// watches counts WATCHes of Secrets and of ConfigMaps of one namespace in
// requests, and LISTs of both.
func watches(requests []heard, namespace string) (secrets, configMaps, lists int) {
	for _, h := range requests {
		if h.ObjectRef.Namespace != namespace || h.ObjectRef.Name == "" {
			continue
		}
		switch {
		case h.Verb == "list":
			lists++
		case h.Verb == "watch" && h.ObjectRef.Resource == "secrets":
			secrets++
		case h.Verb == "watch" && h.ObjectRef.Resource == "configmaps":
			configMaps++
		}
	}
	return secrets, configMaps, lists
}

// leaseGap is the longest time between two renewals of the node's lease.
func leaseGap(requests []heard) time.Duration {
	var longest time.Duration
	var last time.Time
	for _, h := range requests {
		if h.ObjectRef.Resource != "leases" || (h.Verb != "update" && h.Verb != "patch") {
			continue
		}
		if !last.IsZero() {
			longest = max(longest, h.RequestReceivedTimestamp.Sub(last))
		}
		last = h.RequestReceivedTimestamp
	}
	return longest
}
