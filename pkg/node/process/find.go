package process

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// containerIDLength is the length of a container ID of CRI-O and containerd:
// 32 bytes in hexadecimal.
const containerIDLength = 64

// index maps container IDs to the cgroups that are named after them.
type index struct {
	dirs map[string]cgroup
	// complete is false if the tree could not be read to its end: an ID that
	// is not in dirs may then have a cgroup all the same.
	complete bool
}

// index walks the cgroup tree once, at most maxCgroupDirs directories. It does
// not go below a container's cgroup.
func (h Host) index(monitor string) index {
	found := index{dirs: map[string]cgroup{}}
	root, ok := h.hierarchy()
	if !ok {
		return found
	}
	found.complete = true
	left := maxCgroupDirs
	found.walk(root, "/", maxCgroupDepth, &left, monitor)
	return found
}

func (x *index) walk(root cgroup, dir string, depth int, left *int, monitor string) {
	if *left--; *left < 0 || depth == 0 {
		x.complete = false
		return
	}
	children, err := os.ReadDir(filepath.Join(root.mount, dir))
	if err != nil {
		if !removed(err) {
			x.complete = false
		}
		return
	}
	for _, child := range children {
		if !child.IsDir() {
			continue
		}
		below := path.Join(dir, child.Name())
		if id := containerID(child.Name()); namesContainer(child.Name(), id, monitor) {
			x.dirs[id] = cgroup{mount: root.mount, dir: below, v2: root.v2}
			continue
		}
		x.walk(root, below, depth-1, left, monitor)
	}
}

// containerID returns the container ID in a cgroup's name, or nothing.
func containerID(name string) string {
	name = strings.TrimSuffix(name, ".scope")
	if len(name) < containerIDLength {
		return ""
	}
	id := name[len(name)-containerIDLength:]
	if !isContainerID(id) {
		return ""
	}
	return id
}

func isContainerID(s string) bool {
	if len(s) != containerIDLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
