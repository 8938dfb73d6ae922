package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// guarded boots a node whose kubelet goes through the watch guard, or directly.
// More are settings of the proxy, each with its name.
func (s *scene) guarded(through bool, more ...string) {
	s.Helper()
	settings := []string{"kubeconfig: " + node.KubeletKubeconfig}
	if !slices.ContainsFunc(more, func(m string) bool { return strings.HasPrefix(m, "certificates:") }) {
		settings = append(settings, "certificates: "+node.KubeletPKI)
	}
	s.agent("proxy: {" + strings.Join(append(settings, more...), ", ") + "}")
	if !through {
		return
	}
	s.must(s.box.InstallProxy(s.ctx), "install the proxy")
	s.eventually(30*time.Second, "the kubelet goes through the proxy", func() bool {
		out, _, err := s.box.Exec(s.ctx, "sh", "-c", "tr '\\0' ' ' < /proc/$(pidof kubelet)/cmdline")
		return err == nil && strings.Contains(out, "--kubeconfig=/run/nodekeeper/kubeconfig")
	})
}

// kubectl runs as an admin in the box.
func (s *scene) kubectl(args ...string) (string, error) {
	out, stderr, err := s.box.Exec(s.ctx, append([]string{"kubectl", "--kubeconfig", node.AdminKubeconfig}, args...)...)
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, stderr)
	}
	return out, nil
}

// heard is one request that the API server's audit log has.
type heard struct {
	AuditID, Stage, Verb, UserAgent, RequestURI string
	User                                        struct {
		Username string
		Extra    map[string][]string
	}
	ObjectRef                struct{ Resource, Namespace, Name string }
	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp time.Time
}

// audit are the node's requests so far, at all API servers, each once, oldest
// first.
func (s *scene) audit() []heard {
	s.Helper()
	data, err := s.box.ReadFile(node.AuditLog)
	s.must(err, "read the audit log")
	if more, err := s.box.ReadFile(node.SecondAuditLog); err == nil {
		data = append(data, more...)
	}
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

// leaseGap is the longest time between two renewals of the node's lease that
// ended after a moment.
func leaseGap(requests []heard, after time.Time) time.Duration {
	var longest time.Duration
	var last time.Time
	for _, h := range requests {
		if h.ObjectRef.Resource != "leases" || h.Verb == "get" || h.ResponseStatus.Code >= 300 {
			continue
		}
		if at := h.RequestReceivedTimestamp; !last.IsZero() && at.After(after) {
			longest = max(longest, at.Sub(last))
		}
		last = h.RequestReceivedTimestamp
	}
	return longest
}
