package report

import (
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Crash is one attempt of a container that has ended, however.
type Crash struct {
	ID                        string
	At                        Moment
	Namespace, Pod, Container string
	Attempt                   uint32
	Class                     string
	// Trouble tells crashes from ends that belong to ordinary operation.
	Trouble bool
	// Exit is the exit code or signal in words, Ran how long it ran.
	Exit, Ran string
	Why       string
	// Bytes is how much of the log is kept; Gaps says that some is not.
	Bytes string
	Gaps  bool
	// Log is the end of the log; Unread says why there is none.
	Log, Unread string
	// HasLog is set where the end of the log was looked for.
	HasLog bool
}

// endedAt is what records are ordered by.
func endedAt(m *record.Meta) time.Time {
	if m.Finished != nil {
		return *m.Finished
	}
	return m.Recorded
}

// crashes takes over the ends of containers, newest first.
func (r *Report) crashes(a axis, lanes map[node.PodName]*Lane, src Sources) {
	if src.Records == nil {
		return
	}
	var own []*record.Entry
	for i := range src.Records.Records {
		if e := &src.Records.Records[i]; a.has(endedAt(&e.Meta)) {
			own = append(own, e)
		}
	}
	for _, e := range own {
		if !crashed(e.Class) {
			continue
		}
		r.CrashCount++
		key := laneKey(e.Namespace, e.Pod, e.Container)
		lane := lanes[key]
		if lane == nil {
			// It ended before there was a timeline.
			lane = &Lane{Namespace: name(key.Namespace), Name: name(key.Name)}
			lanes[key] = lane
		}
		lane.crashes++
		lane.mark(a, Crashed, endedAt(&e.Meta), fmt.Sprintf("%s of %s", e.Class, name(e.Container)))
		lane.word(endedAt(&e.Meta), string(e.Class), fmt.Sprintf("%s, attempt %d: %s", e.Container, e.Attempt.Attempt, exit(&e.Meta)))
	}
	r.Ends = len(own)
	r.MoreCrashes = max(0, len(own)-a.most.crashes)
	t := tails{most: a.most, each: map[string]int{}, read: src.Tail}
	for i := len(own) - 1; i >= r.MoreCrashes; i-- {
		c := r.crash(a, own[i])
		t.add(&c, own[i])
		r.Crashes = append(r.Crashes, c)
	}
	for dir, n := range src.Records.Dropped {
		if dir != "" && n > 0 {
			r.Dropped += n
		}
	}
}

func (r *Report) crash(a axis, e *record.Entry) Crash {
	m := &e.Meta
	c := Crash{
		ID: e.ID, At: a.moment(endedAt(m)), Namespace: name(e.Namespace), Pod: r.short(name(e.Pod)), Container: name(e.Container),
		Attempt: e.Attempt.Attempt, Class: word(string(e.Class)), Trouble: crashed(e.Class), Exit: exit(m), Ran: "unknown",
		Why: line(m.ClassReason), Bytes: cli.Bytes(m.Bytes()), Gaps: !m.Complete(),
	}
	if m.Started != nil && m.Finished != nil {
		c.Ran = span(m.Finished.Sub(*m.Started))
	}
	return c
}

// crashed tells ends that somebody will want to look into. What was lost in a
// reboot did not end by itself.
func crashed(c record.Class) bool { return c.Trouble() && c != record.LostInReboot }

// exit is how an attempt ended, as far as anybody knows.
func exit(m *record.Meta) string {
	switch {
	case m.Signal > 0:
		return fmt.Sprintf("signal %d", m.Signal)
	case m.ExitCode != nil:
		return fmt.Sprintf("exit %d", *m.ExitCode)
	}
	return "exit unknown"
}

// tails gives the ends of logs to the newest ends of each container.
type tails struct {
	most bounds
	all  int
	each map[string]int
	read func(*record.Entry) (string, error)
}

func (t *tails) add(c *Crash, e *record.Entry) {
	dir := record.ContainerDir(e.Namespace, e.Pod, e.Container)
	if t.read == nil || e.Bytes() == 0 || t.all >= t.most.tails || t.each[dir] >= t.most.eachTails {
		return
	}
	t.all++
	t.each[dir]++
	text, err := t.read(e)
	c.HasLog, c.Log = true, tail(text)
	if err != nil {
		c.Unread = line(err.Error())
	}
}
