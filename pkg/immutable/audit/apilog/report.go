package apilog

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// Counts are requests by verb.
type Counts struct {
	// Watch are all watches, WatchList those of them that begin with what there
	// is.
	Watch     int64 `json:"watch"`
	WatchList int64 `json:"watchList"`
	List      int64 `json:"list"`
	Get       int64 `json:"get"`
}

// Total is all requests.
func (c Counts) Total() int64 { return c.Watch + c.List + c.Get }

// Asked are requests, and how many of them read etcd.
type Asked struct {
	Counts
	EtcdReads int64 `json:"etcdReads"`
}

// Peak is the second in which the most was asked.
type Peak struct {
	Requests int64      `json:"requests"`
	Watches  int64      `json:"watches"`
	At       *time.Time `json:"at,omitempty"`
}

// Node is what was asked in one node's name.
type Node struct {
	Node string `json:"node"`
	Asked
	Clients map[string]Asked `json:"clients"`
	Objects int              `json:"objects"`
	Peak    Peak             `json:"peakPerSecond"`
}

// Place is what was asked about a namespace or an object.
type Place struct {
	Resource  string `json:"resource,omitempty"`
	Namespace string `json:"namespace"`
	Name      string `json:"name,omitempty"`
	Counts
	// Objects are the distinct ones, Nodes those that asked.
	Objects int `json:"objects,omitempty"`
	Nodes   int `json:"nodes"`
}

// Report is what a log says.
type Report struct {
	Lines   int64 `json:"lines"`
	Foreign int64 `json:"foreignLines"`
	TooLong int64 `json:"tooLongLines"`
	Torn    int64 `json:"tornFiles"`
	Left    Left  `json:"leftOut"`
	// WatchesBy and OthersBy are the stages whose events were counted.
	WatchesBy string `json:"watchesCountedBy,omitempty"`
	OthersBy  string `json:"othersCountedBy,omitempty"`

	First *time.Time `json:"first,omitempty"`
	Last  *time.Time `json:"last,omitempty"`
	Asked
	Clients map[string]Asked `json:"clients"`
	// Refused are answers of 400 and more, by status.
	Refused map[int]int64 `json:"refused,omitempty"`
	// Others is what users that are no nodes asked.
	Others Counts `json:"otherUsers"`
	Peak   Peak   `json:"peakPerSecond"`
	// Nodes have the most WATCHes first, Namespaces and Objects the most
	// requests.
	Nodes      []Node  `json:"nodes"`
	Namespaces []Place `json:"topNamespaces"`
	TopObjects []Place `json:"topObjects"`
	// Series is by the second, those without a request left out.
	Series []Second `json:"-"`
}

// Second is what was asked in one second, by client.
type Second struct {
	At      time.Time
	Clients [clients]Counts
}

// top is how many namespaces and objects are reported.
const top = 10

var stageNames = [...]string{"RequestReceived", "ResponseStarted", "ResponseComplete"}

// chosen is the stage that counts, for each verb.
type chosen [verbs]stage

func (l *Log) choose() (c chosen, report [2]string) {
	var seen [stages]struct{ watches, others bool }
	for _, client := range append(l.all[:], both{all: l.others}) {
		for at, by := range client.all {
			seen[at].watches = seen[at].watches || by[Watch]+by[WatchList] > 0
			seen[at].others = seen[at].others || by[List]+by[Get] > 0
		}
	}
	watches, others := complete, complete
	switch {
	case seen[received].watches || seen[received].others:
		watches, others = received, received
	case seen[started].watches:
		watches = started
	}
	c[Watch], c[WatchList], c[List], c[Get] = watches, watches, others, others
	if seen[watches].watches {
		report[0] = stageNames[watches]
	}
	if seen[others].others {
		report[1] = stageNames[others]
	}
	return c, report
}

func (c chosen) counts(b byStage) Counts {
	return Counts{
		Watch:     int64(b[c[Watch]][Watch]) + int64(b[c[WatchList]][WatchList]),
		WatchList: int64(b[c[WatchList]][WatchList]),
		List:      int64(b[c[List]][List]),
		Get:       int64(b[c[Get]][Get]),
	}
}

func (c chosen) asked(b both) Asked {
	return Asked{c.counts(b.all), c.counts(b.reads).Total()}
}

// each are the requests of each client that made any, and their sum.
func (c chosen) each(by [clients]both) (Asked, map[string]Asked) {
	var sum Asked
	each := map[string]Asked{}
	for client, b := range by {
		a := c.asked(b)
		sum.add(a.Counts)
		sum.EtcdReads += a.EtcdReads
		if a.Total() > 0 {
			each[Client(client).String()] = a
		}
	}
	return sum, each
}

func (c *Counts) add(o Counts) {
	c.Watch += o.Watch
	c.WatchList += o.WatchList
	c.List += o.List
	c.Get += o.Get
}

// Report says what has been counted so far.
func (l *Log) Report() Report {
	c, by := l.choose()
	r := Report{
		Lines: l.lines.Lines, Foreign: l.foreign, TooLong: l.lines.TooLong, Torn: l.lines.Torn, Left: l.left,
		WatchesBy: by[0], OthersBy: by[1], Refused: l.refused, Others: c.counts(l.others),
	}
	if !l.first.IsZero() {
		r.First, r.Last = &l.first, &l.last
	}
	r.Asked, r.Clients = c.each(l.all)
	for _, second := range slices.Sorted(maps.Keys(l.seconds)) {
		s := Second{At: time.Unix(second, 0).UTC()}
		var sum Counts
		for client, b := range l.seconds[second] {
			s.Clients[client] = c.counts(b)
			sum.add(s.Clients[client])
		}
		if sum.Total() == 0 {
			continue
		}
		r.Series = append(r.Series, s)
		r.Peak.raise(sum, second)
	}
	r.Nodes = l.byNode(c)
	r.Namespaces, r.TopObjects = l.places(c)
	return r
}

// raise takes a second as the peak if more was asked in it, or as much earlier.
func (p *Peak) raise(c Counts, second int64) {
	at := time.Unix(second, 0).UTC()
	if total := c.Total(); total > p.Requests || total == p.Requests && p.At != nil && at.Before(*p.At) {
		p.Requests, p.At = total, &at
	}
	p.Watches = max(p.Watches, c.Watch)
}

func (l *Log) byNode(c chosen) []Node {
	nodes := []Node{}
	at := map[uint32]int{}
	for _, name := range slices.Sorted(maps.Keys(l.nodes)) {
		n := Node{Node: name}
		n.Asked, n.Clients = c.each(l.nodes[name].clients)
		if n.Total() == 0 {
			continue
		}
		at[l.nodes[name].number] = len(nodes)
		nodes = append(nodes, n)
	}
	for m, b := range l.moments {
		if i, ok := at[m.node]; ok {
			nodes[i].Peak.raise(c.counts(*b), m.second)
		}
	}
	for p, b := range l.pairs {
		if i, ok := at[p.node]; ok && c.counts(*b).Total() > 0 {
			nodes[i].Objects++
		}
	}
	slices.SortStableFunc(nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(b.Watch, a.Watch), cmp.Compare(b.Total(), a.Total()))
	})
	return nodes
}

func (l *Log) places(c chosen) (namespaces, objects []Place) {
	keys := make([]shape.Key, len(l.numbers))
	for key, number := range l.numbers {
		keys[number] = key
	}
	byObject := map[uint32]*Place{}
	byNamespace := map[string]*Place{}
	askers := map[pair]bool{} // of a node and a namespace, by the first object there
	firsts := map[string]uint32{}
	for p, b := range l.pairs {
		counts := c.counts(*b)
		if counts.Total() == 0 {
			continue
		}
		key := keys[p.object]
		o := byObject[p.object]
		if o == nil {
			o = &Place{Resource: string(key.Resource), Namespace: key.Namespace, Name: key.Name}
			byObject[p.object] = o
		}
		o.add(counts)
		o.Nodes++
		n := byNamespace[key.Namespace]
		if n == nil {
			n = &Place{Namespace: key.Namespace}
			byNamespace[key.Namespace] = n
			firsts[key.Namespace] = p.object
		}
		n.add(counts)
		if asker := (pair{p.node, firsts[key.Namespace]}); !askers[asker] {
			askers[asker] = true
			n.Nodes++
		}
	}
	for _, o := range byObject {
		byNamespace[o.Namespace].Objects++
	}
	return most(maps.Values(byNamespace)), most(maps.Values(byObject))
}
