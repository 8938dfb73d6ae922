package journal

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const kubeletPID = 1234

// kubelet began ten minutes after the boot.
var kubelet = node.KubeletProcess{PID: kubeletPID, Started: 10 * time.Minute, Unit: "kubelet.service"}

var app = node.PodName{Namespace: "kube-system", Name: "app-node1"}

// line is an entry of the fake journal.
type line struct {
	entry
	pid  int
	unit string
}

// fake is a journal that answers as journalctl does, and the clocks beside it.
type fake struct {
	moment
	// suspended is for how long the machine was suspended so far.
	lines []line
	err   error
	// asked counts the questions, last is the last one.
	asked int
	last  []string
}

// newFake is a journal that began with the boot, an hour ago.
func newFake() *fake {
	f := &fake{moment: moment{wall: time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)}}
	f.writeAs(1, "init.scope", "Linux version 6.12")
	f.pass(time.Hour)
	return f
}

func (f *fake) reader() *Reader {
	return &Reader{ask: f.ask, now: func() moment { return f.moment }}
}

// pass lets time go by.
func (f *fake) pass(d time.Duration) {
	f.wall, f.boot, f.mono = f.wall.Add(d), f.boot+d, f.mono+d
}

// suspend lets time go by in which the machine stands still.
func (f *fake) suspend(d time.Duration) {
	f.wall, f.boot = f.wall.Add(d), f.boot+d
}

func (f *fake) writeAs(pid int, unit string, text string) {
	f.lines = append(f.lines, line{pid: pid, unit: unit, entry: entry{
		cursor: fmt.Sprintf("s=1;i=%d", len(f.lines)+1), mono: f.mono, wall: f.wall, text: text}})
}

// write lets the kubelet write.
func (f *fake) write(texts ...string) {
	for _, text := range texts {
		for part := range strings.SplitSeq(text, "\n") {
			f.writeAs(kubeletPID, kubelet.Unit, part)
		}
	}
}

// drop lets journald say that it dropped messages of the kubelet.
func (f *fake) drop() {
	f.writeAs(1, "journald", "Suppressed 7504 messages from kubelet.service")
	f.lines[len(f.lines)-1].dropped = true
}

// vacuum deletes all but the newest lines.
func (f *fake) vacuum(keep int) { f.lines = f.lines[len(f.lines)-keep:] }

func (f *fake) ask(ctx context.Context, take func(entry) error, arguments ...string) error {
	f.asked++
	f.last = arguments
	if f.err != nil {
		return f.err
	}
	var matched []line
	filtered := slices.Contains(arguments, "+")
	for _, l := range f.lines {
		if !filtered || l.dropped || slices.Contains(arguments, "_SYSTEMD_UNIT="+l.unit) &&
			(!strings.Contains(strings.Join(arguments, " "), "_PID=") || slices.Contains(arguments, "_PID="+strconv.Itoa(l.pid))) {
			matched = append(matched, l)
		}
	}
	for _, argument := range arguments {
		if text, ok := strings.CutPrefix(argument, "--lines="); ok {
			n, _ := strconv.Atoi(text)
			matched = matched[max(0, len(matched)-n):]
		}
		if cursor, ok := strings.CutPrefix(argument, "--cursor="); ok {
			// The nearest one at or after the cursor.
			matched = slices.DeleteFunc(matched, func(l line) bool { return index(l.cursor) < index(cursor) })
		}
	}
	for _, l := range matched {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := take(l.entry); err != nil {
			if err == errEnough {
				return nil
			}
			return err
		}
	}
	return nil
}

func index(cursor string) int {
	n, _ := strconv.Atoi(cursor[strings.LastIndex(cursor, "=")+1:])
	return n
}

// told asks the reader after the time in which it would repeat itself.
func (f *fake) told(t *testing.T, r *Reader) node.Told {
	t.Helper()
	f.pass(every)
	return r.Told(t.Context(), kubelet)
}

const (
	started = `I1201 03:00:00.000000    1234 kubelet.go:2436] "Starting kubelet main sync loop"`
	failing = `E1201 03:51:26.000000    1234 pod_workers.go:1301] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"main\" with CrashLoopBackOff: \"back-off 40s restarting failed container=main pod=app-node1_kube-system(3f2a)\"" pod="kube-system/app-node1" podUID="3f2a"`
)
