package node

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/nodekeeper/nodekeeper/test/node/fault"
)

const (
	runtimeFaults = "/run/box/runtime-faults"
	criFaults     = "/run/box/cri-faults"
)

// SetRuntimeFault replaces the rules of one verb of the OCI runtime (create,
// start, kill, state, delete, exec). A rule matches on the container's ID and
// on the names of container, pod and namespace. No rules: no faults.
func (b *Box) SetRuntimeFault(verb string, rules ...fault.Rule) error {
	return b.setFault(runtimeFaults, verb, rules)
}

// SetCRIFault replaces the rules of one method of CRI as the kubelet sees it
// (Options.CRIProxy). A rule matches on any text in the request, and in that
// by which a container in the request was created.
func (b *Box) SetCRIFault(method string, rules ...fault.Rule) error {
	if !b.options.CRIProxy {
		return fmt.Errorf("box %s has no fault proxy: set Options.CRIProxy", b.Name)
	}
	return b.setFault(criFaults, method, rules)
}

func (b *Box) setFault(dir, name string, rules []fault.Rule) error {
	path, err := b.Path(dir)
	if err != nil {
		return err
	}
	return fault.Set(path, name, rules...)
}

// Held lists the runtime verbs and CRI methods that a rule "hang" holds now,
// once for each call.
func (b *Box) Held() ([]string, error) {
	var held []string
	for _, dir := range []string{runtimeFaults, criFaults} {
		path, err := b.Path(dir)
		if err != nil {
			return nil, err
		}
		names, err := fault.Held(path)
		if err != nil {
			return nil, err
		}
		held = append(held, names...)
	}
	return held, nil
}

// Release lets all calls go on that a rule "hang" holds. Rules stay.
func (b *Box) Release() error {
	for _, dir := range []string{runtimeFaults, criFaults} {
		path, err := b.Path(dir)
		if err != nil {
			return err
		}
		if err := fault.Release(path); err != nil {
			return err
		}
	}
	return nil
}

// Signal sends a signal to a process ID of the box.
func (b *Box) Signal(ctx context.Context, pid int, signal syscall.Signal) error {
	if pid <= 1 {
		return fmt.Errorf("signal %v to process %d of box %s: no such process of a container or unit", signal, pid, b.Name)
	}
	_, _, err := b.Exec(ctx, "kill", "-"+strconv.Itoa(int(signal)), strconv.Itoa(pid))
	return err
}

// SignalUnit sends a signal to the main process of a unit: SIGSTOP hangs it,
// SIGCONT lets it go on, SIGKILL is a crash.
func (b *Box) SignalUnit(ctx context.Context, unit string, signal syscall.Signal) error {
	text, err := b.UnitProperty(ctx, unit, "MainPID")
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("main process of %s: %w", unit, err)
	}
	return b.Signal(ctx, pid, signal)
}

// KillContainer kills the first process of a container, and so all of them.
func (b *Box) KillContainer(ctx context.Context, containerID string) error {
	container, err := b.Inspect(ctx, Container{ID: containerID})
	if err != nil {
		return err
	}
	return b.Signal(ctx, container.PID, syscall.SIGKILL)
}

// KillMonitorAndInit kills a container's conmon and then its first process, so
// that nobody tells CRI-O of its end.
func (b *Box) KillMonitorAndInit(ctx context.Context, containerID string) error {
	container, err := b.Inspect(ctx, Container{ID: containerID})
	if err != nil {
		return err
	}
	return b.killBoth(ctx, containerID, container.PID)
}

// KillInfra does the same to the infra container of a sandbox, which CRI-O makes
// only where containers share its process namespace (shareProcessNamespace).
func (b *Box) KillInfra(ctx context.Context, sandboxID string) error {
	runtime, err := b.CRI(ctx)
	if err != nil {
		return err
	}
	answer, err := runtime.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: sandboxID, Verbose: true})
	if err != nil {
		return fmt.Errorf("status of sandbox %s: %w", sandboxID, err)
	}
	var info struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(answer.Info["info"]), &info); err != nil {
		return fmt.Errorf("status of sandbox %s: %w", sandboxID, err)
	}
	return b.killBoth(ctx, sandboxID, info.PID)
}

// killBoth kills a container's conmon, and then its first process.
func (b *Box) killBoth(ctx context.Context, containerID string, pid int) error {
	if pid <= 1 {
		return fmt.Errorf("container %s of box %s does not run", containerID, b.Name)
	}
	monitors, _, err := b.Exec(ctx, "pgrep", "--full", "^/usr/bin/conmon .*-c "+containerID)
	if err != nil {
		return fmt.Errorf("find the monitor of container %s: %w", containerID, err)
	}
	for _, pid := range append(strings.Fields(monitors), strconv.Itoa(pid)) {
		if _, _, err := b.Exec(ctx, "kill", "-9", pid); err != nil {
			return err
		}
	}
	return nil
}
