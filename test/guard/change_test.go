package guard

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

// TestChangesArriveAsFastAsWithout changes, deletes, creates anew and creates at
// last what a pod uses, and takes the time until the kubelet's manager has it.
func TestChangesArriveAsFastAsWithout(t *testing.T) {
	const objects = 20
	c := startCluster(t)
	w := c.create(t, load{namespaces: 1, pods: 1, mutable: objects})
	optional := reference{namespace: "ns-0", name: "optional"}
	waiting := newPod("waiting", "ns-0", []reference{optional})
	if _, err := c.admin.CoreV1().Pods("ns-0").Create(t.Context(), waiting, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, gate := range []bool{true, false} {
		for _, guarded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s=%t guarded=%t", watchList, gate, guarded), func(t *testing.T) {
				featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, watchList, gate)
				path := kubeletConfig(c.config(t, "system:node:"+nodeName, "system:nodes", agent))
				grace := time.Duration(0)
				if guarded {
					settings := config.Default().Proxy
					path, grace = c.proxy(t, settings).config(path), settings.Grace.Duration
				}
				k := newKubelet(t, path, byWatch)
				t.Cleanup(func() { k.stop(w); k.secrets.UnregisterPod(waiting) })
				k.start(t, w)
				k.register(waiting)
				until(t, 10*time.Second, "the missing object to be watched", func() bool {
					_, err := k.get(optional)
					return err != nil && c.open(t) >= 1
				})
				time.Sleep(grace)
				until(t, 30*time.Second, "the WATCHes to be open", func() bool { return c.open(t) == objects+1 })

				var took []time.Duration
				for _, r := range w.pods[0].refs {
					value := fmt.Sprint("changed ", gate, guarded)
					took = append(took, c.change(t, k, r, value, func(ctx context.Context) error {
						_, err := c.admin.CoreV1().ConfigMaps(r.namespace).Patch(ctx, r.name, types.MergePatchType, fmt.Appendf(nil, `{"data":{"data":%q}}`, value), metav1.PatchOptions{})
						return err
					}))
				}
				r := w.pods[0].refs[0]
				again := c.change(t, k, r, "again", func(ctx context.Context) error {
					if err := c.admin.CoreV1().ConfigMaps(r.namespace).Delete(ctx, r.name, metav1.DeleteOptions{}); err != nil {
						return err
					}
					_, err := c.admin.CoreV1().ConfigMaps(r.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: r.name}, Data: map[string]string{"data": "again"}}, metav1.CreateOptions{})
					return err
				})
				appeared := c.change(t, k, optional, "there", func(ctx context.Context) error {
					_, err := c.admin.CoreV1().Secrets("ns-0").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: optional.name}, Data: map[string][]byte{"data": []byte("there")}}, metav1.CreateOptions{})
					return err
				})
				if err := c.admin.CoreV1().Secrets("ns-0").Delete(t.Context(), optional.name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				until(t, 5*time.Second, "the deletion to arrive", func() bool { _, err := k.get(optional); return err != nil })
				slices.Sort(took)
				t.Logf("change to kubelet: p50 %v, most %v; deleted and created anew %v; created at last %v", round(took[len(took)/2]), round(took[len(took)-1]), round(again), round(appeared))
				if most := max(took[len(took)-1], again, appeared); most > time.Second {
					t.Errorf("a change took %v", most)
				}
			})
			until(t, 30*time.Second, "the WATCHes to end", func() bool { return c.open(t) == 0 })
		}
	}
}

// change makes a change and waits until the kubelet's manager holds the value.
func (c *cluster) change(t *testing.T, k *kubelet, r reference, value string, act func(context.Context) error) time.Duration {
	t.Helper()
	at := time.Now()
	if err := act(t.Context()); err != nil {
		t.Fatal(err)
	}
	for {
		if got, err := k.get(r); err == nil && got == value {
			return time.Since(at)
		}
		if time.Since(at) > 20*time.Second {
			t.Fatalf("%s does not arrive", r.key())
		}
		time.Sleep(2 * time.Millisecond)
	}
}
