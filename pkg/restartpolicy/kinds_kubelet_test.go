package restartpolicy

import (
	"errors"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// A kubelet that lists pods, or refuses to, lives, whatever its health check says.
func TestKubeletThatAnswersAnythingIsNotDown(t *testing.T) {
	t.Parallel()
	for name, see := range map[string]func(*node.Snapshot, time.Duration){
		"Pods API":         func(s *node.Snapshot, _ time.Duration) { s.Kubelet.View.Source = node.ViewPodsAPI },
		"list of pods":     func(*node.Snapshot, time.Duration) {},
		"401 for the list": func(s *node.Snapshot, _ time.Duration) { blind(s); s.Kubelet.View.Err = errors.New("401 Unauthorized") },
		"sources are not ready": func(s *node.Snapshot, _ time.Duration) {
			s.Kubelet.View = node.View{Source: node.ViewNone, SourcesNotReady: true}
		},
		"no health check is open": func(s *node.Snapshot, _ time.Duration) {
			s.Settings.HealthzURL = ""
			s.Kubelet.HealthErr = nil
			s.Kubelet.View = node.View{Source: node.ViewNone}
		},
		"every third ping": func(s *node.Snapshot, since time.Duration) {
			s.Kubelet.View = node.View{Source: node.ViewNone}
			s.Kubelet.Healthy = since/interval%3 == 0
		},
	} {
		for way, told := range map[string]func(*node.Snapshot){"without a journal": func(*node.Snapshot) {}, "with a silent journal": func(s *node.Snapshot) { silent(s); s.Kubelet.Told.Last = time.Second }} {
			t.Run(name+", "+way, func(t *testing.T) {
				newWorld(2).watch(time.Hour, func(s *node.Snapshot, since time.Duration) {
					s.Kubelet.Healthy, s.Kubelet.HealthErr = false, errors.New("connection refused")
					see(s, since)
					told(s)
				}).quiet(t, "who answers is not down")
			})
		}
	}
}

// A kubelet that answers nobody and still writes is at work.
func TestKubeletThatWritesIsNotHung(t *testing.T) {
	t.Parallel()
	newWorld(2).watch(time.Hour, func(s *node.Snapshot, _ time.Duration) {
		mute(s)
		s.Kubelet.Told = node.Told{From: time.Second, Last: s.Taken.Boot - 50*time.Second}
	}).quiet(t, "its journal goes on")
}

func TestKubeletThatAnswersNobodyAndWritesNothingIsRestarted(t *testing.T) {
	t.Parallel()
	newWorld(2).watch(10*time.Minute, func(s *node.Snapshot, _ time.Duration) {
		mute(s)
		s.Kubelet.Told = node.Told{From: time.Second, Last: bootTime}
	}).first(t, RestartKubelet, time.Minute, 3*time.Minute)
}

// Whether it writes is not known: then nobody knows whether it hangs.
func TestMuteKubeletWithoutAJournalIsReported(t *testing.T) {
	t.Parallel()
	line := newWorld(2).watch(time.Hour, func(s *node.Snapshot, _ time.Duration) { mute(s) })
	line.quiet(t, "it may be at work")
	if v := line.verdict(t, "kubelet.service"); v.State != KubeletDown || len(v.Missing()) == 0 {
		t.Errorf("%s, missing %v", v.State, v.Missing())
	}
}

// Given a node under load whose kubelet is late with its pings, when its process
// is seen waiting for the disk now and then, then it is not called stuck.
func TestProcessThatWaitsForTheDiskNowAndThenIsNotStuck(t *testing.T) {
	t.Parallel()
	newWorld(2).watch(time.Hour, func(s *node.Snapshot, since time.Duration) {
		mute(s)
		s.Kubelet.Told = node.Told{From: time.Second, Last: s.Taken.Boot - 10*time.Second}
		if since/interval%6 < 2 {
			s.Kubelet.Unit.ProcessState, s.Kubelet.Process.State = "D", "D"
		}
	}).quiet(t, "state D has to last for the deadline")
}

func TestProcessThatWaitsForTheDiskForGoodIsRestarted(t *testing.T) {
	t.Parallel()
	newWorld(2).watch(10*time.Minute, func(s *node.Snapshot, _ time.Duration) {
		mute(s)
		s.Kubelet.Unit.ProcessState, s.Kubelet.Process.State = "D", "D"
	}).first(t, RestartKubelet, time.Minute, 80*time.Second)
}

// systemd starts a kubelet that crashes again and again, for as long as it takes.
func TestKubeletThatSystemdRestartsIsLeftToSystemd(t *testing.T) {
	t.Parallel()
	newWorld(1).watch(4*time.Hour, func(s *node.Snapshot, since time.Duration) {
		round := since % (15 * time.Second)
		s.Kubelet.Unit.Restarts = uint32(since / (15 * time.Second))
		s.Kubelet.Unit.ProcessStarted = s.Taken.Boot - round
		if round < 5*time.Second {
			s.Kubelet.Unit.ActiveState, s.Kubelet.Unit.SubState, s.Kubelet.Unit.MainPID = "activating", "auto-restart", 0
			s.Kubelet.Unit.ProcessStarted, s.Kubelet.Process = 0, node.KubeletProcess{Err: errors.New("none")}
		}
		mute(s)
		silent(s)
	}).quiet(t, "systemd is at it")
}

func TestKubeletThatSystemdGaveUpIsStarted(t *testing.T) {
	t.Parallel()
	newWorld(1).watch(10*time.Minute, func(s *node.Snapshot, _ time.Duration) {
		gone(s, "failed", "start-limit-hit")
	}).first(t, RestartKubelet, time.Minute, 80*time.Second)
}

// Given a kubelet that was down for minutes, when an admin has just started it,
// then the new process has a deadline of its own.
func TestKubeletThatWasJustStartedHasItsOwnDeadline(t *testing.T) {
	t.Parallel()
	const started = 6 * time.Minute
	for name, young := range map[string]func(s *node.Snapshot, age time.Duration){
		"its list is empty at first": func(s *node.Snapshot, age time.Duration) {
			if age < 45*time.Second {
				s.Kubelet.View.Pods = []node.PodView{}
			}
		},
		"it does not answer at first": func(s *node.Snapshot, age time.Duration) {
			if age < 45*time.Second {
				mute(s)
				s.Kubelet.Told = node.Told{From: time.Second, Last: time.Second}
			}
		},
		"its disk is slow at first": func(s *node.Snapshot, age time.Duration) {
			if age < 45*time.Second {
				mute(s)
				s.Kubelet.Unit.ProcessState = "D"
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1)
			w.policy.Steps.RestartKubelet.Enabled = false
			line := w.watch(started+10*time.Minute, func(s *node.Snapshot, since time.Duration) {
				if since < started {
					gone(s, "failed", "exit-code")
					return
				}
				w.policy.Steps.RestartKubelet.Enabled = true
				s.Kubelet.Unit.ProcessStarted = bootTime + started
				s.Kubelet.Process.Started = bootTime + started
				young(s, since-started)
			})
			line.quiet(t, "the kubelet that the admin has started a moment ago comes up")
		})
	}
}

// Given a container that is down, when the kubelet is replaced within its
// deadline, then the new one has the time that a kubelet needs to start.
func TestKubeletThatIsReplacedMeanwhileHasTimeToStartTheContainer(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Duration{"early": 30 * time.Second, "just before the deadline": 145 * time.Second} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				w := newWorld(2)
				w.crash(0, 1)
				w.containers[0].restartAt = w.now + at + 150*time.Second
				w.watch(20*time.Minute, func(s *node.Snapshot, since time.Duration) {
					if since >= at {
						s.Kubelet.Unit.ProcessStarted, s.Kubelet.Process.Started = bootTime+at, bootTime+at
						s.Kubelet.Unit.MainPID, s.Kubelet.Process.PID = 200, 200
					}
					see(s)
				}).quiet(t, "the new kubelet starts it two and a half minutes after its own start")
			})
		}
	}
}

// A kubelet that hangs anew after each restart does not use up more than the
// node's budget, whoever restarts it.
func TestKubeletThatHangsAfterEachStartKeepsTheBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	line := w.watch(9*time.Hour, func(s *node.Snapshot, _ time.Duration) {
		mute(s)
		s.Kubelet.Unit.ProcessState = "T"
	})
	if n := len(line.acts); n == 0 || n > w.policy.Steps.RestartKubelet.PerDay {
		t.Errorf("%d restarts in nine hours", n)
	}
}

// The kubelet runs inside another program's unit: nothing is called stopped, and
// what would be restarted is said.
func TestKubeletInAnotherUnitIsNeitherStoppedNorRestarted(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	w.crash(0, 1)
	line := w.watch(time.Hour, func(s *node.Snapshot, _ time.Duration) {
		s.Kubelet.Elsewhere = true
		s.Kubelet.Unit.Name, s.Kubelet.Process.Unit = "microshift.service", "microshift.service"
	})
	line.quiet(t, "microshift.service is more than a kubelet")
	if v := line.verdict(t, c0); v.State != Forgotten || !inhibited(v, "kubelet-elsewhere") {
		t.Errorf("%s, inhibited by %v", v.State, v.Inhibitors)
	}
	if v := line.verdict(t, "microshift.service"); v.State != Healthy {
		t.Errorf("%s: %s", v.State, v.Detail)
	}
}

func TestMissingUnitIsNoStoppedKubelet(t *testing.T) {
	t.Parallel()
	line := newWorld(1).watch(time.Hour, func(s *node.Snapshot, _ time.Duration) {
		gone(s, "inactive", "")
		s.Kubelet.Unit.LoadState = "not-found"
	})
	line.quiet(t, "there is no such unit")
	if v := line.verdict(t, "kubelet.service"); v.State != Unknown {
		t.Errorf("%s: %s", v.State, v.Detail)
	}
}

// mute lets the kubelet answer neither its health check nor a list.
func mute(s *node.Snapshot) {
	s.Kubelet.Healthy, s.Kubelet.HealthErr = false, errors.New("deadline exceeded")
	s.Kubelet.View = node.View{Source: node.ViewNone, Err: errors.New("deadline exceeded")}
}

// gone takes the kubelet's process away.
func gone(s *node.Snapshot, state, result string) {
	mute(s)
	u := &s.Kubelet.Unit
	u.ActiveState, u.SubState, u.Result = state, state, result
	u.MainPID, u.ProcessState, u.ProcessStarted = 0, "", 0
	s.Kubelet.Process = node.KubeletProcess{Err: errors.New("no process is a kubelet")}
}

func inhibited(v Verdict, name string) bool {
	for _, i := range v.Inhibitors {
		if i.Name == name {
			return true
		}
	}
	return false
}
