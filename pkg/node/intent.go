package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Intent is the manifest directory as the kubelet would read it now.
type Intent struct {
	// Dir is the directory that was read, NodeName the node that it was read for.
	Dir, NodeName string
	// Err is set when the directory could not be listed. Pods is then empty
	// and means nothing: unknown is not absent.
	Err error
	// Pods holds one entry for each full name that the kubelet would run.
	Pods []Manifest
	// Problems are files that the kubelet skips or that hide one another.
	Problems []ManifestProblem
}

// Find returns the manifest of a pod.
func (i Intent) Find(name PodName) (Manifest, bool) {
	for _, m := range i.Pods {
		if m.Name == name {
			return m, true
		}
	}
	return Manifest{}, false
}

// Manifest is one static pod's manifest.
type Manifest struct {
	Name PodName
	// Path is the file; its content and its path both enter the pod's UID.
	Path string
	// Digest is the SHA-256 of the file's bytes, in hexadecimal.
	Digest string
	// Content is the digest of the pod that the file describes: equal for files
	// that differ in comments, order and white space only. The kubelet's UID of
	// the pod follows the content, not the bytes.
	Content string
	// Modified is the file's modification time (wall clock). It proves nothing:
	// a file that was moved back has its old one.
	Modified time.Time
	// Pod is the parsed manifest with the kubelet's name suffix and default
	// namespace. Its UID is set only if the file gives one: the hash that the
	// kubelet computes otherwise differs between versions and is not mirrored.
	Pod *corev1.Pod
	// Doubt says why it is not known whether the kubelet takes the manifest: a
	// rule that its version or a feature gate decides on, which are not known,
	// would refuse it. Empty if all rules that are known here accept it.
	Doubt string
}

// Grace is how long the kubelet lets the pod end: kubelets since the pod workers
// honour metadata.deletionGracePeriodSeconds too (kubelet pkg/kubelet
// pod_workers.go calculateEffectiveGracePeriod, v1.37).
func (m Manifest) Grace() time.Duration {
	seconds := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if m.Pod == nil {
		return time.Duration(seconds) * time.Second
	}
	if g := m.Pod.Spec.TerminationGracePeriodSeconds; g != nil {
		seconds = *g
	}
	if g := m.Pod.DeletionGracePeriodSeconds; g != nil {
		seconds = max(seconds, *g)
	}
	return time.Duration(seconds) * time.Second
}

// ManifestProblem is something about the directory that an admin should mend.
// It is reported and never acted on.
type ManifestProblem struct {
	Path string
	// Pod is the pod concerned, where the file could be read so far, or was when
	// it was read last.
	Pod PodName
	// Kind is one of the constants below.
	Kind string
	// Message is one line: what is wrong and what to do.
	Message string
}

// Kinds of ManifestProblem. Unreadable is also what is no regular file, what is
// larger than the kubelet reads (10 MiB), and a link to nowhere.
const (
	ProblemUnreadable = "unreadable"
	ProblemUnparsable = "unparsable"
	ProblemDuplicate  = "duplicate"
	// ProblemRefused is what the kubelet skips although it can read it.
	ProblemRefused = "refused"
	// ProblemHidden is what we cannot see, and the kubelet may.
	ProblemHidden = "hidden"
)
