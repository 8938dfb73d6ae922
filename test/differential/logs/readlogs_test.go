package logs

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
)

// flags are a choice of all that both readers have.
func flags(r *rand.Rand, tail, since bool) reader.Options {
	o := reader.Options{Timestamps: r.IntN(2) == 0}
	if tail && r.IntN(2) == 0 {
		n := int64(r.IntN(45))
		o.Tail = &n
	}
	if since && r.IntN(3) == 0 {
		o.SinceTime = began.Add(time.Duration(r.IntN(20)) * 400 * time.Millisecond)
	}
	if r.IntN(4) == 0 {
		n := int64(1 + r.IntN(1000))
		o.LimitBytes = &n
	}
	return o
}

func same(t *testing.T, l log, o reader.Options, ours, theirs string) {
	t.Helper()
	if ours != theirs {
		t.Fatalf("%s\nlog    %s\nours   %s\ntheirs %s", describe(o), short(l.text), short(ours), short(theirs))
	}
}

func forEach(t *testing.T, stream uint64, s shape, check func(d dir, r *rand.Rand, l log)) {
	t.Logf("seed %d (repeat with -seed=%d)", *seed, *seed)
	r := rand.New(rand.NewPCG(*seed, stream))
	d := newDir(t)
	for range *cases {
		l := generate(r, s)
		d.put(t, l.text)
		check(d, r, l)
	}
}

// Where every line is one record, every flag means the same to both.
func TestReadLogsOfWholeLines(t *testing.T) {
	for name, s := range map[string]shape{"cri": {}, "tty": {tty: true}, "docker": {docker: true}} {
		t.Run(name, func(t *testing.T) {
			forEach(t, 1, s, func(d dir, r *rand.Rand, l log) {
				o := flags(r, true, true)
				same(t, l, o, d.ours(t, o), d.theirs(t, o))
			})
		})
	}
}

// Lines in several records that follow each other: only tail and since mean
// something else, and of tail we know what.
func TestReadLogsOfPartialLines(t *testing.T) {
	for name, s := range map[string]shape{"cri": {partial: true}, "tty": {partial: true, tty: true}, "docker": {partial: true, docker: true}} {
		t.Run(name, func(t *testing.T) {
			forEach(t, 2, s, func(d dir, r *rand.Rand, l log) {
				o := flags(r, true, false)
				records := o
				if o.Tail != nil {
					n := l.recordsOf(*o.Tail)
					records.Tail = &n
				}
				same(t, l, o, d.ours(t, o), d.theirs(t, records))
			})
		})
	}
}

// Since is the same unless it falls within a line.
func TestReadLogsSincePartialLines(t *testing.T) {
	compared := 0
	forEach(t, 3, shape{partial: true}, func(d dir, r *rand.Rand, l log) {
		o := flags(r, false, true)
		for i := 1; i < len(l.entries); i++ {
			if l.entries[i-1].partial && l.entries[i-1].at.Before(o.SinceTime) && !l.entries[i].at.Before(o.SinceTime) {
				return
			}
		}
		// Times may be stored to the second only.
		if !o.SinceTime.IsZero() && len(l.entries) > 0 && (l.entries[0].layout == time.RFC3339) {
			return
		}
		compared++
		same(t, l, o, d.ours(t, o), d.theirs(t, o))
	})
	if compared < *cases/3 {
		t.Errorf("only %d of %d logs were compared", compared, *cases)
	}
}

// Where lines of both streams are written at the same time, each stream alone is
// still the same; together they differ only where lines were cut in two.
func TestReadLogsOfInterleavedLines(t *testing.T) {
	forEach(t, 4, shape{partial: true, interleaved: true}, func(d dir, r *rand.Rand, l log) {
		for _, stream := range []string{"stdout", "stderr"} {
			o := reader.Options{Stream: stream}
			if r.IntN(2) == 0 {
				n := int64(1 + r.IntN(1000))
				o.LimitBytes = &n
			}
			same(t, l, o, d.ours(t, o), d.theirs(t, o))
		}
		o := flags(r, false, false)
		if !cutInTwo(l) {
			same(t, l, o, d.ours(t, o), d.theirs(t, o))
		}
	})
}

func cutInTwo(l log) bool {
	for i := 1; i < len(l.entries); i++ {
		if l.entries[i-1].partial && l.entries[i].stream != l.entries[i-1].stream {
			return true
		}
	}
	return false
}

// A line that is no record, anywhere but at the beginning, is left out by them
// and marked by us.
func TestReadLogsAroundDamage(t *testing.T) {
	forEach(t, 5, shape{}, func(d dir, r *rand.Rand, l log) {
		lines := strings.SplitAfter(l.text, "\n")
		if len(lines) < 2 {
			return
		}
		at := 1 + r.IntN(len(lines)-1)
		lines[at-1] += "2026-11-30T12:00 torn\n"
		d.put(t, strings.Join(lines, ""))
		o := flags(r, false, true)
		o.LimitBytes = nil
		var left strings.Builder
		for line := range strings.Lines(d.ours(t, o)) {
			if line != "--- nodekeeper: not a log record: 2026-11-30T12:00 torn\n" {
				left.WriteString(line)
			}
		}
		same(t, l, o, left.String(), d.theirs(t, o))
	})
}
