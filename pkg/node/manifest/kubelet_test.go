package manifest

import (
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func TestMinorOf(t *testing.T) {
	for text, want := range map[string]int{
		"1.30.14": 30, "v1.33.5+rke2r1": 33, "1.37.2-rc.1": 37, "1.34": 34,
		"": 0, "1.29.6": 0, "1.38.0": 0, "2.33.0": 0, "unknown": 0,
	} {
		if got := minorOf(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestHas(t *testing.T) {
	gated := feature{since: 34, gate: "G", on: 35, fixed: 37}
	for _, c := range []struct {
		kubelet kubelet
		feature feature
		want    node.Answer
	}{
		{kubelet{}, from(30), node.Unknown},
		{kubelet{gated: true}, gated, node.Unknown},
		{kubelet{minor: 33}, from(34), node.No},
		{kubelet{minor: 34}, from(34), node.Yes},
		{kubelet{minor: 33, gated: true, gates: map[string]bool{"G": true}}, gated, node.No},
		{kubelet{minor: 34, gated: true}, gated, node.No},
		{kubelet{minor: 34, gated: true, gates: map[string]bool{"G": true}}, gated, node.Yes},
		{kubelet{minor: 35, gated: true}, gated, node.Yes},
		{kubelet{minor: 35, gated: true, gates: map[string]bool{"G": false}}, gated, node.No},
		{kubelet{minor: 35, gated: true, gates: map[string]bool{"AllBeta": false}}, gated, node.Unknown},
		{kubelet{minor: 35}, gated, node.Unknown},
		{kubelet{minor: 35, gates: map[string]bool{"G": false}}, gated, node.No},
		{kubelet{minor: 37}, gated, node.Yes},
		{kubelet{minor: 37, gated: true, gates: map[string]bool{"G": false}}, gated, node.Yes},
	} {
		if got := c.kubelet.has(c.feature); got != c.want {
			t.Errorf("%+v has %+v: %s, want %s", c.kubelet, c.feature, got, c.want)
		}
	}
}

func TestAGateIsAskedOnlyWhereItDecides(t *testing.T) {
	text := specOf("serviceAccountName: s")
	off := map[string]bool{"PreventStaticPodAPIReferences": false}
	for version, want := range map[string]string{"1.33.1": "taken", "1.34.1": "taken", "1.36.1": "taken", "1.37.1": node.ProblemRefused} {
		r := readerFor(version)
		r.Gates(off, true)
		if got := outcome(read(t, r, text)); got != want {
			t.Errorf("kubelet %s with the gate off: %s, want %s", version, got, want)
		}
	}
	for version, want := range map[string]string{"1.33.1": "taken", "1.34.1": "doubt", "1.36.1": "doubt", "1.37.1": node.ProblemRefused, "1.38.0": "doubt"} {
		r := NewReader()
		r.For(version)
		if got := outcome(read(t, r, text)); got != want {
			t.Errorf("kubelet %s, gates unknown: %s, want %s", version, got, want)
		}
	}
}

func outcome(i node.Intent) string {
	switch {
	case len(i.Problems) > 0:
		return i.Problems[0].Kind
	case i.Pods[0].Doubt != "":
		return "doubt"
	}
	return "taken"
}

// What a kubelet does not know it ignores, and so does who judges the pod.
func TestUnknownFieldsAreForgotten(t *testing.T) {
	text := specOf("initContainers: [{name: i, image: i, restartPolicy: Always, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]}]")
	for version, want := range map[string]int{"1.33.1": 0, "1.34.1": 1, "": 1} {
		if got := len(read(t, readerFor(version), text).Pods[0].Pod.Spec.InitContainers[0].RestartPolicyRules); got != want {
			t.Errorf("kubelet %q: %d rules, want %d", version, got, want)
		}
	}
	image := "volumes: [{name: v, image: {reference: a}}]"
	if v := read(t, readerFor("1.30.1"), specOf(image)).Pods[0].Pod.Spec.Volumes[0]; v.Image != nil || v.EmptyDir == nil {
		t.Errorf("volume %+v, and a kubelet that knows no image volumes makes an emptyDir of it", v)
	}
}
