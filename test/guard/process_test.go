package guard

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

// process is `nodekeeper proxy` with a node's files, as its unit starts it.
type process struct {
	pid    int
	config *rest.Config // the kubelet's way, by the derived kubeconfig
}

// process starts one for the node of the tests. A spliced one passes its
// connections on unread, as by the kill switch.
func (c *cluster) process(t testing.TB, spliced bool) *process {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(in(name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(in("pki"), 0o700); err != nil {
		t.Fatal(err)
	}
	node := c.CA.Issue(t, "system:node:"+nodeName, "system:nodes")
	write("pki/kubelet-client-current.pem", append(bytes.Clone(node.Certificate), node.Key...))
	write("ca.crt", c.CA.PEM)
	write("kubeconfig", fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- {name: c, cluster: {server: "https://%s", certificate-authority: %s}}
users:
- {name: u, user: {client-certificate: %[3]s, client-key: %[3]s}}
contexts:
- {name: x, context: {cluster: c, user: u}}
current-context: x
`, c.Host, in("ca.crt"), in("pki/kubelet-client-current.pem")))
	if spliced {
		write("off", nil)
	}
	write("config.yaml", fmt.Appendf(nil, `apiVersion: nodekeeper.io/v1alpha1
kind: Configuration
directories: {run: %[1]s/run, state: %[1]s/state, log: %[1]s/log}
proxy: {listen: "127.0.0.1:%[2]d", kubeconfig: %[1]s/kubeconfig, derived: %[1]s/derived, certificates: %[1]s/pki, killSwitch: %[1]s/off}
`, dir, controlplane.FreePorts(t, 1)[0]))

	cmd := exec.Command(program(t), "proxy", "--config", in("config.yaml"))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the proxy said last:\n%s", said.Bytes()[max(0, said.Len()-2000):])
		}
	})
	until(t, 20*time.Second, "the proxy to be ready", func() bool {
		_, err := os.Stat(in("run/proxy/ready"))
		return err == nil
	})
	way, err := clientcmd.BuildConfigFromFlags("", in("derived"))
	if err != nil {
		t.Fatal(err)
	}
	return &process{cmd.Process.Pid, way}
}

// program is nodekeeper, as make builds it.
func program(t testing.TB) string {
	t.Helper()
	path := os.Getenv("NODEKEEPER_BINARY")
	if path == "" {
		t.Skip("NODEKEEPER_BINARY names no program: use make bench-guard")
	}
	return path
}

// memory is what /proc says of a process, in KiB.
type memory struct{ rss, anonymous, file, peak int }

func memoryOf(t testing.TB, pid int) memory {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	field := func(name string) int {
		_, rest, _ := strings.Cut(string(text), name+":")
		n, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return memory{field("VmRSS"), field("RssAnon"), field("RssFile"), field("VmHWM")}
}

// cpu is the time that a process has computed so far.
func cpu(t testing.TB, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	total := 0
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	return time.Duration(total) * 10 * time.Millisecond
}
