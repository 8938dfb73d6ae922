package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nodekeeper/nodekeeper/cmd/internal/fixture"
)

// process is nodekeeper in a process of its own, with the scene's
// configuration.
func (s *scene) process(program string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	var said bytes.Buffer
	c := exec.Command(program, append(args, "--config", s.config)...)
	c.Env = append(os.Environ(), asProgram+"=1")
	c.Stderr = &said
	return c, &said
}

func TestWhoMayNotReadTheRecordsIsToldWhatToDo(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records, s.now.Wall)
	program := filepath.Join(filepath.Dir(s.config), "nodekeeper")
	content, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(program, content, 0o755)
	}
	// Everything leads others to the program and the configuration; the record
	// root is as the agent makes it.
	dir := filepath.Dir(program)
	err = errors.Join(err, os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Chmod(s.config, 0o644), os.Chmod(s.records, 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"crashes", "logs a/b", "export -o -", "hold 2026", "release 2026"} {
		c, said := s.process(program, strings.Fields(args)...)
		if os.Geteuid() == 0 {
			const nobody = 65534
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		} else if err := os.Chmod(s.records, 0); err != nil {
			t.Fatal(err)
		}
		var ended *exec.ExitError
		if err := c.Run(); !errors.As(err, &ended) || ended.ExitCode() != 1 ||
			!strings.HasSuffix(said.String(), "permission denied: run it as root\n") || strings.Count(said.String(), "\n") != 1 {
			t.Errorf("%s: %v, %q", args, err, said)
		}
	}
}

func TestAPipeThatIsClosedEndsItWithoutAWord(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records, s.now.Wall)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c, said := s.process(os.Args[0], "logs", fixture.Namespace+"/"+fixture.Pod, "-c", "kube-apiserver")
	c.Stdout = w
	if err := errors.Join(r.Close(), c.Start(), w.Close()); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the shell's head ends it with a signal
	if said.Len() > 0 {
		t.Errorf("%q", said)
	}
}
