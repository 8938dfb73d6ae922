package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node/process"
)

// versionTime bounds the run of a program that prints a line and ends: it takes
// 0.1 s and 60 MiB.
const versionTime = 5 * time.Second

// printed is what a kubelet prints (component-base version/verflag/verflag.go
// PrintAndExitIfRequested, v0.37). What distributions add is left out.
var printed = regexp.MustCompile(`^Kubernetes v(\d+\.\d+\.\d+)`)

// versionOf asks the program of a process for its version: the very file that
// it runs, also if that has been replaced or removed since. It is run as root,
// and so only if it is a file of root's, or of the agent's own user, that no
// other can write to. It gets no environment, no input, and no shell.
func versionOf(ctx context.Context, host process.Host, r *running) (string, error) {
	if path.Base(r.program.Path) != "kubelet" {
		return "", fmt.Errorf("%s is not asked: its name is not kubelet", r.program.Path)
	}
	file, err := os.Open(host.Proc + "/" + strconv.Itoa(r.stat.PID) + "/exe")
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || owner.Uid != 0 && int(owner.Uid) != os.Geteuid() {
		return "", fmt.Errorf("%s is not asked: others can write to it", r.program.Path)
	}
	// The number may have gone to another process before the file was opened.
	if stat, err := host.Stat(r.stat.PID); err != nil || stat.Started != r.stat.Started {
		return "", errors.New("the kubelet has just ended")
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	// The file is the child's descriptor 3.
	cmd := exec.CommandContext(ctx, "/proc/self/fd/3", "--version")
	cmd.Args[0], cmd.Dir, cmd.Env, cmd.ExtraFiles = "kubelet", "/", []string{}, []*os.File{file}
	cmd.WaitDelay = time.Second
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s --version: %w", r.program.Path, err)
	}
	found := printed.FindStringSubmatch(string(text))
	if found == nil {
		return "", fmt.Errorf("%s --version printed no version of Kubernetes", r.program.Path)
	}
	return found[1], nil
}
