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
			passed := int64(0)
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
			seen := histories{}
			c.agree(t, pair, w, seen, "start")
			for step := range 60 {
				refs := w.pods[random.IntN(len(w.pods))].refs
				r := refs[random.IntN(len(refs))]
				var did string
				switch n := random.IntN(14); {
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
				case n < 12:
					did = "made immutable " + r.key()
					c.alter(t, r, `{"immutable":true}`)
				case n < 13:
					did = "restarted the guard"
					p.end()
					passed += p.passed()
					p = c.proxyAt(t, p.host, nodeName, settings, nil)
				default:
					did = "restarted the kubelets"
					clear(seen)
					stop()
					for _, pod := range w.pods {
						for _, r := range pod.refs {
							c.mend(t, r)
						}
					}
					pair = newPair()
					begin()
				}
				c.agree(t, pair, w, seen, fmt.Sprintf("step %d: %s", step, did))
				if t.Failed() {
					return
				}
			}
			if passed += p.passed(); passed != 0 {
				t.Errorf("%d requests were passed through", passed)
			}
		})
	}
}

// histories is what was last seen of each object. A kubelet does not look again at
// one that it has seen immutable, whatever becomes of it (kubernetes#119733).
type histories map[string]view

// agree waits until both hold the same of every object, and what there is.
func (c *cluster) agree(t *testing.T, pair [2]*kubelet, w *workload, seen histories, after string) {
	t.Helper()
	differ := ""
	// A reflector that was refused comes again after some seconds.
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		differ = ""
		for _, p := range w.pods {
			for _, r := range p.refs {
				direct, guarded, truth := pair[0].see(r), pair[1].see(r), c.truth(t, r)
				if was, ok := seen[r.key()]; ok && was.immutable {
					truth = was
				}
				if direct != guarded || direct != truth {
					differ = fmt.Sprintf("%s is\n  %v direct\n  %v guarded\n  %v in truth", r.key(), direct, guarded, truth)
					continue
				}
				seen[r.key()] = direct
			}
		}
		if differ == "" {
			return
		}
	}
	t.Errorf("%s: %s", after, differ)
}

// view is all that there is of an object.
type view struct {
	text      string
	immutable bool
}

func viewOf(o metav1.Object, data string, immutable *bool) view {
	return view{fmt.Sprint(o.GetUID(), o.GetResourceVersion(), o.GetLabels(), data), immutable != nil && *immutable}
}

// see is what the manager has of an object.
func (k *kubelet) see(r reference) view {
	if r.configMap {
		o, err := k.configMaps.GetConfigMap(r.namespace, r.name)
		if err != nil {
			return unseen(err)
		}
		return viewOf(o, fmt.Sprint(o.Data), o.Immutable)
	}
	o, err := k.secrets.GetSecret(r.namespace, r.name)
	if err != nil {
		return unseen(err)
	}
	return viewOf(o, string(o.Data["data"]), o.Immutable)
}

func unseen(err error) view {
	if apierrors.IsNotFound(err) {
		return view{text: "missing"}
	}
	return view{text: err.Error()}
}

func (c *cluster) truth(t *testing.T, r reference) view {
	t.Helper()
	if r.configMap {
		o, err := c.admin.CoreV1().ConfigMaps(r.namespace).Get(t.Context(), r.name, metav1.GetOptions{})
		if err != nil {
			return unseen(err)
		}
		return viewOf(o, fmt.Sprint(o.Data), o.Immutable)
	}
	o, err := c.admin.CoreV1().Secrets(r.namespace).Get(t.Context(), r.name, metav1.GetOptions{})
	if err != nil {
		return unseen(err)
	}
	return viewOf(o, string(o.Data["data"]), o.Immutable)
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
