package record

import "time"

// MaxIndexBytes bounds what a reader takes for an index.
const MaxIndexBytes = 16 << 20

// Index is index.json, at the root, in a pod's directory and in a container's.
type Index struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Node       string    `json:"node"`
	BootID     string    `json:"bootID"`
	Updated    time.Time `json:"updated"`
	// Records are ordered by Finished (Recorded where that is absent), oldest
	// first.
	Records []Entry `json:"records"`
	// Live are attempts that have not been recorded yet, at the root only.
	Live []Live `json:"live,omitempty"`
	// Dropped counts records that were evicted or could not be made, by
	// NAMESPACE_POD/CONTAINER.
	Dropped map[string]int `json:"dropped,omitempty"`
}

// Entry is one record. Path is its directory below the record root.
type Entry struct {
	Path string `json:"path"`
	Meta
}

// Live is one attempt that has not been recorded yet. Path is its directory
// below the record root.
type Live struct {
	Path string `json:"path"`
	Birth
	Segments []Segment `json:"segments"`
	Gaps     []Gap     `json:"gaps,omitempty"`
}
