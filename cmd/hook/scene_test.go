package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/server"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/spool"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// binary is the hook as it is delivered.
var binary string

func TestMain(m *testing.M) { os.Exit(withBinary(m)) }

func withBinary(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hook")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "nodekeeper-hook")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the hook: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// slack is what a busy machine may add to the hook's deadline: a hook that does
// not keep its deadline never ends.
const slack = 20 * time.Second

// deadline is the longest that a hook may be given. A busy machine needs more
// than the default to start a process and have it read its input.
const deadline = longest

// scene is a node's directories. The journal hears the hook's lines.
type scene struct {
	dir, root, run, pods string
	journal              *net.UnixConn
}

func newScene(t testing.TB) *scene {
	t.Helper()
	dir, err := os.MkdirTemp("", "hook") // t.TempDir is too long for a socket
	do(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return sceneIn(t, dir)
}

func sceneIn(t testing.TB, dir string) *scene {
	t.Helper()
	s := &scene{dir: dir, root: filepath.Join(dir, "nodekeeper"), run: filepath.Join(dir, "run"), pods: filepath.Join(dir, "pods")}
	do(t, os.Mkdir(s.run, 0o755))
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "journal")})
	do(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	s.journal = conn
	return s
}

// state is a container's state at createRuntime, with a log of its own.
func (s *scene) state(t testing.TB, id string) *specs.State {
	t.Helper()
	log := filepath.Join(s.pods, "kube-system_etcd-node1_"+id, "etcd", "7.log")
	do(t, os.MkdirAll(filepath.Dir(log), 0o755))
	do(t, os.WriteFile(log, []byte("words of "+id), 0o640))
	return &specs.State{
		Version: "1.0.2-dev", ID: id, Status: "creating", Pid: 4711, Bundle: "/run/bundle",
		Annotations: map[string]string{
			configSource: "file", podName: "etcd-node1", podNamespace: "kube-system", podUID: id, containerName: "etcd",
			restartCount: "7", crioLogPath: log, crioSandboxID: "s1", crioContainerID: id,
			crioImageName: "registry.test/etcd:3.6.6", crioImageRef: "abc", containerHash: "1234", revision: "5",
		},
	}
}

func encoded(t testing.TB, s *specs.State) string {
	t.Helper()
	data, err := json.Marshal(s)
	do(t, err)
	return string(data)
}

// command is the hook with the scene's directories.
func (s *scene) command(args ...string) *exec.Cmd {
	own := []string{"--root", s.root, "--run", s.run, "--journal", filepath.Join(s.dir, "journal"), "--deadline", deadline.String()}
	cmd := exec.Command(binary, append(own, args...)...)
	cmd.Dir = s.dir
	return cmd
}

// start runs the hook and requires what it has to keep whatever happens: exit
// code 0, no output, its deadline. It returns what the journal heard. A hook
// whose time was up before it had read its input has done nothing, and is
// started again: the machine was busy.
func (s *scene) start(t *testing.T, input string, args ...string) (said string) {
	t.Helper()
	for range mostTries {
		cmd := s.command(args...)
		cmd.Stdin = strings.NewReader(input)
		s.keeps(t, cmd)
		if said = s.heard(t); !strings.Contains(said, "gave up after "+deadline.String()+": reading") {
			break
		}
	}
	return said
}

// mostTries is how often a busy machine may be too late.
const mostTries = 20

func (s *scene) keeps(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "out")
	do(t, err)
	defer out.Close()
	if cmd.Stdout == nil {
		cmd.Stdout, cmd.Stderr = out, out
	}
	began := time.Now()
	do(t, cmd.Start())
	// The process's own end, not that of whoever feeds it.
	state, err := cmd.Process.Wait()
	took := time.Since(began)
	do(t, err)
	wrote, err := os.ReadFile(out.Name())
	do(t, err)
	if code := state.ExitCode(); code != 0 {
		t.Errorf("exit code %d (%v): %s", code, state, wrote)
	}
	if took > deadline+slack {
		t.Errorf("took %v", took)
	}
	if len(wrote) > 0 {
		t.Errorf("it wrote %q", wrote)
	}
}

// heard is what the journal was sent: all of it is there when the hook has
// ended, and a read with a deadline may be too late to see it.
func (s *scene) heard(t *testing.T) string {
	t.Helper()
	var all []string
	buffer := make([]byte, 64<<10)
	journal, err := s.journal.SyscallConn()
	do(t, err)
	for {
		var n int
		var err error
		do(t, journal.Read(func(fd uintptr) bool {
			n, _, err = unix.Recvfrom(int(fd), buffer, unix.MSG_DONTWAIT)
			return true
		}))
		if errors.Is(err, unix.EAGAIN) {
			break
		}
		do(t, err)
		_, message, ok := strings.Cut(string(buffer[:n]), "MESSAGE=")
		if !ok || strings.Count(message, "\n") != 1 {
			t.Errorf("not one line: %q", buffer[:n])
		}
		all = append(all, strings.TrimSpace(message))
	}
	if len(all) > 1 {
		t.Errorf("more than one line: %q", all)
	}
	return strings.Join(all, "\n")
}

// live is what was kept of a container: the log's text, and the birth.
func (s *scene) live(t *testing.T, id string) (string, record.Birth) {
	t.Helper()
	dir := filepath.Join(s.root, record.LivePath(id))
	log, err := os.ReadFile(filepath.Join(dir, "log.0"))
	do(t, err)
	data, err := os.ReadFile(filepath.Join(dir, record.BirthFile))
	do(t, err)
	var b record.Birth
	do(t, record.Decode(data, &b))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("in %s: %v, %v", dir, entries, err)
	}
	return string(log), b
}

// hasLog tells whether a container's log was kept.
func (s *scene) hasLog(id string) bool {
	_, err := os.Stat(filepath.Join(s.root, record.LivePath(id), "log.0"))
	return err == nil
}

// nothingKept requires that there is no directory of the container.
func (s *scene) nothingKept(t *testing.T, id string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(s.root, record.LivePath(id))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory of %s: %v", id, err)
	}
}

// spooled takes the events out of the spool.
func (s *scene) spooled(t *testing.T) (events []lifecycle.Event) {
	t.Helper()
	_, err := spool.New(filepath.Join(s.run, "spool"), 0).Drain(func(e lifecycle.Event) { events = append(events, e) })
	do(t, err)
	return events
}

// agent serves until the function that it returns is called, which gives the
// events.
func (s *scene) agent(t *testing.T) (end func() []lifecycle.Event) {
	t.Helper()
	listener, err := server.Listen(filepath.Join(s.run, "lifecycle.sock"))
	do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var events []lifecycle.Event
	var served sync.WaitGroup
	served.Go(func() {
		err := server.Serve(ctx, listener, func(e lifecycle.Event) { events = append(events, e) }, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Error(err)
		}
	})
	end = sync.OnceValue(func() []lifecycle.Event {
		cancel()
		served.Wait()
		return events
	})
	t.Cleanup(func() { end() })
	return end
}

// mount mounts a tmpfs for the time of the test.
func mount(t testing.TB, dir, options string) {
	t.Helper()
	asRoot(t)
	do(t, unix.Mount("nodekeeper-test", dir, "tmpfs", 0, options))
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

func asRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this needs root")
	}
}

func do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
