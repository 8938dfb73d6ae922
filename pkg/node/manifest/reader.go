package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// maxSize is the kubelet's own bound: it refuses a file of 10 MiB or more.
// Mirrors kubelet pkg/kubelet/config/common.go maxConfigLength, v1.37.
const maxSize = 10 << 20

// Reader reads a manifest directory and remembers what it has parsed, so that
// a file that did not change costs one stat. One goroutine at a time may use
// it. The pods that it returns are shared between reads: they are never
// written to again, and the caller must not do so either.
type Reader struct {
	now      func() time.Time
	nodeName string
	// known holds what the last read found, by path, and nothing else.
	known map[string]known
}

var _ node.Manifests = (*Reader)(nil)

// known is what one file was found to be. Either problem is set or manifest.
type known struct {
	identity regularfile.Identity
	// settled is set when the identity alone proves the content.
	settled  bool
	manifest node.Manifest
	problem  *node.ManifestProblem
}

// NewReader returns a Reader that knows nothing yet.
func NewReader() *Reader { return &Reader{now: time.Now} }

// Read reads a manifest directory, or a single manifest, for a node of the
// given name. It does not wait for anything but the file system.
func (r *Reader) Read(dir, nodeName string) node.Intent {
	intent := node.Intent{Dir: dir}
	if nodeName == "" {
		intent.Err = errors.New("the node's name is not known, and with it no static pod's name: set kubelet.nodeName")
		return intent
	}
	paths, err := list(dir)
	if err != nil {
		intent.Err = err
		return intent
	}
	if nodeName != r.nodeName {
		r.nodeName, r.known = nodeName, nil
	}
	found := make(map[string]known, len(paths))
	for _, path := range paths {
		file, ok := r.file(path)
		switch {
		case !ok && path == strings.TrimRight(dir, "/"):
			// Not one of many files, but the only one: nothing is known then.
			intent.Err = fmt.Errorf("%s went away while it was read", path)
		case !ok:
		case file.problem != nil:
			found[path] = file
			intent.Problems = append(intent.Problems, *file.problem)
		default:
			found[path] = file
			intent.Pods = append(intent.Pods, file.manifest)
		}
	}
	r.known = found
	hideDuplicates(&intent)
	return intent
}

// file finds out what one path is now. It returns false for what is not there
// (any more) and for a directory.
func (r *Reader) file(path string) (known, bool) {
	before := r.known[path]
	identity, err := regularfile.Stat(path)
	if err == nil && before.settled && identity == before.identity {
		return before, true
	}
	var file regularfile.File
	if err == nil {
		file, err = regularfile.Read(path, maxSize)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && !isLink(path):
		return known{}, false
	case errors.Is(err, regularfile.ErrNotRegular) && isDir(path):
		return known{}, false
	case err != nil:
		// Not remembered: the next read may succeed with the file unchanged.
		return known{problem: unreadable(path, err)}, true
	}
	return r.parsed(path, file, before), true
}

// parsed turns a file's bytes into a manifest or a problem, unless they are
// the bytes that were parsed before.
func (r *Reader) parsed(path string, file regularfile.File, before known) known {
	sum := sha256.Sum256(file.Data)
	now := known{
		identity: file.Identity,
		settled:  file.Stable && file.Identity.Settled(r.now()),
	}
	now.manifest = node.Manifest{
		Path:     path,
		Digest:   hex.EncodeToString(sum[:]),
		Modified: file.Identity.ModTime(),
	}
	if before.manifest.Digest == now.manifest.Digest {
		now.manifest.Name, now.manifest.Pod = before.manifest.Name, before.manifest.Pod
		now.problem = before.problem
		return now
	}
	name, pod, err := parse(file.Data, r.nodeName)
	if err != nil {
		now.problem = unparsable(path, name, err)
		return now
	}
	now.manifest.Name, now.manifest.Pod = name, pod
	return now
}
