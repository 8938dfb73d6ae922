package report

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/store"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/clock"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

const nodeName = "master-0.ocp.example.com"

// made is a node that is a few directories, written by the product's own
// writers as an agent would have.
type made struct {
	*testing.T
	dir     string
	now     node.Instant
	boot    string
	file    *timeline.File
	journal *journal.Journal
	store   *store.Store
	// at is the time of what is being written.
	at time.Time
	// attempts counts the attempts of each container, revision is of the API
	// server.
	attempts map[string]uint32
	revision string
}

func empty(t *testing.T) *made {
	t.Helper()
	c := clock.New("/proc")
	n := &made{T: t, dir: t.TempDir(), now: c.Now(), boot: c.BootID(), attempts: map[string]uint32{}}
	n.file = timeline.New(n.path("log"))
	n.must(os.WriteFile(n.path("config.yaml"), []byte(fmt.Sprintf(`apiVersion: nodekeeper.io/v1alpha1
kind: Configuration
directories: {run: %s, state: %s, log: %s}
`, n.path("run"), n.path("state"), n.path("log"))), 0o600))
	return n
}

func (n *made) path(name string) string { return filepath.Join(n.dir, name) }

func (n *made) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

// report calls nodekeeper report.
func (n *made) report(program string, args ...string) {
	n.Helper()
	c := exec.Command(program, append([]string{"report", "--config", n.path("config.yaml")}, args...)...)
	c.Env = append(os.Environ(), "TZ=Europe/Prague")
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		n.Fatalf("%v: %s", err, out)
	}
}

// build is the program, built here unless NODEKEEPER_BINARY names it.
func build(t *testing.T) string {
	t.Helper()
	if program := os.Getenv("NODEKEEPER_BINARY"); program != "" {
		return program
	}
	program := filepath.Join(t.TempDir(), "nodekeeper")
	c := exec.Command("go", "build", "-o", program, "./cmd/nodekeeper")
	c.Dir, c.Env = "../..", append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// container is one container of the made-up node.
type container struct{ namespace, pod, name string }

var (
	etcd       = container{"openshift-etcd", "etcd", "etcd"}
	apiserver  = container{"openshift-kube-apiserver", "kube-apiserver", "kube-apiserver"}
	controller = container{"openshift-kube-controller-manager", "kube-controller-manager", "kube-controller-manager"}
	policy     = container{"openshift-kube-controller-manager", "kube-controller-manager", "cluster-policy-controller"}
	haproxy    = container{"openshift-vsphere-infra", "haproxy", "haproxy"}
	keepalived = container{"openshift-vsphere-infra", "keepalived", "keepalived"}

	everything = []container{
		etcd, {"openshift-etcd", "etcd", "etcd-metrics"}, apiserver,
		{"openshift-kube-apiserver", "kube-apiserver", "kube-apiserver-check-endpoints"}, controller, policy,
		{"openshift-kube-scheduler", "openshift-kube-scheduler", "kube-scheduler"}, haproxy, keepalived,
		{"openshift-vsphere-infra", "coredns", "coredns"},
		{"openshift-machine-config-operator", "kube-rbac-proxy-crio", "kube-rbac-proxy-crio"},
		{name: "kubelet.service"}, {name: "crio.service"},
	}
)

func (c container) full() string {
	if c.pod == "" {
		return ""
	}
	return c.pod + "-" + nodeName
}

// day is a node with a crash loop, a rollout, a reboot, acts, and one pod that
// is not well now.
func day(t *testing.T) *made {
	n := empty(t)
	start := n.now.Wall.Add(-26 * time.Hour)
	n.begin(start)
	var err error
	n.store, err = store.Open(store.Options{Root: n.path("log"), Node: nodeName, BootID: "boot-0", Retention: config.Retention{},
		Now: func() time.Time { return n.at }, Log: slog.New(slog.DiscardHandler)})
	n.must(err)
	n.must(os.MkdirAll(n.path("state"), 0o700))
	n.journal, _, err = journal.Open(n.path("state"), n.boot, node.Instant{Wall: start, Boot: time.Second})
	n.must(err)

	n.starts("boot-0", 40*time.Hour)
	n.all("healthy")
	n.until(4 * time.Hour)
	n.loops(policy, 100*time.Minute)
	n.until(9 * time.Hour)
	n.rollsOut()
	n.until(14 * time.Hour)
	n.reboots()
	n.until(20 * time.Hour)
	n.forgets()
	n.until(23*time.Hour + 10*time.Minute)
	n.crashes(haproxy, record.OOM, 137, 9*time.Hour, nil)
	n.says(haproxy, "healthy", "")
	n.until(25*time.Hour + 50*time.Minute)
	n.crashes(keepalived, record.Crash, 1, 12*time.Hour, []string{"Script `chk_default_ingress` now returning 1", "VRRP instance (ocp_INGRESS) in unknown state 0", "panic: runtime error: index out of range [3] with length 3"})
	n.says(keepalived, "in-backoff", "exited with code 1; back-off 5m0s until the next start")
	n.until(26*time.Hour - time.Minute)
	n.publish()
	n.must(n.store.Close())
	n.must(n.journal.Close())
	return n
}

// streams of the kubelet at an hour of the day.
func (n *made) proxy(hours float64) {
	streams := 118 + int(12*hours/26) + int(hours*7)%5
	n.append(timeline.Line{Kind: timeline.Proxy, Counts: &timeline.Counts{Streams: streams, Watches: 5 + int(hours)%2, Lists: 40 + int64(hours*3)}})
}

func (n *made) begin(at time.Time) { n.at = at }

func (n *made) append(lines ...timeline.Line) {
	n.Helper()
	for i := range lines {
		lines[i].Time = n.at
	}
	n.must(n.file.Append(lines...))
}

// until lets time go by, with the proxy's counts every three minutes, to so long
// after the beginning.
func (n *made) until(after time.Duration) {
	begin := n.now.Wall.Add(-26 * time.Hour)
	for n.at = n.at.Add(3 * time.Minute); n.at.Before(begin.Add(after)); n.at = n.at.Add(3 * time.Minute) {
		n.proxy(n.at.Sub(begin).Hours())
	}
	n.at = begin.Add(after)
}

func (n *made) starts(boot string, up time.Duration) {
	n.append(timeline.Line{Kind: timeline.Started, BootID: boot, UpSeconds: int64(up / time.Second), Version: "v0.9.0"})
}

func (n *made) says(c container, state, detail string) {
	l := timeline.Line{Kind: timeline.Verdict, Namespace: c.namespace, Pod: c.full(), Container: c.name, State: state, Detail: detail}
	if c.pod == "kube-apiserver" {
		l.Revision = n.revision
	}
	n.append(l)
}

func (n *made) all(state string) {
	if n.revision == "" {
		n.revision = "11"
	}
	for _, c := range everything {
		n.says(c, state, "")
	}
}

// loops has a container crash again and again, as the kubelet lets it.
func (n *made) loops(c container, span time.Duration) {
	backOff := 10 * time.Second
	for end := n.at.Add(span); n.at.Before(end); backOff = min(2*backOff, 5*time.Minute) {
		n.crashes(c, record.Crash, 255, 9*time.Second, []string{
			`I0301 12:00:00.184   1 policy_controller.go:88] Starting controllers on 0.0.0.0:10357 (4.19.0)`,
			`F0301 12:00:08.911   1 cmd.go:179] failed checking apiserver connectivity: Get "https://localhost:6443/apis/coordination.k8s.io/v1/namespaces/openshift-kube-controller-manager/leases/cluster-policy-controller-lock": dial tcp [::1]:6443: connect: connection refused`})
		n.says(c, "in-backoff", fmt.Sprintf("exited with code 255; back-off %s", backOff))
		n.at = n.at.Add(backOff)
		n.says(c, "healthy", "")
		n.proxy(n.at.Sub(n.now.Wall.Add(-26 * time.Hour)).Hours())
		n.at = n.at.Add(9 * time.Second)
	}
}

// crashes is one attempt that ends now, after so long a run.
func (n *made) crashes(c container, class record.Class, code int32, ran time.Duration, log []string) {
	n.Helper()
	attempt := n.attempts[c.pod+c.name]
	n.attempts[c.pod+c.name]++
	path := filepath.Join(n.path("pods"), c.namespace+"_"+c.full()+"_1a2b3c4d5e", c.name, fmt.Sprintf("%d.log", attempt))
	n.must(os.MkdirAll(filepath.Dir(path), 0o755))
	var text strings.Builder
	for i := range 12 {
		fmt.Fprintf(&text, "%s stderr F I%s.%06d       1 reflector.go:%d] listing and watching *v1.ConfigMap\n", n.at.Add(-time.Minute).UTC().Format(time.RFC3339Nano), n.at.Format("0102 15:04:05"), i*7919, 300+i)
	}
	for _, l := range log {
		fmt.Fprintf(&text, "%s stderr F %s\n", n.at.UTC().Format(time.RFC3339Nano), l)
	}
	n.must(os.WriteFile(path, []byte(text.String()), 0o640))
	l, err := n.store.Begin(record.Birth{Attempt: record.Attempt{Namespace: c.namespace, Pod: c.full(), PodUID: "1a2b3c4d5e", Container: c.name,
		Attempt: attempt, ContainerID: fmt.Sprintf("%x-%s-%d", n.at.UnixNano(), c.name, attempt), Revision: n.revision}, By: record.SourceHook, LogPath: path})
	n.must(err)
	src, err := safelink.Open(path)
	n.must(err)
	_, err = l.AddLink(src)
	n.must(err)
	n.must(src.Close())
	started, finished := n.at.Add(-ran), n.at
	m := record.Meta{Class: class, Started: &started, Finished: &finished, ExitKnownFrom: record.SourceCRI}
	switch class {
	case record.LostInReboot:
		m.ClassReason, m.ExitKnownFrom = "it ran when the node went down", record.SourceInferred
	case record.OOM:
		m.OOMKilled, m.ClassReason = true, "the kernel killed it: memory limit reached"
		fallthrough
	default:
		m.ExitCode = &code
		if code > 128 && code < 160 {
			m.Signal = int(code) - 128
		}
	}
	_, err = n.store.Publish(l, m)
	n.must(err)
}

func (n *made) rollsOut() {
	n.crashes(apiserver, record.ReplacedByRevision, 0, 60*time.Hour, nil)
	n.revision = "12"
	n.says(apiserver, "waiting-for-old", "the old revision has not ended after 135s")
	n.at = n.at.Add(4 * time.Minute)
	n.act(apiserver, restartpolicy.StopOldSandbox, restartpolicy.WaitingForOld, restartpolicy.ResultHealed, "the new revision runs", 38*time.Second)
	n.at = n.at.Add(time.Minute)
	n.says(apiserver, "starting", "")
	n.at = n.at.Add(50 * time.Second)
	n.all("healthy")
}

func (n *made) reboots() {
	n.append(timeline.Line{Kind: timeline.Ended})
	for _, c := range []container{etcd, apiserver, controller} {
		n.crashes(c, record.LostInReboot, 0, 5*time.Hour, nil)
	}
	n.at = n.at.Add(7 * time.Minute)
	n.starts(n.boot, 40*time.Second)
	n.all("starting")
	n.at = n.at.Add(3 * time.Minute)
	n.all("healthy")
}

func (n *made) forgets() {
	n.crashes(etcd, record.LostExit, 0, 6*time.Hour, []string{`{"level":"warn","msg":"leader failed to send out heartbeat on time; took too long, leader is overloaded likely from slow disk"}`})
	n.says(etcd, "forgotten", "exited 6m2s ago, no back-off is running, the kubelet waits")
	n.at = n.at.Add(6 * time.Minute)
	n.act(etcd, restartpolicy.RemoveContainer, restartpolicy.Forgotten, restartpolicy.ResultInVain, "no new attempt within 2m0s", 400*time.Millisecond)
	n.at = n.at.Add(3 * time.Minute)
	n.act(etcd, restartpolicy.RestartKubelet, restartpolicy.Forgotten, restartpolicy.ResultHealed, "attempt 4 runs", 12*time.Second)
	n.at = n.at.Add(30 * time.Second)
	n.says(etcd, "healthy", "")
}

func (n *made) act(c container, kind restartpolicy.StepKind, state restartpolicy.State, result restartpolicy.Result, detail string, took time.Duration) {
	n.Helper()
	boot := max(0, n.now.Boot-n.now.Wall.Sub(n.at))
	act, err := n.journal.Begin(restartpolicy.Act{BootID: n.boot, Result: restartpolicy.ResultStarted, Began: node.Instant{Wall: n.at, Boot: boot},
		Step: restartpolicy.Step{Kind: kind, State: state, Reason: "down past every deadline of a working kubelet",
			Key: restartpolicy.Key{PodName: node.PodName{Namespace: c.namespace, Name: c.full()}, Container: c.name}}})
	n.must(err)
	act.Result, act.Detail, act.Finished = result, detail, node.Instant{Wall: n.at.Add(took), Boot: boot + took}
	n.must(n.journal.Update(act))
}

func (n *made) publish() {
	n.must(os.MkdirAll(n.path("run"), 0o755))
	s := status.Status{APIVersion: status.APIVersion, Kind: status.Kind,
		Agent: status.Agent{Version: "v0.9.0", PID: 2114, Looks: 17000, IntervalSeconds: 5, Taken: n.now, BootID: n.boot},
		Node: status.Node{Name: nodeName, Runtime: status.Runtime{Name: "cri-o", Version: "1.34.2"},
			Manifests: status.Manifests{Dir: "/etc/kubernetes/manifests", Pods: 8, Problems: []status.Problem{
				{Path: "/etc/kubernetes/manifests/old.yaml.swp", Kind: "unreadable", Message: "is no YAML: the kubelet skips it"}}}},
	}
	for _, c := range everything {
		v := status.Verdict{Namespace: c.namespace, Pod: c.full(), Container: c.name, State: restartpolicy.Healthy, ForSeconds: 3600}
		if c == keepalived {
			next := int64(170)
			v.State, v.Detail, v.ForSeconds, v.Next = restartpolicy.InBackOff, "exited with code 1; back-off 5m0s until the next start", 540, &next
			v.BlockedBy = []string{"the kubelet's back-off"}
		}
		s.Verdicts = append(s.Verdicts, v)
	}
	n.must(status.Write(n.path("run"), s))
}
