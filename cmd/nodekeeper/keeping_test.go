package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/hooksd"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// stopped is a clock that stands still.
type stopped struct{}

func (stopped) Now() node.Instant { return node.Instant{} }
func (stopped) BootID() string    { return "boot-1" }

// A record root that cannot be opened is told in the status, and opened as soon
// as that can be done.
func TestTheRecordRootIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	cfg := config.Default()
	cfg.Directories = config.Directories{Run: filepath.Join(dir, "run"), State: dir, Log: filepath.Join(dir, "log")}
	cfg.Logs.Hook.Directory, cfg.Logs.NRISocket = "", ""
	cfg.Logs.PodLogs, cfg.Logs.Exits = filepath.Join(dir, "pods"), ""
	log := slog.New(slog.DiscardHandler)
	for _, d := range []string{cfg.Directories.Run, cfg.Logs.PodLogs} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(cfg.Directories.Log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := &keeping{log: log, open: func() (*recording, error) {
		return newRecording(cfg, "node1", nil, stopped{}, func() {}, nil, log)
	}}
	if k.try() || !strings.Contains(k.State().Error, cfg.Directories.Log) {
		t.Fatalf("opened, or not told of: %+v", k.State())
	}
	k.Observe(&node.Snapshot{})
	k.NameAct("nothing", "1")
	if path, ok := k.Record(context.Background(), "nobody"); ok {
		t.Errorf("record %q", path)
	}
	if err := os.Remove(cfg.Directories.Log); err != nil {
		t.Fatal(err)
	}
	if !k.try() || k.State().Error != "" {
		t.Fatalf("not opened: %+v", k.State())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	k.run(ctx) // closes it
}

func TestTheStateOfTheHookIsThatOfNow(t *testing.T) {
	dir, binary := filepath.Join(t.TempDir(), "hooks.d"), filepath.Join(t.TempDir(), "nodekeeper-hook")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(binary, nil, 0o755))
	must(os.WriteFile(dir, nil, 0o600))
	h := newHooked(hooksd.Options{Dir: dir, HookPath: binary}, nil, slog.New(slog.DiscardHandler))
	if !strings.Contains(h.state(), "not a directory") {
		t.Errorf("a file in its place: %s", h.state())
	}
	must(os.Remove(dir))
	h.look()
	if h.state() != working {
		t.Errorf("it was to be tried again: %s", h.state())
	}

	broken := filepath.Join(dir, "60-broken.json")
	must(os.WriteFile(broken, []byte("{"), 0o600))
	h.look()
	if !strings.Contains(h.state(), broken+" keeps CRI-O from starting") {
		t.Errorf("beside a broken one: %s", h.state())
	}
	must(os.Remove(broken))

	must(os.Remove(filepath.Join(dir, hooksd.FileName)))
	h.look()
	if _, err := os.Stat(filepath.Join(dir, hooksd.FileName)); err == nil || !strings.Contains(h.state(), "is missing") {
		t.Errorf("somebody uninstalled it: %s", h.state())
	}
	must(hooksd.Install(h.options))
	h.look()
	if h.state() != working {
		t.Errorf("installed again: %s", h.state())
	}

	must(os.Chmod(binary, 0o644))
	h.look()
	if _, err := os.Stat(filepath.Join(dir, hooksd.FileName)); err == nil || !strings.Contains(h.state(), "not executable") {
		t.Errorf("its program cannot run: %s", h.state())
	}
	must(os.Chmod(binary, 0o755))
	h.look()
	must(os.Truncate(filepath.Join(dir, hooksd.FileName), 0))
	h.look()
	if h.state() != working {
		t.Errorf("its program runs again, its file was damaged: %s", h.state())
	}
	if s := newHooked(hooksd.Options{}, errors.New("deaf"), slog.New(slog.DiscardHandler)); s.state() != "deaf" {
		t.Errorf("nobody listens: %s", s.state())
	}
}
