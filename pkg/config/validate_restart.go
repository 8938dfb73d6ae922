package config

import (
	"fmt"
	"time"
)

func (c *check) restart(r Restart) {
	c.count("restart.looks", r.Looks, 1, 100)
	for i, name := range r.Busy.Units {
		c.service(fmt.Sprintf("restart.busy.units[%d]", i), name)
	}
	for i, name := range r.Busy.Programs {
		c.program(fmt.Sprintf("restart.busy.programs[%d]", i), name)
	}
	c.holdOffs(r.HoldOffs)
	c.deadlines(r.Deadlines)
	c.steps(r.Steps)
	c.between("restart.breakerReset", r.BreakerReset, time.Minute, 30*day)
	c.rejectedGaps(r.RejectedGaps)
	c.between("restart.jitter", r.Jitter, 0, time.Hour)
}

// holdOffs may be 0, for none.
func (c *check) holdOffs(h HoldOffs) {
	for _, is := range []named{
		{"boot", h.Boot}, {"kubeletStart", h.KubeletStart}, {"runtimeStart", h.RuntimeStart},
		{"manifestChange", h.ManifestChange}, {"clockStep", h.ClockStep},
	} {
		c.between("restart.holdOffs."+is.name, is.wait, 0, day)
	}
}

// deadlines are at least a second: at 0 the agent would race the kubelet.
func (c *check) deadlines(d Deadlines) {
	for _, is := range []named{
		{"firstCrash", d.FirstCrash}, {"backOffSlack", d.BackOffSlack}, {"blind", d.Blind},
		{"staleRunning", d.StaleRunning}, {"waitingForOld", d.WaitingForOld},
		{"twoGenerations", d.TwoGenerations}, {"neverStarted", d.NeverStarted},
		{"rejected", d.Rejected}, {"startFailing", d.StartFailing}, {"inverted", d.Inverted},
		{"kubeletDown", d.KubeletDown}, {"runtimeDown", d.RuntimeDown},
		{"hungStart", d.HungStart}, {"hungCall", d.HungCall},
	} {
		c.between("restart.deadlines."+is.name, is.wait, second, day)
	}
}

type named struct {
	name string
	wait Duration
}

func (c *check) steps(s Steps) {
	for _, is := range []struct {
		name string
		step Step
	}{
		{"stopContainer", s.StopContainer}, {"removeContainer", s.RemoveContainer},
		{"stopOldSandbox", s.StopOldSandbox}, {"restartKubelet", s.RestartKubelet},
		{"stopSandbox", s.StopSandbox}, {"restartRuntime", s.RestartRuntime},
		{"replaceManifest", s.ReplaceManifest},
	} {
		c.step("restart.steps."+is.name, is.step)
	}
}

// step checks also what is not enabled: it may be tomorrow.
func (c *check) step(at string, s Step) {
	c.between(at+".timeout", s.Timeout, second, 10*time.Minute)
	c.between(at+".settle", s.Settle, second, day)
	c.between(at+".gap", s.Gap, second, 7*day)
	c.between(at+".gapMax", s.GapMax, second, 7*day)
	if s.GapMax.Duration < s.Gap.Duration {
		c.add(at+".gapMax", "must not be less than gap: %s is less than %s", short(s.GapMax.Duration), short(s.Gap.Duration))
	}
	c.count(at+".perHour", s.PerHour, 0, 3600)
	c.count(at+".perDay", s.PerDay, 0, 86400)
}

// rejectedGaps rise: the longer a reason lasts the likelier it is real.
func (c *check) rejectedGaps(gaps []Duration) {
	if len(gaps) == 0 {
		c.add("restart.rejectedGaps", "must hold a duration at least; to never retry, disable the steps")
	}
	for i, gap := range gaps {
		field := fmt.Sprintf("restart.rejectedGaps[%d]", i)
		c.between(field, gap, second, 7*day)
		if i > 0 && gap.Duration <= gaps[i-1].Duration {
			c.add(field, "must be longer than the one before: %s is not longer than %s", short(gap.Duration), short(gaps[i-1].Duration))
		}
	}
}
