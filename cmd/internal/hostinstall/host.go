package hostinstall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/packaging"
	"github.com/nodekeeper/nodekeeper/packaging/nfpm"
)

// The names on the node.
const (
	agent    = "nodekeeper.service"
	socket   = "nodekeeper.socket"
	units    = "/etc/systemd/system"
	programs = "/usr/local/bin"
	settings = "/etc/nodekeeper/config.yaml"
	state    = "/var/lib/nodekeeper"
	// machineConfig is there where a MachineConfig installs.
	machineConfig = "/etc/nodekeeper/image"
)

// Systemd is the part of a node's service manager that is used.
type Systemd interface {
	// Reload has the unit files read again.
	Reload(ctx context.Context) error
	// Source is the file of a unit; empty for none.
	Source(ctx context.Context, unit string) (string, error)
	// State is "active", "activating", "failed", "inactive", ...
	State(ctx context.Context, unit string) (string, error)
	// Restart and Stop return before that is done.
	Restart(ctx context.Context, unit string) error
	Stop(ctx context.Context, unit string) error
	// Enable and Disable are for the next boots.
	Enable(ctx context.Context, unit string) error
	Disable(ctx context.Context, unit string) error
}

// Host is a node.
type Host struct {
	// Root is where its directories are, Programs where the new programs are.
	Root, Programs string
	Systemd        Systemd
	// Say takes a line about each change.
	Say func(line string)
	// Patience bounds the wait for the agent to begin or end; Pause is the time
	// between two looks at it.
	Patience, Pause time.Duration
}

func (h Host) path(name string) string { return filepath.Join(h.Root, name) }

// inside is an error where a link leads out of the root: an absolute one is the
// node's, and means something else here.
func (h Host) inside(name string) error {
	root, err := filepath.EvalSymlinks(h.Root)
	if err != nil {
		return err
	}
	dir := filepath.Dir(h.path(name))
	at, err := filepath.EvalSymlinks(dir)
	for errors.Is(err, fs.ErrNotExist) && dir != h.Root && dir != filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil {
			return fmt.Errorf("%s is a link to what is not there", dir)
		}
		dir = filepath.Dir(dir)
		at, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return err
	}
	if in, err := filepath.Rel(root, at); err != nil || !filepath.IsLocal(in) {
		return fmt.Errorf("%s leads to %s, out of %s: mount the directory itself there", dir, at, h.Root)
	}
	return nil
}

// alone keeps others from the node until the file is closed or the process ends:
// two at once would write into each other's programs. It leaves nothing behind.
func (h Host) alone() (*os.File, error) {
	if err := h.inside(programs + "/any"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(h.path(programs), 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(h.path(programs))
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return dir, nil
	}
	_ = dir.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errors.New("another installation or removal is at work on this node: try again when it has ended")
	}
	return nil, fmt.Errorf("lock %s: %w", programs, err)
}

// mine is an error where something else has brought the agent.
func (h Host) mine(ctx context.Context) error {
	if _, err := os.Lstat(h.path(machineConfig)); err == nil {
		return fmt.Errorf("a MachineConfig has brought nodekeeper to this node (%s): nothing is changed", machineConfig)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for a MachineConfig's nodekeeper: %w", err)
	}
	source, err := h.Systemd.Source(ctx, agent)
	if err != nil {
		return fmt.Errorf("ask systemd for %s: %w", agent, err)
	}
	if source != "" && source != units+"/"+agent {
		return fmt.Errorf("something else has brought nodekeeper to this node (%s): nothing is changed", source)
	}
	return nil
}

// texts are the files that are the same on every node, in the order in which they
// are written.
func texts() []text {
	return []text{
		{units + "/" + agent, []byte(packaging.AgentUnit)},
		{units + "/" + socket, []byte(packaging.AgentSocket)},
		{units + "/" + agent + ".d/settings.conf", nfpm.Condition},
	}
}

type text struct {
	name    string
	content []byte
}

// names of the programs: the hook's first, because the agent that is new may ask
// more of it than the one that is old.
func names() []string {
	return []string{programs + "/nodekeeper-hook", programs + "/nodekeeper"}
}

// put makes a file what it should be, and tells whether it was not. Who reads it
// meanwhile sees the old one or the new one.
func (h Host) put(name string, content []byte, mode fs.FileMode) (bool, error) {
	path := h.path(name)
	if err := h.inside(name); err != nil {
		return false, fmt.Errorf("write %s: %w", name, err)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode() == mode {
		old, err := os.ReadFile(path)
		if err == nil && bytes.Equal(old, content) {
			return false, nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, fmt.Errorf("write %s: %w", name, err)
	}
	if err := statefile.Replace(path, content, mode, true); err != nil {
		return false, fmt.Errorf("write %s: %w", name, err)
	}
	h.Say("written: " + name)
	return true, nil
}

// remove removes a file or an empty directory, which need not be there. What an
// admin has put into the directory stays.
func (h Host) remove(name string) error {
	err := h.inside(name)
	if err == nil {
		err = os.Remove(h.path(name))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTEMPTY):
		return nil
	case err != nil:
		return fmt.Errorf("remove %s: %w", name, err)
	}
	h.Say("removed: " + name)
	return nil
}

// become waits until the agent is in one of these states.
func (h Host) become(ctx context.Context, wanted ...string) error {
	ctx, cancel := context.WithTimeout(ctx, h.Patience)
	defer cancel()
	for {
		is, err := h.Systemd.State(ctx, agent)
		if err != nil {
			return fmt.Errorf("ask systemd for %s: %w", agent, err)
		}
		for _, w := range wanted {
			if is == w {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is %s instead of %s after %s: see journalctl -u %s on the node", agent, is, wanted[0], h.Patience, agent)
		case <-time.After(h.Pause):
		}
	}
}
