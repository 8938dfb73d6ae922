package cri

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const (
	// statusTimeout bounds one status call: CRI-O takes 3.8 s for a record
	// whose exit it missed.
	statusTimeout = 6 * time.Second
	// statusBudget bounds all of them in one look; what is left over is asked
	// for by the next one.
	statusBudget = 6 * time.Second
	// statusReserve of the look's own time is left for what comes after.
	statusReserve = time.Second
	// statusWorkers ask at a time, so that slow records do not hold up the
	// others and the runtime is not flooded after a start of the agent.
	statusWorkers = 4
	// A status that could not be had is asked for again after retryFirst,
	// then after twice that, up to retryMax.
	retryFirst = 30 * time.Second
	retryMax   = 5 * time.Minute
)

// statuses remembers what the list does not tell of a container, and of a
// sandbox. An exited record does not change any more, and a running one keeps
// PID and start time until it exits: each is asked for once.
type statuses struct {
	client *Client
	clock  node.Clock
	log    *slog.Logger
	known  map[string]*statusEntry
}

// statusEntry is what is known of one record.
type statusEntry struct {
	// of is the state in which status was had; empty for never.
	of     node.ContainerState
	status Status
	// failures in a row to get the status of state failedIn, and the boot time
	// before which nobody asks again for it.
	failures int
	failedIn node.ContainerState
	retryAt  time.Duration
}

// question is one record whose status is wanted.
type question struct {
	id string
	// sandbox: it is a sandbox. One that is ready counts as running.
	sandbox bool
	state   node.ContainerState
	entry   *statusEntry
	// answer and err are written by one worker, and read when all have ended.
	asked  bool
	answer Status
	err    error
}

func newStatuses(client *Client, clock node.Clock, log *slog.Logger) *statuses {
	return &statuses{client: client, clock: clock, log: log, known: map[string]*statusEntry{}}
}

// fill completes the records of all containers, as far as their statuses are
// known or can be had within the budget, and returns the PIDs of the running
// ones, and of ready sandboxes of static pods. Records that are no longer listed
// are forgotten.
func (s *statuses) fill(ctx context.Context, sandboxes []node.Sandbox) map[string]int {
	s.ask(ctx, s.questions(sandboxes))
	pids := map[string]int{}
	for i := range sandboxes {
		if e := s.known[sandboxes[i].ID]; e != nil && e.status.PID > 0 {
			pids[sandboxes[i].ID] = e.status.PID
		}
		for j := range sandboxes[i].Containers {
			c := &sandboxes[i].Containers[j]
			e := s.known[c.ID]
			c.StatusUnknown = c.State == node.ContainerExited && (e == nil || e.of != node.ContainerExited)
			if e == nil || e.of == "" {
				continue
			}
			c.LogPath = e.status.LogPath
			c.StartedAt = e.status.StartedAt
			switch {
			case e.of == node.ContainerRunning && c.State == node.ContainerRunning:
				pids[c.ID] = e.status.PID
			case e.of == node.ContainerExited && c.State == node.ContainerExited:
				c.FinishedAt, c.ExitCode, c.Reason = e.status.FinishedAt, e.status.ExitCode, e.status.Reason
			}
		}
	}
	return pids
}

// questions forgets what is gone and returns what is to be asked, the running
// containers first, then the sandboxes, then the dead containers by attempt,
// newest first: where the budget ends, the old ones wait. Sandboxes are asked
// for as long as they are ready, and of static pods: no other is judged.
func (s *statuses) questions(sandboxes []node.Sandbox) []*question {
	now := s.clock.Now().Boot
	listed := make(map[string]*statusEntry, len(s.known))
	var running, ready, exited [][]*question
	entry := func(id string) *statusEntry {
		e := s.known[id]
		if e == nil {
			e = &statusEntry{}
		}
		listed[id] = e
		return e
	}
	for _, sandbox := range sandboxes {
		if sandbox.Ready && sandbox.Static() {
			if e := entry(sandbox.ID); e.wanted(node.ContainerRunning, now) {
				ready = put(ready, e.failures, &question{id: sandbox.ID, sandbox: true, state: node.ContainerRunning, entry: e})
			}
		}
		rank, name := 0, ""
		for _, c := range sandbox.Containers {
			if c.Name != name {
				rank, name = 0, c.Name
			}
			if e := entry(c.ID); e.wanted(c.State, now) {
				q := &question{id: c.ID, state: c.State, entry: e}
				if c.State == node.ContainerRunning {
					running = put(running, e.failures, q)
				} else {
					exited = put(exited, rank+e.failures, q)
				}
			}
			rank++
		}
	}
	s.known = listed
	return slices.Concat(slices.Concat(running...), slices.Concat(ready...), slices.Concat(exited...))
}

// put appends to the list of a rank.
func put(ranks [][]*question, rank int, q *question) [][]*question {
	for len(ranks) <= rank {
		ranks = append(ranks, nil)
	}
	ranks[rank] = append(ranks[rank], q)
	return ranks
}

// wanted tells whether a record in that state has to be asked about. Created
// and unknown ones never have: the list says all there is.
func (e *statusEntry) wanted(state node.ContainerState, now time.Duration) bool {
	if state != node.ContainerRunning && state != node.ContainerExited {
		return false
	}
	return e.of != state && (e.failedIn != state || now >= e.retryAt)
}

// ask has the workers put the questions, and stores the answers.
func (s *statuses) ask(ctx context.Context, questions []*question) {
	if len(questions) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, budget(ctx))
	defer cancel()
	next := make(chan *question)
	var workers sync.WaitGroup
	for range min(statusWorkers, len(questions)) {
		workers.Go(func() {
			for q := range next {
				s.askOne(ctx, q)
			}
		})
	}
feed:
	for _, q := range questions {
		select {
		case next <- q:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	for _, q := range questions {
		s.store(q)
	}
}

// budget is how long the statuses of one look may take.
func budget(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return statusBudget
	}
	return max(0, min(statusBudget, time.Until(deadline)-statusReserve))
}

func (s *statuses) askOne(ctx context.Context, q *question) {
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	q.asked = true
	if q.sandbox {
		q.answer, q.err = s.client.SandboxStatus(ctx, q.id)
		return
	}
	q.answer, q.err = s.client.Status(ctx, q.id)
}

// store keeps an answer, or the time before which nobody asks again.
func (s *statuses) store(q *question) {
	switch {
	case !q.asked || NotFound(q.err):
		// Not reached, or removed since the list: the next list tells.
	case q.err != nil:
		q.entry.failed(q.state, s.clock.Now().Boot)
		s.log.Debug("no status of a container or sandbox", "id", q.id, "failures", q.entry.failures, "error", q.err)
	case q.answer.State != q.state:
		// It changed since the list, which the next one will show. The log
		// path is good all the same.
		q.entry.status.LogPath = q.answer.LogPath
	case q.state == node.ContainerRunning && q.answer.PID == 0 && !q.sandbox:
		q.entry.failed(q.state, s.clock.Now().Boot)
		s.log.Debug("the runtime does not tell the PID of a container", "containerID", q.id)
	default:
		*q.entry = statusEntry{of: q.state, status: q.answer}
	}
}

func (e *statusEntry) failed(in node.ContainerState, now time.Duration) {
	if e.failedIn != in {
		e.failedIn, e.failures = in, 0
	}
	wait := min(retryFirst<<min(e.failures, 10), retryMax)
	e.failures++
	e.retryAt = now + wait
}
