package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// With the feature proxy, the kubelet's command line is put behind the wrapper at
// each boot, out of the unit as it is. A kubelet without a kubeconfig starts
// directly all the same; taken back, nothing is left of it.
func TestTheKubeletStartsBehindTheWrapper(t *testing.T) {
	labelled(t, delivery)
	m := joined(t, node.Options{})
	image := builtImage(t)
	own := m.kubeletCommand()
	m.install(m.images.pushIndex(t, image), "--features", "restart,logs,proxy")
	if !m.rollOut() {
		t.Error("the proxy came without a reboot")
	}
	m.runs(builtVersion(t, image))
	m.serves()
	wrapped := m.kubeletCommand()
	if !strings.Contains(wrapped, "/usr/local/libexec/nodekeeper/kubelet-wrapper ") || !strings.HasSuffix(wrapped, own) {
		t.Errorf("the kubelet is started by %q, before by %q", wrapped, own)
	}
	m.eventually(30*time.Second, "the proxy waits for a kubeconfig", func() bool {
		active, _ := m.box.UnitProperty(m.ctx, node.Proxy, "ActiveState")
		return active == "active"
	})
	journal, err := m.box.Journal(m.ctx, "nodekeeper-kubelet.service")
	m.must(err, "read the journal")
	if strings.Contains(journal, "without the proxy") {
		t.Error(journal)
	}
	m.must(m.daemon.CheckDrift(), "with the proxy")

	m.remove("99-worker-nodekeeper-proxy")
	if !m.rollOut() {
		t.Error("the proxy went without a reboot")
	}
	m.serves()
	if direct := m.kubeletCommand(); direct != own {
		t.Errorf("the kubelet is started by %q, before by %q", direct, own)
	}
}

// kubeletCommand is the command line in kubelet.service.
func (m *member) kubeletCommand() string {
	m.Helper()
	text, err := m.box.UnitProperty(m.ctx, node.Kubelet, "ExecStart")
	m.must(err, "ask for the kubelet's command line")
	_, text, _ = strings.Cut(text, "argv[]=")
	text, _, _ = strings.Cut(text, " ; ")
	return text
}
