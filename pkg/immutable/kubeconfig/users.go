package kubeconfig

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Users are the processes named kubelet that were started with a kubeconfig,
// by their command lines under proc. Of several flags the last counts.
func Users(proc, path string) []int {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join(proc, entry.Name(), "cmdline"))
		if err != nil {
			continue // it has ended
		}
		if uses(line, path) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func uses(line []byte, path string) bool {
	var used string
	args := strings.Split(string(bytes.TrimSuffix(line, []byte{0})), "\x00")
	if filepath.Base(args[0]) != "kubelet" {
		return false
	}
	for i, arg := range args[1:] {
		flag, value, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case !strings.HasPrefix(arg, "-") || flag != "kubeconfig":
		case inline:
			used = value
		case i+2 < len(args):
			used = args[i+2]
		}
	}
	return used == path
}
