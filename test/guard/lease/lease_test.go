package lease

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pkitest"
	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

const (
	nodeName = "n1"
	// watchdog is WatchdogSec of the unit.
	watchdog = 10 * time.Second
	agent    = "kubelet/v1.37.2 (linux/amd64) kubernetes/test"
)

// guarded is a node whose kubelet goes through the proxy.
type guarded struct {
	*cluster
	node                      *pkitest.Node
	program, config, off, run string
	socket                    *os.File
	proxy                     *exec.Cmd
}

func startNode(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{cluster: startCluster(t)}
	g.node = g.ca.NewNode(g.url, serverName)
	g.node.Rotate(g.ca.Kubelet(nodeName))
	g.program, g.config, g.off, g.run = g.path("nodekeeper"), g.path("config.yaml"), g.path("proxy.off"), g.path("run")
	build := exec.Command("go", "build", "-o", g.program, "./cmd/nodekeeper")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// The socket unit's listener, which outlives the process.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.write("config.yaml", fmt.Appendf(nil, `apiVersion: nodekeeper.io/v1alpha1
kind: Configuration
directories: {run: %s}
proxy: {listen: %q, kubeconfig: %s, derived: %s/kubeconfig, certificates: %s, killSwitch: %s, grace: 0s}
`, g.run, l.Addr(), g.node.Kubeconfig, g.run, g.node.PKI, g.off))
	if g.socket, err = l.(*net.TCPListener).File(); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	t.Cleanup(func() { _ = g.socket.Close() })
	g.startProxy()
	until(t, "the proxy to be ready", func() bool {
		_, err := os.Stat(filepath.Join(g.run, "proxy", "ready"))
		return err == nil
	})
	return g
}

func (g *guarded) startProxy() {
	g.Helper()
	g.proxy = exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"`, "sh", g.program, "proxy", "--config", g.config)
	g.proxy.ExtraFiles = []*os.File{g.socket}
	controlplane.Run(g.T, g.proxy)
}

// kubelet is client-go as a kubelet has it.
func (g *guarded) kubelet() *kubernetes.Clientset {
	g.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", filepath.Join(g.run, "kubeconfig"))
	if err != nil {
		g.Fatal(err)
	}
	c.UserAgent, c.QPS, c.Burst = agent, 50, 100
	c.ContentType, c.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		g.Fatal(err)
	}
	return client
}

// objects makes a node, and a pod on it that uses a ConfigMap.
func (g *guarded) objects() {
	g.Helper()
	ctx := g.Context()
	automount := false
	pod := &core.Pod{ObjectMeta: meta.ObjectMeta{Name: "p", Namespace: "default"}, Spec: core.PodSpec{
		NodeName: nodeName, AutomountServiceAccountToken: &automount, Containers: []core.Container{{Name: "c", Image: "i"}},
		Volumes: []core.Volume{{Name: "v", VolumeSource: core.VolumeSource{ConfigMap: &core.ConfigMapVolumeSource{LocalObjectReference: core.LocalObjectReference{Name: "cm"}}}}},
	}}
	_, err := g.admin.CoreV1().Nodes().Create(ctx, &core.Node{ObjectMeta: meta.ObjectMeta{Name: nodeName}}, meta.CreateOptions{})
	if err == nil {
		_, err = g.admin.CoreV1().Namespaces().Create(ctx, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: "kube-node-lease"}}, meta.CreateOptions{})
		if err != nil && strings.Contains(err.Error(), "already exists") {
			err = nil
		}
	}
	if err == nil {
		_, err = g.admin.CoreV1().ConfigMaps("default").Create(ctx, &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "cm"}}, meta.CreateOptions{})
	}
	if err == nil {
		_, err = g.admin.CoreV1().Pods("default").Create(ctx, pod, meta.CreateOptions{})
	}
	if err != nil {
		g.Fatal(err)
	}
}

// leases renews the node's lease until the test ends and remembers the longest
// time between two renewals.
type leases struct {
	mu      sync.Mutex // guards both
	last    time.Time
	longest time.Duration
}

func (g *guarded) renewLeases(client *kubernetes.Clientset) *leases {
	l := &leases{last: time.Now()}
	var ended sync.WaitGroup
	stop := make(chan bool)
	ended.Go(func() {
		api := client.CoordinationV1().Leases("kube-node-lease")
		lease := &coordination.Lease{ObjectMeta: meta.ObjectMeta{Name: nodeName}}
		exists := false
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
			}
			var got *coordination.Lease
			var err error
			now := meta.NewMicroTime(time.Now())
			lease.Spec.RenewTime = &now
			if exists {
				got, err = api.Update(g.Context(), lease, meta.UpdateOptions{})
			} else {
				got, err = api.Create(g.Context(), lease, meta.CreateOptions{})
			}
			if err != nil {
				if got, getErr := api.Get(g.Context(), nodeName, meta.GetOptions{}); getErr == nil {
					lease, exists = got, true
				}
				continue
			}
			lease, exists = got, true
			l.mu.Lock()
			l.longest = max(l.longest, time.Since(l.last))
			l.last = time.Now()
			l.mu.Unlock()
		}
	})
	g.Cleanup(func() {
		close(stop)
		ended.Wait()
	})
	return l
}

// longestGap returns the longest time so far, with the one that lasts, and
// begins anew.
func (l *leases) longestGap(t *testing.T) time.Duration {
	t.Helper()
	asked := time.Now()
	until(t, "the lease to be renewed", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.last.After(asked)
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := l.longest
	l.longest = 0
	return longest
}

// follow is a reflector as the kubelet has for the object: the returned function
// tells its value of key "k".
func (g *guarded) follow(client *kubernetes.Clientset) func() string {
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", "default", fields.OneTermEqualSelector("metadata.name", "cm")),
		ObjectType:    &core.ConfigMap{}, Handler: cache.ResourceEventHandlerFuncs{},
	})
	var ended sync.WaitGroup
	stop := make(chan struct{})
	ended.Go(func() { controller.Run(stop) })
	g.Cleanup(func() {
		close(stop)
		ended.Wait()
	})
	return func() string {
		if o, ok, _ := store.GetByKey("default/cm"); ok {
			return o.(*core.ConfigMap).Data["k"]
		}
		return ""
	}
}

// pods is the kubelet's watch of its own pods: the returned function tells their
// label "k".
func (g *guarded) pods(client *kubernetes.Clientset) func() string {
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "", fields.OneTermEqualSelector("spec.nodeName", nodeName)),
		ObjectType:    &core.Pod{}, Handler: cache.ResourceEventHandlerFuncs{},
	})
	var ended sync.WaitGroup
	stop := make(chan struct{})
	ended.Go(func() { controller.Run(stop) })
	g.Cleanup(func() {
		close(stop)
		ended.Wait()
	})
	return func() string {
		if o, ok, _ := store.GetByKey("default/p"); ok {
			return o.(*core.Pod).Labels["k"]
		}
		return ""
	}
}

func TestALeaseIsRenewedWhateverHappensToTheProxy(t *testing.T) {
	g := startNode(t)
	g.objects()
	client := g.kubelet()
	renewals := g.renewLeases(client)
	configMap, pod := g.follow(client), g.pods(client)
	step := 0
	arrives := func(when string, within time.Duration) {
		t.Helper()
		step++
		value := fmt.Sprint("v", step)
		patch := fmt.Appendf(nil, `{"data":{"k":%q}}`, value)
		label := fmt.Appendf(nil, `{"metadata":{"labels":{"k":%q}}}`, value)
		if _, err := g.admin.CoreV1().ConfigMaps("default").Patch(t.Context(), "cm", "application/merge-patch+json", patch, meta.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := g.admin.CoreV1().Pods("default").Patch(t.Context(), "p", "application/merge-patch+json", label, meta.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		until(t, when+": a change to arrive", func() bool { return configMap() == value && pod() == value })
		took, gap := time.Since(begin), renewals.longestGap(t)
		t.Logf("%s: a change arrived after %v, the longest time between two renewals was %v", when, took.Round(time.Millisecond), gap.Round(time.Millisecond))
		if gap > within {
			t.Errorf("%s: no renewal for %v", when, gap)
		}
	}
	arrives("at the start", 20*time.Second)
	arrives("served", 5*time.Second)

	g.write("proxy.off", nil)
	g.bypassed(true)
	arrives("bypassed", 5*time.Second)
	if err := os.Remove(g.off); err != nil {
		t.Fatal(err)
	}
	g.bypassed(false)
	arrives("served again", 5*time.Second)

	if err := g.proxy.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = g.proxy.Wait()
	g.startProxy()
	arrives("killed and started", 5*time.Second)

	// A hang ends when the watchdog has not been fed for its time.
	if err := g.proxy.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-time.After(watchdog)
	if err := g.proxy.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = g.proxy.Wait()
	g.startProxy()
	arrives("stopped, killed and started", 15*time.Second)

	// What the kubelet does at a rotation: all of its connections anew.
	g.node.Rotate(g.ca.Kubelet(nodeName))
	client = g.kubelet()
	configMap, pod = g.follow(client), g.pods(client)
	arrives("with a new certificate", 5*time.Second)
	g.audited()
}

// bypassed waits until the proxy says that it is, or is not.
func (g *guarded) bypassed(want bool) {
	g.Helper()
	until(g.T, fmt.Sprint("the bypass to be ", want), func() bool {
		data, err := os.ReadFile(filepath.Join(g.run, "proxy", "stats.json"))
		var s struct {
			Front struct {
				Bypassed string `json:"bypassed"`
			} `json:"front"`
		}
		return err == nil && json.Unmarshal(data, &s) == nil && (s.Front.Bypassed != "") == want
	})
}

// audited looks at what the API server saw: the node alone, the kubelet's own
// user agent for what was passed through, and nobody in between.
func (g *guarded) audited() {
	g.Helper()
	file, err := os.Open(g.auditLog)
	if err != nil {
		g.Fatal(err)
	}
	defer file.Close()
	seen := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e struct {
			Stage, Verb, UserAgent string
			User                   struct{ Username string }
			SourceIPs              []string
			ObjectRef              struct{ Resource string }
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue // the last line may be half written
		}
		if e.UserAgent == agent || strings.HasPrefix(e.UserAgent, "nodekeeper-proxy/") {
			if e.User.Username != "system:node:"+nodeName || len(e.SourceIPs) != 1 {
				g.Errorf("%s %s by %s from %v", e.Verb, e.ObjectRef.Resource, e.User.Username, e.SourceIPs)
			}
			who := "kubelet"
			if e.UserAgent != agent {
				who = "proxy"
			}
			if e.Stage == "RequestReceived" {
				seen[who+" "+e.Verb+" "+e.ObjectRef.Resource]++
			}
		}
	}
	g.Logf("%v", seen)
	if seen["kubelet update leases"] == 0 || seen["kubelet watch pods"] == 0 || seen["proxy list configmaps"] == 0 || seen["proxy watch configmaps"] == 0 {
		g.Errorf("%v", seen)
	}
}
