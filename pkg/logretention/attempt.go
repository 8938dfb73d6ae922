package logretention

import (
	"path/filepath"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/store"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// attempt is what is remembered of one live attempt. It belongs to the owner.
type attempt struct {
	live  *store.Live
	birth record.Birth
	// began is when the keeper learned of it, on the boot clock.
	began time.Duration
	// late is set when it began long before the keeper learned of it.
	late bool
	// otherBoot is set when it began in another boot than this one.
	otherBoot bool
	// superseded is set when another attempt has the same log path: this one
	// was never started, and what lies there is not its log.
	superseded bool

	// known is set once the runtime has said that it has the attempt; seen is
	// what it said last.
	known bool
	seen  node.Container
	// byURL is set for a pod that the kubelet got from a URL: the manifest
	// directory says nothing about it.
	byURL bool
	// digest is the manifest's when the attempt was first seen.
	digest string
	// dead is set while the runtime calls it running and its process is gone,
	// since deadSince on the boot clock; lost once that is no passing state.
	dead, lost bool
	deadSince  time.Duration
	// over is set once it is known to have ended, with final the runtime's
	// record if there is one, when all that is missing is a look at the
	// circumstances after its end, at ended on the boot clock.
	over  bool
	final *node.Container
	ended time.Duration
	// files is what conmon left, as far as it was read in time.
	files exitFiles
	// asking is set while a question about it is under way.
	asking bool
	// waiters want its record, or to be told that it runs.
	waiters []chan<- string
	// acts are IDs of acts that named it while it was live.
	acts []string
	// anchored is set once this process has kept the file at its log path.
	anchored bool
	// adrift is set while none of its files has the name of one that is kept.
	adrift bool
	// copied is set once a part of it could only be copied; there while the file
	// at its log path was, when it was followed last.
	copied, there bool
	// swamped is set once there were more files than are looked at.
	swamped bool
	// missed are rotated files about which nothing more can be done.
	missed map[string]bool
	// complaints are what was said about its log files.
	complaints map[string]bool
}

func (a *attempt) podName() node.PodName {
	return node.PodName{Namespace: a.birth.Namespace, Name: a.birth.Pod}
}

// dir is the directory of its log files.
func (a *attempt) dir() string { return filepath.Dir(a.birth.LogPath) }

// attributes are for the log.
func (a *attempt) attributes(more ...any) []any {
	return append([]any{"namespace", a.birth.Namespace, "pod", a.birth.Pod, "container", a.birth.Container,
		"attempt", a.birth.Attempt.Attempt, "containerID", a.birth.ContainerID}, more...)
}

// merge keeps what an earlier reading of the exit files knew: the directory is
// removed with the record.
func (a *attempt) merge(files exitFiles) {
	if files.Code == nil {
		files.Code, files.Written = a.files.Code, a.files.Written
	}
	files.OOM = files.OOM || a.files.OOM
	files.Looked = files.Looked || a.files.Looked
	a.files = files
}
