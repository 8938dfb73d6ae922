package journal

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// most is how many keys of each kind are kept.
const most = 1000

// said is what the kubelet wrote, the newest of each kind. From goes up with
// whatever is lost.
type said struct{ node.Told }

func newSaid() said {
	return said{node.Told{Pods: map[node.PodName]node.Said{}, Manifests: map[string]node.Said{}, Containers: map[string]node.Said{},
		NotDeleted: map[node.PodName]time.Duration{}}}
}

// since says that something before the time is not known.
func (s *said) since(at time.Duration) { s.From = max(s.From, at) }

// handle handles one record. One of a kind that is kept, and that cannot be read
// in full, might have been about anything.
func (s *said) handle(rec record, at time.Duration) {
	read := s.reader(rec.message)
	if read == nil {
		return
	}
	if v, ok := rec.values(); !ok || !read(v, at) {
		s.since(at)
	}
}

// reader returns what reads the records of a message, or nil if they are not
// kept. It returns false if a record does not name what it is about. doc.go has
// the versions and verbosities.
func (s *said) reader(message string) func(values, time.Duration) bool {
	switch message {
	case "Error syncing pod, skipping":
		return func(v values, at time.Duration) bool { return s.pod(v, syncError(v.text("err"), at)) }
	case "Pod admission denied":
		return s.denied
	case "Predicate failed on Pod", "Failed to admit pod",
		"Failed to admit pod, unexpected error while attempting to recover from admission failure":
		return s.notAdmitted
	case "Could not process manifest file", "Could not get metadata", "Manifest path is not a directory or file":
		return s.manifest
	case "Unable to read config path":
		return s.directory
	case "Unable to process watch event":
		return s.changed
	case "ContainerStatus from runtime service failed":
		return s.container
	case "Failed to delete pod":
		return s.notDeleted
	case "Skipping pod synchronization":
		// It syncs no pod, for a reason that is none of the pods': until now the
		// silence about a pod meant nothing.
		return func(values, time.Duration) bool { return false }
	}
	return nil
}

func (s *said) pod(v values, one node.Said) bool {
	name, ok := podName(v.text("pod"))
	return ok && put(s.Pods, name, one)
}

func (s *said) denied(v values, at time.Duration) bool {
	// A resize that does not fit leaves the pod as it is.
	return v.text("operation") == "resize" ||
		s.pod(v, node.Said{At: at, Reason: v.text("reason"), Message: oneLine(v.text("message"))})
}

// lacking finds the reason in the errors of kubelet pkg/kubelet/lifecycle
// predicate.go InsufficientResourceError and PredicateFailureError.
var lacking = regexp.MustCompile(`^(?:Node didn't have enough resource: ([^,\s]+)|Predicate (\w+) failed)`)

// notAdmitted reads what a kubelet of 1.30 writes of a pod that it rejects. Later
// ones write "Pod admission denied" right after it, with the reason.
func (s *said) notAdmitted(v values, at time.Duration) bool {
	reason, message := "UnexpectedAdmissionError", v.text("err")+v.text("message")
	if m := lacking.FindStringSubmatch(message); m != nil && m[1] != "" {
		reason = "OutOf" + m[1]
	} else if m != nil {
		reason = m[2]
	}
	return s.pod(v, node.Said{At: at, Reason: reason, Message: oneLine(message)})
}

func (s *said) manifest(v values, at time.Duration) bool {
	path, message := v.text("path"), v.text("err")
	if message == "" {
		message = "not a regular file"
	}
	return path != "" && put(s.Manifests, path, node.Said{At: at, Message: oneLine(message)})
}

// directory reads that the manifests could not be listed. That they cannot be
// watched is no refusal: they are listed all the same.
func (s *said) directory(v values, at time.Duration) bool {
	err := v.text("err")
	return strings.Contains(err, "inotify") || strings.HasPrefix(err, "error while watching") || s.manifest(v, at)
}

// changed reads the refusal of a file that has just changed: the error names the
// path. kubelet pkg/kubelet/config/file_linux.go consumeWatchEvent.
func (s *said) changed(v values, at time.Duration) bool {
	quoted, refused := strings.CutPrefix(v.text("err"), "can't process config file ")
	if !refused {
		return true
	}
	prefix, _ := strconv.QuotedPrefix(quoted)
	path, _ := strconv.Unquote(prefix)
	return s.manifest(values{"path": path, "err": strings.TrimPrefix(quoted[len(prefix):], ": ")}, at)
}

var rpcCode = regexp.MustCompile(`code = (\w+)`)

func (s *said) container(v values, at time.Duration) bool {
	id, one := v.text("containerID"), node.Said{At: at, Message: oneLine(v.text("err"))}
	if m := rpcCode.FindStringSubmatch(v.text("err")); m != nil {
		one.Reason = m[1]
	}
	return id != "" && put(s.Containers, id, one)
}

// notDeleted reads that a pod whose manifest is gone, or has changed, is not let
// go of: kubelet pkg/kubelet/kubelet.go HandlePodRemoves, deletePod.
func (s *said) notDeleted(v values, at time.Duration) bool {
	if !strings.Contains(v.text("err"), "sources aren't ready") {
		return true
	}
	name, ok := podName(v.text("pod"))
	return ok && put(s.NotDeleted, name, at)
}

// failed is one of the errors that a sync ends with.
// kubelet pkg/kubelet/container/sync_result.go PodSyncResult.Error, v1.30-v1.37.
var failed = regexp.MustCompile(`failed to "(\w+)" for "([^"]*)" with (?:(\w+): ("(?:[^"\\]|\\.)*"))?`)

// syncError reads the error of a sync. Of several it takes the first that is no
// crash loop, which is the least of them.
func syncError(text string, at time.Duration) node.Said {
	one := node.Said{At: at, Message: oneLine(text)}
	for _, m := range failed.FindAllStringSubmatch(text, -1) {
		if one.Reason != "" && m[3] == "CrashLoopBackOff" {
			continue
		}
		one = node.Said{At: at, Reason: m[3], Message: oneLine(text)}
		if strings.HasSuffix(m[1], "Container") {
			one.Container = m[2]
		}
		if message, _ := strconv.Unquote(m[4]); message != "" {
			one.Message = oneLine(message)
		}
		if one.Reason != "CrashLoopBackOff" {
			break
		}
	}
	return one
}

// put keeps the newest of each key. It returns false if it had to forget the
// others: memory is bounded.
func put[K comparable, V any](all map[K]V, key K, newest V) bool {
	_, held := all[key]
	full := !held && len(all) >= most
	if full {
		clear(all)
	}
	all[key] = newest
	return !full
}

// forget drops what was said before a time.
func (s *said) forget(before time.Duration) {
	s.since(before)
	old := func(one node.Said) bool { return one.At < before }
	maps.DeleteFunc(s.Pods, func(_ node.PodName, one node.Said) bool { return old(one) })
	maps.DeleteFunc(s.Manifests, func(_ string, one node.Said) bool { return old(one) })
	maps.DeleteFunc(s.Containers, func(_ string, one node.Said) bool { return old(one) })
	maps.DeleteFunc(s.NotDeleted, func(_ node.PodName, at time.Duration) bool { return at < before })
}

// copy is what is known: a snapshot is never written to.
func (s *said) copy() node.Told {
	told := s.Told
	told.Pods, told.Manifests, told.Containers = maps.Clone(s.Pods), maps.Clone(s.Manifests), maps.Clone(s.Containers)
	told.NotDeleted = maps.Clone(s.NotDeleted)
	return told
}
