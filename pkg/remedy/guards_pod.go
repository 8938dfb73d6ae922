package remedy

import (
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// podGuards hold for every step that is about a pod: its manifest must still
// want it, unchanged. A manifest that is gone means no act, for ever.
func podGuards() []guard {
	return []guard{
		{"manifests-unreadable", aboutPod(func(c scene, _ node.Manifest, _ bool) string {
			return when(c.snap.Intent.Err != nil, "the manifests cannot be read")
		})},
		{"manifest-gone", aboutPod(func(c scene, _ node.Manifest, there bool) string {
			return when(!there, "the manifest is gone")
		})},
		{"manifest-moved", aboutPod(func(c scene, m node.Manifest, there bool) string {
			return when(there && m.Path != c.step.Target.Manifest, "the manifest is another file now: "+m.Path)
		})},
		{"manifest-changed", aboutPod(func(c scene, m node.Manifest, there bool) string {
			return when(there && m.Digest != c.step.Target.Digest, "the manifest has changed")
		})},
		{"opted-out", aboutPod(func(c scene, m node.Manifest, there bool) string {
			off := there && m.Pod != nil && m.Pod.Annotations[restartpolicy.OptOut] == "off"
			for _, sb := range c.snap.Runtime.Of(c.step.Key.PodName) {
				off = off || sb.Annotations[restartpolicy.OptOut] == "off"
			}
			return when(off, "the pod is opted out by annotation "+restartpolicy.OptOut)
		})},
		{"terminating", aboutPod(func(c scene, _ node.Manifest, _ bool) string {
			v, ok := c.snap.Kubelet.View.Find(c.step.Key.PodName)
			return when(ok && v.Terminating, "the pod is terminating")
		})},
	}
}

// aboutPod limits a guard to steps whose key is a pod or a container, and to
// none that names a pod without a name.
func aboutPod(refuses func(c scene, m node.Manifest, there bool) string) func(scene) string {
	return func(c scene) string {
		if c.step.Key.Name == "" {
			return ""
		}
		m, there := c.snap.Intent.Find(c.step.Key.PodName)
		return refuses(c, m, there)
	}
}
