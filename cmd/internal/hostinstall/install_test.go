package hostinstall

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

// brought is what an installation brings.
var brought = []string{
	"/etc/nodekeeper/config.yaml",
	"/etc/systemd/system/nodekeeper.service",
	"/etc/systemd/system/nodekeeper.service.d/settings.conf",
	"/etc/systemd/system/nodekeeper.socket",
	"/usr/local/bin/nodekeeper",
	"/usr/local/bin/nodekeeper-hook",
}

func TestAnEmptyNodeGetsTheAgent(t *testing.T) {
	s := newScene(t)
	s.must(s.Install)
	s.same("files", s.files(), brought)
	s.same("systemd", s.told(), []string{"reload", "enable nodekeeper.service", "restart nodekeeper.service"})
	for name, mode := range map[string]fs.FileMode{brought[0]: 0o600, brought[1]: 0o644, brought[4]: 0o755, brought[5]: 0o755} {
		if info, err := os.Stat(s.path(name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	cfg, err := config.Load(s.path(settings))
	if err != nil || !cfg.Restart.DryRun || !cfg.Logs.Enabled {
		t.Errorf("the first settings: dry run %v, logs %v, %v", cfg.Restart.DryRun, cfg.Logs.Enabled, err)
	}
}

func TestWhatIsAsItShouldBeStaysUntouched(t *testing.T) {
	s := newScene(t)
	s.must(s.Install)
	s.told()
	s.must(s.Install)
	s.same("systemd", s.told(), []string{"enable nodekeeper.service"})
	s.systemd.state = "failed"
	s.must(s.Install)
	s.same("systemd, with an agent that does not run", s.told(), []string{"enable nodekeeper.service", "restart nodekeeper.service"})
}

func TestANewImageReplacesTheProgramsAndNoSettings(t *testing.T) {
	s := newScene(t)
	s.must(s.Install)
	s.write(settings, "mine")
	if err := os.Chmod(s.path("/usr/local/bin/nodekeeper-hook"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.told()
	s.image("two")
	s.must(s.Install)
	s.same("systemd", s.told(), []string{"reload", "enable nodekeeper.service", "restart nodekeeper.service"})
	if s.read("/usr/local/bin/nodekeeper") != "nodekeeper two" || s.read(settings) != "mine" {
		t.Errorf("%q with %q", s.read("/usr/local/bin/nodekeeper"), s.read(settings))
	}
	s.same("files", s.files(), brought)
}

func TestAnAgentThatDoesNotBeginIsAnError(t *testing.T) {
	s := newScene(t)
	s.systemd.next = "activating"
	if err := s.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "journalctl") {
		t.Errorf("%v", err)
	}
}

func TestWhatSystemdRefusesIsAnError(t *testing.T) {
	for _, call := range []string{"reload", "enable nodekeeper.service", "restart nodekeeper.service"} {
		s := newScene(t)
		s.systemd.refuse = call
		if err := s.Install(t.Context()); err == nil {
			t.Errorf("%s was refused, and it is installed", call)
		}
	}
	for _, call := range []string{"reload", "disable nodekeeper.service", "stop nodekeeper.service"} {
		s := newScene(t)
		s.must(s.Install)
		s.systemd.refuse = call
		if err := s.Remove(t.Context()); err == nil {
			t.Errorf("%s was refused, and it is removed", call)
		}
	}
}

func TestWhatOthersHaveBroughtIsLeftAlone(t *testing.T) {
	for name, act := range map[string]func(*scene) func(context.Context) error{
		"install": func(s *scene) func(context.Context) error { return s.Install },
		"remove":  func(s *scene) func(context.Context) error { return s.Remove },
	} {
		t.Run(name+" where a package was", func(t *testing.T) {
			s := newScene(t)
			s.systemd.packaged = "/usr/lib/systemd/system/nodekeeper.service"
			if err := act(s)(t.Context()); err == nil || !strings.Contains(err.Error(), s.systemd.packaged) {
				t.Errorf("%v", err)
			}
			s.same("files", s.files(), nil)
			s.same("systemd", s.told(), nil)
		})
		t.Run(name+" where a MachineConfig was", func(t *testing.T) {
			s := newScene(t)
			s.write(machineConfig, "image")
			if err := act(s)(t.Context()); err == nil || !strings.Contains(err.Error(), "MachineConfig") {
				t.Errorf("%v", err)
			}
			s.same("files", s.files(), []string{machineConfig})
			s.same("systemd", s.told(), nil)
		})
	}
}

func TestOneAtATime(t *testing.T) {
	s := newScene(t)
	s.must(s.Install)
	for name, act := range map[string]func(context.Context) error{"install": s.Install, "remove": s.Remove} {
		lock, err := s.alone()
		if err != nil {
			t.Fatal(err)
		}
		if err := act(t.Context()); err == nil || !strings.Contains(err.Error(), "another installation") {
			t.Errorf("%s: %v", name, err)
		}
		_ = lock.Close()
	}
	s.same("files", s.files(), brought)
	s.must(s.Remove)
	s.must(s.Remove)
}
