package journal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const (
	// every is the least time between two questions to the journal.
	every = 5 * time.Second
	// reach and reachLines are how far back the first question goes.
	reach      = 30 * time.Minute
	reachLines = 4000
	// memory is how long something that was said is kept.
	memory = time.Hour
)

// moment is one moment on the clocks of the node. The journal counts on mono,
// which stands still while the machine is suspended; a snapshot on boot.
type moment struct {
	wall       time.Time
	boot, mono time.Duration
}

// Reader reads what the kubelet writes into the journal. One goroutine at a
// time may use it.
type Reader struct {
	ask ask
	now func() moment

	// process is whom all below tells of.
	process node.KubeletProcess
	said    said
	err     error
	// asked is when the journal was last asked.
	asked time.Duration
	// cursor is the last entry that was read; empty if the next question has to
	// begin anew.
	cursor string
	// byUnit is set where another process writes the kubelet's lines.
	byUnit bool
	// seen is set once a line was certainly the kubelet's.
	seen  bool
	lines joiner
}

// New reads the journal of this host with journalctl.
func New() *Reader { return &Reader{ask: journalctl, now: readClocks} }

func readClocks() moment {
	return moment{wall: time.Now().Round(0), mono: clockTime(unix.CLOCK_MONOTONIC), boot: clockTime(unix.CLOCK_BOOTTIME)}
}

func clockTime(id int32) time.Duration {
	var t unix.Timespec
	// It fails only for an unknown clock or a bad address.
	if err := unix.ClockGettime(id, &t); err != nil {
		panic("clock_gettime: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// Told returns what the process has written since it began. It asks the journal
// at most once in five seconds, and else repeats its last answer. What was wrong
// is in the Err; From is then 0, and the rest is true all the same.
func (r *Reader) Told(ctx context.Context, process node.KubeletProcess) node.Told {
	switch {
	case process.Err != nil:
		return node.Told{Err: fmt.Errorf("whose journal to read: %w", process.Err)}
	case process.PID <= 0:
		return node.Told{Err: errors.New("no kubelet runs whose journal could be read")}
	case process.Unit == "":
		return node.Told{Err: fmt.Errorf("the kubelet (PID %d) runs in no systemd unit: its log is not looked for elsewhere", process.PID)}
	}
	now := r.now()
	same := process.PID == r.process.PID && process.Started == r.process.Started && process.Unit == r.process.Unit
	if !same {
		*r = Reader{ask: r.ask, now: r.now, process: process, said: newSaid()}
	}
	if !same || now.boot-r.asked >= every {
		r.asked = now.boot
		r.err = r.read(ctx, now)
		r.said.forget(now.boot - memory)
	}
	told := r.said.copy()
	if r.err != nil {
		told.Err, told.From = fmt.Errorf("read the kubelet's lines (%s) in the journal: %w", process.Unit, r.err), 0
	}
	return told
}

func (r *Reader) read(ctx context.Context, now moment) error {
	if r.cursor != "" {
		if whole, err := r.readOn(ctx, now); whole || err != nil {
			return err
		}
	}
	err := r.readBack(ctx, now)
	if err != nil {
		r.cursor = ""
	}
	return err
}

// readOn reads what came after the last entry. It returns false if that is not
// in the journal any more, so that nobody knows what is missing, or if too much
// came since.
func (r *Reader) readOn(ctx context.Context, now moment) (whole bool, err error) {
	lines, last := 0, r.cursor
	// If the cursor's entry is gone, journalctl begins at the nearest one without
	// a word: the entry itself has to come first.
	err = r.ask(ctx, func(e entry) error {
		lines++
		whole = lines <= reachLines && (lines > 1 || e.cursor == last)
		if !whole {
			return errEnough
		}
		if lines > 1 {
			r.accept(e, now)
		}
		return nil
	}, r.arguments("--cursor="+last)...)
	return whole, err
}

// readBack reads the newest entries, and finds out how far they reach.
func (r *Reader) readBack(ctx context.Context, now moment) error {
	r.said.From, r.lines = 0, joiner{}
	oldest, lines, err := r.readNewest(ctx, now)
	if err == nil && !r.seen {
		r.byUnit = true
		oldest, lines, err = r.readNewest(ctx, now)
		r.byUnit = r.seen
	}
	switch {
	case err != nil:
		return err
	case !r.seen:
		return fmt.Errorf("no line of PID %d among the newest %d: it logs elsewhere, or wrote none that is left", r.process.PID, lines)
	}
	from := max(r.process.Started, now.boot-reach)
	if oldest > from && lines < reachLines {
		// There are no older ones, unless they are gone: journald deletes the
		// oldest files first.
		oldest = now.boot
		err = r.ask(ctx, func(e entry) error {
			oldest = now.place(e)
			return errEnough
		}, "--quiet", "--no-pager", "--system", "--boot", "--output=json", "--output-fields=_BOOT_ID")
	}
	r.said.since(max(from, oldest))
	return err
}

func (r *Reader) readNewest(ctx context.Context, now moment) (oldest time.Duration, lines int, err error) {
	oldest = now.boot
	err = r.ask(ctx, func(e entry) error {
		oldest = min(oldest, now.place(e))
		lines++
		r.accept(e, now)
		return nil
	}, r.arguments("--lines="+strconv.Itoa(reachLines))...)
	return oldest, lines, err
}

// arguments ask for the kubelet's entries, and for journald's notice that it
// dropped some of them. Without --all a long line has no text.
func (r *Reader) arguments(where string) []string {
	arguments := []string{"--quiet", "--no-pager", "--system", "--boot", "--all", "--output=json", "--output-fields=MESSAGE,MESSAGE_ID", where,
		"_SYSTEMD_UNIT=" + r.process.Unit}
	if !r.byUnit {
		arguments = append(arguments, "_PID="+strconv.Itoa(r.process.PID))
	}
	return append(arguments, "+", "_TRANSPORT=driver", "MESSAGE_ID="+suppressed, "OBJECT_SYSTEMD_UNIT="+r.process.Unit)
}

// place is when an entry came, on the boot clock: too late by the time for which
// the machine was suspended since.
func (m moment) place(e entry) time.Duration { return min(e.mono+m.boot-m.mono, m.boot) }

// certain tells that the machine was not suspended since the entry came: else
// the wall clock has gone further than the monotonic one. A wall clock that was
// set looks the same.
func (m moment) certain(e entry) bool {
	const never, slack = 100 * time.Millisecond, 2 * time.Second
	return m.boot-m.mono < never || (m.wall.Sub(e.wall)-(m.mono-e.mono)).Abs() <= slack
}

// accept handles one entry.
func (r *Reader) accept(e entry, now moment) {
	r.cursor = e.cursor
	at := now.place(e)
	switch {
	case at < r.process.Started:
		// An earlier process had the PID, or the unit.
	case e.dropped, !now.certain(e):
		r.lines = joiner{}
		r.said.since(at)
	default:
		for _, text := range r.lines.add(e.text) {
			r.handle(text, at)
		}
	}
}

// handle handles one record, if it is the kubelet's.
func (r *Reader) handle(text string, at time.Duration) {
	rec, ok := parseRecord(text)
	switch {
	case !ok && !r.byUnit && strings.HasPrefix(text, `{"ts":`):
		// journald has cut it off; it might have been about anything.
		r.said.since(at)
		return
	case !ok, r.byUnit && rec.pid != r.process.PID:
		return
	case rec.component == "" || rec.component == "kubelet":
		r.seen = true
		r.said.Last = max(r.said.Last, at)
	case rec.component != "???":
		// Another component of MicroShift; with ??? it does not know whose it is.
		return
	}
	r.said.handle(rec, at)
}
