package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"syscall"

	"github.com/nodekeeper/nodekeeper/test/node/host"
)

// supervise prints the process ID of systemd-nspawn each time the box boots.
func supervise(dir string) error {
	var spec host.Spec
	data, err := os.ReadFile(filepath.Join(dir, "spec.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &spec); err != nil {
		return fmt.Errorf("read the box's specification: %w", err)
	}
	record, err := host.ReadRecord(dir)
	if err != nil {
		return err
	}
	record.Supervisor = host.Self()
	if err := host.WriteRecord(dir, record); err != nil {
		return err
	}
	boxErr := host.InPrivateMounts(func() error { return boot(spec, record.Cgroup) })
	// The namespace is gone with its last process; what lies on the disk and
	// in the control groups is left to remove, unless the owner still wants to
	// read it and removes it itself.
	var removeErr error
	if !record.Owner.Alive() {
		removeErr = host.RemoveBox(dir)
	}
	return errors.Join(boxErr, removeErr)
}

// rebootStatus is systemd-nspawn's exit status when the box asks for a reboot
// and nspawn may not do it by itself (--keep-unit).
const rebootStatus = 133

// boot runs on the thread with the private mount namespace until the box is
// down for good.
func boot(spec host.Spec, group string) error {
	// nspawn leaves folders in /run.
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("cover /run: %w", err)
	}
	plan, err := host.PlanCgroups()
	if err != nil {
		return err
	}
	if err := plan.Mount(); err != nil {
		return err
	}
	root := filepath.Join(spec.Dir, "root")
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", spec.Template, filepath.Join(spec.Dir, "upper"), filepath.Join(spec.Dir, "work"))
	if err := syscall.Mount("overlay", root, "overlay", 0, options); err != nil {
		return fmt.Errorf("mount the box's root: %w", err)
	}
	stopped := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(stopped)
	}()
	for {
		if err := plan.Create(group); err != nil {
			return err
		}
		status, runErr := runNspawn(spec, root, plan.Procs(group), stopped)
		// The box's PID 1 may outlive nspawn.
		if err := plan.Remove(group); err != nil {
			return err
		}
		select {
		case <-stopped:
			return nil
		default:
		}
		if runErr != nil || status != rebootStatus {
			return runErr
		}
	}
}

// runNspawn prints nspawn's process ID and returns its exit status. It is
// killed when stopped is closed.
func runNspawn(spec host.Spec, root string, groups []string, stopped <-chan struct{}) (int, error) {
	nspawn, err := exec.LookPath("systemd-nspawn")
	if err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	args := append([]string{"enter"}, groups...)
	args = append(args, "--", nspawn)
	command := exec.Command(self, append(args, nspawnArgs(spec, root)...)...)
	// Without the first, runc cannot join a session keyring.
	command.Env = append(os.Environ(), "SYSTEMD_SECCOMP=0", "SYSTEMD_NSPAWN_API_VFS_WRITABLE=yes")
	command.Stderr = os.Stderr
	command.Stdout = os.Stderr
	// The parent is this thread, which lives as long as the supervisor.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if err := command.Start(); err != nil {
		return 0, fmt.Errorf("start systemd-nspawn: %w", err)
	}
	fmt.Println(command.Process.Pid)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-stopped:
			_ = command.Process.Kill()
		case <-ended:
		}
	}()
	err = command.Wait()
	status := command.ProcessState.ExitCode()
	if err != nil && status != rebootStatus {
		return status, fmt.Errorf("systemd-nspawn: %w", err)
	}
	return status, nil
}

func nspawnArgs(spec host.Spec, root string) []string {
	args := []string{
		"--directory=" + root, "--machine=" + filepath.Base(spec.Dir), "--boot", "--register=no", "--keep-unit", "--private-users=no",
		"--capability=all", "--private-network", "--link-journal=no", "--resolv-conf=off", "--timezone=off",
		"--console=pipe", "--hostname=" + spec.Hostname, "--bind=/dev/kmsg",
	}
	for _, outside := range sortedKeys(spec.Binds) {
		args = append(args, "--bind="+outside+":"+spec.Binds[outside])
	}
	for _, outside := range sortedKeys(spec.ReadOnlyBinds) {
		args = append(args, "--bind-ro="+outside+":"+spec.ReadOnlyBinds[outside])
	}
	return args
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
