package guard

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The objects of the scenario.
var (
	fixed    = reference{namespace: "ns-0", name: "fixed", immutable: true}
	changing = reference{namespace: "ns-0", name: "changing"}
	settings = reference{configMap: true, namespace: "ns-0", name: "settings"}
	later    = reference{configMap: true, namespace: "ns-0", name: "later"}
	foreign  = reference{namespace: "ns-0", name: "foreign"}
	// large is past what an API server compresses.
	large = reference{configMap: true, namespace: "ns-0", name: "large", immutable: true}
)

// step is a part of a scenario: what happens to the objects, in a recording and
// in a replay, and what the kubelet of a recording then does, to its end.
type step struct {
	name    string
	act     func(*testing.T, *cluster)
	object  *reference // the one that act is about
	outage  bool       // no API server is there while act lasts
	kubelet func(*testing.T, *recording)
}

// scenario is all that a kubelet's managers meet. Its first step is the
// kubelet's start.
func scenario(s strategy) []step {
	start := func(t *testing.T, r *recording) {
		r.start(t)
		for _, o := range []reference{fixed, changing, settings} {
			r.sees(t, o, true)
		}
		r.sees(t, later, false)
		if len(r.workload.pods[0].refs) > 4 {
			r.sees(t, large, true)
		}
	}
	stranger := step{name: "a pod that the API server does not know", kubelet: func(t *testing.T, r *recording) {
		pod := newPod("stranger", "ns-0", []reference{foreign})
		r.managers.register(pod)
		if _, err := r.managers.get(foreign); err == nil {
			t.Error("what no pod of the node refers to was given out")
		}
		r.managers.secrets.UnregisterPod(pod)
		r.quiet(t)
	}}
	change := step{
		name: "a change", object: &changing,
		act:     func(t *testing.T, c *cluster) { c.alter(t, changing, `{"data":{"data":"djI="}}`) },
		kubelet: func(t *testing.T, r *recording) { r.has(t, changing, "v2") },
	}
	if s == byGet {
		return []step{{name: "start", kubelet: start}, change, stranger}
	}
	return []step{
		{name: "start", kubelet: start},
		change,
		{
			name: "what was missing appears", object: &later,
			act:     func(t *testing.T, c *cluster) { c.make(t, later, "at last", false) },
			kubelet: func(t *testing.T, r *recording) { r.has(t, later, "at last") },
		},
		{
			name: "a deletion", object: &changing,
			act:     func(t *testing.T, c *cluster) { c.remove(t, changing) },
			kubelet: func(t *testing.T, r *recording) { r.sees(t, changing, false) },
		},
		{
			name: "made anew under its name", object: &changing,
			act:     func(t *testing.T, c *cluster) { c.make(t, changing, "v3", false) },
			kubelet: func(t *testing.T, r *recording) { r.has(t, changing, "v3") },
		},
		{
			name: "a mutable one becomes immutable", object: &settings,
			act: func(t *testing.T, c *cluster) { c.alter(t, settings, `{"immutable":true}`) },
			kubelet: func(t *testing.T, r *recording) {
				until(t, 10*time.Second, "the kubelet to end the stream", func() bool {
					r.sees(t, settings, true)
					return r.open() == 2
				})
			},
		},
		{
			name: "all connections are lost",
			kubelet: func(t *testing.T, r *recording) {
				r.cut()
				until(t, 30*time.Second, "the kubelet to watch again", func() bool { return r.open() == 2 })
				r.quiet(t)
			},
		},
		{
			name: "the API server restarts, after changes of others", outage: true,
			act: func(t *testing.T, c *cluster) {
				for range 5 {
					c.remove(t, foreign)
					c.make(t, foreign, "v", false)
				}
				c.Again(t)
				// The node authorizer has to learn of the pods again.
				node := c.node(t, nodeName)
				until(t, 30*time.Second, "the node authorizer to know the pod", func() bool { return read(t.Context(), node, changing) == nil })
			},
			kubelet: func(t *testing.T, r *recording) {
				until(t, 90*time.Second, "the kubelet to watch again", func() bool { return r.open() == 2 })
				r.quiet(t)
			},
		},
		{
			name: "a change after all that", object: &changing,
			act:     func(t *testing.T, c *cluster) { c.alter(t, changing, `{"data":{"data":"djQ="}}`) },
			kubelet: func(t *testing.T, r *recording) { r.has(t, changing, "v4") },
		},
		{
			name: "the kubelet restarts",
			kubelet: func(t *testing.T, r *recording) {
				r.stop(t)
				r.start(t)
				r.has(t, fixed, "v1")
				r.has(t, changing, "v4")
				r.has(t, settings, "v1")
				r.has(t, later, "at last")
				r.quiet(t)
			},
		},
		stranger,
		{name: "the kubelet ends", kubelet: func(t *testing.T, r *recording) { r.stop(t) }},
	}
}

// stage makes the scenario's objects, and the pod that uses them: the large one
// only where a recording of it is small.
func (c *cluster) stage(t *testing.T, v variant) *workload {
	t.Helper()
	if _, err := c.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns-0"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []reference{fixed, changing, settings, foreign} {
		c.make(t, r, "v1", r.immutable)
	}
	w := &workload{pods: []podLoad{{refs: []reference{later, fixed, changing, settings}}}}
	if !v.WatchList {
		c.make(t, large, strings.Repeat("x", 200<<10), true)
		w.pods[0].refs = append(w.pods[0].refs, large)
	}
	parallel(t, 1, []work{c.makePod(newPod("pod-0", "ns-0", w.pods[0].refs), &w.pods[0].pod)})
	c.known(t, nodeName, w)
	return w
}
