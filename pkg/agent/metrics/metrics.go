package metrics

import (
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Options are what Metrics are made of.
type Options struct {
	Version string
	// Listen is a loopback address.
	Listen string
	Clock  node.Clock
	// Proxy is the watch guard's directory, Derived the kubeconfig that leads
	// the kubelet through it.
	Proxy, Derived string
	// Late is the age from which on the last look is too old for /healthz, an
	// act in hand not counted.
	Late time.Duration
	Log  *slog.Logger
}

// Metrics remember what the agent has published. Their methods may be called
// concurrently, but for Published.
type Metrics struct {
	Options
	began time.Time
	last  atomic.Pointer[seen]
	// down is since when each is down, on the boot clock. It belongs to
	// Published.
	down map[restartpolicy.Key]time.Duration

	mu   sync.Mutex // guards acts
	acts map[kind]uint64
}

type kind struct {
	step   restartpolicy.StepKind
	result restartpolicy.Result
}

// seen is never changed once it is published.
type seen struct {
	status *status.Status
	down   map[restartpolicy.Key]time.Duration // for how long
}

// New returns Metrics that have seen nothing.
func New(o Options) *Metrics {
	return &Metrics{
		Options: o, began: o.Clock.Now().Wall,
		down: map[restartpolicy.Key]time.Duration{}, acts: map[kind]uint64{},
	}
}

// Published takes up the status of a look.
func (m *Metrics) Published(s *status.Status) {
	since, long := map[restartpolicy.Key]time.Duration{}, map[restartpolicy.Key]time.Duration{}
	for _, v := range s.Verdicts {
		key := restartpolicy.Key{PodName: node.PodName{Namespace: v.Namespace, Name: v.Pod}, Container: v.Container}
		if v.Pod == "" || !down(v.State) {
			continue
		}
		// One state of trouble may follow another, and each has a time of its own.
		began := s.Agent.Taken.Boot - time.Duration(v.ForSeconds)*time.Second
		if before, ok := m.down[key]; ok {
			began = min(began, before)
		}
		if other, ok := since[key]; ok { // a pod may have two verdicts
			began = min(began, other)
		}
		since[key], long[key] = began, s.Agent.Taken.Boot-began
	}
	m.down = since
	m.last.Store(&seen{s, long})
}

// down tells states in which something does not run that should.
func down(state restartpolicy.State) bool {
	switch state {
	case restartpolicy.InBackOff, restartpolicy.Forgotten, restartpolicy.StaleRunning, restartpolicy.WaitingForOld,
		restartpolicy.Rejected, restartpolicy.NeverStarted, restartpolicy.CreatedNotStarted, restartpolicy.StartFailing, restartpolicy.StartHung,
		restartpolicy.StopHung, restartpolicy.UnreadableRecord, restartpolicy.SandboxLost:
		return true
	}
	return false
}

// Acted counts an act.
func (m *Metrics) Acted(act restartpolicy.Act) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acts[kind{act.Kind, act.Result}]++
}

// Text is the page.
func (m *Metrics) Text() []byte {
	p := newPage()
	p.add("nodekeeper_build_info", 1, m.Version, runtime.Version())
	if last := m.last.Load(); last != nil {
		m.addNode(p, last)
		addRecords(p, last.status.Records)
	}
	m.addGuard(p)
	m.addProcess(p)
	return p.text
}

// Healthy says why the agent is not; nil if it is.
func (m *Metrics) Healthy() error {
	last := m.last.Load()
	if last == nil {
		return fmt.Errorf("the agent has not looked yet")
	}
	late := m.Late
	if acting := last.status.Agent.Acting; acting != nil {
		late += time.Duration(acting.AtMostSeconds) * time.Second
	}
	if age := m.Clock.Now().Boot - last.status.Agent.Taken.Boot; age > late {
		return fmt.Errorf("the last look was %s ago", age.Round(time.Second))
	}
	return nil
}
