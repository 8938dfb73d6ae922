package promote

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

// replica is one of the Deployment's two.
type replica struct {
	*testing.T
	command *exec.Cmd
	address string
	said    bytes.Buffer
}

func startReplica(t *testing.T, binary, kubeconfig string) *replica {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{T: t, address: l.Addr().String()}
	_ = l.Close()
	r.command = exec.Command(binary, "--kubeconfig", kubeconfig, "--namespace-selector=scene=program", "--listen", r.address)
	r.command.Stderr = &r.said
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.command.Process.Kill() })
	return r
}

// get asks as a probe, or as Prometheus.
func (r *replica) get(path string) (code int, body string) {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get("http://" + r.address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

func (r *replica) shows(lines ...string) bool {
	_, page := r.get("/metrics")
	for _, line := range lines {
		if !strings.Contains(page, "\n"+line) {
			return false
		}
	}
	return true
}

// watched runs the program as the Deployment does: both replicas are ready, one
// leads and tells of its pass, and the other takes over.
func watched(t *testing.T, binary, kubeconfig string) {
	first := startReplica(t, binary, kubeconfig)
	controlplane.Until(t, 40*time.Second, "a pass", func() bool {
		return first.shows("nodekeeper_promote_leader 1\n", "nodekeeper_promote_last_pass_timestamp_seconds ", `nodekeeper_promote_objects{decision="immutable"} 1`+"\n")
	})
	second := startReplica(t, binary, kubeconfig)
	for i, r := range []*replica{first, second} {
		for _, path := range []string{"/readyz", "/healthz"} {
			controlplane.Until(t, 20*time.Second, fmt.Sprint(path, " of ", i), func() bool { code, _ := r.get(path); return code == http.StatusOK })
		}
	}
	if !second.shows("nodekeeper_promote_leader 0\n") {
		t.Error("two lead")
	}
	if err := first.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := first.command.Wait(); err != nil {
		t.Errorf("%v\n%s", err, first.said.String())
	}
	controlplane.Until(t, 40*time.Second, "the other to lead", func() bool { return second.shows("nodekeeper_promote_leader 1\n") })
}
