package expect

import (
	"strconv"
	"strings"
	"time"
)

// Strategy is the kubelet's configMapAndSecretChangeDetectionStrategy.
type Strategy string

// The strategies. The empty one is not known.
const (
	Watch Strategy = "Watch"
	Cache Strategy = "Cache"
	Get   Strategy = "Get"
)

// Kubelet is what is known of the kubelet of a node.
type Kubelet struct {
	// Version is as the node reports it: v1.37.2, v1.31.9+abcdef0.
	Version  string   `json:"version,omitempty"`
	Strategy Strategy `json:"strategy,omitempty"`
	// WatchList is the kubelet's feature gate WatchListClient where it is set.
	WatchList *bool `json:"watchListClient,omitempty"`
	// TTL is how long Cache keeps an object: the node's annotation
	// node.alpha.kubernetes.io/ttl.
	TTL time.Duration `json:"-"`
	// Sync is the kubelet's syncFrequency; 0 for the default.
	Sync time.Duration `json:"-"`
}

// Path is how a kubelet begins to watch an object.
type Path string

// The paths.
const (
	// ListPath: a LIST, paced by kubeAPIQPS, and a WATCH from its version.
	ListPath Path = "list+watch"
	// WatchListPath: one WATCH that first sends what there is, not paced; it
	// costs the API server a read of etcd's revision.
	WatchListPath Path = "watch-list"
)

// firstWatchList is the minor version in which the kubelet's client begins with
// a watch-list unless told otherwise (client-go features/known_features.go).
const firstWatchList = 35

// Path is how the kubelet begins a watch; empty if its version is not known.
func (k Kubelet) Path() Path {
	if k.WatchList != nil {
		if *k.WatchList {
			return WatchListPath
		}
		return ListPath
	}
	major, minor, ok := release(k.Version)
	switch {
	case !ok:
		return ""
	case major > 1 || minor >= firstWatchList:
		return WatchListPath
	}
	return ListPath
}

func release(version string) (major, minor int, ok bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return 0, 0, false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(parts[1])
	return major, minor, err == nil
}

// resync is the mean time between two syncs of a pod: syncFrequency and a
// jitter of up to half of it (kubelet pkg/kubelet/pod_workers.go
// workerResyncIntervalJitterFactor).
func (k Kubelet) resync() time.Duration {
	sync := k.Sync
	if sync <= 0 {
		sync = time.Minute
	}
	return sync * 5 / 4
}
