//go:build world

package world

import (
	"hash/fnv"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// manifests is where the kubelet's static pods are written down.
const manifests = "/etc/kubernetes/manifests"

// disk is the manifest directory.
type disk struct {
	w     *World
	files map[string]*file
	// changed wakes the kubelet's watch.
	changed cond
	version int
	// unreadable is set while the directory cannot be listed by us.
	unreadable bool
	// cached is the Intent for a version and a node name.
	cached     node.Intent
	cachedAt   int
	cachedName string
}

// file is one manifest.
type file struct {
	path     string
	pod      *Pod
	modified time.Time
	// changed is when its content last changed in place; 0 for not in this boot.
	changed time.Duration
	// broken is why nobody can parse it; empty if it is in order.
	broken string
	object *objectOf
}

type objectOf struct {
	nodeName string
	manifest node.Manifest
}

func (d *disk) touch() {
	d.version++
	d.changed.broadcast(&d.w.sim)
}

// write puts a manifest in its place, by rename.
func (d *disk) write(p *Pod, modified time.Time) {
	path := manifests + "/" + p.Name + ".yaml"
	f := &file{path: path, pod: p, modified: modified}
	if old := d.files[path]; old != nil {
		f.changed = old.changed
		if old.pod.content() != p.content() {
			f.changed = d.w.sim.now
		}
	}
	d.files[path] = f
	d.touch()
}

// move takes a manifest out of the directory and returns it.
func (d *disk) move(name string) *file {
	path := manifests + "/" + name + ".yaml"
	f := d.files[path]
	if f != nil {
		delete(d.files, path)
		d.touch()
	}
	return f
}

// back puts a file back as it was: its modification time is the old one.
func (d *disk) back(f *file) {
	if f != nil {
		d.files[f.path] = f
		d.touch()
	}
}

func (d *disk) find(name string) *file { return d.files[manifests+"/"+name+".yaml"] }

// sorted is the order in which the kubelet reads (kubelet config/file.go
// extractFromDir). A leading dot hides a file.
func (d *disk) sorted() []*file {
	out := make([]*file, 0, len(d.files))
	for _, f := range d.files {
		if !strings.HasPrefix(f.path, manifests+"/.") {
			out = append(out, f)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].path < out[j].path })
	return out
}

// uid is metadata.uid, or the hash of content, path and node name (kubelet
// config/common.go applyDefaults).
func (f *file) uid(nodeName string) string {
	if f.pod.UID != "" {
		return f.pod.UID
	}
	return digest("uid", nodeName, f.path, f.pod.content())
}

func digest(of ...string) string {
	h := fnv.New64a()
	for _, s := range of {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// intent is what a program sees that reads the directory as the kubelet would.
func (d *disk) intent(nodeName string) node.Intent {
	if d.cachedAt == d.version && d.cachedName == nodeName {
		return d.cached
	}
	in := node.Intent{Dir: manifests, NodeName: nodeName}
	for _, f := range d.sorted() {
		name := f.pod.fullName(nodeName)
		switch {
		case f.broken != "":
			in.Problems = append(in.Problems, node.ManifestProblem{Path: f.path, Pod: name, Kind: node.ProblemUnparsable, Message: f.broken})
			continue
		case f.pod.Refused != "" && !f.pod.Unseen:
			in.Problems = append(in.Problems, node.ManifestProblem{Path: f.path, Pod: name, Kind: node.ProblemRefused, Message: f.pod.Refused})
			continue
		}
		in.Pods = append(in.Pods, f.manifest(nodeName))
	}
	d.cached, d.cachedAt, d.cachedName = in, d.version, nodeName
	return in
}

func (f *file) manifest(nodeName string) node.Manifest {
	if f.object == nil || f.object.nodeName != nodeName {
		f.object = &objectOf{nodeName, node.Manifest{
			Name: f.pod.fullName(nodeName), Path: f.path,
			Content:  digest("content", f.pod.content()),
			Digest:   digest("bytes", f.pod.content(), strconv.Itoa(f.pod.Comment)),
			Modified: f.modified, Pod: f.pod.object(nodeName),
		}}
	}
	return f.object.manifest
}
