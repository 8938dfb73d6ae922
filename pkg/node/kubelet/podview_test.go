package kubelet

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// viewOf is the view of one pod, as it comes over the socket.
func viewOf(t *testing.T, pod *corev1.Pod) []node.PodView {
	t.Helper()
	decoded, err := decodeProto(marshal(t, pod))
	if err != nil {
		t.Fatal(err)
	}
	return appendView(nil, decoded)
}

func TestViewOfACrashingPod(t *testing.T) {
	v := viewOf(t, crashing(3))[0]
	if v.Name.String() != "kube-system/app3-node1" || v.UID != "uid-3" || !v.Static || v.Terminating || v.Phase != corev1.PodRunning {
		t.Errorf("got %+v", v)
	}
	var names []string
	for _, s := range v.Statuses {
		names = append(names, s.Name)
		if s.Resources != nil || s.VolumeMounts != nil || s.AllocatedResources != nil {
			t.Errorf("%s keeps what nobody reads", s.Name)
		}
	}
	if len(names) != 4 || names[0] != "setup" || names[1] != "main" {
		t.Errorf("statuses of %v, want init and regular containers and no ephemeral ones", names)
	}
	main, _ := v.Status("main")
	if main.State.Waiting == nil || main.LastTerminationState.Terminated == nil || main.LastTerminationState.Terminated.ExitCode != 137 {
		t.Errorf("main is %+v", main)
	}
}

func TestStaticIsWhatCameFromAFileOrURL(t *testing.T) {
	for source, want := range map[string]bool{"file": true, "http": true, "api": false, "": false} {
		pod := crashing(1)
		pod.Annotations[sourceAnnotation] = source
		if got := viewOf(t, pod)[0].Static; got != want {
			t.Errorf("source %q: static is %v, want %v", source, got, want)
		}
	}
}

func TestARejectedPodHasItsReason(t *testing.T) {
	pod := crashing(1)
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", Message: "no room"}
	v := viewOf(t, pod)[0]
	if v.Phase != corev1.PodFailed || v.Reason != "UnexpectedAdmissionError" || v.Message != "no room" || len(v.Statuses) != 0 {
		t.Errorf("got %+v", v)
	}
}

func TestATerminatingPodIsMarked(t *testing.T) {
	pod := crashing(1)
	now := metav1.Now()
	pod.DeletionTimestamp = &now
	if !viewOf(t, pod)[0].Terminating {
		t.Error("not marked as terminating")
	}
}

func TestAMirrorPodIsNoPodOfItsOwn(t *testing.T) {
	pod := crashing(1)
	pod.Annotations[corev1.MirrorPodAnnotationKey] = "hash"
	if got := viewOf(t, pod); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

func FuzzDecodeProto(f *testing.F) {
	f.Add(marshal(f, crashing(1)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		pod, err := decodeProto(raw)
		if err == nil && pod.meta.Name == "" {
			t.Error("a pod without a name passed")
		}
	})
}
