package agent

import (
	"context"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// saveEvidence saves, when it is first seen, what a kubelet erases within a
// second of its sources becoming ready: the logs of an old generation. By the
// time that an act is due they may be gone.
func (a *Agent) saveEvidence(ctx context.Context, s *node.Snapshot, verdicts []restartpolicy.Verdict) {
	for _, v := range verdicts {
		switch v.State {
		case restartpolicy.WaitingForOld, restartpolicy.TwoGenerations:
		default:
			continue
		}
		if v.Since != s.Taken.Boot || ctx.Err() != nil {
			continue
		}
		dir, missing := a.Remedy.SaveEvidence(ctx, s, v)
		a.Logger.Info("evidence saved", "namespace", v.Namespace, "pod", v.Name, "verdict", string(v.State),
			"evidence", dir, "missing", len(missing))
		a.manager.turned()
	}
}
