package journal

import (
	"bytes"
	"io"
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/lines"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// The bounds of what is kept of a journal, however long it is.
const (
	maxObjects = 200_000
	maxSeconds = 400_000 // in which a reflector was started
)

// Journal is what was counted in a kubelet's journal. It may be given several
// files one after another. It is not safe for concurrent use.
type Journal struct {
	now     time.Time
	lines   lines.Counts
	report  Report
	objects map[shape.Key]bool
	seconds map[int64]int64
	left    int64
}

// New returns an empty journal. Lines without a year are of the twelve months
// before now.
func New(now time.Time) *Journal {
	return &Journal{now: now, objects: map[shape.Key]bool{}, seconds: map[int64]int64{}}
}

// Report is what a journal says.
type Report struct {
	Lines   int64 `json:"lines"`
	TooLong int64 `json:"tooLongLines"`
	Torn    int64 `json:"tornFiles"`
	// OfKubelet tells that at least one line is as a kubelet writes it. Without
	// one it was something else that was read.
	OfKubelet bool `json:"ofKubelet"`
	// Versions are those of the kubelets that started, Starts how often one did.
	Versions []string `json:"kubeletVersions,omitempty"`
	Starts   int64    `json:"kubeletStarts"`
	// Reflectors were started (at --v=3), of distinct Objects.
	Reflectors       int64 `json:"reflectorsStarted"`
	SecretReflectors int64 `json:"ofSecrets"`
	Objects          int   `json:"objects"`
	// Populated, Immutable and Idle are reflectors that have read (--v=2), that
	// ended as the object is immutable and as nobody read it (--v=4).
	Populated int64 `json:"cachesPopulated"`
	Immutable int64 `json:"stoppedImmutable"`
	Idle      int64 `json:"stoppedIdle"`
	// Late are messages about first reads that had no answer within a second;
	// several can be about one.
	Late int64 `json:"lateReads"`
	// Peak is the most reflectors started in one second, at PeakAt.
	Peak   int64      `json:"peakPerSecond"`
	PeakAt *time.Time `json:"peakAt,omitempty"`
	// LeftOut are reflectors whose objects or seconds are not told apart.
	LeftOut int64 `json:"leftOut,omitempty"`
	// Series is by the second, those without a start left out.
	Series []Second `json:"-"`
}

// Second is how many reflectors were started in one second.
type Second struct {
	At         time.Time
	Reflectors int64
}

// Read counts the lines of one file, compressed (gzip) or not. An error is one
// of reading.
func (j *Journal) Read(r io.Reader) error {
	// In -o export the time comes on a line of its own before the message.
	var exported []byte
	return j.lines.Each(r, func(line []byte) {
		if len(line) == 0 {
			exported = exported[:0]
			return
		}
		if at, ok := bytes.CutPrefix(line, []byte("__REALTIME_TIMESTAMP=")); ok {
			exported = append(exported[:0], at...)
			return
		}
		e := read(line, j.now)
		if !j.report.OfKubelet {
			j.report.OfKubelet = e.what != nothing || headed(line)
		}
		if e.what == nothing {
			return
		}
		if at, ok := micros(exported); ok {
			e.at = at
		}
		j.take(e)
	})
}

func (j *Journal) take(e entry) {
	r := &j.report
	switch e.what {
	case version:
		r.Starts++
		if e.version != "" && !slices.Contains(r.Versions, e.version) && len(r.Versions) < 100 {
			r.Versions = append(r.Versions, e.version)
		}
	case populated:
		r.Populated++
	case immutable:
		r.Immutable++
	case idle:
		r.Idle++
	case late:
		r.Late++
	case starting:
		r.Reflectors++
		if e.key.Resource == shape.Secrets {
			r.SecretReflectors++
		}
		if len(j.objects) < maxObjects || j.objects[e.key] {
			j.objects[e.key] = true
		} else {
			j.left++
		}
		if e.at.IsZero() {
			return
		}
		second := e.at.Unix()
		if _, known := j.seconds[second]; known || len(j.seconds) < maxSeconds {
			j.seconds[second]++
		} else {
			j.left++
		}
	}
}

// Report says what has been counted so far.
func (j *Journal) Report() Report {
	r := j.report
	r.Lines, r.TooLong, r.Torn, r.LeftOut = j.lines.Lines, j.lines.TooLong, j.lines.Torn, j.left
	r.Objects = len(j.objects)
	r.Versions = slices.Clone(r.Versions)
	for second, n := range j.seconds {
		r.Series = append(r.Series, Second{time.Unix(second, 0).UTC(), n})
	}
	slices.SortFunc(r.Series, func(a, b Second) int { return a.At.Compare(b.At) })
	for _, s := range r.Series {
		if s.Reflectors > r.Peak {
			r.Peak, r.PeakAt = s.Reflectors, &s.At
		}
	}
	return r
}
