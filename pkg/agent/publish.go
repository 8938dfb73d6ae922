package agent

import (
	"os"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// publish writes the status of the last look.
func (a *Agent) publish(acting *status.Acting) {
	s := a.last.snap
	out := status.Status{
		APIVersion: status.APIVersion, Kind: status.Kind,
		Agent: status.Agent{
			Version: a.Version, PID: os.Getpid(), DryRun: a.policy.DryRun,
			Looks: a.looks, IntervalSeconds: a.Config.Interval.Seconds(),
			Taken: s.Taken, BootID: s.Host.BootID, Acting: acting, Withheld: a.withheld,
			Budgets: restartpolicy.Budgets(a.policy, s, a.journal.Ledger(a.policy.DryRun)),
		},
		Node:     nodeOf(s),
		Verdicts: make([]status.Verdict, 0, len(a.last.verdicts)),
	}
	for _, v := range a.last.verdicts {
		out.Verdicts = append(out.Verdicts, a.verdict(v))
	}
	a.lastActs(out.Verdicts)
	if a.records != nil {
		a.link()
		records := a.records.State()
		out.Records = &records
	}
	a.changes.trouble("status", status.Write(a.Config.Directories.Run, out))
	for _, l := range a.changes.listeners {
		l.Published(&out)
	}
}

func nodeOf(s *node.Snapshot) status.Node {
	n := status.Node{
		Name: s.Settings.NodeName, Identity: identityOf(s), NotKnown: notKnown(s), InProgress: inProgress(s),
		Runtime: status.Runtime{
			Name: s.Runtime.Name, Version: s.Runtime.Version, Error: text(s.Runtime.Err), Unit: unitOf(s.Runtime.Unit),
		},
		Kubelet: status.Kubelet{
			View: s.Kubelet.View.Source, SourcesNotReady: s.Kubelet.View.SourcesNotReady, Error: text(s.Kubelet.View.Err),
			Healthy: s.Kubelet.Healthy, HealthError: text(s.Kubelet.HealthErr), Unit: unitOf(s.Kubelet.Unit),
		},
		Manifests:     status.Manifests{Dir: s.Intent.Dir, Pods: len(s.Intent.Pods), Error: text(s.Intent.Err)},
		SettingsError: text(s.Settings.Err),
		Paused:        s.Host.Paused, ShuttingDown: s.Host.ShuttingDown, Busy: s.Host.Busy,
	}
	for _, p := range s.Intent.Problems {
		n.Manifests.Problems = append(n.Manifests.Problems, status.Problem{Path: p.Path, Kind: p.Kind, Message: p.Message})
	}
	return n
}

func unitOf(u node.Unit) status.Unit {
	out := status.Unit{Name: u.Name, State: u.ActiveState, Error: text(u.Err)}
	if u.SubState != "" {
		out.State += "/" + u.SubState
	}
	return out
}

func (a *Agent) verdict(v restartpolicy.Verdict) status.Verdict {
	now := a.last.snap.Taken.Boot
	out := status.Verdict{
		Namespace: v.Namespace, Pod: v.Name, PodUID: v.Target.UID, Container: v.Container,
		State: v.State, Detail: v.Detail, ForSeconds: seconds(now - v.Since),
		Steps: v.Steps,
	}
	for _, i := range v.Inhibitors {
		out.BlockedBy = append(out.BlockedBy, i.Name)
		out.Inhibitors = append(out.Inhibitors, i.String())
	}
	for _, c := range v.Missing() {
		out.Missing = append(out.Missing, c.String())
	}
	if len(v.Steps) > 0 {
		next := seconds(v.Due - now)
		out.Next, out.Overdue = &next, now >= v.Due
	}
	return out
}

// lastActs adds the last act about each key.
func (a *Agent) lastActs(verdicts []status.Verdict) {
	last := map[restartpolicy.Key]restartpolicy.Act{}
	for _, act := range a.journal.Acts() {
		last[act.Key] = act
	}
	s := a.last.snap
	for i := range verdicts {
		v := &verdicts[i]
		key := restartpolicy.Key{PodName: node.PodName{Namespace: v.Namespace, Name: v.Pod}, Container: v.Container}
		act, ok := last[key]
		if !ok {
			continue
		}
		ago := s.Taken.Boot - act.Began.Boot
		if act.BootID != s.Host.BootID {
			ago = max(s.Taken.Wall.Sub(act.Began.Wall), s.Taken.Boot)
		}
		v.Last = &status.Act{
			ID: act.ID, Step: act.Kind, Result: act.Result, Detail: act.Detail,
			Began: act.Began.Wall, AgoSeconds: seconds(ago), Evidence: act.Evidence, Record: act.Record,
		}
	}
}

func seconds(d time.Duration) int64 { return int64(max(0, d) / time.Second) }

func text(err error) string {
	if err == nil {
		return ""
	}
	return firstLine(err.Error())
}
