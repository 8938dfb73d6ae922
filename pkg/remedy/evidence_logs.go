package remedy

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// manifestBytes bounds the copy of one manifest.
const manifestBytes = 1 << 20

// manifests copies the manifests of the pods concerned.
func (b *evidenceDir) manifests(ctx context.Context, x subject) {
	for _, pod := range x.pods() {
		m, ok := x.snap.Intent.Find(pod)
		if !ok {
			continue
		}
		if ctx.Err() != nil {
			b.miss("manifest "+m.Path, "no time left")
			continue
		}
		b.take(m.Path, "manifest-"+safeName(filepath.Base(m.Path)), manifestBytes, false)
	}
}

// logFile is one log to save. The lower its rank, the sooner it is saved: the
// limits hold for all together.
type logFile struct {
	path, name string
	rank       int
}

// logs saves the logs of what is dead, and of what the act, or a kubelet that
// comes to, is going to delete.
func (b *evidenceDir) logs(ctx context.Context, x subject) {
	if x.snap.Runtime.Err != nil {
		b.miss("logs", "the runtime does not answer: "+oneLine(x.snap.Runtime.Err.Error()))
		return
	}
	taken := map[string]bool{}
	for _, l := range x.logs() {
		name := l.name
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d.log", l.name[:len(l.name)-len(".log")], n)
		}
		taken[name] = true
		if ctx.Err() != nil {
			b.miss(l.path, "no time left")
			continue
		}
		b.take(l.path, name, b.limits.logBytes, true)
	}
}

func (x subject) logs() []logFile {
	var out []logFile
	for _, pod := range x.pods() {
		uid := x.uid(pod)
		names := map[string]bool{}
		for _, sb := range x.snap.Runtime.Of(pod) {
			if !sb.Static() {
				continue
			}
			for _, c := range sb.Containers {
				rank, wanted := x.rank(sb, c, uid)
				if !wanted || c.LogPath == "" {
					continue
				}
				name := safeName(fmt.Sprintf("%s_%s_%d", sb.Pod.Name, c.Name, c.Attempt))
				if names[name] {
					// Another generation, or another sandbox of the same.
					name += "_" + safeName(short(sb.UID))
				}
				names[name] = true
				out = append(out, logFile{c.LogPath, name + ".log", rank})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b logFile) int { return a.rank - b.rank })
	return out
}

// uid is the generation of a pod that the kubelet has, or that its manifest
// names; empty if neither tells, for which every log is wanted.
func (x subject) uid(pod node.PodName) string {
	if v, ok := x.snap.Kubelet.View.Find(pod); ok && x.snap.Kubelet.View.Known() {
		return v.UID
	}
	if m, ok := x.snap.Intent.Find(pod); ok && m.Pod != nil {
		return string(m.Pod.UID)
	}
	return ""
}

// rank orders the logs: the container that the act is about, its sandbox, old
// generations whole, and then whatever else is dead.
func (x subject) rank(sb node.Sandbox, c node.Container, uid string) (int, bool) {
	switch {
	case c.ID == x.target.ContainerID:
		return 0, true
	case sb.ID == x.target.SandboxID && x.target.ContainerID == "":
		return 1, true
	case uid == "" || sb.UID != uid:
		return 2, true
	}
	return 3, c.State != node.ContainerRunning || c.Process.Dead()
}
