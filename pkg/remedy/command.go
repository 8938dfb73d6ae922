package remedy

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// commandOutput is how much of a command's output is kept.
const commandOutput = 4 << 10

// run runs a program without a shell, in a process group of its own that is
// killed as a whole when ctx ends. It returns the first bytes of its output,
// standard error included; the rest is read and dropped.
func run(ctx context.Context, argv []string, limit int) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// A grandchild that left the group and holds the pipe must not hold us.
	cmd.WaitDelay = time.Second
	head := &headWriter{limit: limit}
	cmd.Stdout, cmd.Stderr = head, head
	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return head.kept, err
}

// headWriter keeps the first limit bytes and swallows the rest.
type headWriter struct {
	limit int
	kept  []byte
}

func (w *headWriter) Write(p []byte) (int, error) {
	w.kept = append(w.kept, p[:min(len(p), w.limit-len(w.kept))]...)
	return len(p), nil
}
