package expect

import "time"

// Remedy is a way to run the node.
type Remedy string

// The remedies, AsIs first. Each but Promotion and Sentinels is alone;
// Promotion is with the guard, Sentinels with both.
const (
	AsIs      Remedy = "as it is"
	Flags     Remedy = "immutable alone"
	Guard     Remedy = "guard"
	Promotion Remedy = "guard + promotion"
	Sentinels Remedy = "guard + sentinels"
	ByCache   Remedy = "strategy Cache"
	ByGet     Remedy = "strategy Get"
)

// Remedies are all of them, in the order in which they are shown.
var Remedies = [...]Remedy{AsIs, Flags, Guard, Promotion, Sentinels, ByCache, ByGet}

// renewal is the mean life of a kubelet's WATCH: 30 to 60 minutes at random.
const renewal = 45 * time.Minute

// Load is what a node asks of the API server about its Secrets and ConfigMaps.
type Load struct {
	Remedy Remedy `json:"remedy"`
	// StartWatches, StartLists and StartGets are sent when the node or its
	// kubelet starts and all pods with it.
	StartWatches int `json:"startWatches"`
	StartLists   int `json:"startLists"`
	StartGets    int `json:"startGets"`
	// StartReads are the reads of etcd that these cost at most: consistent LISTs
	// that come together can share one, and so can GETs of an object that
	// several pods refer to.
	StartReads int `json:"startEtcdReads"`
	// Open are the WATCHes that stay.
	Open int `json:"openWatches"`
	// Steady are requests per second from then on, SteadyReads those of them
	// that read etcd.
	Steady      float64 `json:"steadyPerSecond"`
	SteadyReads float64 `json:"steadyEtcdReadsPerSecond"`
}

// Under is what is asked under a remedy.
//
// Flags alone save no WATCH at a start: the kubelet opens one for each object
// and looks at the flag when it has read it. The guard replaces them by LISTs,
// which are consistent reads for a kubelet that begins with a watch-list, and
// watches only what can change and is still used after its grace. At a restart
// of the kubelet alone it opens no WATCH at all.
func (c Counts) Under(r Remedy, k Kubelet) Load {
	l := Load{Remedy: r}
	promoted, promotedEnv := 0, 0
	switch r {
	case AsIs:
		switch k.Strategy {
		case Cache:
			l = c.Under(ByCache, k)
		case Get:
			l = c.Under(ByGet, k)
		default:
			c.direct(&l, k, c.Mutable)
		}
		l.Remedy = AsIs
		return l
	case Flags:
		c.direct(&l, k, c.Mutable-c.Promotable)
		return l
	case ByCache:
		// Each object is read from etcd when a pod refers to it anew, and from
		// the API server's cache when its copy is older than the TTL.
		l.StartGets = c.Reads + c.Once
		l.StartReads = c.Objects
		l.Steady = float64(c.Reads) / k.resync().Seconds()
		if ttl := k.TTL.Seconds(); ttl > 0 {
			l.Steady = min(l.Steady, float64(c.ReadObjects)/ttl)
		}
		return l
	case ByGet:
		// A volume is read twice at its pod's start: the mount, and the remount
		// that follows it.
		l.StartGets = 2*c.Reads + c.Once
		l.StartReads = l.StartGets
		l.Steady = float64(c.Reads) / k.resync().Seconds()
		l.SteadyReads = l.Steady
		return l
	case Promotion:
		promoted, promotedEnv = c.Promotable, c.PromotableEnv
	}
	l.StartLists = c.Objects
	if k.Path() != ListPath {
		l.StartReads = c.Objects
	}
	l.StartWatches = c.Mutable - promoted + c.EnvOnly - promotedEnv + c.Missing
	l.Open = c.Mutable - promoted + c.Missing
	if r == Sentinels {
		l.StartWatches += c.Families - c.Members
		l.Open += c.Families - c.Members
	}
	l.Steady = float64(l.Open) / renewal.Seconds()
	return l
}

func (c Counts) direct(l *Load, k Kubelet, open int) {
	l.StartWatches = c.Objects
	if k.Path() == ListPath {
		l.StartLists = c.Objects
	} else {
		l.StartReads = c.Objects
	}
	l.Open = open + c.Missing
	l.Steady = float64(l.Open) / renewal.Seconds()
}

// Add adds what another node asks.
func (l *Load) Add(o Load) {
	l.StartWatches += o.StartWatches
	l.StartLists += o.StartLists
	l.StartGets += o.StartGets
	l.StartReads += o.StartReads
	l.Open += o.Open
	l.Steady += o.Steady
	l.SteadyReads += o.SteadyReads
}
