package restartpolicy

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// unanswered lets CRI not answer for a reason.
func unanswered(s *node.Snapshot, err error, silent time.Duration) {
	s.Runtime.Err, s.Runtime.Sandboxes, s.Runtime.Silent = err, nil, silent
	s.Runtime.Network, s.Runtime.Images = node.Unknown, nil
}

// Given a runtime that does not answer the agent, when that is no silence, or
// somebody or something is at it, then it is not restarted.
func TestRuntimeThatDoesNotAnswerTheAgentIsNotAtFault(t *testing.T) {
	t.Parallel()
	large := errors.New("rpc error: code = ResourceExhausted desc = grpc: received message larger than max")
	for name, alter := range map[string]func(s *node.Snapshot, since time.Duration){
		"its lists are slow":         func(s *node.Snapshot, _ time.Duration) { unanswered(s, context.DeadlineExceeded, 0) },
		"its lists are too large":    func(s *node.Snapshot, _ time.Duration) { unanswered(s, large, 0) },
		"the socket is closed to us": func(s *node.Snapshot, _ time.Duration) { unanswered(s, syscall.EACCES, 0) },
		"it lets each probe wait 1 min 59": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, context.DeadlineExceeded, since%(119*time.Second))
		},
		"it starts up": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, syscall.ENOENT, since)
			s.Runtime.Unit.ActiveState, s.Runtime.Unit.SubState = "activating", "start"
		},
		"it repairs its storage after a crash": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, syscall.ECONNREFUSED, since)
			s.Runtime.Unit.ActiveState, s.Runtime.Unit.SubState = "activating", "start-pre"
		},
		"systemd will start it again": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, syscall.ECONNREFUSED, since)
			s.Runtime.Unit.ActiveState, s.Runtime.Unit.SubState, s.Runtime.Unit.MainPID = "activating", "auto-restart", 0
		},
		"somebody stops it": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, syscall.ECONNREFUSED, since)
			s.Runtime.Unit.ActiveState, s.Runtime.Unit.SubState = "deactivating", "stop-sigterm"
		},
		"somebody has stopped it": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, syscall.ENOENT, since)
			s.Runtime.Unit.ActiveState, s.Runtime.Unit.SubState, s.Runtime.Unit.MainPID = "inactive", "dead", 0
		},
		"somebody has masked it": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, syscall.ENOENT, since)
			s.Runtime.Unit.ActiveState, s.Runtime.Unit.LoadState, s.Runtime.Unit.MainPID = "inactive", "masked", 0
		},
		"its stop took too long, and it was killed": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, syscall.ENOENT, since)
			s.Runtime.Unit.ActiveState, s.Runtime.Unit.Result, s.Runtime.Unit.MainPID = "failed", "timeout", 0
		},
		"it reads its configuration anew": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, context.DeadlineExceeded, since)
			s.Runtime.Unit.ActiveState = "reloading"
		},
		"a job waits for it": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, syscall.ENOENT, since)
			s.Runtime.Unit.ActiveState, s.Runtime.Unit.JobPending = "failed", true
		},
		"systemd does not tell of it": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, syscall.ENOENT, since)
			s.Runtime.Unit = node.Unit{Name: "crio.service", Err: errors.New("deadline exceeded")}
		},
		"it has no unit": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, syscall.ENOENT, since)
			s.Runtime.Unit = node.Unit{Name: "crio.service", LoadState: "not-found", ActiveState: "inactive"}
		},
		"its containers would end with it": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, context.DeadlineExceeded, since)
			s.Runtime.MonitorsInUnit, s.Runtime.Unit.KillMode = true, "mixed"
		},
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				w := newWorld(2)
				w.crash(0, 1)
				w.watch(20*time.Minute, func(s *node.Snapshot, since time.Duration) { see(s); alter(s, since) }).
					quiet(t, "nothing points to the runtime")
			})
		}
	}
}

// Silence to a probe of two minutes is the runtime's fault, also of one that has
// run for days.
func TestRuntimeThatIsSilentIsRestartedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	line := w.watch(50*time.Minute, func(s *node.Snapshot, since time.Duration) {
		unanswered(s, context.DeadlineExceeded, since)
	})
	line.first(t, RestartRuntime, 2*time.Minute, 140*time.Second)
	if len(line.acts) != 1 {
		t.Errorf("acts %v", line.acts)
	}
	line.never(t, "the kubelet is not the suspect", RestartKubelet)
}

func TestRuntimeThatSystemdGaveUpIsStarted(t *testing.T) {
	t.Parallel()
	newWorld(1).until(10*time.Minute, func(s *node.Snapshot, since time.Duration) {
		unanswered(s, syscall.ENOENT, since)
		s.Runtime.Unit.ActiveState, s.Runtime.Unit.Result, s.Runtime.Unit.MainPID, s.Runtime.Unit.ProcessState = "failed", "exit-code", 0, ""
	}).first(t, RestartRuntime, time.Minute, 80*time.Second)
}

// Given a node under load, when the runtime's process waits for the disk now and
// then, then it is not called stuck.
func TestRuntimeThatWaitsForTheDiskNowAndThenIsNotStuck(t *testing.T) {
	t.Parallel()
	newWorld(1).watch(time.Hour, func(s *node.Snapshot, since time.Duration) {
		unanswered(s, context.DeadlineExceeded, since%(80*time.Second))
		if since/interval%6 < 2 {
			s.Runtime.Unit.ProcessState = "D"
		}
	}).quiet(t, "it answers within the time that the kubelet gives it")
}

// Given every creation takes longer than the kubelet waits for it, so that it
// hangs and has failed in turn, then CRI-O is restarted once, in a quarter of an
// hour (measured on a node: a call of 140 s, and 100 s until the next).
func TestCreationsThatTimeOutInTurn(t *testing.T) {
	t.Parallel()
	const round, call, kubeletWaits = 242 * time.Second, 141 * time.Second, 2 * time.Minute
	for way, see := range map[string]func(s *node.Snapshot, at time.Duration){
		"with a view": func(s *node.Snapshot, at time.Duration) {
			if at > 0 {
				waiting(s, 0, "CreateContainerError", "context deadline exceeded")
			}
		},
		"with a journal": func(s *node.Snapshot, at time.Duration) {
			blind(s)
			says(s, at, "c0", "CreateContainerError", "context deadline exceeded")
		},
	} {
		t.Run(way, func(t *testing.T) {
			w := newWorld(2)
			w.crash(0, 1)
			w.until(20*time.Minute, func(s *node.Snapshot, since time.Duration) {
				if since%round < call {
					s.Runtime.Calls = []node.RuntimeCall{{PID: 5, Verb: "create", ContainerID: "new", Age: since % round}}
				}
				at := time.Duration(0)
				if since >= kubeletWaits {
					at = s.Taken.Boot - (since-kubeletWaits)%round
				}
				see(s, at)
			}).first(t, RestartRuntime, 10*time.Minute, 16*time.Minute)
		})
	}
}

// Given each creation takes as long as a hung one may, and the next begins at once,
// then CRI-O is restarted all the same.
func TestCreationsThatHangOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for way, see := range ways {
		t.Run(way, func(t *testing.T) {
			const call = 299 * time.Second
			w := newWorld(2)
			w.crash(0, 1)
			w.until(20*time.Minute, func(s *node.Snapshot, since time.Duration) {
				see(s)
				s.Runtime.Calls = []node.RuntimeCall{{PID: 5, Verb: "create", ContainerID: "new", Age: since % call}}
			}).first(t, RestartRuntime, 9*time.Minute, 13*time.Minute)
		})
	}
}
