package apilog

import (
	"io"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/lines"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// The bounds of what is kept of a log, however long it is. Together they take
// less than 100 MiB. Beyond them requests still count in the totals.
const (
	maxObjects     = 200_000 // names
	maxPairs       = 400_000 // of a node and an object
	maxNodes       = 20_000
	maxNodeSeconds = 400_000 // in which one node asked something
	maxSeconds     = 100_000 // in which any did
)

// Log is what was counted. It may be given several logs one after another, of
// several API servers or rotated ones, in any order. It is not safe for
// concurrent use.
type Log struct {
	only map[string]bool

	lines   lines.Counts
	foreign int64
	left    Left

	first, last time.Time
	all         [clients]both
	others      byStage
	refused     map[int]int64

	nodes   map[string]*node
	numbers map[shape.Key]uint32
	pairs   map[pair]*byStage
	seconds map[int64]*[clients]byStage
	moments map[moment]*byStage
}

// byStage counts events.
type byStage [stages][verbs]uint32

// both are events, and those of them that read etcd.
type both struct{ all, reads byStage }

type node struct {
	number  uint32
	clients [clients]both
}

type pair struct{ node, object uint32 }

type moment struct {
	node   uint32
	second int64
}

// Left are the requests that the bounds left out of a part of the report.
type Left struct {
	Objects int64 `json:"objects,omitempty"`
	Nodes   int64 `json:"nodes,omitempty"`
	Seconds int64 `json:"seconds,omitempty"`
}

// New returns an empty log. Names of nodes restrict it to those.
func New(nodes ...string) *Log {
	l := &Log{
		refused: map[int]int64{},
		nodes:   map[string]*node{},
		numbers: map[shape.Key]uint32{},
		pairs:   map[pair]*byStage{},
		seconds: map[int64]*[clients]byStage{},
		moments: map[moment]*byStage{},
	}
	if len(nodes) > 0 {
		l.only = map[string]bool{}
		for _, n := range nodes {
			l.only[n] = true
		}
	}
	return l
}

// Read counts the events of one file, compressed (gzip) or not. An error is one
// of reading; what is no event is counted and passed over.
func (l *Log) Read(r io.Reader) error {
	var e event
	return l.lines.Each(r, func(line []byte) {
		switch read(line, &e) {
		case ours:
			l.take(&e)
		case foreign:
			l.foreign++
		}
	})
}

func (l *Log) take(e *event) {
	verb, asks := e.verb()
	stage, known := e.stage()
	if !asks || !known {
		return
	}
	l.count(e, verb, stage)
	// A watch that was refused never starts: it is only completed.
	if e.Verb == "watch" && stage == complete && e.Response.Code >= 400 {
		l.count(e, verb, started)
	}
}

func (l *Log) count(e *event, verb Verb, at stage) {
	name, ok := strings.CutPrefix(e.User.Name, nodeUser)
	if !ok {
		l.others[at][verb]++
		return
	}
	if l.only != nil && !l.only[name] {
		return
	}
	if l.first.IsZero() || e.Received.Before(l.first) {
		l.first = e.Received
	}
	if e.Received.After(l.last) {
		l.last = e.Received
	}
	if at == complete && e.Response.Code >= 400 {
		l.refused[e.Response.Code]++
	}
	client, reads := e.client(), verb != Watch && e.consistent()
	l.all[client].add(at, verb, reads)
	second := e.Received.Unix()
	if s := find(l.seconds, second, maxSeconds); s != nil {
		s[client][at][verb]++
	} else {
		l.left.Seconds++
	}
	n := find(l.nodes, name, maxNodes)
	if n == nil {
		l.left.Nodes++
		return
	}
	if n.number == 0 {
		n.number = uint32(len(l.nodes))
	}
	n.clients[client].add(at, verb, reads)
	if m := find(l.moments, moment{n.number, second}, maxNodeSeconds); m != nil {
		m[at][verb]++
	} else {
		l.left.Seconds++
	}
	key := shape.Key{Resource: shape.Resource(e.Object.Resource), Namespace: e.Object.Namespace, Name: e.Object.Name}
	number, ok := l.numbers[key]
	if !ok && len(l.numbers) < maxObjects {
		number, ok = uint32(len(l.numbers)), true
		l.numbers[key] = number
	}
	var p *byStage
	if ok {
		p = find(l.pairs, pair{n.number, number}, maxPairs)
	}
	if p == nil {
		l.left.Objects++
		return
	}
	p[at][verb]++
}

func (b *both) add(at stage, verb Verb, reads bool) {
	b.all[at][verb]++
	if reads {
		b.reads[at][verb]++
	}
}

// find returns the entry of a bounded map, a new one if there is room.
func find[K comparable, V any](m map[K]*V, key K, limit int) *V {
	v := m[key]
	if v == nil && len(m) < limit {
		v = new(V)
		m[key] = v
	}
	return v
}
