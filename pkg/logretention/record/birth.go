package record

import "time"

// Birth is birth.json: what was known when an attempt began. The hook writes
// it beside the first link, so that the record can be made even if nothing else
// of the attempt is left.
type Birth struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Attempt
	BootID string    `json:"bootID"`
	Seen   time.Time `json:"seen"`
	By     Source    `json:"by"`
	// LogPath is the kubelet's log file; Bundle the OCI bundle's directory.
	LogPath  string `json:"logPath"`
	Bundle   string `json:"bundle,omitempty"`
	Image    string `json:"image,omitempty"`
	ImageRef string `json:"imageRef,omitempty"`
	SpecHash string `json:"specHash,omitempty"`
	// Pid is the container's init process in the node's PID namespace; 0 if
	// unknown.
	Pid int `json:"pid,omitempty"`
}

// Capture is capture.json: the segments and gaps of a live attempt. Without it
// the segments are the files log.N, in the order of N.
type Capture struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Segments   []Segment `json:"segments"`
	Gaps       []Gap     `json:"gaps,omitempty"`
	BornBy     []Source  `json:"bornBy,omitempty"`
}
