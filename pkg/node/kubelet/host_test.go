package kubelet

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/process/processtest"
)

// host is a made-up host that has been up for an hour, and is called host-1
// from the beginning.
type host struct {
	*processtest.Host
	t testing.TB
	// name is what the kernel calls it, nameFile what it has at boot.
	name, nameFile string
	made           time.Time
	// passed is time that the test let go by.
	passed time.Duration
	// set is by how much the wall clock was set.
	set time.Duration
}

func newHost(t testing.TB) *host {
	h := &host{Host: processtest.New(t), t: t, name: "Host-1 ", nameFile: filepath.Join(t.TempDir(), "hostname"), made: time.Now()}
	h.Add(processtest.Process{PID: 1, Comm: "systemd", Cgroup: "/init.scope"})
	return h
}

// program is a process with its program.
type program struct {
	processtest.Process
	// file is the program's, Argv[0] if it is empty. user is its effective user.
	file string
	user int
	// pids are its numbers in the PID namespaces below the host's.
	pids string
}

// run puts it there. A kubelet began when the host had been up for 30 minutes.
func (h *host) run(p program) {
	h.t.Helper()
	if p.Started == 0 {
		p.Started = 30 * time.Minute
	}
	if p.Comm == "" {
		p.Comm = filepath.Base(p.Argv[0])
	}
	if p.file == "" {
		p.file = p.Argv[0]
	}
	h.Add(p.Process)
	dir := filepath.Join(h.Proc, strconv.Itoa(p.PID))
	status := fmt.Sprintf("Name:\t%s\nPPid:\t%d\nUid:\t%d\t%[3]d\t%[3]d\t%[3]d\nNSpid:\t%d%s\n", p.Comm, p.Parent, p.user, p.PID, p.pids)
	if err := os.WriteFile(filepath.Join(dir, "status"), []byte(status), 0o600); err != nil {
		h.t.Fatal(err)
	}
	for name, target := range map[string]string{"exe": p.file, "cwd": "/"} {
		link := filepath.Join(dir, name)
		os.Remove(link)
		if err := os.Symlink(target, link); err != nil {
			h.t.Fatal(err)
		}
	}
}

// kubelet runs one in kubelet.service with a command line of one string.
func (h *host) kubelet(pid int, line string) {
	h.t.Helper()
	h.run(program{Process: processtest.Process{PID: pid, Argv: strings.Fields(line), Cgroup: "/system.slice/kubelet.service"}})
}

// Now and BootID make it the clock.
func (h *host) Now() node.Instant {
	return node.Instant{Wall: time.Now().Add(h.passed + h.set), Boot: time.Hour + time.Since(h.made) + h.passed}
}

func (*host) BootID() string { return "boot" }

// tick waits until the times of files and processes, which are coarse, are
// later than now.
func (h *host) tick() {
	h.t.Helper()
	probe := filepath.Join(h.t.TempDir(), "probe")
	for from := time.Now().Add(20 * time.Millisecond); ; {
		if file := readSettings(h.write(probe, settingsHead), "/", false); file.changed.After(from) {
			return
		}
	}
}

// begins starts a kubelet: all files that are there are older, and all that
// change from now on are younger.
func (h *host) begins(pid int, line string) {
	h.t.Helper()
	h.tick()
	h.run(program{Process: processtest.Process{PID: pid, Argv: strings.Fields(line), Cgroup: "/system.slice/kubelet.service", Started: h.Now().Boot}})
	h.tick()
}

func (h *host) uname() (string, error) { return h.name, nil }

func (h *host) identity(cfg config.Kubelet) *Identity {
	i := NewIdentity(cfg, h.Host.Host, h, slog.New(slog.DiscardHandler))
	i.name = hostName{read: h.uname, file: h.nameFile}
	return i
}

func (h *host) write(path, text string) string {
	h.t.Helper()
	writeSettings(h.t, path, text)
	return path
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
