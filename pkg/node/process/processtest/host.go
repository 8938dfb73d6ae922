package processtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node/process"
)

// Host is a made-up host: v2 cgroups unless it is made by NewV1. One goroutine
// at a time may change it.
type Host struct {
	process.Host
	tb testing.TB
	v1 bool
}

// Process is one process of the host.
type Process struct {
	PID  int
	Comm string
	// State is the state letter, "S" if empty.
	State string
	// Parent is its parent's PID, 1 if it is 0.
	Parent int
	// Started is on the boot clock, 10 ms at least.
	Started time.Duration
	// Cgroup is the path of its cgroup, such as "/kubepods/pod1/crio-ID".
	Cgroup string
	// Argv is the command line.
	Argv []string
}

// New returns a host with cgroup v2 and nothing on it.
func New(tb testing.TB) *Host {
	h := newHost(tb)
	h.write(filepath.Join(h.Cgroup, "cgroup.controllers"), "cpu memory pids\n")
	return h
}

// NewV1 returns a host with cgroup v1: the hierarchies freezer, pids and
// systemd, all with the same paths.
func NewV1(tb testing.TB) *Host {
	h := newHost(tb)
	h.v1 = true
	for _, name := range v1Names {
		h.write(filepath.Join(h.Cgroup, name, "cgroup.procs"), "")
	}
	return h
}

var v1Names = []string{"freezer", "pids", "systemd"}

func newHost(tb testing.TB) *Host {
	root := tb.TempDir()
	h := &Host{tb: tb, Host: process.Host{Proc: filepath.Join(root, "proc"), Cgroup: filepath.Join(root, "cgroup")}}
	for _, dir := range []string{h.Proc, h.Cgroup} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	return h
}

// Add puts a process there, or replaces it. Its cgroup is made too, if it is
// not there, and holds it.
func (h *Host) Add(p Process) {
	h.tb.Helper()
	if p.State == "" {
		p.State = "S"
	}
	dir := filepath.Join(h.Proc, strconv.Itoa(p.PID))
	h.write(filepath.Join(dir, "stat"), fmt.Sprintf(
		"%d (%s) %s %d 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 %d 1000 10 18446744073709551615\n",
		p.PID, p.Comm, p.State, max(1, p.Parent), p.Started/(10*time.Millisecond)))
	h.write(filepath.Join(dir, "comm"), p.Comm[:min(15, len(p.Comm))]+"\n")
	argv := ""
	if len(p.Argv) > 0 {
		argv = strings.Join(p.Argv, "\x00") + "\x00"
	}
	h.write(filepath.Join(dir, "cmdline"), argv)
	if p.Cgroup == "" {
		p.Cgroup = "/"
	}
	membership := "0::" + p.Cgroup + "\n"
	if h.v1 {
		membership = fmt.Sprintf("8:pids:%[1]s\n6:freezer:%[1]s\n1:name=systemd:%[1]s\n0::/\n", p.Cgroup)
	}
	h.write(filepath.Join(dir, "cgroup"), membership)
	if p.Cgroup != "/" {
		h.SetCgroup(p.Cgroup, p.PID)
	}
}

// Remove takes a process away. Its cgroup stays as it is.
func (h *Host) Remove(pid int) {
	if err := os.RemoveAll(filepath.Join(h.Proc, strconv.Itoa(pid))); err != nil {
		h.tb.Fatal(err)
	}
}

// SetCgroup makes a cgroup that holds these processes and is not frozen.
func (h *Host) SetCgroup(path string, pids ...int) {
	h.tb.Helper()
	if !h.v1 {
		populated := min(len(pids), 1)
		h.write(filepath.Join(h.Cgroup, path, "cgroup.events"), fmt.Sprintf("populated %d\nfrozen 0\n", populated))
		h.write(filepath.Join(h.Cgroup, path, "cgroup.freeze"), "0\n")
		return
	}
	var procs strings.Builder
	for _, pid := range pids {
		fmt.Fprintln(&procs, pid)
	}
	for _, name := range v1Names {
		h.write(filepath.Join(h.Cgroup, name, path, "cgroup.procs"), procs.String())
	}
	h.write(filepath.Join(h.Cgroup, "freezer", path, "freezer.state"), "THAWED\n")
}

// Freeze freezes a cgroup, as far as its own files tell.
func (h *Host) Freeze(path string) {
	h.tb.Helper()
	if h.v1 {
		h.write(filepath.Join(h.Cgroup, "freezer", path, "freezer.state"), "FROZEN\n")
		return
	}
	h.write(filepath.Join(h.Cgroup, path, "cgroup.freeze"), "1\n")
}

// RemoveCgroup takes a cgroup away, with all below it.
func (h *Host) RemoveCgroup(path string) {
	dirs := []string{""}
	if h.v1 {
		dirs = v1Names
	}
	for _, name := range dirs {
		if err := os.RemoveAll(filepath.Join(h.Cgroup, name, path)); err != nil {
			h.tb.Fatal(err)
		}
	}
}

func (h *Host) write(name, text string) {
	h.tb.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		h.tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		h.tb.Fatal(err)
	}
}
