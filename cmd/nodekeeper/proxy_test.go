package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/metrics"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/counted"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/pkitest"
	"github.com/nodekeeper/nodekeeper/pkg/node/clock"
)

// guarded is a node with an API server and a proxy that a service manager
// looks after.
type guarded struct {
	*scene
	ca                 *pkitest.Authority
	node               *pkitest.Node
	derived, off       string
	ready              string
	socket             *os.File
	address            string
	log                lines
	manager            *net.UnixConn
	proxy              *exec.Cmd
	messages           chan string
	certificatesOfLast func() string
}

func guard(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{scene: stage(t), ca: pkitest.New(t), messages: make(chan string, 1000)}
	const name = "api-int.example.org"
	var mu sync.Mutex
	var last string
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		last = r.TLS.PeerCertificates[0].Subject.CommonName
		mu.Unlock()
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	g.certificatesOfLast = func() string {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
	api.TLS = &tls.Config{Certificates: []tls.Certificate{g.ca.Server(name).Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: g.ca.Pool()}
	api.EnableHTTP2 = true
	api.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	api.StartTLS()
	t.Cleanup(func() {
		api.CloseClientConnections()
		api.Close()
	})
	g.node = g.ca.NewNode(api.URL, name)
	g.node.Rotate(g.ca.Kubelet("n1"))
	g.derived, g.off, g.ready = filepath.Join(g.run, "kubeconfig"), filepath.Join(t.TempDir(), "proxy.off"), filepath.Join(g.run, "proxy", "ready")

	// The socket unit's listener, and its address in the configuration.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.address = l.Addr().String()
	if g.socket, err = l.(*net.TCPListener).File(); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	t.Cleanup(func() { _ = g.socket.Close() })
	g.write(g.config, fmt.Sprintf(`apiVersion: nodekeeper.io/v1alpha1
kind: Configuration
directories: {run: %s, state: %s}
kubelet: {restartCommand: [/bin/touch, %s]}
proxy: {listen: %q, kubeconfig: %s, derived: %s, certificates: %s, killSwitch: %s}
`, g.run, g.state, g.restarted(), g.address, g.node.Kubeconfig, g.derived, g.node.PKI, g.off))
	notify := filepath.Join(t.TempDir(), "notify")
	if g.manager, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	ended.Go(func() {
		for b := make([]byte, 4096); ; {
			n, err := g.manager.Read(b)
			if err != nil {
				return
			}
			g.messages <- string(b[:n])
		}
	})
	t.Cleanup(func() {
		_ = g.manager.Close()
		ended.Wait()
	})
	return g
}

func (g *guarded) restarted() string { return filepath.Join(g.state, "restarted") }

// start starts a proxy process as systemd does.
func (g *guarded) start() {
	g.Helper()
	c := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh", os.Args[0], "proxy", "--config", g.config)
	c.Env = append(os.Environ(), asProgram+"=1", "LISTEN_FDS=1", "NOTIFY_SOCKET="+g.manager.LocalAddr().String())
	c.ExtraFiles = []*os.File{g.socket}
	c.Stderr = &g.log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		g.Fatal(err)
	}
	g.proxy = c
	g.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
}

// hears waits for a message of the service.
func (g *guarded) hears(part string) {
	g.Helper()
	for limit := time.After(20 * time.Second); ; {
		select {
		case m := <-g.messages:
			if strings.Contains(m, part) {
				return
			}
		case <-limit:
			g.Fatalf("never said: %s\n%s", part, g.log.String())
		}
	}
}

func (g *guarded) until(what string, is func() bool) {
	g.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(20 * time.Second); !is(); {
		select {
		case <-tick.C:
		case <-limit:
			g.Fatalf("never: %s\n%s", what, g.log.String())
		}
	}
}

func there(path string) func() bool {
	return func() bool { _, err := os.Lstat(path); return err == nil }
}

func gone(path string) func() bool { return func() bool { return !there(path)() } }

// kubelet is a client that was started with the derived kubeconfig.
func (g *guarded) kubelet() *http.Client {
	g.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", g.derived)
	if err != nil {
		g.Fatal(err)
	}
	c.Timeout = 20 * time.Second
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		g.Fatal(err)
	}
	return client
}

func (g *guarded) ask(client *http.Client, path string) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://"+g.address+path, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && string(body) != path {
		err = fmt.Errorf("status %d: %s", response.StatusCode, body)
	}
	return err
}

func (g *guarded) wantsAnswer(client *http.Client, when string) {
	g.Helper()
	if err := g.ask(client, "/api/v1/nodes/n1"); err != nil {
		g.Errorf("%s: %v\n%s", when, err, g.log.String())
	}
	if as := g.certificatesOfLast(); as != "system:node:n1" {
		g.Errorf("%s: upstream as %q", when, as)
	}
}

func TestTheProxyServesFromReadyToStop(t *testing.T) {
	g := guard(t)
	g.start()
	g.hears("READY=1")
	kubelet := g.kubelet()
	g.wantsAnswer(kubelet, "at the start")
	if code, _, stderr := g.call("kubeconfig", "check"); code != cli.ExitFailure || strings.TrimSpace(stderr) != "nodekeeper: no kubelet runs with --kubeconfig="+g.derived {
		t.Errorf("%d, %s", code, stderr)
	}
	if r, err := tls.Dial("tcp", g.address, &tls.Config{InsecureSkipVerify: true}); err == nil {
		if _, err := r.Read(make([]byte, 1)); err == nil {
			t.Error("somebody without a certificate is served")
		}
	}
	status := func(text string) func() bool {
		return func() bool {
			s, _, err := counted.Read(counted.Dir(g.run))
			return err == nil && strings.Contains(s.Front.Bypassed, text) && s.Front.Passed > 0 && slices.Equal(s.Bypass, []counted.Bypass{counted.KillSwitch})
		}
	}
	// The kill switch needs nothing of the kubelet.
	g.write(g.off, "")
	g.until("a bypass", status("kill switch"))
	g.hears("STATUS=bypass: kill switch")
	page := string(metrics.New(metrics.Options{Clock: clock.New("/proc"), Proxy: counted.Dir(g.run), Derived: g.derived}).Text())
	for _, line := range []string{"nodekeeper_proxy_up 1", `nodekeeper_proxy_bypass{reason="kill-switch"} 1`, `nodekeeper_proxy_bypass{reason="direct"} 0`} {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, page)
		}
	}
	g.wantsAnswer(kubelet, "in the bypass")
	if err := os.Remove(g.off); err != nil {
		t.Fatal(err)
	}
	g.hears("STATUS=serving")
	g.wantsAnswer(kubelet, "after the bypass")

	if err := g.proxy.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	g.hears("STOPPING=1")
	if err := g.proxy.Wait(); err != nil {
		t.Error(err)
	}
	if there(g.ready)() || gone(g.derived)() {
		t.Error("it is still ready, or the derived kubeconfig has gone")
	}
	// A kubelet that connects meanwhile waits in the queue.
	asked := make(chan error, 1)
	go func() { asked <- g.ask(kubelet, "/api/v1/nodes/n1") }()
	g.start()
	if err := <-asked; err != nil {
		t.Errorf("a request between two processes: %v", err)
	}
}

// A stopped proxy keeps its port open: nothing but the watchdog ends that.
func TestAHangEndsWithinFifteenSeconds(t *testing.T) {
	g := guard(t)
	g.start()
	g.hears("READY=1")
	kubelet := g.kubelet()
	g.wantsAnswer(kubelet, "before the hang")
	if err := g.proxy.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	// The service manager: WatchdogSec=10, then SIGKILL and a new process.
	const watchdog = 10 * time.Second
	for fed := true; fed; {
		select {
		case <-g.messages:
		case <-time.After(watchdog):
			fed = false
		}
	}
	if err := g.proxy.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = g.proxy.Wait()
	g.start()
	g.until("the kubelet is served", func() bool {
		client := g.kubelet()
		defer client.CloseIdleConnections()
		return g.ask(client, "/api/v1/nodes/n1") == nil
	})
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestANodeThatHasNotJoinedStartsWithoutTheProxy(t *testing.T) {
	g := guard(t)
	own, err := os.ReadFile(g.node.Kubeconfig)
	if err == nil {
		err = os.Remove(g.node.Kubeconfig)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.write(g.derived, "of an earlier time")
	g.start()
	// The service is started, or it would keep the kubelet from joining.
	g.hears("READY=1\nSTATUS=waiting: ")
	g.until("the derived kubeconfig is removed", gone(g.derived))
	if there(g.ready)() {
		t.Error("it is ready")
	}
	g.write(g.node.Kubeconfig, string(own))
	g.until("the proxy is ready", there(g.ready))
	g.wantsAnswer(g.kubelet(), "when the node has joined")

	// When the kubeconfig is taken away, the kubelet is to join anew.
	if err := os.Remove(g.node.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	g.until("the derived kubeconfig is removed", gone(g.derived))
	g.write(g.node.Kubeconfig, string(own))
	g.until("the proxy is ready again", func() bool { return there(g.ready)() && there(g.derived)() })

	// When the cluster's authorities change, then the derived one does.
	before, err := os.ReadFile(g.derived)
	if err != nil {
		t.Fatal(err)
	}
	bundle := append(append([]byte{}, g.ca.PEM...), pkitest.New(t).PEM...)
	g.write(filepath.Join(filepath.Dir(g.node.Kubeconfig), "ca.crt"), string(bundle))
	g.until("it is derived again", func() bool {
		now, err := os.ReadFile(g.derived)
		return err == nil && !bytes.Equal(now, before)
	})
	g.wantsAnswer(g.kubelet(), "with new authorities")
}

func TestAKubeletIsServedThroughARotation(t *testing.T) {
	g := guard(t)
	g.start()
	g.hears("READY=1")
	old := g.kubelet()
	g.wantsAnswer(old, "before the rotation")
	g.node.Rotate(g.ca.Kubelet("n1"))
	g.wantsAnswer(old, "on the old connection")
	g.wantsAnswer(g.kubelet(), "with the new certificate")
}

func TestAGuardThatHangsIsSeen(t *testing.T) {
	if err := returns(t.Context(), func() {}); err != nil {
		t.Error(err)
	}
	locked := make(chan bool)
	defer close(locked)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := returns(ctx, func() { <-locked }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestKubeconfigCommands(t *testing.T) {
	g := guard(t)
	proc := filepath.Join(t.TempDir(), "proc")
	line := "/usr/bin/kubelet\x00--kubeconfig=" + g.derived + "\x00"
	if err := errors.Join(os.MkdirAll(filepath.Join(proc, "7"), 0o755), os.WriteFile(filepath.Join(proc, "7", "cmdline"), []byte(line), 0o600)); err != nil {
		t.Fatal(err)
	}
	call := func(args ...string) (int, string, string) {
		var out, err bytes.Buffer
		p := &program{out: &out, err: &err, clock: g.scene, processes: proc}
		code := p.execute(t.Context(), append(args, "--config", g.config))
		return code, out.String(), err.String()
	}
	wants := func(wantCode int, part string, args ...string) {
		t.Helper()
		code, out, stderr := call(append([]string{"kubeconfig"}, args...)...)
		if code != wantCode || !strings.Contains(out+stderr, part) {
			t.Errorf("%q: %d, %q, %q", args, code, out, stderr)
		}
	}
	wants(cli.ExitFailure, "the proxy has not run", "check")
	wants(cli.ExitOK, g.derived+": written\n", "derive")
	wants(cli.ExitOK, g.derived+": was as it should be\n", "derive")
	wants(cli.ExitFailure, "the proxy is not ready", "check")
	g.write(g.ready, "")
	wants(cli.ExitOK, "the kubelet goes through the proxy at "+g.address, "check")
	g.write(g.off, "")
	wants(cli.ExitFailure, g.off+" exists", "check")

	wants(cli.ExitOK, g.derived+": removed\n", "revert")
	if there(g.ready)() || there(g.restarted())() {
		t.Error("still ready, or the kubelet was restarted")
	}
	// The kubelet still runs with it.
	wants(cli.ExitOK, "the kubelet was restarted\n", "revert", "--restart-kubelet")
	if !there(g.restarted())() {
		t.Error("the kubelet was not restarted")
	}
	// One that does not is left alone.
	if err := errors.Join(os.Remove(g.restarted()), os.RemoveAll(filepath.Join(proc, "7"))); err != nil {
		t.Fatal(err)
	}
	wants(cli.ExitOK, "there was none\n", "revert", "--restart-kubelet")
	if there(g.restarted())() {
		t.Error("the kubelet was restarted")
	}
	g.node.Write(g.node.Kubeconfig, []byte("current-context: x"))
	wants(cli.ExitFailure, `no context "x"`, "derive")
	wants(cli.ExitFailure, `no context "x"`, "check")
	wants(cli.ExitUsage, "unknown flag", "revert", "--now")
}
