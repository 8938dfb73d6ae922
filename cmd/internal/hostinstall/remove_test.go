package hostinstall

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const hookFile = "/run/containers/oci/hooks.d/50-nodekeeper.json"

func TestRemovingLeavesTheRecordsAlone(t *testing.T) {
	s := newScene(t)
	s.must(s.Install)
	for _, name := range []string{hookFile, state + "/acts/journal", "/var/log/nodekeeper/record"} {
		s.write(name, "{}")
	}
	s.told()
	s.must(s.Remove)
	s.same("files", s.files(), []string{"/var/log/nodekeeper/record"})
	s.same("systemd", s.told(), []string{
		"disable nodekeeper.service", "stop nodekeeper.service", "disable nodekeeper.socket", "stop nodekeeper.socket", "reload",
	})
	if _, err := os.Stat(s.path(units + "/nodekeeper.service.d")); err == nil {
		t.Error("the directory of the drop-in is still there")
	}
	s.must(s.Remove)
	s.same("systemd, with nothing left", s.told(), []string{"reload"})
}

func TestSettingsThatWereChangedStay(t *testing.T) {
	s := newScene(t)
	s.must(s.Install)
	changed := s.read(settings) + "interval: 7s\n"
	s.write(settings, changed)
	s.write(units+"/nodekeeper.service.d/mine.conf", "mine")
	s.must(s.Remove)
	s.same("files", s.files(), []string{settings, units + "/nodekeeper.service.d/mine.conf"})
	if s.read(settings) != changed {
		t.Error("they are others")
	}
}

func TestTheHookGoesBeforeItsProgramAndAfterTheAgent(t *testing.T) {
	s := newScene(t)
	s.must(s.Install)
	s.write(hookFile, "{}")
	s.systemd.atStop = func() {
		if _, err := os.Stat(s.path(hookFile)); err != nil {
			t.Error("the hook was removed under an agent that would put it back")
		}
	}
	s.must(s.Remove)

	s.systemd.atStop = nil
	s.must(s.Install)
	// A file that root cannot remove either.
	s.write(hookFile, "{}")
	if err := os.Remove(s.path(hookFile)); err != nil {
		t.Fatal(err)
	}
	s.write(hookFile+"/keeps/it", "")
	if err := s.Remove(t.Context()); err == nil {
		t.Error("a hook that stays is no error")
	}
	s.read("/usr/local/bin/nodekeeper-hook")
}

func TestAHookElsewhereThatCannotBeSeenIsAnError(t *testing.T) {
	s := newScene(t)
	s.must(s.Install)
	s.write(settings, strings.ReplaceAll(s.read(settings), "enabled: true", "enabled: true\n  hook: {directory: /etc/containers/oci/hooks.d}"))
	if err := s.Remove(t.Context()); err == nil || !strings.Contains(err.Error(), "/etc/containers/oci/hooks.d") {
		t.Errorf("%v", err)
	}
	s.read("/usr/local/bin/nodekeeper-hook")
	s.write("/etc/containers/oci/hooks.d/50-nodekeeper.json", "{}")
	s.must(s.Remove)
	s.same("files", s.files(), []string{settings})
}

func TestAnAgentThatDoesNotEndStays(t *testing.T) {
	s := newScene(t)
	s.must(s.Install)
	h := s.Host
	h.Systemd = deaf{s.systemd}
	if err := h.Remove(t.Context()); err == nil {
		t.Error("it is removed")
	}
	s.same("files", s.files(), brought)
}

// deaf is a systemd whose agent does not end.
type deaf struct{ *fake }

func (d deaf) State(_ context.Context, _ string) (string, error) { return "deactivating", nil }

// An absolute link is the node's: from a container it leads into the image.
func TestNothingIsTouchedWhereALinkLeadsOutOfTheNode(t *testing.T) {
	for _, dir := range []string{"/usr/local/bin", "/etc/systemd/system", "/etc/nodekeeper", "/var/lib/nodekeeper"} {
		t.Run(dir, func(t *testing.T) {
			s := newScene(t)
			outside := t.TempDir()
			if err := os.MkdirAll(filepath.Dir(s.path(dir)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, s.path(dir)); err != nil {
				t.Fatal(err)
			}
			mine := []string{"nodekeeper", "nodekeeper.service", "pause.json"}
			for _, name := range mine {
				if err := os.WriteFile(filepath.Join(outside, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			acts := []func(context.Context) error{s.Install, s.Remove}
			switch dir {
			case "/var/lib/nodekeeper":
				acts = acts[1:]
			case "/etc/nodekeeper": // no settings there that are ours
				acts = acts[:1]
			}
			for _, act := range acts {
				if err := act(t.Context()); err == nil || !strings.Contains(err.Error(), "out of "+s.Root) {
					t.Errorf("no error of it: %v", err)
				}
			}
			entries, err := os.ReadDir(outside)
			if err != nil || len(entries) != len(mine) {
				t.Errorf("outside: %v, %v", entries, err)
			}
		})
	}
}

func TestALinkWithinTheNodeIsFollowed(t *testing.T) {
	s := newScene(t)
	if err := errors.Join(os.MkdirAll(s.path("/var/usrlocal/bin"), 0o755), os.MkdirAll(s.path("/usr"), 0o755), os.Symlink("../var/usrlocal", s.path("/usr/local"))); err != nil {
		t.Fatal(err)
	}
	s.must(s.Install)
	if s.read("/var/usrlocal/bin/nodekeeper") != "nodekeeper one" {
		t.Error("it is not there")
	}
	s.must(s.Remove)
}

func TestSettingsThatAreAFIFOAreNotWaitedFor(t *testing.T) {
	s := newScene(t)
	s.must(s.Install)
	if err := errors.Join(os.Remove(s.path(settings)), syscall.Mkfifo(s.path(settings), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}
