package lifecycle

import (
	"reflect"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/lifecyclev1"
)

func TestEveryFieldTravels(t *testing.T) {
	e := Event{
		Source: Hook, ContainerID: "c1", SandboxID: "s1", Namespace: "kube-system", Pod: "etcd-node1",
		PodUID: "1234", Container: "etcd", Attempt: 7, LogPath: "/var/log/pods/x/etcd/7.log", Bundle: "/run/b",
		BootID: "b1", Pid: 4711, Time: time.Unix(1796000000, 123), Detail: "status creating",
	}
	for kind := range kinds {
		e.Kind = kind
		// A field that is added to Event and forgotten here would stay zero.
		for i := range reflect.TypeFor[Event]().NumField() {
			if reflect.ValueOf(e).Field(i).IsZero() {
				t.Fatalf("the test leaves %s out", reflect.TypeFor[Event]().Field(i).Name)
			}
		}
		if got, ok := FromWire(ToWire(e)); !ok || !reflect.DeepEqual(got, e) {
			t.Errorf("%v\n got %+v\nwant %+v", ok, got, e)
		}
	}
}

func TestEventsThatSayNothingAreRefused(t *testing.T) {
	for name, w := range map[string]*lifecyclev1.Event{
		"nothing":          nil,
		"no container":     {Kind: lifecyclev1.Kind_KIND_CREATED},
		"no kind":          {ContainerId: "c1"},
		"a kind to come":   {ContainerId: "c1", Kind: 99},
		"unspecified kind": ToWire(Event{Kind: "paused", ContainerID: "c1"}),
	} {
		if e, ok := FromWire(w); ok {
			t.Errorf("%s: accepted as %+v", name, e)
		}
	}
	if e, ok := FromWire(ToWire(Event{Kind: Removed, ContainerID: "c1"})); !ok || !e.Time.IsZero() {
		t.Errorf("an unknown time becomes %v", e.Time)
	}
}
