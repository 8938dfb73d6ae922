package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Names below the record root.
const (
	DefaultRoot   = "/var/log/nodekeeper"
	LiveDir       = ".live"
	QuarantineDir = ".quarantine"
	IndexFile     = "index.json"
	MetaFile      = "meta.json"
	BirthFile     = "birth.json"
	CaptureFile   = "capture.json"
)

// longName is where a name is cut and told apart by a hash instead: most file
// systems take 255 bytes, and a namespace with a pod name may have 317.
const longName = 200

// ID names a record. Times are in UTC, so that IDs sort by start.
func ID(start time.Time, podUID string, attempt uint32) string {
	return start.UTC().Format("20060102T150405Z") + "-" + short(podUID) + "-" + strconv.FormatUint(uint64(attempt), 10)
}

var idShape = regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-z]{1,8}-\d{1,10}(-\d{1,3})?$`)

// IsID tells whether a directory name can be a record's: an ID, or an ID with
// a number behind it where two would have been the same.
func IsID(name string) bool { return idShape.MatchString(name) }

// PodDir is a pod's directory: NAMESPACE_POD. A namespace has no underscore,
// so names are never ambiguous, nor do they begin with a dot.
func PodDir(namespace, pod string) string { return fit(namespace + "_" + pod) }

// ContainerDir is a container's directory.
func ContainerDir(namespace, pod, container string) string {
	return path.Join(PodDir(namespace, pod), fit(container))
}

// LivePath is the directory of a live attempt.
func LivePath(containerID string) string { return path.Join(LiveDir, containerID) }

var containerIDShape = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_.-]{0,127}$`)

// IsContainerID tells whether a runtime's container ID can be a directory name.
func IsContainerID(id string) bool { return containerIDShape.MatchString(id) }

// SegmentName is log.N or log.N.gz.
func SegmentName(n int, compressed bool) string {
	if compressed {
		return fmt.Sprintf("log.%d.gz", n)
	}
	return fmt.Sprintf("log.%d", n)
}

var segmentShape = regexp.MustCompile(`^log\.(0|[1-9]\d{0,8})(\.gz)?$`)

// ParseSegment is the reverse of SegmentName.
func ParseSegment(name string) (n int, compressed, ok bool) {
	m := segmentShape.FindStringSubmatch(name)
	if m == nil {
		return 0, false, false
	}
	n, err := strconv.Atoi(m[1])
	return n, m[2] != "", err == nil
}

func short(uid string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(uid) {
		if b.Len() == 8 {
			break
		}
		if (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z') {
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return "0"
	}
	return b.String()
}

// fit makes a file name of text that came from a manifest or a hook's state.
func fit(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '_':
			return r
		}
		return '~'
	}, name)
	if clean == name && len(name) <= longName && name != "" && name[0] != '.' && name != IndexFile {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	clean = "x" + strings.TrimLeft(clean, ".")
	return clean[:min(len(clean), longName)] + "~" + hex.EncodeToString(sum[:4])
}
