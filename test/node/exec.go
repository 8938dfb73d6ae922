package node

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// searchPath is the one of commands run in the box.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Exec runs a command in the box as root, in all namespaces of its PID 1. A
// command that fails is an error with the end of its standard error. When ctx
// ends the command is killed.
func (b *Box) Exec(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	leader, err := b.super.leader()
	if err != nil {
		return "", "", err
	}
	words := append([]string{"--target", strconv.Itoa(leader), "--all", "--", "/usr/bin/env", "--ignore-environment", searchPath, "HOME=/root"}, args...)
	command := exec.CommandContext(ctx, "nsenter", words...)
	command.Dir = "/"
	// nsenter forks: its child must die along with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		message := strings.TrimSpace(errs.String())
		if len(message) > 500 {
			message = message[len(message)-500:]
		}
		return out.String(), errs.String(), fmt.Errorf("%s in box %s: %w: %s", strings.Join(args, " "), b.Name, err, message)
	}
	return out.String(), errs.String(), nil
}

// Systemctl runs systemctl in the box and returns its standard output.
func (b *Box) Systemctl(ctx context.Context, args ...string) (string, error) {
	stdout, _, err := b.Exec(ctx, append([]string{"systemctl", "--no-pager"}, args...)...)
	return strings.TrimSpace(stdout), err
}

// UnitProperty reads one property of a unit, such as MainPID or NRestarts.
func (b *Box) UnitProperty(ctx context.Context, unit, property string) (string, error) {
	return b.Systemctl(ctx, "show", "--value", "--property="+property, unit)
}

// Journal returns all messages of a unit, oldest first, over all boots of the
// box.
func (b *Box) Journal(ctx context.Context, unit string) (string, error) {
	stdout, _, err := b.Exec(ctx, "journalctl", "--no-pager", "--output=short-precise", "--unit="+unit)
	return stdout, err
}

// EnterCommand is the command line of a shell in the box.
func (b *Box) EnterCommand() string {
	leader, err := b.super.leader()
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return fmt.Sprintf("nsenter --target %d --all", leader)
}
