package store

import (
	"encoding/json"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// countersFile keeps what outlives evicted records: how many attempts a series
// has had, how many records are gone.
const countersFile = ".counters.json"

// counter is of one container.
type counter struct {
	PodUID   string        `json:"podUID"`
	Series   record.Series `json:"series"`
	Finished time.Time     `json:"finished"`
	Recorded time.Time     `json:"recorded"`
	Dropped  int           `json:"dropped,omitempty"`
}

// counters are by the container's directory below the root.
type counters map[string]counter

func (c counters) dropped() int {
	n := 0
	for _, x := range c {
		n += x.Dropped
	}
	return n
}

// readCounters reads the file; what does not parse is counted anew from the
// records.
func (s *Store) readCounters() {
	s.counters = counters{}
	data, err := statefile.Read(s.path(countersFile), record.MaxIndexBytes)
	if err == nil {
		err = json.Unmarshal(data, &s.counters)
	}
	if err != nil && !missing(err) {
		s.Log.Warn("cannot read the counters of crash records: counting anew", "error", err)
	}
	if s.counters == nil {
		s.counters = counters{}
	}
}

func (s *Store) writeCounters() error {
	data, err := json.Marshal(s.counters)
	if err != nil {
		return err
	}
	err = s.put(s.path(countersFile), data, true)
	s.uncounted = err != nil
	return err
}

// countRecords takes up what the file does not know: the process may have
// ended between a record and its counting.
func (s *Store) countRecords() {
	for _, k := range s.records {
		s.count(&k.Meta)
	}
}

// count notes a record as the newest of its container if it is that.
func (s *Store) count(m *record.Meta) {
	key := containerOf(m)
	c := s.counters[key]
	same := c.PodUID == m.PodUID && sameTime(c.Series.Began, m.Series.Began)
	if same && m.Series.Index < c.Series.Index || !same && m.Recorded.Before(c.Recorded) {
		return
	}
	c.PodUID, c.Series, c.Finished, c.Recorded = m.PodUID, m.Series, ended(m), m.Recorded
	s.counters[key], s.uncounted = c, true
}

func (s *Store) countDropped(key string) {
	c := s.counters[key]
	c.Dropped++
	if now := s.Now().UTC(); c.Recorded.IsZero() {
		c.Recorded = now // it is forgotten some time after that
	}
	s.counters[key], s.uncounted = c, true
	s.indexes.touch(key + "/")
}

// series places an attempt after the last one of its container. A series ends
// with a run of SeriesEnd, or as much time without any attempt: by then the
// kubelet's back-off has ended as well (kubelet pkg/kubelet/kuberuntime/
// kuberuntime_manager.go doBackOff). Another pod UID is another back-off too.
func (s *Store) series(m *record.Meta) record.Series {
	began := began(m)
	first := record.Series{Began: &began, Index: 1}
	last, ok := s.counters[containerOf(m)]
	if !ok || last.Series.Index == 0 || last.PodUID != m.PodUID {
		return first
	}
	end := s.limits.seriesEnd
	ran, paused := ended(m).Sub(began), began.Sub(last.Finished)
	if m.Started != nil && ran >= end || paused >= end {
		return first
	}
	return record.Series{Began: last.Series.Began, Index: last.Series.Index + 1}
}

func containerOf(m *record.Meta) string {
	return record.ContainerDir(m.Namespace, m.Pod, m.Container)
}

// began is when an attempt began, as far as anybody knows.
func began(m *record.Meta) time.Time {
	for _, t := range []*time.Time{m.Started, m.Created, m.FirstRecord, m.Finished} {
		if t != nil {
			return t.UTC()
		}
	}
	return m.Recorded.UTC()
}

// ended is when an attempt ended, as far as anybody knows.
func ended(m *record.Meta) time.Time {
	if m.Finished != nil {
		return m.Finished.UTC()
	}
	return m.Recorded.UTC()
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}
