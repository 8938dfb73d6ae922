package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// presence says what a cgroup holds.
type presence int

const (
	unknownPresence presence = iota
	populated
	// empty: no living process in it or below, or it is gone.
	empty
)

// maxCgroupDepth and maxCgroupDirs bound walks below one container's cgroup.
const (
	maxCgroupDepth = 16
	maxCgroupDirs  = 20000
)

// presence tells whether any living process is in the cgroup or below it.
func (h Host) presence(c cgroup) presence {
	if !exists(c.mount) {
		return unknownPresence
	}
	if c.v2 {
		return presenceV2(c)
	}
	left := maxCgroupDirs
	return h.presenceV1(c.path(), maxCgroupDepth, &left)
}

// presenceV2 reads the kernel's own answer. It does not count zombies.
func presenceV2(c cgroup) presence {
	events, err := os.ReadFile(filepath.Join(c.path(), "cgroup.events"))
	if removed(err) {
		return empty
	}
	if err != nil {
		return unknownPresence
	}
	switch value(string(events), "populated") {
	case "0":
		return empty
	case "1":
		return populated
	}
	return unknownPresence
}

// presenceV1 has to look at the members, here and below.
func (h Host) presenceV1(dir string, depth int, left *int) presence {
	if *left--; *left < 0 || depth == 0 {
		return unknownPresence
	}
	members, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if removed(err) {
		return empty
	}
	if err != nil {
		return unknownPresence
	}
	found := empty
	for pid := range strings.FieldsSeq(string(members)) {
		switch h.memberOf(pid) {
		case populated:
			return populated
		case unknownPresence:
			found = unknownPresence
		}
	}
	children, err := os.ReadDir(dir)
	if err != nil && !removed(err) {
		return unknownPresence
	}
	for _, child := range children {
		if !child.IsDir() {
			continue
		}
		switch h.presenceV1(filepath.Join(dir, child.Name()), depth-1, left) {
		case populated:
			return populated
		case unknownPresence:
			found = unknownPresence
		}
	}
	return found
}

// memberOf judges one line of cgroup.procs. Old kernels list zombies there,
// which hold nothing. A PID 0 is a process of another PID namespace.
func (h Host) memberOf(member string) presence {
	pid, err := strconv.Atoi(member)
	if err != nil {
		return unknownPresence
	}
	if pid == 0 {
		return populated
	}
	stat, err := h.Stat(pid)
	switch {
	case errors.Is(err, ErrGone):
		return empty
	case err != nil:
		return unknownPresence
	case stat.Dead():
		return empty
	}
	return populated
}

// frozen tells whether somebody has frozen the cgroup or one above it.
func frozen(c cgroup) bool {
	if c.v2 {
		// cgroup.freeze is the wish for this cgroup alone; events tell the
		// state, also of a freeze from above, once all have stopped.
		return read(c, "cgroup.freeze") == "1" || value(read(c, "cgroup.events"), "frozen") == "1"
	}
	if filepath.Base(c.mount) != "freezer" {
		return false
	}
	state := read(c, "freezer.state")
	return state == "FROZEN" || state == "FREEZING" || read(c, "freezer.self_freezing") == "1"
}

func read(c cgroup, file string) string {
	text, err := os.ReadFile(filepath.Join(c.path(), file))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// value finds "key value" in a flat keyed file.
func value(text, key string) string {
	for line := range strings.Lines(text) {
		if name, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == key {
			return v
		}
	}
	return ""
}

// removed tells that a cgroup is not there, or was removed while it was read.
func removed(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV)
}
