package cri

import (
	"context"
	"log/slog"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/process"
)

const (
	// versionAge is how long a runtime's version is believed without asking again.
	versionAge = 5 * time.Minute
	// smallTimeout bounds the small questions beside the lists.
	smallTimeout = 2 * time.Second
)

// Options say what a Reader needs besides the connection.
type Options struct {
	// Host is where the facts about processes come from.
	Host process.Host
	// Clock is the node's clock.
	Clock node.Clock
	// Unit is the runtime's service by its real name, not an alias.
	Unit string
	// Monitor and OCIRuntimes are program names: "conmon"; "runc", "crun".
	Monitor     string
	OCIRuntimes []string
	// Programs are names of other programs to look out for.
	Programs []string
	// Log gets what is no error of a look, at level Debug. Nil for no log.
	Log *slog.Logger
}

// Reader is a node.RuntimeReader: it joins the runtime's list with the
// statuses of its containers and the processes behind them. One goroutine at a
// time may call Runtime.
type Reader struct {
	client    *Client
	log       *slog.Logger
	clock     node.Clock
	statuses  *statuses
	processes *process.Tracker
	scanner   process.Scanner

	name, version string
	// versionAt and networkAt are the boot times of the last answer, and of the
	// last that called the network ready; 0 for none.
	versionAt, networkAt time.Duration
	images               map[string]image
}

var _ node.RuntimeReader = (*Reader)(nil)

// NewReader returns a Reader that asks through client, which stays the
// caller's to close.
func NewReader(client *Client, o Options) *Reader {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Reader{
		client:    client,
		log:       o.Log,
		clock:     o.Clock,
		statuses:  newStatuses(client, o.Clock, o.Log),
		processes: process.NewTracker(o.Host, o.Monitor, o.Clock),
		scanner: process.Scanner{
			Host:      o.Host,
			Monitor:   o.Monitor,
			Runtimes:  o.OCIRuntimes,
			Programs:  o.Programs,
			Unit:      o.Unit,
			SinceBoot: func() time.Duration { return o.Clock.Now().Boot },
		},
	}
}

// Runtime looks once. Monitors and OCI calls are also there when CRI does not
// answer. Unit and Images are left empty.
//
// Only the two list calls can make a look fail. A record whose status could
// not be had keeps its state from the list, with zero times; one that is
// running then has an unknown process.
func (r *Reader) Runtime(ctx context.Context) node.Runtime {
	runtime := node.Runtime{Socket: r.client.Socket(), Name: r.name, Version: r.version}
	if scan, err := r.scanner.Scan(); err != nil {
		r.log.Debug("processes could not be listed", "error", err)
	} else {
		runtime.MonitorsInUnit, runtime.Calls, runtime.Programs = scan.MonitorsInUnit, scan.Calls, scan.Programs
	}
	list, err := r.client.List(ctx)
	if err != nil {
		// What answers next may be another version.
		r.versionAt, r.networkAt = 0, 0
		runtime.Err = err
		runtime.Silent = r.client.silence.unanswered(r.clock.Now().Boot)
		return runtime
	}
	r.client.silence.answered()
	sandboxes, orphans := join(list)
	if orphans > 0 {
		r.log.Debug("containers without a sandbox left out", "containers", orphans)
	}
	pids := r.statuses.fill(ctx, sandboxes)
	r.behind(sandboxes, pids)
	ctx, cancel := context.WithTimeout(ctx, smallTimeout)
	defer cancel()
	r.askVersion(ctx)
	runtime.Network, runtime.NetworkDetail = r.network(ctx)
	runtime.Name, runtime.Version = r.name, r.version
	runtime.Sandboxes = sandboxes
	return runtime
}

// behind fills in the processes of running containers and ready sandboxes whose
// PID is known. A sandbox's process has the sandbox's ID in the name of its
// cgroup. It has no start time to be compared with: CRI tells when the sandbox
// was begun, and its network may take minutes.
func (r *Reader) behind(sandboxes []node.Sandbox, pids map[string]int) {
	var subjects []process.Subject
	for _, s := range sandboxes {
		if pid := pids[s.ID]; pid > 0 {
			subjects = append(subjects, process.Subject{ID: s.ID, SandboxID: s.ID, PodUID: s.UID, PID: pid})
		}
		for _, c := range s.Containers {
			if pid := pids[c.ID]; c.State == node.ContainerRunning && pid > 0 {
				subjects = append(subjects, process.Subject{
					ID: c.ID, SandboxID: s.ID, PodUID: s.UID, PID: pid, StartedAt: c.StartedAt,
				})
			}
		}
	}
	processes := r.processes.Look(subjects)
	for i := range sandboxes {
		sandboxes[i].Process = processes[sandboxes[i].ID]
		for j := range sandboxes[i].Containers {
			c := &sandboxes[i].Containers[j]
			c.Process = processes[c.ID]
		}
	}
}

// askVersion asks anew now and then, and after CRI has been away. Without an
// answer the old one stays.
func (r *Reader) askVersion(ctx context.Context) {
	now := r.clock.Now().Boot
	if r.versionAt > 0 && now-r.versionAt < versionAge {
		return
	}
	name, version, err := r.client.Version(ctx)
	if err != nil {
		r.log.Debug("the runtime did not tell its version", "error", err)
		return
	}
	r.name, r.version, r.versionAt = name, version, now
}
