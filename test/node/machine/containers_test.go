package machine

import (
	"slices"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/nodekeeper/nodekeeper/test/node"
)

func TestRecordsAreReadAsCrictlPrintsThem(t *testing.T) {
	got, err := parseRecords([]byte(`{"containers": [
  {"id": "b2", "podSandboxId": "p1", "metadata": {"name": "main", "attempt": 1}, "state": "CONTAINER_RUNNING",
   "createdAt": "1795000001000000005", "labels": {"io.kubernetes.pod.uid": "u1"}},
  {"id": "a1", "podSandboxId": "p1", "metadata": {"name": "main"}, "state": "CONTAINER_EXITED",
   "createdAt": "1795000000000000000", "labels": {"io.kubernetes.pod.uid": "u1"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []node.Container{
		{Name: "main", State: cri.ContainerState_CONTAINER_EXITED, ID: "a1", SandboxID: "p1", PodUID: "u1", CreatedAt: time.Unix(1795000000, 0)},
		{Name: "main", Attempt: 1, State: cri.ContainerState_CONTAINER_RUNNING, ID: "b2", SandboxID: "p1", PodUID: "u1", CreatedAt: time.Unix(1795000001, 5)},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestRecordsWithoutACreationTimeAreRefused(t *testing.T) {
	for name, text := range map[string]string{"no JSON": "", "no time": `{"containers": [{"id": "a1"}]}`} {
		t.Run(name, func(t *testing.T) {
			if records, err := parseRecords([]byte(text)); err == nil {
				t.Errorf("got %+v", records)
			}
		})
	}
}
