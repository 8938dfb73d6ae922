package immutable

import "sync/atomic"

// Counter names one thing that is counted from the guard's start.
type Counter int

// The counters. Of the requests for one key every one is counted once under a
// Served, Passed or Refused.
const (
	// ServedFresh: answered from a LIST that was sent after the request came.
	ServedFresh Counter = iota
	// ServedLive: answered from a copy that an open WATCH keeps.
	ServedLive
	// ServedStale: an immutable copy, unchecked as the API server failed or was
	// late. A check follows.
	ServedStale
	// ServedOlder: any copy that the client's own resourceVersion allows, as
	// the API server failed or was late.
	ServedOlder
	// ServedWatch: plain watches taken on.
	ServedWatch
	// PassedStreams, PassedObjects and PassedBytes: a bound was reached.
	PassedStreams
	PassedObjects
	PassedBytes
	// PassedLarge: the object is larger than maxObjectBytes.
	PassedLarge
	// PassedVersion: the API server's versions are no numbers, or went back.
	PassedVersion
	// PassedShape: a request that is not the guard's, or a combination of
	// parameters that it leaves alone.
	PassedShape
	// PassedClosing: the guard is ending.
	PassedClosing
	// PassedAnswer: the API server's answer was not understood.
	PassedAnswer
	// Refused: the API server refused, and the client was told so.
	Refused
	// Abandoned: the client left before there was an answer.
	Abandoned
	// Lists and ListFailures: LISTs sent, and those that brought no state.
	Lists
	ListFailures
	// ListsAnswered: LISTs that brought a state.
	ListsAnswered
	// ListsConsistent: those of the LISTs that cost a read of etcd.
	ListsConsistent
	// ListsJoined: requests that shared another's LIST.
	ListsJoined
	// FirstReadsLate: first reads without an answer by firstRead.
	FirstReadsLate
	// Watches and WatchFailures: WATCHes sent, and those that were refused or
	// broke.
	Watches
	WatchFailures
	// WatchesAccepted: WATCHes that the API server has accepted.
	WatchesAccepted
	// Expired: WATCHes that the API server answered with 410.
	Expired
	// ExpiredLocal: plain watches that were told 410.
	ExpiredLocal
	// WentBack: the API server showed an older state than before.
	WentBack
	// Recreated: an object was seen under a new UID.
	Recreated
	// Bookmarks: bookmarks relayed.
	Bookmarks
	// Hints: changes of a sentinel that had its family checked.
	Hints
	// Evicted: copies without a stream dropped early to make room.
	Evicted
	// SlowStreams: streams ended because their client did not read.
	SlowStreams
	counterCount
)

var counterNames = [counterCount]string{
	"served_fresh", "served_live", "served_stale", "served_older", "served_watch",
	"passed_streams", "passed_objects", "passed_bytes", "passed_large", "passed_version",
	"passed_shape", "passed_closing", "passed_answer", "refused", "abandoned",
	"lists", "list_failures", "lists_answered", "lists_consistent", "lists_joined", "first_reads_late",
	"watches", "watch_failures", "watches_accepted", "expired", "expired_local", "went_back", "recreated",
	"bookmarks", "hints", "evicted", "slow_streams",
}

// String is the counter's name in Stats.
func (c Counter) String() string { return counterNames[c] }

type counters [counterCount]atomic.Int64

func (c *counters) add(which Counter) { c[which].Add(1) }

// Stats is the guard at one moment.
type Stats struct {
	// Counters are by the names of Counter, since the start.
	Counters map[string]int64 `json:"counters"`
	// Streams are the local ones held open.
	Streams int `json:"streams"`
	// Objects are the keys known, Missing those of them without an object.
	Objects int `json:"objects"`
	Missing int `json:"missing"`
	// Bytes is the size of all objects.
	Bytes int64 `json:"bytes"`
	// OpenWatches are the WATCHes that the API server has accepted.
	OpenWatches int `json:"openWatches"`
}

// Stats may be called at any time.
func (g *Guard) Stats() Stats {
	s := Stats{Counters: make(map[string]int64, counterCount)}
	for c := range counterCount {
		s.Counters[c.String()] = g.count[c].Load()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s.Streams, s.Bytes = g.streams, g.bytes
	for _, e := range g.entries {
		if e.state != nil {
			s.Objects++
			if e.state.object == nil {
				s.Missing++
			}
		}
		if e.watching != nil && e.watching.open {
			s.OpenWatches++
		}
	}
	return s
}
