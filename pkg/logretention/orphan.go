package logretention

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/podlogs"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// mostOrphans bounds what is adopted after one reboot.
const mostOrphans = 100

// unknownBoot stands for the boot of an orphan: not this one.
const unknownBoot = "unknown"

// numbered is one attempt as the kubelet's paths name it.
type numbered struct {
	uid, container string
	attempt        uint32
}

// adoptOrphans records, once, what ran when the node went down while neither
// hook nor agent was there: of each container of a static pod the newest log
// that was written before this boot only. The runtime has no record of it (it
// forgets all containers at boot), so that the path alone says whose it is.
func (k *Keeper) adoptOrphans(s *node.Snapshot, here map[string]listed) {
	if k.orphaned || s.Intent.Err != nil || k.Clock.BootID() == "" {
		return
	}
	k.orphaned = true
	known := k.numbers(here)
	boot := s.Taken.Wall.Add(-s.Taken.Boot)
	ids := containerIDs(filepath.Join(filepath.Dir(k.Config.PodLogs), "containers"))
	left := mostOrphans
	pods, _ := podlogs.Names(k.Config.PodLogs)
	for _, dir := range pods {
		pod, ok := podlogs.ParsePod(dir)
		if _, manifest := s.Intent.Find(node.PodName{Namespace: pod.Namespace, Name: pod.Name}); !ok || !manifest {
			continue
		}
		containers, _ := podlogs.Names(filepath.Join(k.Config.PodLogs, dir))
		for _, c := range containers {
			o, ok := newestBefore(filepath.Join(k.Config.PodLogs, dir, c), boot)
			if !ok || known[numbered{pod.UID, c, o.attempt}] || left == 0 {
				continue
			}
			left--
			k.adoptOrphan(pod, c, o, ids[o.path])
		}
	}
}

func (k *Keeper) adoptOrphan(pod podlogs.Pod, container string, o orphan, id string) {
	if id == "" {
		id = "orphan-" + pod.UID + "-" + container + "-" + strconv.FormatUint(uint64(o.attempt), 10)
	}
	a := k.begin(record.Birth{
		Attempt: record.Attempt{
			Namespace: pod.Namespace, Pod: pod.Name, PodUID: pod.UID,
			Container: container, Attempt: o.attempt, ContainerID: id,
		},
		BootID: unknownBoot, Seen: o.oldest, By: record.SourceScan, LogPath: o.path,
	})
	if a != nil {
		k.end(a, nil)
	}
}

// numbers are the attempts that are known already.
func (k *Keeper) numbers(here map[string]listed) map[numbered]bool {
	known := map[numbered]bool{}
	for _, e := range k.store.Index().Records {
		known[numbered{e.PodUID, e.Container, e.Attempt.Attempt}] = true
	}
	for _, a := range k.attempts {
		known[numbered{a.birth.PodUID, a.birth.Container, a.birth.Attempt.Attempt}] = true
	}
	for _, l := range here {
		known[numbered{l.sandbox.UID, l.container.Name, l.container.Attempt}] = true
	}
	return known
}

// orphan is an attempt of which only log files are left.
type orphan struct {
	path    string
	attempt uint32
	// oldest is when the first of its files was written last.
	oldest time.Time
}

// newestBefore finds the newest attempt of a container's directory all of whose
// files were written before the boot.
func newestBefore(dir string, boot time.Time) (found orphan, ok bool) {
	files, _ := podlogs.Files(dir)
	written := map[uint32][]time.Time{}
	for _, f := range files {
		if info, err := os.Lstat(filepath.Join(dir, f.Name)); err == nil && info.Mode().IsRegular() {
			written[f.Attempt] = append(written[f.Attempt], info.ModTime())
		}
	}
	for n, times := range written {
		first, last := times[0], times[0]
		for _, t := range times {
			if t.Before(first) {
				first = t
			}
			if t.After(last) {
				last = t
			}
		}
		if last.Before(boot.Add(-coarse)) && (!ok || n > found.attempt) {
			found, ok = orphan{filepath.Join(dir, podlogs.LiveName(n)), n, first}, true
		}
	}
	return found, ok
}

// containerIDs reads the links that the kubelet makes beside the pod log root,
// POD_NAMESPACE_CONTAINER-ID.log (kubelet pkg/kubelet/kuberuntime/legacy.go,
// v1.37): the only place outside the runtime with the ID of a container. It
// gives IDs by log path.
func containerIDs(dir string) map[string]string {
	ids := map[string]string{}
	names, _ := podlogs.Names(dir)
	for _, name := range names {
		stem, ok := strings.CutSuffix(name, ".log")
		id := stem[strings.LastIndexByte(stem, '-')+1:]
		target, err := os.Readlink(filepath.Join(dir, name))
		if ok && err == nil && record.IsContainerID(id) {
			ids[target] = id
		}
	}
	return ids
}
