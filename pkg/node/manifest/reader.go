package manifest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	kubelet  kubelet
	// known holds what the last read found, by path, and nothing else.
	known map[string]known
}

var (
	_ node.Manifests     = (*Reader)(nil)
	_ node.ManifestRules = (*Reader)(nil)
)

// known is what one file was found to be.
type known struct {
	identity regularfile.Identity
	// settled is set when the identity alone proves the content.
	settled bool
	// manifest has a Pod if the kubelet takes one up from the file.
	manifest node.Manifest
	problem  *node.ManifestProblem
}

// NewReader returns a Reader that knows nothing yet.
func NewReader() *Reader { return &Reader{now: time.Now} }

// For sets the version of the kubelet whose rules hold, such as "1.33.13". With
// one that is unknown (empty, or not of 1.30 to 1.37), only what all kubelets of
// those versions refuse is a problem; what some refuse is in Manifest.Doubt.
func (r *Reader) For(version string) {
	if minor := minorOf(version); minor != r.kubelet.minor {
		r.kubelet.minor = minor
		r.forget()
	}
}

// Gates sets the feature gates that the kubelet is started with: those that are
// set explicitly, by name, and whether that is all of them. Without a call, what
// a gate decides on is not claimed: it is in Manifest.Doubt.
func (r *Reader) Gates(set map[string]bool, all bool) {
	if all != r.kubelet.gated || !maps.Equal(set, r.kubelet.gates) {
		r.kubelet.gated, r.kubelet.gates = all, maps.Clone(set)
		r.forget()
	}
}

// forget leaves of each file which pod was in it.
func (r *Reader) forget() {
	for path, file := range r.known {
		r.known[path] = known{manifest: node.Manifest{Path: path, Name: file.manifest.Name}}
	}
}

// Read reads a manifest directory, or a single manifest, for a node of the
// given name. It does not wait for anything but the file system.
func (r *Reader) Read(dir, nodeName string) node.Intent {
	intent := node.Intent{Dir: dir, NodeName: nodeName}
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
	byPath := make(map[string]known, len(paths))
	files := make([]known, 0, len(paths))
	for _, path := range paths {
		file, ok := r.file(path)
		switch {
		case ok:
			byPath[path] = file
			files = append(files, file)
		case path == strings.TrimRight(dir, "/"):
			// Not one of many files, but the only one: nothing is known then.
			intent.Err = fmt.Errorf("%s went away while it was read", path)
		}
	}
	r.known = byPath
	settle(&intent, files)
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
		// Only the name is remembered: the next read may succeed with the file
		// unchanged.
		m := node.Manifest{Path: path, Name: before.manifest.Name}
		return known{manifest: m, problem: unreadable(path, err).problem(path, m.Name)}, true
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
		manifest: before.manifest,
		problem:  before.problem,
	}
	if digest := hex.EncodeToString(sum[:]); digest != before.manifest.Digest {
		now.manifest, now.problem = node.Manifest{Path: path, Digest: digest}, nil
		fault := parse(file.Data, r.nodeName, r.kubelet, &now.manifest)
		// A file that cannot be read so far is still taken for the pod's.
		now.manifest.Name = cmp.Or(now.manifest.Name, before.manifest.Name)
		if fault != nil {
			now.problem = fault.problem(path, now.manifest.Name)
		}
	}
	now.manifest.Modified = file.Identity.ModTime()
	return now
}
