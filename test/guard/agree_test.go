package guard

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

var seed = flag.Uint64("seed", 0, "of generated histories; 0 for a new one")

// TestManagersAgree has one kubelet's managers beside another's, one direct and
// one behind the guard, over a generated history of their objects, and of
// restarts of kubelets and guards. After every step both hold the same, and what
// the kubelet alone would hold.
func TestManagersAgree(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed=%d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	c := startCluster(t)
	w := c.create(t, load{namespaces: 2, pods: 4, immutable: 4, mutable: 8})
	for _, gate := range []bool{true, false} {
		t.Run(fmt.Sprintf("%s=%t", watchList, gate), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, watchList, gate)
			settings := config.Default().Proxy
			settings.Grace.Duration = time.Second
			way := kubeletConfig(c.config(t, "system:node:"+nodeName, "system:nodes", agent))
			way.QPS = -1
			p := c.proxy(t, settings)
			newPair := func() [2]*kubelet {
				return [2]*kubelet{newKubelet(t, way, byWatch), newKubelet(t, p.config(way), byWatch)}
			}
			pair := newPair()
			begin := func() {
				for _, k := range pair {
					k.start(t, w)
				}
			}
			stop := func() {
				for _, k := range pair {
					k.stop(w)
				}
			}
			defer func() { stop() }()
			for _, pod := range w.pods {
				for _, r := range pod.refs {
					c.mend(t, r)
				}
			}
			begin()
			for step := range 60 {
				refs := w.pods[random.IntN(len(w.pods))].refs
				r := refs[random.IntN(len(refs))]
				var did string
				switch n := random.IntN(12); {
				case n < 6:
					did = "changed " + r.key()
					c.alter(t, r, fmt.Sprintf(`{"data":{"data":%q}}`, c.written(r, step)))
				case n < 7:
					did = "labelled " + r.key()
					c.alter(t, r, fmt.Sprintf(`{"metadata":{"labels":{"step":"%d"}}}`, step))
				case n < 9:
					did = "removed " + r.key()
					c.remove(t, r)
				case n < 11:
					did = "made again " + r.key()
					c.remove(t, r)
					c.make(t, r, c.written(r, step), random.IntN(4) == 0)
				default:
					did = "restarted the kubelets"
					stop()
					for _, pod := range w.pods {
						for _, r := range pod.refs {
							c.mend(t, r)
						}
					}
					pair = newPair()
					begin()
				}
				c.agree(t, pair, w, fmt.Sprintf("step %d: %s", step, did))
				if t.Failed() {
					return
				}
			}
			if passed := p.passed(); passed != 0 {
				t.Errorf("%d requests were passed through", passed)
			}
		})
	}
}

// agree waits until both hold the same of every object.
func (c *cluster) agree(t *testing.T, pair [2]*kubelet, w *workload, after string) {
	t.Helper()
	differ := ""
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		differ = ""
		for _, p := range w.pods {
			for _, r := range p.refs {
				direct, guarded := pair[0].see(r), pair[1].see(r)
				truth := c.truth(t, r)
				if direct != guarded {
					differ = fmt.Sprintf("%s is\n  %s direct\n  %s guarded\n  %s in truth", r.key(), direct, guarded, truth)
				}
			}
		}
		if differ == "" {
			return
		}
	}
	t.Errorf("%s: %s", after, differ)
}

// see is all that the manager has of an object.
func (k *kubelet) see(r reference) string {
	if r.configMap {
		o, err := k.configMaps.GetConfigMap(r.namespace, r.name)
		if err != nil {
			return seen(err)
		}
		return fmt.Sprint(o.UID, o.ResourceVersion, o.Labels, o.Data)
	}
	o, err := k.secrets.GetSecret(r.namespace, r.name)
	if err != nil {
		return seen(err)
	}
	return fmt.Sprint(o.UID, o.ResourceVersion, o.Labels, string(o.Data["data"]))
}

func seen(err error) string {
	if apierrors.IsNotFound(err) {
		return "missing"
	}
	return err.Error()
}

func (c *cluster) truth(t *testing.T, r reference) string {
	t.Helper()
	if r.configMap {
		o, err := c.admin.CoreV1().ConfigMaps(r.namespace).Get(t.Context(), r.name, metav1.GetOptions{})
		if err != nil {
			return seen(err)
		}
		return fmt.Sprint(o.UID, o.ResourceVersion, o.Labels, o.Data)
	}
	o, err := c.admin.CoreV1().Secrets(r.namespace).Get(t.Context(), r.name, metav1.GetOptions{})
	if err != nil {
		return seen(err)
	}
	return fmt.Sprint(o.UID, o.ResourceVersion, o.Labels, string(o.Data["data"]))
}

// written is a value as a patch has it.
func (c *cluster) written(r reference, step int) string {
	if r.configMap {
		return fmt.Sprint("v", step)
	}
	return fmt.Sprintf("djEy%04d", step) // base64
}

// alter patches what is there and may be changed.
func (c *cluster) alter(t *testing.T, r reference, patch string) {
	t.Helper()
	var err error
	if r.configMap {
		_, err = c.admin.CoreV1().ConfigMaps(r.namespace).Patch(t.Context(), r.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	} else {
		_, err = c.admin.CoreV1().Secrets(r.namespace).Patch(t.Context(), r.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) {
		t.Fatal(err)
	}
}

func (c *cluster) remove(t *testing.T, r reference) {
	t.Helper()
	var err error
	if r.configMap {
		err = c.admin.CoreV1().ConfigMaps(r.namespace).Delete(t.Context(), r.name, metav1.DeleteOptions{})
	} else {
		err = c.admin.CoreV1().Secrets(r.namespace).Delete(t.Context(), r.name, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

func (c *cluster) make(t *testing.T, r reference, value string, immutable bool) {
	t.Helper()
	if err := c.put(t.Context(), r, value, immutable); err != nil {
		t.Fatal(err)
	}
}

// mend makes what is missing, so that a kubelet can start.
func (c *cluster) mend(t *testing.T, r reference) {
	t.Helper()
	if err := c.put(t.Context(), r, r.name, r.immutable); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

func (c *cluster) put(ctx context.Context, r reference, value string, immutable bool) error {
	meta := metav1.ObjectMeta{Namespace: r.namespace, Name: r.name}
	var err error
	if r.configMap {
		_, err = c.admin.CoreV1().ConfigMaps(r.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Immutable: &immutable, Data: map[string]string{"data": value}}, metav1.CreateOptions{})
	} else {
		_, err = c.admin.CoreV1().Secrets(r.namespace).Create(ctx, &corev1.Secret{ObjectMeta: meta, Immutable: &immutable, Data: map[string][]byte{"data": []byte(value)}}, metav1.CreateOptions{})
	}
	return err
}
