package remedy

import (
	"fmt"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// targetGuards hold for the steps that name a sandbox, a container or a
// manifest.
func targetGuards() []guard {
	out := []guard{
		{"no-pod", func(c scene) string {
			return when(c.step.Key.Name == "" && !c.step.Kind.NodeWide(), "the step names no pod")
		}},
		{"sandbox-gone", onSandbox(func(c scene, sb node.Sandbox, there bool) string {
			return when(!there, "the sandbox is gone")
		})},
		{"sandbox-of-another", onSandbox(func(c scene, sb node.Sandbox, there bool) string {
			return when(there && sb.Pod != c.step.Key.PodName, "the sandbox is of another pod")
		})},
		{"not-static", onSandbox(func(c scene, sb node.Sandbox, there bool) string {
			return when(there && !sb.Static(), fmt.Sprintf("the sandbox is not of a static pod (config source %q)", sb.Source))
		})},
	}
	out = append(out, containerGuards()...)
	out = append(out, sandboxGuards()...)
	return append(out, manifestGuards()...)
}

func containerGuards() []guard {
	stop, remove := restartpolicy.StopContainer, restartpolicy.RemoveContainer
	return []guard{
		{"container-gone", onContainer(func(c scene, rec node.Container, there bool) string {
			return when(!there, "the container is gone")
		}, stop, remove)},
		{"other-sandbox", onContainer(func(c scene, _ node.Container, there bool) string {
			_, sb, _ := findContainer(c.snap, c.step.Target.ContainerID)
			return when(there && sb.ID != c.step.Target.SandboxID, "the container is in another sandbox")
		}, stop, remove)},
		{"other-attempt", onContainer(func(c scene, rec node.Container, there bool) string {
			return when(there && (rec.Attempt != c.step.Target.Attempt || rec.Name != c.step.Key.Container),
				fmt.Sprintf("the record is attempt %d of container %s", rec.Attempt, rec.Name))
		}, stop, remove)},
		{"not-running", onContainer(func(c scene, rec node.Container, there bool) string {
			return when(there && rec.State != node.ContainerRunning, "the runtime has noticed by itself: the container is "+string(rec.State))
		}, stop)},
		{"process-lives", onContainer(func(c scene, rec node.Container, there bool) string {
			return when(there && !rec.Process.Dead(), "it is not certain that the process is gone")
		}, stop)},
		{"frozen", onContainer(func(c scene, rec node.Container, there bool) string {
			return when(there && rec.Process.Frozen, "the container's cgroup is frozen")
		}, stop)},
		{"record-lives", onContainer(func(c scene, rec node.Container, there bool) string {
			return when(there && rec.State != node.ContainerExited && rec.State != node.ContainerCreated,
				"the record is "+string(rec.State)+", not exited or created")
		}, remove)},
		{"call-in-flight", onContainer(func(c scene, rec node.Container, there bool) string {
			for _, call := range c.snap.Runtime.Calls {
				if call.ContainerID == rec.ID && there {
					return fmt.Sprintf("runtime call %s (process %d) is at work on it", call.Verb, call.PID)
				}
			}
			return ""
		}, remove)},
	}
}

func sandboxGuards() []guard {
	old, current, remove := restartpolicy.StopOldSandbox, restartpolicy.StopSandbox, restartpolicy.RemoveSandbox
	return []guard{
		{"generation-unknown", onSandbox(func(c scene, sb node.Sandbox, there bool) string {
			return when(there && c.judgment.uid(c.step.Key.PodName) == "", "it cannot be told which generation is current")
		}, old, current)},
		{"old-not-ready", onSandbox(func(c scene, sb node.Sandbox, there bool) string {
			return when(there && !sb.Ready, "the old sandbox has stopped by itself")
		}, old)},
		{"old-is-current", onSandbox(func(c scene, sb node.Sandbox, there bool) string {
			return when(there && sb.UID == c.judgment.uid(c.step.Key.PodName), "the sandbox is of the current generation")
		}, old)},
		{"old-in-view", onSandbox(func(c scene, sb node.Sandbox, there bool) string {
			for _, p := range c.snap.Kubelet.View.Pods {
				if there && p.UID == sb.UID {
					return "the kubelet still has the old generation"
				}
			}
			return ""
		}, old)},
		{"no-successor", onSandbox(func(c scene, sb node.Sandbox, there bool) string {
			return when(there && !c.succeeded(), "the new generation has no ready sandbox")
		}, old)},
		{"not-current", onSandbox(func(c scene, sb node.Sandbox, there bool) string {
			return when(there && (sb.UID != c.judgment.uid(c.step.Key.PodName) || sb.UID != c.step.Target.UID), "the sandbox is not of the current generation")
		}, current)},
		{"kubelet-blind", onSandbox(func(c scene, sb node.Sandbox, there bool) string {
			return when(there && !c.snap.Kubelet.View.Known(), "without the kubelet's view nobody is known to restart the siblings")
		}, current)},
		{"sandbox-ready", onSandbox(func(c scene, sb node.Sandbox, there bool) string {
			return when(there && sb.Ready, "the sandbox is ready")
		}, remove)},
		{"sandbox-in-use", onSandbox(func(c scene, sb node.Sandbox, there bool) string {
			for _, rec := range sb.Containers {
				if rec.State == node.ContainerRunning {
					return "container " + rec.Name + " of the sandbox is running"
				}
			}
			return ""
		}, remove)},
	}
}

func manifestGuards() []guard {
	return []guard{
		{"replace-running", func(c scene) string {
			if c.step.Kind != restartpolicy.ReplaceManifest {
				return ""
			}
			for _, sb := range c.snap.Runtime.Of(c.step.Key.PodName) {
				if sb.Ready && sb.UID == c.step.Target.UID {
					return "the pod has begun to run"
				}
			}
			return ""
		}},
		{"replace-elsewhere", func(c scene) string {
			return when(c.step.Kind == restartpolicy.ReplaceManifest && filepath.Dir(c.step.Target.Manifest) != filepath.Clean(c.snap.Intent.Dir),
				"the manifest is not in the manifest directory")
		}},
	}
}

// succeeded tells that the old generation is of no use any more: the new one
// has a ready sandbox; or, where it waits for the old one to end, the kubelet
// itself names it.
func (c scene) succeeded() bool {
	uid := c.judgment.uid(c.step.Key.PodName)
	if c.step.State == restartpolicy.WaitingForOld {
		v, ok := c.snap.Kubelet.View.Find(c.step.Key.PodName)
		return ok && c.snap.Kubelet.View.Known() && v.UID == uid
	}
	for _, sb := range c.snap.Runtime.Of(c.step.Key.PodName) {
		if sb.Ready && sb.Static() && sb.UID == uid {
			return true
		}
	}
	return false
}

// onSandbox limits a guard to the steps that are done to a sandbox or to a
// container in one; to some of them where kinds are given.
func onSandbox(refuses func(c scene, sb node.Sandbox, there bool) string, kinds ...restartpolicy.StepKind) func(scene) string {
	return func(c scene) string {
		if c.step.Kind.NodeWide() || c.step.Kind == restartpolicy.ReplaceManifest || !among(c.step.Kind, kinds) {
			return ""
		}
		sb, there := findSandbox(c.snap, c.step.Target.SandboxID)
		return refuses(c, sb, there)
	}
}

func onContainer(refuses func(c scene, rec node.Container, there bool) string, kinds ...restartpolicy.StepKind) func(scene) string {
	return func(c scene) string {
		if !among(c.step.Kind, kinds) {
			return ""
		}
		rec, _, there := findContainer(c.snap, c.step.Target.ContainerID)
		return refuses(c, rec, there)
	}
}

func among(kind restartpolicy.StepKind, kinds []restartpolicy.StepKind) bool {
	for _, k := range kinds {
		if k == kind {
			return true
		}
	}
	return len(kinds) == 0
}
