package guard

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

// BenchmarkNodes is what 1, 10 and 50 nodes cost the API server, each a kubelet's
// managers with a certificate of their own, and a guard of their own or none.
// Every run has an API server of its own.
func BenchmarkNodes(b *testing.B) {
	section(b, "Nodes at one API server", "A node: 5 pods in 5 namespaces, 20 objects: 8 immutable Secrets, 2 mutable ConfigMaps, kube-root-ca.crt and openshift-service-ca.crt of each namespace. All pods of all nodes start at once; counted 15 s after their last read, then again over a restart of all kubelets. All guards and kubelets are one process beside the API server.")
	var rows [][]any
	for _, nodes := range []int{1, 10, 50} {
		for _, guarded := range []bool{false, true} {
			name := "direct"
			if guarded {
				name = "guarded"
			}
			b.Run(fmt.Sprintf("%d/%s", nodes, name), func(b *testing.B) {
				m := measureNodes(b, nodes, guarded)
				rows = append(rows, []any{nodes, name, m.start.watches, m.start.immutableWatches, m.start.lists, m.start.etcdReads, m.start.peak, m.open, m.goroutines, fmt.Sprintf("%.0f", m.mib), fmt.Sprintf("%d of %d", m.missed, m.reads), m.restart.watches, m.restart.lists})
			})
		}
	}
	fmt.Println()
	head("nodes", "", "WATCH", "of immutable", "LIST", "etcd reads", "requests in the worst second", "open WATCHes", "goroutines, more", "RSS MiB, more", "first reads past 1 s", "restart: WATCH", "restart: LIST")
	for _, r := range rows {
		row(r...)
	}
}

type manyNodes struct {
	start, restart counts
	missed, reads  int
	open           int
	// What the API server has more than before.
	goroutines int
	mib        float64
}

func measureNodes(b *testing.B, nodes int, guarded bool) manyNodes {
	b.Helper()
	families := []string{"kube-root-ca.crt", "openshift-service-ca.crt"}
	c := startCluster(b)
	all := c.createNodes(b, nodes, families)
	settings := config.Default().Proxy
	settings.Sentinels = families
	ways := make([]func() *kubelet, nodes)
	var guards []*proxy
	for i, w := range all.nodes {
		way := kubeletConfig(c.nodeConfig(b, w.name))
		if guarded {
			p := c.proxyOf(b, w.name, settings, nil)
			guards = append(guards, p)
			way = p.config(way)
		}
		ways[i] = func() *kubelet { return newKubelet(b, way, byWatch) }
	}
	kubelets := make([]*kubelet, nodes)
	for i := range ways {
		kubelets[i] = ways[i]()
	}
	var m manyNodes
	begin := func() {
		var mu sync.Mutex // guards m
		var wg sync.WaitGroup
		for i, k := range kubelets {
			wg.Go(func() {
				started := k.start(b, all.nodes[i].workload)
				mu.Lock()
				defer mu.Unlock()
				m.missed += started.missed
				m.reads += started.reads
			})
		}
		wg.Wait()
	}
	stop := func() {
		for i, k := range kubelets {
			k.stop(all.nodes[i].workload)
		}
		until(b, 30*time.Second, "the kubelets' streams to end", func() bool {
			if !guarded {
				return c.open(b) == 0
			}
			for _, p := range guards {
				if p.Stats().Streams != 0 {
					return false
				}
			}
			return true
		})
	}
	time.Sleep(settle) // an API server that has just started ends much of what it began
	was, mark := c.metrics(b), c.mark(b)
	begin()
	time.Sleep(settle)
	m.start, m.open = c.counted(b, mark, all.workload), c.open(b)
	is := c.metrics(b)
	more := func(name string, labels ...string) float64 {
		return sum(b, is, name, labels...) - sum(b, was, name, labels...)
	}
	m.goroutines = int(more("go_goroutines"))
	m.mib = more("process_resident_memory_bytes") / (1 << 20)
	missed, reads := m.missed, m.reads
	stop()
	for i := range ways {
		kubelets[i] = ways[i]()
	}
	mark = c.mark(b)
	begin()
	m.restart = c.counted(b, mark, all.workload)
	m.missed, m.reads = missed, reads
	stop()
	return m
}

// nodeLoad is what one node of several has.
type nodeLoad struct {
	name string
	*workload
}

type nodesLoad struct {
	*workload // of all nodes, for counting
	nodes     []nodeLoad
}

// createNodes makes the objects and pods of nodes n1 and on.
func (c *cluster) createNodes(t testing.TB, nodes int, families []string) nodesLoad {
	t.Helper()
	const namespaces, immutable, mutable = 5, 8, 2
	all := nodesLoad{workload: &workload{immutable: map[string]bool{}}}
	var objects, pods []work
	object := func(r reference) reference {
		if r.immutable {
			all.immutable[r.key()] = true
		}
		objects = append(objects, func(ctx context.Context) error { return c.put(ctx, r, r.name, r.immutable) })
		return r
	}
	namespaceOf := func(i int) string { return fmt.Sprint("ns-", i%namespaces) }
	var shared [namespaces][]reference
	for i := range shared {
		if _, err := c.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(i)}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, name := range families {
			shared[i] = append(shared[i], object(reference{configMap: true, namespace: namespaceOf(i), name: name}))
		}
	}
	for n := range nodes {
		node := nodeLoad{fmt.Sprint("n", n+1), &workload{pods: make([]podLoad, namespaces)}}
		all.nodes = append(all.nodes, node)
		for i := range immutable {
			r := object(reference{namespace: namespaceOf(i), name: fmt.Sprintf("%s-secret-%d", node.name, i), immutable: true})
			node.pods[i%namespaces].refs = append(node.pods[i%namespaces].refs, r)
		}
		for i := range mutable {
			r := object(reference{configMap: true, namespace: namespaceOf(i), name: fmt.Sprintf("%s-config-%d", node.name, i)})
			node.pods[i].refs = append(node.pods[i].refs, r)
		}
		for i := range node.pods {
			node.pods[i].refs = append(node.pods[i].refs, shared[i]...)
			pod := newPod(node.name+"-pod", namespaceOf(i), node.pods[i].refs)
			pod.Spec.NodeName = node.name
			pods = append(pods, c.makePod(pod, &node.pods[i].pod))
		}
	}
	parallel(t, 8, objects)
	parallel(t, 8, pods)
	for _, node := range all.nodes {
		c.known(t, node.name, node.workload)
	}
	return all
}
