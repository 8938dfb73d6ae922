package logretention

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/retention"
)

// Status is how the keeping of records goes.
type Status struct {
	// Records are kept, Live attempts are followed.
	Records, Live int
	// Bytes is what both take, LimitBytes what they may take.
	Bytes, LimitBytes int64
	// Evicted and Lost count, since the process began, records that made room
	// for others and attempts of which no record could be made.
	Evicted, Lost int
	// Evictions is Evicted by the limit that was kept; Crashes counts records of
	// attempts that ended in trouble, by class; Gaps what is missing in records.
	Evictions map[retention.Cause]int
	Crashes   map[record.Class]int
	Gaps      int
	// Watches are watched directories.
	Watches int
	// Sources says of watch and exits whether they work: "ok", or why not.
	Sources map[string]string
	// DroppedEvents counts hints that came faster than they could be taken.
	DroppedEvents int64
	// Err says what keeps records from being made; empty for nothing.
	Err string
}

// Status tells how it goes, as of what happened last. The caller owns the maps.
func (k *Keeper) Status() Status {
	k.statusLock.Lock()
	defer k.statusLock.Unlock()
	s := k.status
	s.Sources, s.Crashes = maps.Clone(s.Sources), maps.Clone(s.Crashes)
	s.DroppedEvents = k.dropped.Load()
	return s
}

// measure looks at what records take. It is done with each look and each round
// of housekeeping, as it looks at the files of live attempts.
func (k *Keeper) measure() {
	usage := k.store.Usage()
	k.statusLock.Lock()
	defer k.statusLock.Unlock()
	s := &k.status
	s.Records, s.Bytes, s.LimitBytes, s.Evicted = usage.Records, usage.Bytes, usage.Limit, usage.Evicted
	s.Evictions = usage.Evictions // a copy already, which nobody changes
}

// count counts a record.
func (k *Keeper) count(e record.Entry) {
	k.statusLock.Lock()
	defer k.statusLock.Unlock()
	k.status.Gaps += len(e.Gaps)
	if !e.Class.Trouble() {
		return
	}
	if k.status.Crashes == nil {
		k.status.Crashes = map[record.Class]int{}
	}
	k.status.Crashes[e.Class]++
}

// publishStatus takes up what has changed otherwise.
func (k *Keeper) publishStatus() {
	k.statusLock.Lock()
	defer k.statusLock.Unlock()
	s := &k.status
	s.Live, s.Lost = len(k.attempts), k.lost
	if s.Sources == nil {
		s.Sources = map[string]string{}
	}
	s.Sources[string(record.SourceWatch)] = k.health(troubleWatch)
	delete(s.Sources, "exits")
	if k.Config.Exits != "" {
		s.Sources["exits"] = k.health(troubleExits)
	}
	if k.watcher != nil {
		s.Watches = k.watcher.Len()
	}
	var others []string
	for _, what := range slices.Sorted(maps.Keys(k.trouble)) {
		if what != troubleWatch && what != troubleExits {
			others = append(others, what+": "+k.trouble[what])
		}
	}
	s.Err = strings.Join(others, "; ")
}

func (k *Keeper) health(of string) string {
	if k.watcher == nil {
		return errNoInotify.Error()
	}
	if text := k.trouble[of]; text != "" {
		return text
	}
	return "ok"
}

var errNoInotify = errors.New("no inotify: each look scans")
