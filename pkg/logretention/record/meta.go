package record

import "time"

// Identity of the JSON files.
const (
	APIVersion   = "nodekeeper.io/v1alpha1"
	KindRecord   = "CrashRecord"
	KindIndex    = "CrashRecordIndex"
	KindBirth    = "Birth"
	KindCapture  = "Capture"
	MaxMetaBytes = 1 << 20 // of meta.json, birth.json and capture.json
)

// Attempt identifies one attempt of one container.
type Attempt struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	// PodUID of a static pod is a hash of manifest, node and path; its first
	// eight characters are part of the record's ID.
	PodUID    string `json:"podUID"`
	Container string `json:"container"`
	// Attempt is CRI's attempt number, which is the restart count.
	Attempt     uint32 `json:"attempt"`
	ContainerID string `json:"containerID"`
	SandboxID   string `json:"sandboxID,omitempty"`
	// Revision is the value of the pod's label or annotation "revision"
	// (OpenShift's static pods have it); empty if there is none.
	Revision string `json:"revision,omitempty"`
}

// Meta is meta.json: the facts of one attempt that has ended.
type Meta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// ID is the name of the record's directory: start time, eight characters
	// of the pod UID, attempt.
	ID string `json:"id"`
	Attempt
	Node   string `json:"node"`
	BootID string `json:"bootID"`

	// Image is the name that the pod asked for, ImageRef what the runtime
	// resolved it to.
	Image    string `json:"image,omitempty"`
	ImageRef string `json:"imageRef,omitempty"`
	// SpecHash is the kubelet's hash of the container spec
	// (io.kubernetes.container.hash).
	SpecHash string `json:"specHash,omitempty"`

	// Created, Started and Finished are wall-clock times of the node; absent
	// if unknown. Recorded is when this record was made.
	Created  *time.Time `json:"created,omitempty"`
	Started  *time.Time `json:"started,omitempty"`
	Finished *time.Time `json:"finished,omitempty"`
	Recorded time.Time  `json:"recorded"`

	Class Class `json:"class"`
	// ClassReason is one line: what the class was concluded from.
	ClassReason string `json:"classReason,omitempty"`
	// ExitCode is absent if nobody could say it. Signal is ExitCode - 128 for
	// an exit by signal, else 0.
	ExitCode  *int32 `json:"exitCode,omitempty"`
	Signal    int    `json:"signal,omitempty"`
	OOMKilled bool   `json:"oomKilled,omitempty"`
	// Reason and Message are CRI's.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// ExitKnownFrom says who knew the exit code.
	ExitKnownFrom Source `json:"exitKnownFrom"`
	// BornBy lists who saw the attempt begin.
	BornBy []Source `json:"bornBy,omitempty"`

	// LogPath is where the kubelet kept the log.
	LogPath  string    `json:"logPath"`
	Segments []Segment `json:"segments"`
	Gaps     []Gap     `json:"gaps,omitempty"`
	// FirstRecord and LastRecord are the time stamps of the first and the last
	// log record that could be read.
	FirstRecord *time.Time `json:"firstRecord,omitempty"`
	LastRecord  *time.Time `json:"lastRecord,omitempty"`

	Series Series `json:"series"`
	// Acts are IDs of acts of the restart ladder that this attempt led to.
	Acts []string `json:"acts,omitempty"`
	// Hold keeps the record from eviction; absent if there is none.
	Hold *Hold `json:"hold,omitempty"`
}

// Segment is one piece of a log, in the order of writing: Name is log.N, or
// log.N.gz if gzip-compressed.
type Segment struct {
	Name string `json:"name"`
	// Bytes is the size of the log text, not of a compressed file. It is what
	// was seen last: a live segment grows.
	Bytes int64 `json:"bytes"`
	// Rotated is the kubelet's name of the file after rotation, for example
	// 0.log.20261130-090337; empty for the newest segment.
	Rotated string `json:"rotated,omitempty"`
}

// Compressed tells whether the file is gzip.
func (s Segment) Compressed() bool { return len(s.Name) > 3 && s.Name[len(s.Name)-3:] == ".gz" }

// Gap is a part of the log that is not there, and why.
type Gap struct {
	// Before is the index into Segments of the segment that the gap comes
	// before; len(Segments) for a gap at the end.
	Before int `json:"before"`
	// Offset is the position of the gap within that segment's text: 0 for a
	// gap before all of it.
	Offset int64 `json:"offset,omitempty"`
	// Bytes is the size of what is missing; negative if nobody knows.
	Bytes int64 `json:"bytes"`
	// Reason is one line.
	Reason string `json:"reason"`
}

// Series places an attempt in a row of attempts of one container that ended
// without a long healthy run in between.
type Series struct {
	// Began is the recorded start of the first attempt of the series.
	Began *time.Time `json:"began,omitempty"`
	// Index counts from 1. It goes on counting where records have been
	// evicted: the last one says how many attempts the series has had.
	Index int `json:"index"`
}

// Hold is somebody's wish that a record stay.
type Hold struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"`
}

// Complete tells whether the whole log is there.
func (m *Meta) Complete() bool { return len(m.Gaps) == 0 }

// Bytes is the size of the text that is there.
func (m *Meta) Bytes() int64 {
	var n int64
	for _, s := range m.Segments {
		n += s.Bytes
	}
	return n
}
