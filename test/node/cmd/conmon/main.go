// Command conmon stands where CRI-O expects the monitor of containers. With the
// cgroupfs driver of version 1 CRI-O moves a monitor into its pod's control
// group in each controller's hierarchy, and leaves it in its own unit in those
// of systemd, which then ends all monitors along with CRI-O. On a node with the
// systemd driver it does not. So this program enters the pod's group there too,
// and becomes the real monitor.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	real       = "/usr/bin/conmon"
	cgroupRoot = "/sys/fs/cgroup"
)

func main() {
	if err := enterPod(cgroupRoot, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "enter the pod's control group:", err)
	}
	err := syscall.Exec(real, append([]string{real}, os.Args[1:]...), os.Environ())
	fmt.Fprintln(os.Stderr, "run conmon:", err)
	os.Exit(1)
}

// enterPod does nothing for a call that is about no container.
func enterPod(root string, args []string) error {
	bundle, container := value(args, "-b"), value(args, "-c")
	if bundle == "" || container == "" {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil {
		return err
	}
	var config struct {
		Linux struct {
			CgroupsPath string `json:"cgroupsPath"`
		} `json:"linux"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return err
	}
	parent := filepath.Dir(config.Linux.CgroupsPath)
	// A path of the systemd driver is no path: slice:prefix:name.
	if !filepath.IsAbs(parent) {
		return nil
	}
	for _, hierarchy := range []string{"systemd", "unified"} {
		if _, err := os.Stat(filepath.Join(root, hierarchy, "cgroup.procs")); err != nil {
			continue
		}
		// The name that CRI-O has for it in the other hierarchies.
		group := filepath.Join(root, hierarchy, parent, "crio-conmon-"+container)
		if err := os.MkdirAll(group, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return err
		}
	}
	return nil
}

// value is the word after an option.
func value(args []string, option string) string {
	for i, word := range args {
		if word == option && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}
