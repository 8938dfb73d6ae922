package node

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// Freeze stops all processes of a container by its control group: not even
// SIGKILL reaches them until Thaw.
func (b *Box) Freeze(ctx context.Context, containerID string) error {
	return b.setFrozen(ctx, containerID, true)
}

// Thaw undoes Freeze.
func (b *Box) Thaw(ctx context.Context, containerID string) error {
	return b.setFrozen(ctx, containerID, false)
}

func (b *Box) setFrozen(ctx context.Context, containerID string, frozen bool) error {
	container, err := b.Inspect(ctx, Container{ID: containerID})
	if err != nil {
		return err
	}
	groups, _, err := b.Exec(ctx, "cat", fmt.Sprintf("/proc/%d/cgroup", container.PID))
	if err != nil {
		return err
	}
	path, value := freezer(groups, frozen)
	if path == "" {
		return fmt.Errorf("container %s of box %s is in no control group that can freeze", containerID, b.Name)
	}
	_, _, err = b.Exec(ctx, "sh", "-c", `echo "$0" > "$1"`, value, path)
	return err
}

// freezer finds the file to write and what to write from the text of
// /proc/PID/cgroup: the freezer controller of version 1 if there is one, else
// version 2's own.
func freezer(groups string, frozen bool) (path, value string) {
	for line := range strings.SplitSeq(strings.TrimSpace(groups), "\n") {
		fields := strings.SplitN(line, ":", 3)
		if len(fields) != 3 {
			continue
		}
		if fields[1] == "freezer" {
			value = "THAWED"
			if frozen {
				value = "FROZEN"
			}
			return filepath.Join("/sys/fs/cgroup/freezer", fields[2], "freezer.state"), value
		}
		if fields[0] == "0" && fields[2] != "/" {
			value = "0"
			if frozen {
				value = "1"
			}
			path = filepath.Join("/sys/fs/cgroup", fields[2], "cgroup.freeze")
		}
	}
	return path, value
}
