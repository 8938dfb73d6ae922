package retention

import (
	"fmt"
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// Act is what becomes of a record.
type Act int

// Acts.
const (
	// Evict removes the record.
	Evict Act = iota
	// Trim cuts the middle, so that MaxBytesPerRecord are left.
	Trim
	// TailOnly leaves head and tail, TailBytes together.
	TailOnly
	// MetaOnly leaves the facts and the last MetadataBytes.
	MetaOnly
)

// String is the act in the words of a log line.
func (a Act) String() string {
	return [...]string{"evict", "trim", "tail only", "metadata only"}[a]
}

// Cause is the limit that a decision keeps, in a word.
type Cause string

// Causes of decisions.
const (
	ForAge     Cause = "age"     // MaxAge
	ForShare   Cause = "share"   // First, Last and Generations of one container
	ForSize    Cause = "size"    // MaxBytesPerRecord
	ForRecords Cause = "records" // MaxRecords
	ForUse     Cause = "use"     // MaxUse
	ForDisk    Cause = "disk"    // KeepFreePercent
	ForInodes  Cause = "inodes"  // KeepFreeInodes
)

// Causes are all of them.
var Causes = [...]Cause{ForAge, ForShare, ForSize, ForRecords, ForUse, ForDisk, ForInodes}

// Decision is one act and why.
type Decision struct {
	Act    Act
	Path   string
	Cause  Cause
	Reason string
}

// Decide says what has to happen, in that order, for the records to be within
// the limits. Acts of one record never repeat: the strongest is given. The same
// arguments, in any order of items, give the same decisions; once those are
// carried out there are none.
func Decide(l Limits, now time.Time, disk Disk, items []Item) []Decision {
	d := &decider{limits: l, decided: map[string]int{}}
	for _, h := range histories(items) {
		d.left = append(d.left, d.share(now, h))
	}
	d.left = slices.DeleteFunc(d.left, func(h history) bool { return len(h) == 0 })
	d.cause = ForSize
	for _, h := range d.left {
		for i := range h {
			if log := h[i].Log; log > l.MaxBytesPerRecord+Slack && !h[i].Held {
				d.cut(&h[i], Trim, l.MaxBytesPerRecord, fmt.Sprintf("%d bytes, at most %d are kept of one record", log, l.MaxBytesPerRecord))
			}
		}
	}
	d.cause = ForRecords
	for d.count() > l.MaxRecords && d.evict(func(Item) bool { return true }, fmt.Sprintf("more than %d records", l.MaxRecords)) {
	}
	d.makeRoom(disk)
	return slices.DeleteFunc(d.out, func(x Decision) bool { return x.Reason == "" })
}

// decider knows what is left after the decisions so far.
type decider struct {
	limits  Limits
	cause   Cause // of the decisions to come
	left    []history
	out     []Decision
	decided map[string]int // index into out, by path
	freed   int64
	files   int64 // inodes freed, at least
}

// share evicts what has expired and what is beyond the container's share.
func (d *decider) share(now time.Time, h history) history {
	why := h.share(d.limits)
	var stay history
	for i, item := range h {
		switch {
		case item.Held:
			stay = append(stay, item)
		case now.Sub(item.Finish) > d.limits.MaxAge:
			d.cause = ForAge
			d.drop(item, fmt.Sprintf("older than %s", d.limits.MaxAge))
		case why[i] == "":
			d.cause = ForShare
			d.drop(item, "neither among the first of the series nor among the newest")
		default:
			stay = append(stay, item)
		}
	}
	return stay
}

// makeRoom keeps MaxUse, and what is allowed of it on a disk that is nearly
// full.
func (d *decider) makeRoom(disk Disk) {
	taken := func() (sum int64) {
		for _, h := range d.left {
			sum += h.bytes()
		}
		return sum
	}
	use := func() int64 { return taken() - d.limits.MaxUse }
	free := func() int64 {
		if disk.Size == 0 {
			return 0
		}
		return taken() - d.limits.Allowed(d.limits.MaxUse, disk.Free+d.freed)
	}
	inodes := func() int64 {
		return percent(disk.Inodes, d.limits.KeepFreeInodes) - (disk.FreeInodes + d.files)
	}
	frees := func(i Item) bool { return i.Bytes > 0 }
	const tooMuch, tooLittle, noInodes = "records take more than maxUse", "less than keepFreePercent is free", "few inodes are free"

	d.cause = ForUse
	d.ladder(use, tooMuch)
	for use() > 0 && d.evict(frees, tooMuch) {
	}
	// What others fill the disk with must not cost the last facts about a
	// crash: those free next to nothing.
	d.cause = ForDisk
	d.ladder(free, tooLittle)
	d.cause = ForInodes
	for inodes() > 0 && d.evictMiddle(frees, noInodes) {
	}
}

// ladder frees bytes, what is missed least first, without losing a fact of
// the records that matter.
func (d *decider) ladder(short func() int64, reason string) {
	for short() > 0 && d.evictMiddle(func(i Item) bool { return i.Bytes > 0 }, reason) {
	}
	for _, rung := range []struct {
		act   Act
		bytes int64
	}{{TailOnly, TailBytes}, {MetaOnly, MetadataBytes}} {
		for short() > 0 {
			biggest := d.biggestLog(rung.bytes + Slack)
			if biggest == nil {
				break
			}
			d.cut(biggest, rung.act, rung.bytes, reason)
		}
	}
}

func (d *decider) biggestLog(above int64) *Item {
	var biggest *Item
	for _, h := range d.left {
		for i := range h {
			if item := &h[i]; !item.Held && item.Log > above && (biggest == nil || item.Log > biggest.Log) {
				biggest = item
			}
		}
	}
	return biggest
}

func (d *decider) count() int {
	n := 0
	for _, h := range d.left {
		n += len(h)
	}
	return n
}

// evict evicts the record that is missed least; false if there is none.
func (d *decider) evict(helps func(Item) bool, reason string) bool {
	return d.evictMiddle(helps, reason) || d.evictOldest(helps, reason)
}

func (d *decider) evictMiddle(helps func(Item) bool, reason string) bool {
	which, victim, longest := -1, -1, 0
	for n, h := range d.left {
		from, to := h.middle()
		if to-from <= longest {
			continue
		}
		if v := leastMissed(h, from, to, helps); v >= 0 {
			which, victim, longest = n, v, to-from
		}
	}
	if which < 0 {
		return false
	}
	d.remove(which, victim, reason+"; the middle of the longest series goes first")
	return true
}

func (d *decider) evictOldest(helps func(Item) bool, reason string) bool {
	which, victim := -1, -1
	for n, h := range d.left {
		if len(h) < 2 || which >= 0 && h.bytes() <= d.left[which].bytes() {
			continue
		}
		if v := leastMissed(h, 0, len(h)-1, helps); v >= 0 {
			which, victim = n, v
		}
	}
	if which >= 0 {
		d.remove(which, victim, reason+"; the container has others")
		return true
	}
	for n, h := range d.left {
		v := leastMissed(h, 0, len(h), helps)
		if v < 0 || which >= 0 && !h[v].Finish.Before(d.left[which][victim].Finish) {
			continue
		}
		which, victim = n, v
	}
	if which < 0 {
		return false
	}
	d.remove(which, victim, reason+"; it is the oldest")
	return true
}

// leastMissed is the oldest record of no trouble, or else the oldest.
func leastMissed(h history, from, to int, helps func(Item) bool) int {
	oldest := -1
	for i := from; i < to; i++ {
		switch {
		case h[i].Held || !helps(h[i]):
		case h[i].Class == record.Completed:
			return i
		case oldest < 0:
			oldest = i
		}
	}
	return oldest
}

func (d *decider) remove(which, victim int, reason string) {
	h := d.left[which]
	d.drop(h[victim], reason)
	d.left[which] = slices.Delete(h, victim, victim+1)
	if len(d.left[which]) == 0 {
		d.left = slices.Delete(d.left, which, which+1)
	}
}

func (d *decider) drop(item Item, reason string) {
	d.freed += item.Bytes
	d.files += 2 // the directory and meta.json
	d.decide(Decision{Evict, item.Path, d.cause, reason})
}

func (d *decider) cut(item *Item, act Act, to int64, reason string) {
	saved := item.Log - to
	item.Log, item.Bytes = to, item.Bytes-saved
	d.freed += saved
	d.decide(Decision{act, item.Path, d.cause, reason})
}

// decide replaces an earlier, weaker decision about the same record.
func (d *decider) decide(x Decision) {
	if earlier, ok := d.decided[x.Path]; ok {
		d.out[earlier].Reason = ""
	}
	d.decided[x.Path] = len(d.out)
	d.out = append(d.out, x)
}
