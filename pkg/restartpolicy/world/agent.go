//go:build world

package world

import (
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Decision is the code under test.
type Decision struct {
	Judge  func(config.Restart, *node.Snapshot, restartpolicy.History) ([]restartpolicy.Verdict, restartpolicy.History)
	Plan   func(config.Restart, *node.Snapshot, []restartpolicy.Verdict, restartpolicy.Ledger) (*restartpolicy.Step, []restartpolicy.Verdict)
	Review func(config.Restart, *node.Snapshot, []restartpolicy.Verdict, restartpolicy.Ledger) []restartpolicy.Act
	// Confirm names what forbids a step at the last moment; empty for go.
	Confirm func(config.Restart, *node.Snapshot, restartpolicy.History, restartpolicy.Ledger, restartpolicy.Step) []string
}

// agent is the loop around the decision: it observes, decides, and acts, one
// act at a time.
type agent struct {
	w        *World
	policy   config.Restart
	decision Decision
	observer *observer
	process  *process
	history  restartpolicy.History
	ledger   restartpolicy.Ledger
	// mask makes sources unknown; nil for none. It gets a copy.
	mask func(*node.Snapshot)
	// idle is an agent that decides and never acts.
	idle bool
	// eager agents decide at each look. Others leave looks out while all is well
	// and nothing changes: they would see and say the same.
	eager bool
	calm  state
	well  bool
	last  time.Duration
	// seen is called after each observation.
	seen func(observation)
	acts []Act
	bad  map[string]string
	// troubles are the keys that were ever not well, with their states.
	troubles map[string]map[restartpolicy.State]time.Duration
	verdicts []restartpolicy.Verdict
	looks    int
	fails    failures
}

// observation is one snapshot and what was decided on it.
type observation struct {
	snap     *node.Snapshot
	before   restartpolicy.History
	ledger   restartpolicy.Ledger
	verdicts []restartpolicy.Verdict
	step     *restartpolicy.Step
}

func (w *World) newAgent(policy config.Restart, d Decision) *agent {
	a := &agent{w: w, policy: policy, decision: d, observer: &observer{w: w}, bad: map[string]string{},
		troubles: map[string]map[restartpolicy.State]time.Duration{}, fails: failures{}}
	w.agent = a
	return a
}

// begin starts the agent's process; end kills it. Its history is in /run, and
// its acts in /var/lib.
func (a *agent) begin() {
	a.process = &process{sim: &a.w.sim}
	a.observer.silentFrom = 0
	a.process.start(a.run)
}

func (a *agent) end() { a.process.kill() }

func (a *agent) run(t *task) {
	for {
		if again := a.reconcile(t); !again {
			t.sleep(a.w.Interval)
		}
		for a.well && !a.eager && a.w.state() == a.calm && a.w.sim.now-a.last <= a.w.Interval+lateSlack {
			t.sleep(a.w.Interval)
		}
	}
}

// lateSlack is how much later than its interval a look may be and still count
// as one in time.
const lateSlack = 15 * time.Second

// state is all that a snapshot is made of, in short.
type state struct {
	crio, disk, kubelet, told, stored                  int
	kubeletPID, runtimePID                             int
	kubeletIs, runtimeIs, kubeletSub, runtimeSub       string
	kubeletState, runtimeState, paused                 string
	busy, calls                                        int
	slow, offset                                       time.Duration
	network, shutdown, systemd, denied, large, disks   bool
	ready, entered, api, kubeletJob, runtimeJob, dying bool
}

func (w *World) state() state {
	k, c := w.kubelet, w.crio
	return state{
		crio: c.version, disk: w.disk.version, kubelet: k.version, told: len(k.told.refused), stored: w.stored,
		kubeletPID: k.unit.pid, runtimePID: c.unit.pid,
		kubeletIs: k.unit.active, runtimeIs: c.unit.active, kubeletSub: k.unit.sub, runtimeSub: c.unit.sub,
		kubeletState: k.unit.state(), runtimeState: c.unit.state(), paused: w.paused,
		busy: len(w.busy), calls: len(c.calls), slow: c.slow, offset: w.offset,
		network: c.network, shutdown: w.shutdown, systemd: w.systemdSilent, denied: w.denied, large: w.tooLarge, disks: w.disk.unreadable,
		ready: k.ready, entered: k.entered, api: w.api, kubeletJob: k.unit.job, runtimeJob: c.unit.job, dying: w.hostUnknown,
	}
}

// settled tells that what became of each act is known.
func (a *agent) settled() bool {
	for _, act := range a.acts {
		if act.Result == restartpolicy.ResultDone || act.Result == restartpolicy.ResultStarted {
			return false
		}
	}
	return true
}

func (a *agent) observe() *node.Snapshot {
	s := a.observer.observe()
	if a.mask != nil {
		c := *s
		a.mask(&c)
		s = &c
	}
	return s
}

// reconcile is one observation and what follows from it.
func (a *agent) reconcile(t *task) (again bool) {
	t.sleep(a.w.crio.lateness())
	s := a.observe()
	a.looks++
	before := a.history
	verdicts, h := a.decision.Judge(a.policy, s, a.history)
	a.history = h
	for _, changed := range a.decision.Review(a.policy, s, verdicts, a.ledger) {
		a.update(changed)
	}
	step, verdicts := a.decision.Plan(a.policy, s, verdicts, a.ledger)
	a.watch(verdicts)
	a.last, a.calm, a.well = s.Taken.Boot+a.w.booted, a.w.state(), a.mask == nil && len(a.ledger.Acts) == 0
	for i := range verdicts {
		a.well = a.well && (verdicts[i].State == restartpolicy.Healthy || verdicts[i].State == restartpolicy.IntendedDown)
	}
	if a.seen != nil {
		a.seen(observation{s, before, a.ledger, verdicts, step})
	}
	if step == nil || a.idle {
		return false
	}
	return a.act(t, *step)
}

// update enters a changed act in the ledger. Ledgers that were handed out are
// not changed.
func (a *agent) update(act restartpolicy.Act) {
	acts := append([]restartpolicy.Act(nil), a.ledger.Acts...)
	for i := range acts {
		if acts[i].ID == act.ID {
			if acts[i].Result != act.Result {
				a.w.note("agent: %s is %s", act.Kind, act.Result)
			}
			acts[i] = act
		}
	}
	a.ledger.Acts = acts
	for i := range a.acts {
		if fmt.Sprint(i) == act.ID {
			a.acts[i].Result, a.acts[i].Detail = act.Result, act.Detail
		}
	}
}

// watch remembers what was ever reported, and writes changes in the timeline.
func (a *agent) watch(verdicts []restartpolicy.Verdict) {
	for i := range verdicts {
		v := &verdicts[i]
		if v.State == restartpolicy.Healthy || v.State == restartpolicy.IntendedDown {
			continue
		}
		key := v.Key.String()
		if a.troubles[key] == nil {
			a.troubles[key] = map[restartpolicy.State]time.Duration{}
		}
		if _, ok := a.troubles[key][v.State]; !ok {
			a.troubles[key][v.State] = a.w.sim.now
		}
	}
	a.narrate(verdicts)
	a.verdicts = verdicts
}

// narrate writes verdicts that changed.
func (a *agent) narrate(verdicts []restartpolicy.Verdict) {
	if a.w.timeline == nil {
		return
	}
	before, known := map[string]bool{}, map[string]bool{}
	for _, v := range a.verdicts {
		before[v.Key.String()+string(v.State)], known[v.Key.String()] = true, true
	}
	for _, v := range verdicts {
		if !before[v.Key.String()+string(v.State)] && (v.State != restartpolicy.Healthy || known[v.Key.String()]) {
			a.w.note("verdict: %s %s: %s", v.Key, v.State, v.Detail)
		}
	}
}

func zeroHistory() restartpolicy.History { return restartpolicy.History{} }
