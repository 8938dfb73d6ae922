package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/pkitest"
	"github.com/nodekeeper/nodekeeper/pkg/node/cri/critest"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// asProgram makes the test binary the program itself, in a process of its own.
const asProgram = "NODEKEEPER_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// running is an agent process on a runtime in memory.
type running struct {
	testing.TB
	command *exec.Cmd
	run     string
	address string // of its metrics
	log     lines
	// told gets what the API server is asked for.
	told chan string
}

// lines is the log of a process that goes on.
type lines struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startAgent starts an agent that sees so many static pods of three containers.
func startAgent(tb testing.TB, pods int) *running {
	tb.Helper()
	dir := tb.TempDir()
	a := &running{TB: tb, run: filepath.Join(dir, "run"), address: freeAddress(tb), told: make(chan string, 100)}
	runtime := critest.Start(tb)
	manifests := filepath.Join(dir, "manifests")
	if err := os.Mkdir(manifests, 0o755); err != nil {
		tb.Fatal(err)
	}
	for i := range pods {
		addPod(tb, runtime, manifests, fmt.Sprintf("app-%d", i))
	}
	config := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf(`apiVersion: nodekeeper.io/v1alpha1
kind: Configuration
interval: 1s
directories: {run: %s/run, state: %s/state, log: %s/log}
kubelet: {nodeName: n1, staticPodPath: %s, podsAPISocket: %s/none.sock, podsURL: "", healthzURL: "http://127.0.0.1:9/healthz"}
runtime: {socket: %s}
restart: {dryRun: true}
metrics: {listen: %q}
announce: {kubeconfig: %s}
`, dir, dir, dir, manifests, dir, runtime.Socket(), a.address, a.apiServer())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	a.command = exec.Command(os.Args[0], "run", "--config", config)
	a.command.Env = append(os.Environ(), asProgram+"=1", "NOTIFY_SOCKET=", "WATCHDOG_USEC=")
	a.command.Stderr = &a.log
	if err := a.command.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = a.command.Process.Kill()
		_ = a.command.Wait()
	})
	return a
}

// apiServer has nothing and takes everything. It returns the kubelet's
// kubeconfig.
func (a *running) apiServer() string {
	a.Helper()
	ca := pkitest.New(a.TB)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{}")
		select {
		case a.told <- r.Method + " " + r.URL.Path + " by " + r.TLS.PeerCertificates[0].Subject.CommonName:
		default:
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Server("api.example").Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool()}
	server.StartTLS()
	a.Cleanup(server.Close)
	node := ca.NewNode(server.URL, "api.example")
	node.Rotate(ca.Kubelet("n1"))
	return node.Kubeconfig
}

// tells waits until the API server is asked for something.
func (a *running) tells(want string) {
	a.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case got := <-a.told:
			if got == want {
				return
			}
		case <-limit:
			a.Fatalf("the API server is not asked for %s:\n%s", want, a.log.String())
		}
	}
}

// freeAddress is one that nothing listens on, for now.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// get asks the agent's port.
func (a *running) get(path string) string {
	a.Helper()
	r, err := http.Get("http://" + a.address + path)
	if err != nil {
		a.Fatalf("%v\n%s", err, a.log.String())
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		a.Fatalf("%s: %d, %v: %s", path, r.StatusCode, err, text)
	}
	return string(text)
}

func addPod(tb testing.TB, runtime *critest.Server, manifests, name string) {
	tb.Helper()
	created := time.Now().Add(-time.Hour)
	runtime.AddSandbox(critest.Sandbox{ID: critest.ID(name), Namespace: "default", Name: name + "-n1", UID: name, Source: "file", CreatedAt: created})
	spec := ""
	for _, c := range []string{"main", "side", "log"} {
		runtime.AddContainer(critest.Container{ID: critest.ID(name + c), SandboxID: critest.ID(name), Name: c,
			CreatedAt: created, StartedAt: created, PID: os.Getpid(), Grace: 30})
		spec += "  - {name: " + c + ", image: example.org/app:1}\n"
	}
	manifest := "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", uid: " + name + "}\nspec:\n  containers:\n" + spec
	if err := os.WriteFile(filepath.Join(manifests, name+".yaml"), []byte(manifest), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// looked waits until the agent has looked so often.
func (a *running) looked(times uint64) status.Status {
	a.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for {
		s, err := status.Read(a.run)
		if err == nil && s.Agent.Looks >= times {
			return s
		}
		select {
		case <-tick.C:
		case <-limit:
			a.Fatalf("the agent has not looked %d times (%v):\n%s", times, err, a.log.String())
		}
	}
}

// stop ends the agent as systemd does.
func (a *running) stop() {
	a.Helper()
	if err := a.command.Process.Signal(syscall.SIGTERM); err != nil {
		a.Fatal(err)
	}
	if err := a.command.Wait(); err != nil {
		a.Errorf("ended with %v:\n%s", err, a.log.String())
	}
}

func TestRunLooksAndEndsWell(t *testing.T) {
	a := startAgent(t, 2)
	s := a.looked(2)
	a.tells("PATCH /api/v1/nodes/n1/status by system:node:n1")
	if text := a.get("/healthz"); text != "ok\n" {
		t.Errorf("healthz: %q", text)
	}
	page := a.get("/metrics")
	states := map[restartpolicy.State]int{}
	for _, v := range s.Verdicts {
		states[v.State]++
	}
	for _, line := range []string{fmt.Sprintf(`nodekeeper_containers{verdict="healthy"} %d`, states[restartpolicy.Healthy]), "nodekeeper_dry_run 1", `nodekeeper_source_up{source="runtime"} 1`,
		"nodekeeper_records 0", `nodekeeper_acts_total{step="stop-container",result="dry-run"} 0`} {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, page)
		}
	}
	a.stop()
	if states[restartpolicy.Healthy] < 6 || s.Node.Runtime.Name != "cri-o" || s.Node.Manifests.Pods != 2 || !s.Agent.DryRun {
		t.Errorf("%+v\n%s", s, a.log.String())
	}
	if !strings.Contains(a.log.String(), "agent ended") {
		t.Errorf("log:\n%s", a.log.String())
	}
}

// BenchmarkAgent is the memory of the agent on a node of 110 pods.
func BenchmarkAgent(b *testing.B) {
	a := startAgent(b, 110)
	a.looked(10)
	a.tells("PATCH /api/v1/nodes/n1/status by system:node:n1")
	a.get("/metrics")
	b.ReportMetric(float64(a.resident())/1024, "MiB-resident")
	b.ReportMetric(0, "ns/op")
	a.stop()
}

// resident is the resident memory of the agent in KiB.
func (a *running) resident() int {
	a.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.command.Process.Pid))
	if err != nil {
		a.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			kib, err := strconv.Atoi(fields[1])
			if err != nil {
				a.Fatal(err)
			}
			return kib
		}
	}
	a.Fatal("no VmRSS")
	return 0
}
