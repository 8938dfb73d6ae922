package config

import (
	"fmt"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// excluded is NAMESPACE or NAMESPACE/POD with * for any text.
var excluded = regexp.MustCompile(`^[-a-z0-9*]+(/[-a-z0-9.*]+)?$`)

func (c *check) logs(l Logs) {
	c.absolute("logs.podLogs", l.PodLogs)
	c.optional("logs.exits", l.Exits)
	if l.NRISocket != "" {
		c.socket("logs.nriSocket", l.NRISocket)
	}
	c.optional("logs.hook.directory", l.Hook.Directory)
	c.absolute("logs.hook.program", l.Hook.Program)
	for i, pattern := range l.Exclude {
		if !excluded.MatchString(pattern) {
			c.add(fmt.Sprintf("logs.exclude[%d]", i), "must be NAMESPACE or NAMESPACE/POD, with * for any text, not %q", pattern)
		}
	}
	c.size("logs.journalTail", l.JournalTail, 0, 32<<10)
	r, in := l.Retention, "logs.retention."
	c.size(in+"maxUse", r.MaxUse, 1<<20, 1<<50)
	c.count(in+"maxUsePercent", r.MaxUsePercent, 1, 90)
	c.count(in+"keepFreePercent", r.KeepFreePercent, 0, 95)
	c.between(in+"maxAge", r.MaxAge, time.Minute, 3650*day)
	c.count(in+"maxRecords", r.MaxRecords, 1, 10000)
	c.size(in+"maxBytesPerRecord", r.MaxBytesPerRecord, 4<<10, 1<<40)
	c.size(in+"head", r.Head, 0, 1<<40)
	if r.Head.Bytes() >= r.MaxBytesPerRecord.Bytes() && r.MaxBytesPerRecord.Bytes() > 0 {
		c.add(in+"head", "must be less than maxBytesPerRecord (%s), not %s", r.MaxBytesPerRecord, r.Head)
	}
	c.count(in+"first", r.First, 0, 1000)
	c.count(in+"last", r.Last, 1, 1000)
	c.count(in+"generations", r.Generations, 0, 100)
	c.between(in+"seriesEnd", r.SeriesEnd, time.Second, day)
}

func (c *check) size(field string, s Size, low, high int64) {
	q, err := resource.ParseQuantity(string(s))
	switch {
	case err != nil:
		c.add(field, "must be a number of bytes such as 64Mi, not %q", string(s))
	case q.Value() < low || q.Value() > high:
		c.add(field, "must be between %d and %d bytes, not %s", low, high, s)
	}
}
