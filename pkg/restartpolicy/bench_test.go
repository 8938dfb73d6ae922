package restartpolicy

import (
	"fmt"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// BenchmarkJudgeAndPlan is one judgement of a node with as many static pods of
// one container each; one in ten is down.
func BenchmarkJudgeAndPlan(b *testing.B) {
	for _, pods := range []int{10, 110, 500} {
		b.Run(fmt.Sprintf("containers=%d", pods), func(b *testing.B) {
			w := newWorld(1)
			s := manyPods(w, pods)
			var h History
			b.ReportAllocs()
			for b.Loop() {
				var verdicts []Verdict
				verdicts, h = Judge(w.policy, s, h)
				Plan(w.policy, s, verdicts, Ledger{})
			}
		})
	}
}

func manyPods(w *world, pods int) *node.Snapshot {
	s := w.snapshot()
	sandbox, manifest, view := s.Runtime.Sandboxes[0], s.Intent.Pods[0], s.Kubelet.View.Pods[0]
	s.Runtime.Sandboxes, s.Intent.Pods, s.Kubelet.View.Pods = nil, nil, nil
	for i := range pods {
		name := node.PodName{Namespace: "ns", Name: fmt.Sprintf("pod-%d", i)}
		sb, m, v := sandbox, manifest, view
		sb.Pod, m.Name, v.Name = name, name, name
		sb.ID, sb.UID, v.UID = fmt.Sprint("sb", i), fmt.Sprint("uid", i), fmt.Sprint("uid", i)
		sb.Containers = append([]node.Container(nil), sandbox.Containers...)
		s.Runtime.Sandboxes = append(s.Runtime.Sandboxes, sb)
		s.Intent.Pods = append(s.Intent.Pods, m)
		s.Kubelet.View.Pods = append(s.Kubelet.View.Pods, v)
		if i%10 == 0 {
			c := &s.Runtime.Sandboxes[i].Containers[0]
			c.State, c.ExitCode, c.Process = node.ContainerExited, 1, node.Process{}
		}
	}
	return s
}
