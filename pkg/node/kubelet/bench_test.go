package kubelet

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// BenchmarkView is one look at a node's pods, with the server's share: both
// ends are in this process.
func BenchmarkView(b *testing.B) {
	for _, n := range []int{110, 500} {
		socket, api := newSocket(b), &fakePodsAPI{}
		api.holds(b, crashingPods(n)...)
		api.serve(b, socket)
		web := httptest.NewTLSServer(podList(b, crashingPods(n)...))
		b.Cleanup(web.Close)
		for source, cfg := range map[node.ViewSource]config.Kubelet{
			node.ViewPodsAPI: {PodsAPISocket: socket},
			node.ViewPods:    {PodsURL: web.URL},
		} {
			b.Run(fmt.Sprintf("%s/%d", source, n), func(b *testing.B) {
				c := newClient(b, cfg)
				b.ReportAllocs()
				for b.Loop() {
					if v := c.view(within(b, time.Minute)); v.Source != source || len(v.Pods) != n {
						b.Fatalf("got %d pods from %s: %v", len(v.Pods), v.Source, v.Err)
					}
				}
			})
		}
	}
}

// BenchmarkDecode is this side's share alone.
func BenchmarkDecode(b *testing.B) {
	raw := marshal(b, crashing(1))
	b.Run("pod", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			pod, err := decodeProto(raw)
			if err != nil {
				b.Fatal(err)
			}
			appendView(nil, pod)
		}
	})
}
