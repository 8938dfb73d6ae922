package restartpolicy

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// The files kinds_*_test.go have one kind of trouble each: busy but healthy nodes
// on which nothing may be done, and beside them faults of that kind that have a
// cure.

// acted is one step that was taken, and when, from the beginning of the timeline.
type acted struct {
	after time.Duration
	Step
}

func (a acted) String() string {
	return fmt.Sprintf("%s %s of %s (%s)", a.after, a.Kind, a.Key, a.State)
}

// timeline is what the agent did while somebody watched, and its last verdicts.
type timeline struct {
	acts []acted
	last []Verdict
}

// watch lets a span pass. Each look sees the node as alter shows it, since the
// beginning of the span. Steps are carried out: a restart makes a new process, a
// record that was removed is gone.
func (w *world) watch(span time.Duration, alter func(s *node.Snapshot, since time.Duration)) timeline {
	return w.watchWith(ResultDone, span, alter, false)
}

// until is watch that ends with the first step.
func (w *world) until(span time.Duration, alter func(s *node.Snapshot, since time.Duration)) timeline {
	return w.watchWith(ResultDone, span, alter, true)
}

// watchWith is watch where each step ends with that result. It ends early with
// the first one if only that is asked for.
func (w *world) watchWith(result Result, span time.Duration, alter func(s *node.Snapshot, since time.Duration), first bool) timeline {
	var line timeline
	begin := w.now
	var seen *node.Snapshot
	w.observe = func(s *node.Snapshot, w *world) {
		for i := range s.Intent.Pods {
			s.Intent.Pods[i].Pod = s.Intent.Pods[i].Pod.DeepCopy()
		}
		alter(s, w.now-begin)
		w.withoutRemoved(s)
		seen = s
	}
	defer func() { w.observe = nil }()
	for w.now < begin+span && (!first || len(line.acts) == 0) {
		kubelet, runtime := w.kubeletStarted, w.runtimeStarted
		taken := len(w.steps)
		line.last = w.tick(interval)
		if len(w.steps) == taken {
			continue
		}
		line.acts = append(line.acts, acted{w.now - begin, w.steps[taken]})
		act := &w.ledger.Acts[len(w.ledger.Acts)-1]
		act.BootID, act.Result = seen.Host.BootID, result
		if result != ResultDone {
			w.kubeletStarted, w.runtimeStarted = kubelet, runtime
		}
	}
	return line
}

// withoutRemoved takes out the records that steps have removed.
func (w *world) withoutRemoved(s *node.Snapshot) {
	for _, act := range w.ledger.Acts {
		if act.Kind != RemoveContainer || act.Result == ResultRefused || act.Result == ResultFailed {
			continue
		}
		for i := range s.Runtime.Sandboxes {
			sb := &s.Runtime.Sandboxes[i]
			sb.Containers = slices.DeleteFunc(sb.Containers, func(c node.Container) bool { return c.ID == act.Target.ContainerID })
		}
	}
}

// show logs what is not healthy at the end.
func (l timeline) show(t *testing.T) {
	t.Helper()
	for _, v := range l.last {
		if v.State != Healthy {
			t.Logf("%s is %s: %s; steps %v, missing %v, inhibited by %v", v.Key, v.State, v.Detail, v.Steps, v.Missing(), v.Inhibitors)
		}
	}
}

// quiet fails if anything was done.
func (l timeline) quiet(t *testing.T, why string) {
	t.Helper()
	if len(l.acts) == 0 {
		return
	}
	l.show(t)
	t.Errorf("acted %d times, and first %v; want nothing: %s", len(l.acts), l.acts[0], why)
}

// first fails unless the first step is of that kind and was taken in that time.
func (l timeline) first(t *testing.T, kind StepKind, from, to time.Duration) acted {
	t.Helper()
	if len(l.acts) == 0 {
		l.show(t)
		t.Fatalf("nothing was done; want %s", kind)
	}
	first := l.acts[0]
	if first.Kind != kind || first.after < from || first.after > to {
		t.Errorf("first %v; want %s between %s and %s", first, kind, from, to)
	}
	return first
}

// never fails if a step of one of the kinds was taken.
func (l timeline) never(t *testing.T, why string, kinds ...StepKind) {
	t.Helper()
	for _, a := range l.acts {
		if slices.Contains(kinds, a.Kind) {
			l.show(t)
			t.Errorf("%v: %s", a, why)
			return
		}
	}
}

// verdict is the last verdict of a key such as "kube-system/app-node1/c0".
func (l timeline) verdict(t *testing.T, key string) Verdict {
	t.Helper()
	for _, v := range l.last {
		if v.Key.String() == key {
			return v
		}
	}
	l.show(t)
	t.Fatalf("no verdict of %s", key)
	return Verdict{}
}

// reports tells whether the last look gives some pod that verdict, with a reason.
func (l timeline) reports(state State) bool {
	for _, v := range l.last {
		if v.State == state && v.Detail != "" {
			return true
		}
	}
	return false
}

const (
	app = "kube-system/app-node1"
	c0  = app + "/c0"
	c1  = app + "/c1"
)

// waiting lets the kubelet's view say of a container that it waits.
func waiting(s *node.Snapshot, container int, reason, message string) {
	if !s.Kubelet.View.Known() || len(s.Kubelet.View.Pods) == 0 || len(s.Kubelet.View.Pods[0].Statuses) <= container {
		return
	}
	st := &s.Kubelet.View.Pods[0].Statuses[container]
	if ended := st.State.Terminated; ended != nil {
		st.LastTerminationState.Terminated = ended
	}
	st.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// backedOff is the kubelet's word for a container in its longest back-off.
func backedOff(s *node.Snapshot, container int) {
	waiting(s, container, "CrashLoopBackOff",
		fmt.Sprintf("back-off 5m0s restarting failed container=c%d pod=app-node1_kube-system(uid)", container))
}

// blind takes the kubelet's view away, as where it is asked without a right.
func blind(s *node.Snapshot) {
	s.Kubelet.View = node.View{Source: node.ViewNone, Answered: true}
}

// says is a journal that is known since the kubelet's start, with the last thing
// that it says of the pod; at 0 says nothing of it.
func says(s *node.Snapshot, at time.Duration, container, reason, message string) {
	s.Kubelet.Told = node.Told{From: time.Second, Last: s.Taken.Boot - time.Second}
	if at > 0 {
		s.Kubelet.Told.Pods = map[node.PodName]node.Said{
			{Namespace: "kube-system", Name: "app-node1"}: {At: at, Container: container, Reason: reason, Message: message}}
	}
}

// silent is a journal in which the kubelet says nothing of any pod.
func silent(s *node.Snapshot) { says(s, 0, "", "", "") }

// ways are those in which a node can be seen: with the kubelet's view of its
// pods, with its journal, with both, and with neither.
var ways = map[string]func(*node.Snapshot){
	"with a view":          func(*node.Snapshot) {},
	"with both":            silent,
	"with a journal":       func(s *node.Snapshot) { blind(s); silent(s) },
	"with neither of them": blind,
}
