package cri_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func (r *rig) images(t *testing.T, names ...string) map[string]node.Answer {
	return r.reader.Images(within(t, 8*time.Second), names)
}

func TestImagesAreAskedForByTheirNameInTheManifest(t *testing.T) {
	r := newRig(t)
	r.runtime.SetImages("busybox:latest", "reg:5000/a/b:latest", "quay.io/x/y:1", "quay.io/x/y@sha256:00")
	r.runtime.Fail("ImageStatus", "Bad:latest", errors.New("invalid reference format"))
	want := map[string]node.Answer{
		"busybox": node.Yes, "reg:5000/a/b": node.Yes, "quay.io/x/y:1": node.Yes, "quay.io/x/y:2": node.No, "Bad": node.Unknown,
	}
	if got := r.images(t, "busybox", "reg:5000/a/b", "quay.io/x/y:1", "quay.io/x/y:2", "Bad", "busybox"); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := r.images(t, "quay.io/x/y@sha256:00"); got["quay.io/x/y@sha256:00"] != node.Yes {
		t.Errorf("by digest: %v", got)
	}
}

func TestImageIsRememberedForAShortTime(t *testing.T) {
	r := newRig(t)
	r.runtime.SetImages("a:1")
	steps := []struct {
		name   string
		images []string
		after  time.Duration
		want   node.Answer
		calls  int
	}{
		{"asked", []string{"a:1"}, 0, node.Yes, 1},
		{"removed, and not asked again yet", nil, 19 * time.Second, node.Yes, 0},
		{"removed", nil, time.Second, node.No, 1},
		{"pulled, and not asked again yet", []string{"a:1"}, 19 * time.Second, node.No, 0},
		{"pulled", []string{"a:1"}, time.Second, node.Yes, 1},
	}
	for _, step := range steps {
		r.runtime.SetImages(step.images...)
		r.clock.pass(step.after)
		before := r.runtime.Calls("ImageStatus")
		if got := r.images(t, "a:1")["a:1"]; got != step.want {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
		if got := r.runtime.Calls("ImageStatus") - before; got != step.calls {
			t.Errorf("%s: %d calls, want %d", step.name, got, step.calls)
		}
	}
}

func TestManyImagesAreAskedForInSeveralLooks(t *testing.T) {
	r := newRig(t)
	var names []string
	for n := range 12 {
		names = append(names, fmt.Sprintf("image-%02d:1", n))
	}
	r.runtime.SetImages(names...)
	for _, want := range []int{5, 10, 12} {
		known := 0
		for _, answer := range r.images(t, names...) {
			if answer == node.Yes {
				known++
			}
		}
		if known != want || r.runtime.Calls("ImageStatus") != want {
			t.Errorf("%d known with %d calls, want %d", known, r.runtime.Calls("ImageStatus"), want)
		}
		r.clock.pass(5 * time.Second)
	}
	// One that never answers does not keep the others from being asked.
	r.runtime.Fail("ImageStatus", "", errors.New("storage is locked"))
	r.clock.pass(time.Minute)
	r.images(t, names...)
	r.runtime.Fail("ImageStatus", "", nil)
	r.clock.pass(time.Second)
	if got := r.images(t, names...); got["image-05:1"] != node.Yes {
		t.Errorf("the same ones were asked again: %v", got)
	}
}

func TestImageThatIsNotToldOfInTimeIsUnknown(t *testing.T) {
	r := newRig(t)
	r.runtime.Hold("ImageStatus", "")
	got := r.reader.Images(within(t, 100*time.Millisecond), []string{"a:1", "b:1"})
	if got["a:1"] != node.Unknown || got["b:1"] != node.Unknown {
		t.Errorf("%v", got)
	}
}
