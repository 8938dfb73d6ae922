package machine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/components"
	"github.com/nodekeeper/nodekeeper/test/node/host"
	"github.com/nodekeeper/nodekeeper/test/node/machine/control"
)

const (
	// bootTimeout is for kernel and systemd, emulated on a busy machine.
	bootTimeout = 5 * time.Minute
	// commandTimeout is for one command in the machine.
	commandTimeout = 2 * time.Minute
)

// Machine is a running node. Made by Start; the caller stops it. Its methods
// may be called concurrently.
type Machine struct {
	// Name is the host's and the node's.
	Name string
	// Acceleration is "kvm" or "tcg": the latter is emulation.
	Acceleration string

	dir      string // on disk, outside; owned by the machine
	emulator *emulator
	client   *rpc.Client
	stop     sync.Once
	stopErr  error
}

// Start makes what is missing in the cache and boots a machine. It returns as
// soon as commands can be run in it: CRI-O and the kubelet may still be
// starting. API modes and faults of options are those of a box, and not here.
func Start(ctx context.Context, options node.Options) (*Machine, error) {
	if options.Name == "" {
		options.Name = "node1"
	}
	if options.Profile == node.OpenShift && options.Kubelet == "" {
		options.Kubelet = node.OpenShiftKubelet
	}
	if options.Progress == nil {
		options.Progress = os.Stdout
	}
	builder, err := components.NewBuilder(options.Progress)
	if err != nil {
		return nil, err
	}
	set, err := builder.Prepare(ctx, components.Want{Kubelet: options.Kubelet, Crictl: true, Machine: true})
	if err != nil {
		return nil, err
	}
	if _, err := host.Sweep(); err != nil {
		return nil, fmt.Errorf("clear away dead machines: %w", err)
	}
	m := &Machine{Name: options.Name, Acceleration: acceleration()}
	if err := m.boot(ctx, set, unified(options)); err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	return m, nil
}

// unified has control groups of version 2 driven by systemd, and units that
// wait for an emulated processor.
func unified(options node.Options) node.Options {
	options.PlainRuntime = true
	options.CRIODropIn += "[crio.runtime]\ncgroup_manager = \"systemd\"\n"
	change := options.KubeletConfig
	options.KubeletConfig = func(config map[string]any) {
		config["cgroupDriver"] = "systemd"
		if change != nil {
			change(config)
		}
	}
	dropIns := map[string]string{
		node.CRIO:    "[Service]\nKillMode=control-group\nTimeoutStartSec=600\n",
		node.Kubelet: "[Service]\nTimeoutStartSec=600\n",
	}
	for unit, text := range options.UnitDropIns {
		dropIns[unit] += text
	}
	options.UnitDropIns = dropIns
	return options
}

func (m *Machine) boot(ctx context.Context, set components.Set, options node.Options) error {
	dir, _, err := host.NewBoxDir(m.Name)
	if err != nil {
		return err
	}
	m.dir = dir
	image, err := makeImage(ctx, set, options, dir)
	if err != nil {
		return fmt.Errorf("make the disk of machine %s: %w", m.Name, err)
	}
	socket := filepath.Join(dir, "control.sock")
	m.emulator, err = start(dir, arguments(filepath.Join(set.Kernel, "vmlinuz"), image, socket, m.console(), m.Acceleration))
	if err != nil {
		m.emulator = nil
		return fmt.Errorf("start the emulator: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	if err := m.connect(ctx, socket); err != nil {
		return fmt.Errorf("boot machine %s: %w; end of its console:\n%s", m.Name, err, m.consoleEnd())
	}
	return nil
}

// connect waits for the answer to a first command.
func (m *Machine) connect(ctx context.Context, socket string) error {
	var connection net.Conn
	for connection == nil {
		var err error
		if connection, err = net.Dial("unix", socket); err != nil {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return err
			case <-m.emulator.done:
				return m.down()
			}
		}
	}
	m.client = rpc.NewClient(connection)
	// It is kept by the port until somebody in the machine opens it.
	_, _, err := m.Exec(ctx, "true")
	return err
}

// Exec runs a command in the machine as root. A command that fails is an error
// with the end of its standard error.
func (m *Machine) Exec(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	what := strings.Join(args, " ") + " in machine " + m.Name
	var result control.Result
	// After an error the result may still be written to.
	if err := m.call(ctx, "Run", control.Command{Args: args, Timeout: commandTimeout}, &result); err != nil {
		return "", "", fmt.Errorf("%s: %w", what, err)
	}
	if result.Code != 0 {
		err = fmt.Errorf("%s: exit status %d: %s", what, result.Code, end(result.Stderr, 500))
	}
	return result.Stdout, result.Stderr, err
}

// Systemctl runs systemctl in the machine and returns its standard output.
func (m *Machine) Systemctl(ctx context.Context, args ...string) (string, error) {
	stdout, _, err := m.Exec(ctx, append([]string{"systemctl", "--no-pager"}, args...)...)
	return strings.TrimSpace(stdout), err
}

// WriteFile writes a file of the machine in one step; missing folders are made.
func (m *Machine) WriteFile(path string, content []byte, mode os.FileMode) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	if err := m.call(ctx, "Write", control.File{Path: path, Content: content, Mode: mode}, &struct{}{}); err != nil {
		return fmt.Errorf("write %s in machine %s: %w", path, m.Name, err)
	}
	return nil
}

func (m *Machine) call(ctx context.Context, method string, argument, reply any) error {
	call := m.client.Go(control.Service+"."+method, argument, reply, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		return call.Error
	case <-ctx.Done():
		return ctx.Err()
	case <-m.emulator.done:
		return m.down()
	}
}

func (m *Machine) down() error {
	log, _ := os.ReadFile(filepath.Join(m.dir, "qemu.log"))
	return fmt.Errorf("the machine is down: %w: %s", m.emulator.err, end(string(log), 500))
}

// Stop ends the machine at once, as a power cut does, and removes everything
// of it. More calls return the first one's result.
func (m *Machine) Stop() error {
	m.stop.Do(func() {
		if m.client != nil {
			m.client.Close()
		}
		if m.emulator != nil {
			m.emulator.stop()
		}
		if m.dir != "" {
			m.stopErr = host.RemoveBox(m.dir)
		}
	})
	return m.stopErr
}

func (m *Machine) console() string { return filepath.Join(m.dir, "console.log") }

func (m *Machine) consoleEnd() string {
	text, _ := os.ReadFile(m.console())
	return end(string(text), 3000)
}

func end(text string, length int) string {
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-length):]
}
