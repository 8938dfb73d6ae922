package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestItReadsAllOfItsInput(t *testing.T) {
	s := newScene(t)
	state := s.state(t, "c1")
	state.Annotations["large"] = strings.Repeat("x", 200<<10)
	input := encoded(t, state)
	// The state in full, with more behind it than any pipe holds.
	for name, text := range map[string]string{
		"200 KiB":             input,
		"more than it keeps":  input + strings.Repeat(" ", maxState+2*largePipe),
		"of a pod not static": strings.Replace(input, `"file"`, `"api"`, 1),
	} {
		said, err := s.fed(t, text)
		// A hook whose time was up before it had read all has shown nothing.
		for tries := 1; tries < mostTries && (strings.Contains(said, "gave up") || strings.Contains(said, "timeout")); tries++ {
			said, err = s.fed(t, text)
		}
		if err != nil || said != "" {
			t.Errorf("%s: the runtime's write: %v; it said %q", name, err, said)
		}
	}
	s.live(t, "c1")
}

// largePipe needs few turns of the processor, which a busy machine gives seldom.
const largePipe = 1 << 20

// fed starts the hook with a runtime's pipe as input, and returns what it said
// and how the runtime's write ended.
func (s *scene) fed(t *testing.T, text string) (said string, err error) {
	t.Helper()
	r, w, err := os.Pipe()
	do(t, err)
	_, err = unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, largePipe)
	do(t, err)
	written := make(chan error, 1)
	go func() {
		_, err := io.WriteString(w, text)
		_ = w.Close()
		written <- err
	}()
	cmd := s.command()
	cmd.Stdin = r
	s.keeps(t, cmd)
	_ = r.Close()
	return s.heard(t), <-written
}

func TestInputThatMakesNoSense(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"nothing":         {"", "the state of 0 bytes"},
		"garbage":         {"\x00\xff garbage \x1b[31m\n\nPRIORITY=0\n", "the state of"},
		"half a state":    {`{"id":"c1","annotations":{"kubernetes.io/config.source":"file"`, "the state of"},
		"no container":    {`{"annotations":{"kubernetes.io/config.source":"file"}}`, "without container ID"},
		"a path as ID":    {`{"id":"../../etc","annotations":{"kubernetes.io/config.source":"file"}}`, "without container ID"},
		"no log":          {`{"id":"c1","annotations":{"kubernetes.io/config.source":"file"}}`, "without pod"},
		"another type":    {`[1,2]`, ""},
		"null":            {`null`, ""},
		"too large":       {`{"id":"` + strings.Repeat("x", maxState) + `"}`, "the state of"},
		"a relative path": {`{"id":"c1","annotations":{"kubernetes.io/config.source":"file","io.kubernetes.pod.name":"p","io.kubernetes.container.name":"c","io.kubernetes.cri-o.LogPath":"../x"}}`, "not an absolute"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			if said := s.start(t, c.text); !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
				t.Errorf("it said %q, want %q", said, c.says)
			}
			if _, err := os.Stat(s.root + "/../etc"); err == nil {
				t.Error("it wrote elsewhere")
			}
		})
	}
}

func TestInputThatNeverEnds(t *testing.T) {
	for name, feed := range map[string]func(w *os.File){
		"silence": func(*os.File) {},
		"a flood": func(w *os.File) {
			for chunk := make([]byte, 64<<10); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			r, w, err := os.Pipe()
			do(t, err)
			defer w.Close()
			go feed(w)
			cmd := s.command("--deadline", "150ms")
			cmd.Stdin = r
			s.keeps(t, cmd)
			if said := s.heard(t); !strings.Contains(said, "gave up after 150ms: reading the state") {
				t.Errorf("it said %q", said)
			}
			_ = r.Close()
		})
	}
}

func TestADeadlineThatNobodyNames(t *testing.T) {
	if o, err := parse(nil); err != nil || o.deadline != 150*time.Millisecond {
		t.Errorf("%v, %v", o.deadline, err)
	}
}

func TestClosedDescriptors(t *testing.T) {
	s := newScene(t)
	state := encoded(t, s.state(t, "c1"))
	for name, redirect := range map[string]string{"input": "<&-", "all": "<&- >&- 2>&-", "output": ">&- 2>&-"} {
		t.Run(name, func(t *testing.T) {
			hook := s.command()
			cmd := exec.Command("/bin/sh", append([]string{"-c", `exec "$0" "$@" ` + redirect}, hook.Args...)...)
			cmd.Stdin = strings.NewReader(state)
			s.keeps(t, cmd)
		})
	}
	s.live(t, "c1") // with the output closed it still works
}

func TestABrokenPipeAsOutput(t *testing.T) {
	s := newScene(t)
	r, w, err := os.Pipe()
	do(t, err)
	_ = r.Close()
	defer w.Close()
	cmd := s.command("--no-such-flag")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("garbage"), w, w
	s.keeps(t, cmd)
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--no-such-flag"}, {"createRuntime"}, {"--deadline", "1h"}, {"--deadline", "x"}, {"--deadline=-1s"},
		{"--root", "relative"}, {"--help"}, {"--max-live", "many"}, {"--run="},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			s := newScene(t)
			// The journal is another one then, if the flags could not be read.
			s.start(t, encoded(t, s.state(t, "c1")), args...)
			s.nothingKept(t, "c1")
			if _, err := parse(args); err == nil {
				t.Error("they are accepted")
			}
		})
	}
}
