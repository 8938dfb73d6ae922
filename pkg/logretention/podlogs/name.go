package podlogs

import (
	"regexp"
	"strconv"
	"strings"
)

// Pod is what the name of a pod's directory says (kubelet
// pkg/kubelet/kuberuntime/helpers.go BuildPodLogsDirectory, v1.37).
type Pod struct{ Namespace, Name, UID string }

// String is the directory's name.
func (p Pod) String() string { return p.Namespace + "_" + p.Name + "_" + p.UID }

// ParsePod is the reverse of String. No part has an underscore of its own.
func ParsePod(dir string) (Pod, bool) {
	parts := strings.Split(dir, "_")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return Pod{}, false
	}
	return Pod{Namespace: parts[0], Name: parts[1], UID: parts[2]}, true
}

// File is one file of one attempt's log.
type File struct {
	// Name is the file's name.
	Name    string
	Attempt uint32
	// Rotated is the kubelet's name of the file once it is rotated, without
	// .gz; empty for the file that is being written.
	Rotated    string
	Compressed bool
}

// fileShape is that of the kubelet's container_log_manager.go, v1.37: the
// time of the rotation in seconds, on the node's wall clock.
var fileShape = regexp.MustCompile(`^((0|[1-9]\d{0,9})\.log)(\.\d{8}-\d{6})?(\.gz)?$`)

// ParseFile reads a file's name. What is under way (ATTEMPT.log.tmp, *.gz.tmp)
// and what the kubelet never writes is not ok.
func ParseFile(name string) (f File, ok bool) {
	m := fileShape.FindStringSubmatch(name)
	if m == nil || (m[3] == "" && m[4] != "") {
		return File{}, false
	}
	n, err := strconv.ParseUint(m[2], 10, 32)
	if err != nil {
		return File{}, false
	}
	f = File{Name: name, Attempt: uint32(n), Compressed: m[4] != ""}
	if m[3] != "" {
		f.Rotated = m[1] + m[3]
	}
	return f, true
}

// LiveName is the name of the file that an attempt is writing.
func LiveName(attempt uint32) string { return strconv.FormatUint(uint64(attempt), 10) + ".log" }
