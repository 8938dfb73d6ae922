package host

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const cgroupRoot = "/sys/fs/cgroup"

// CgroupPlan is what has to be done for a box on this machine's control
// groups: on version 1 and hybrid machines each hierarchy gets a folder for
// the box and the missing controllers are mounted (runc asks for all that the
// kernel has); on version 2 there is one tree and nothing to mount.
type CgroupPlan struct {
	// Unified is true for version 2 alone.
	Unified bool
	// Hierarchies are the folders in which the box gets one of its own.
	Hierarchies []string
	// Missing maps the folder to mount at to the mount options.
	Missing map[string]string
}

// PlanCgroups looks at this machine. Only mounts seen by the calling thread
// count: call it from InPrivateMounts.
func PlanCgroups() (CgroupPlan, error) {
	mounts, err := os.ReadFile("/proc/thread-self/mounts")
	if err != nil {
		return CgroupPlan{}, fmt.Errorf("read mounts: %w", err)
	}
	controllers, err := os.ReadFile("/proc/cgroups")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return CgroupPlan{}, fmt.Errorf("read control groups: %w", err)
	}
	return planCgroups(string(mounts), string(controllers)), nil
}

// planCgroups decides from the text of /proc/mounts and /proc/cgroups.
func planCgroups(mounts, controllers string) CgroupPlan {
	plan := CgroupPlan{Missing: map[string]string{}}
	mounted := map[string]bool{}
	lines := bufio.NewScanner(strings.NewReader(mounts))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[1] != cgroupRoot && !strings.HasPrefix(fields[1], cgroupRoot+"/") {
			continue
		}
		switch {
		case fields[2] == "cgroup2" && fields[1] == cgroupRoot:
			return CgroupPlan{Unified: true, Hierarchies: []string{cgroupRoot}, Missing: map[string]string{}}
		case fields[2] == "cgroup" || fields[2] == "cgroup2":
			plan.Hierarchies = append(plan.Hierarchies, fields[1])
			for _, option := range strings.Split(fields[3], ",") {
				mounted[option] = true
			}
		}
	}
	lines = bufio.NewScanner(strings.NewReader(controllers))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || strings.HasPrefix(fields[0], "#") || fields[3] != "1" || mounted[fields[0]] {
			continue
		}
		plan.Missing[filepath.Join(cgroupRoot, fields[0])] = fields[0]
	}
	if !mounted["name=systemd"] {
		plan.Missing[filepath.Join(cgroupRoot, "systemd")] = "none,name=systemd"
	}
	return plan
}

// Mount mounts the missing controllers, for the calling thread's mount
// namespace only, and adds them to the hierarchies.
func (p *CgroupPlan) Mount() error {
	if len(p.Missing) == 0 {
		return nil
	}
	// The folders to mount at must not stay behind either: put them in a
	// layer that only this namespace sees.
	if err := shadowCgroupRoot(p.Hierarchies); err != nil {
		return err
	}
	for target, options := range p.Missing {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return fmt.Errorf("mount control groups: %w", err)
		}
		if err := syscall.Mount("cgroup", target, "cgroup", 0, options); err != nil {
			return fmt.Errorf("mount control groups %s: %w", options, err)
		}
		p.Hierarchies = append(p.Hierarchies, target)
	}
	p.Missing = map[string]string{}
	return nil
}

// shadowCgroupRoot covers /sys/fs/cgroup by a new tmpfs with the mounted
// hierarchies moved into it.
func shadowCgroupRoot(hierarchies []string) error {
	const staging = "/dev/shm"
	if err := syscall.Mount("tmpfs", staging, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("cover the control groups: %w", err)
	}
	for _, hierarchy := range hierarchies {
		target := filepath.Join(staging, filepath.Base(hierarchy))
		if err := os.Mkdir(target, 0o755); err != nil {
			return fmt.Errorf("cover the control groups: %w", err)
		}
		if err := syscall.Mount(hierarchy, target, "", syscall.MS_MOVE, ""); err != nil {
			return fmt.Errorf("move the control groups %s: %w", hierarchy, err)
		}
	}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if link, err := os.Readlink(filepath.Join(cgroupRoot, entry.Name())); err == nil {
			if err := os.Symlink(link, filepath.Join(staging, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := syscall.Mount(staging, cgroupRoot, "", syscall.MS_MOVE, ""); err != nil {
		return fmt.Errorf("cover the control groups: %w", err)
	}
	return nil
}

// Create makes the box's group in each hierarchy.
func (p *CgroupPlan) Create(name string) error {
	for _, hierarchy := range p.Hierarchies {
		group := filepath.Join(hierarchy, name)
		if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("make control group %s: %w", group, err)
		}
		// A new cpuset is empty and takes no process before it has both.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(hierarchy, file))
			if err != nil || p.Unified {
				continue
			}
			if err := os.WriteFile(filepath.Join(group, file), value, 0o644); err != nil {
				return fmt.Errorf("fill control group %s: %w", group, err)
			}
		}
	}
	return nil
}

// Procs lists the files that a process writes itself to in order to enter the
// box's groups.
func (p *CgroupPlan) Procs(name string) []string {
	var files []string
	for _, hierarchy := range p.Hierarchies {
		files = append(files, filepath.Join(hierarchy, name, "cgroup.procs"))
	}
	return files
}

// Remove kills all processes in the box's groups, and takes the groups away
// with all below them; it waits up to 10 s for processes that are still dying.
// The box's PID 1 outlives systemd-nspawn, so this is what ends a box for sure.
func (p *CgroupPlan) Remove(name string) error {
	deadline := time.Now().Add(10 * time.Second)
	var failures []error
	for _, hierarchy := range p.Hierarchies {
		killGroups(filepath.Join(hierarchy, name))
	}
	for _, hierarchy := range p.Hierarchies {
		group := filepath.Join(hierarchy, name)
		err := removeGroups(group)
		for errors.Is(err, syscall.EBUSY) && time.Now().Before(deadline) {
			time.Sleep(20 * time.Millisecond)
			err = removeGroups(group)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// killGroups kills what is in a group and below it. A process in a frozen
// group cannot die, so it is thawed.
func killGroups(group string) {
	_ = filepath.WalkDir(group, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		switch entry.Name() {
		case "freezer.state":
			_ = os.WriteFile(path, []byte("THAWED"), 0)
		case "cgroup.freeze":
			_ = os.WriteFile(path, []byte("0"), 0)
		case "cgroup.procs":
			text, _ := os.ReadFile(path)
			for _, word := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(word); err == nil && pid > 1 {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}
		return nil
	})
}

func removeGroups(group string) error {
	entries, err := os.ReadDir(group)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeGroups(filepath.Join(group, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := syscall.Rmdir(group); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove control group %s: %w", group, err)
	}
	return nil
}
