package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/expect"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/view"
)

// nodePods is what is read of one node.
type nodePods struct {
	kubelet expect.Kubelet
	pods    []*corev1.Pod
	// note says what could not be read of it.
	note string
}

// expectations counts what the pods of nodes make their kubelets ask. An error
// is about nodes that are left out.
func (p *plugin) expectations(ctx context.Context, nodes *choice, named, families []string) (*view.Pods, error) {
	config, err := p.kube.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	c, err := connect(config)
	if err != nil {
		return nil, err
	}
	names, err := nodes.names(ctx, c, named)
	if err != nil {
		return nil, err
	}
	answers, missed := sorted(ask(ctx, p, names, c.nodePods))
	if len(answers) == 0 {
		return nil, missed
	}
	var pods []*corev1.Pod
	var notes []string
	for _, a := range answers {
		pods = append(pods, a.value.pods...)
		if a.value.note != "" {
			notes = append(notes, "node "+a.node+": "+a.value.note)
		}
	}
	objects := c.objects(ctx, pods, p.now())
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var counted []expect.Node
	for _, a := range answers {
		counted = append(counted, expect.Node{Name: a.node, Kubelet: a.value.kubelet, Counts: expect.Count(a.value.pods, objects.look, families)})
	}
	return view.PodsOf(counted, append(notes, objects.notes...)), missed
}

// nodePods reads a node, its kubelet's configuration and its pods.
func (c *cluster) nodePods(ctx context.Context, name string) (nodePods, error) {
	var n nodePods
	var node corev1.Node
	if err := c.decode(ctx, "/api/v1/nodes/"+name, nil, &node); err != nil {
		return n, err
	}
	n.kubelet.Version = node.Status.NodeInfo.KubeletVersion
	if ttl, err := strconv.Atoi(node.Annotations["node.alpha.kubernetes.io/ttl"]); err == nil && ttl > 0 {
		n.kubelet.TTL = time.Duration(ttl) * time.Second
	}
	var z configz
	if err := c.decode(ctx, "/api/v1/nodes/"+name+"/proxy/configz", nil, &z); err != nil {
		n.note = fmt.Sprintf("its strategy is not known: %v", ofNode(err))
	}
	n.kubelet.Strategy = expect.Strategy(z.Kubelet.Strategy)
	n.kubelet.Sync = z.Kubelet.Sync.Duration
	if gate, ok := z.Kubelet.Gates["WatchListClient"]; ok {
		n.kubelet.WatchList = &gate
	}
	query := url.Values{"fieldSelector": {"spec.nodeName=" + name}, "limit": {"250"}}
	for {
		var list corev1.PodList
		if err := c.decode(ctx, "/api/v1/pods", query, &list); err != nil {
			return n, fmt.Errorf("list its pods: %w", err)
		}
		for i := range list.Items {
			n.pods = append(n.pods, &list.Items[i])
		}
		if list.Continue == "" {
			return n, nil
		}
		query.Set("continue", list.Continue)
	}
}

// configz is what is read of a kubelet's configuration.
type configz struct {
	Kubelet struct {
		Strategy string          `json:"configMapAndSecretChangeDetectionStrategy"`
		Sync     metav1.Duration `json:"syncFrequency"`
		Gates    map[string]bool `json:"featureGates"`
	} `json:"kubeletconfig"`
}
