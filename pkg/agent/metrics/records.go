package metrics

import (
	"maps"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/retention"
)

// addRecords adds nothing where no records are kept.
func addRecords(p *page, r *status.Records) {
	if r == nil {
		return
	}
	p.add("nodekeeper_records_up", truth(r.Error == ""))
	p.add("nodekeeper_records", float64(r.Records))
	p.add("nodekeeper_records_bytes", float64(r.Bytes))
	p.add("nodekeeper_records_limit_bytes", float64(r.LimitBytes))
	p.add("nodekeeper_records_live", float64(r.Live))
	for _, class := range record.Classes {
		if class.Trouble() {
			p.add("nodekeeper_crashes_total", float64(r.Crashes[string(class)]), string(class))
		}
	}
	for _, cause := range retention.Causes {
		if cause != retention.ForSize { // which costs no record
			p.add("nodekeeper_record_evictions_total", float64(r.Evictions[string(cause)]), string(cause))
		}
	}
	p.add("nodekeeper_record_gaps_total", float64(r.Gaps))
	p.add("nodekeeper_records_lost_total", float64(r.Lost))
	for _, source := range []lifecycle.Source{lifecycle.Hook, lifecycle.NRI} {
		p.add("nodekeeper_lifecycle_events_total", float64(r.Events[string(source)]), string(source))
	}
	p.add("nodekeeper_lifecycle_events_dropped_total", float64(r.DroppedEvents))
	for _, source := range slices.Sorted(maps.Keys(r.Sources)) {
		p.add("nodekeeper_lifecycle_source_up", truth(r.Sources[source] == "ok"), source)
	}
	p.add("nodekeeper_spool_events", float64(r.Spool))
	p.add("nodekeeper_spool_dropped_total", float64(r.SpoolDropped))
}
