package manifest

import (
	"iter"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// sourcesOf names the sources of a volume; it is to have one.
func sourcesOf(v *corev1.VolumeSource) (names []string) {
	source := reflect.ValueOf(v).Elem()
	for i := range source.NumField() {
		if !source.Field(i).IsNil() {
			name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

// containersOf yields init containers, then regular ones.
func containersOf(spec *corev1.PodSpec) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// probesOf yields the probes that a container has.
func probesOf(c *corev1.Container) iter.Seq[*corev1.Probe] {
	return func(yield func(*corev1.Probe) bool) {
		for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if probe != nil && !yield(probe) {
				return
			}
		}
	}
}

// httpActionsOf yields those of probes and of hooks.
func httpActionsOf(c *corev1.Container) iter.Seq[*corev1.HTTPGetAction] {
	return func(yield func(*corev1.HTTPGetAction) bool) {
		for probe := range probesOf(c) {
			if probe.HTTPGet != nil && !yield(probe.HTTPGet) {
				return
			}
		}
		if c.Lifecycle == nil {
			return
		}
		for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if hook != nil && hook.HTTPGet != nil && !yield(hook.HTTPGet) {
				return
			}
		}
	}
}
