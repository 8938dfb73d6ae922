package remedy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/node/cri"
	"github.com/nodekeeper/nodekeeper/pkg/node/unit"
)

// The adapters that the agent wires in.
var (
	_ Runtime = (*cri.Client)(nil)
	_ Units   = (*unit.Units)(nil)
)

func TestTheJournalIsAskedForTheLastLinesOfAUnit(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte("#!/bin/sh\necho \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	got, err := journalctl(t.Context(), "kubelet.service")
	if want := "--unit=kubelet.service --lines=200 --no-pager --quiet --output=short-iso-precise\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAHostWithoutJournal(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := journalctl(t.Context(), "kubelet.service"); err == nil {
		t.Error("no error")
	}
}

func TestAMoveNeverReplaces(t *testing.T) {
	for name, move := range map[string]func(from, to string) error{"rename": moveNoReplace, "link": moveByLink} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
			write(t, from, "from")
			write(t, to, "to")
			if err := move(from, to); !os.IsExist(err) || read(t, to) != "to" || read(t, from) != "from" {
				t.Errorf("onto another: %v", err)
			}
			if err := move(from, to+"2"); err != nil || read(t, to+"2") != "from" || there(from) {
				t.Errorf("to a free name: %v", err)
			}
		})
	}
}
