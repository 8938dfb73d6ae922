package report

import (
	"cmp"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Act is what the agent did, or would have done.
type Act struct {
	ID                        string
	At                        Moment
	Step, Verdict, Result     string
	Namespace, Pod, Container string
	// Good and Bad tell results that are what was hoped for, or are not.
	Good, Bad bool
	Reason    string
	Detail    string
	Took      string
}

// acts takes over what was done, newest first.
func (r *Report) acts(a axis, all []restartpolicy.Act) {
	for i := len(all) - 1; i >= 0; i-- {
		act := all[i]
		if !a.has(act.Began.Wall) {
			continue
		}
		if taken(act) {
			r.ActCount++
		}
		if len(r.Acts) >= a.most.acts {
			r.MoreActs++
			continue
		}
		out := Act{
			ID: name(act.ID), At: a.moment(act.Began.Wall), Step: word(string(act.Kind)), Result: word(string(act.Result)),
			Namespace: name(act.Key.Namespace), Pod: r.short(name(cmp.Or(act.Key.Name, "the node"))), Container: name(act.Key.Container),
			Good:   act.Result == restartpolicy.ResultHealed,
			Bad:    act.Result == restartpolicy.ResultFailed || act.Result == restartpolicy.ResultInVain,
			Reason: line(act.Reason), Detail: line(act.Detail),
		}
		if act.State != "" {
			out.Verdict = word(string(act.State))
		}
		if d := act.Finished.Boot - act.Began.Boot; act.Finished.Boot > 0 && d > 0 {
			out.Took = span(d)
		}
		r.Acts = append(r.Acts, out)
	}
}
