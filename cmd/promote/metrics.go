package main

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote/controller"
)

// counted is what a promoter tells of itself; *controller.Controller.
type counted interface {
	Counts() controller.Counts
	State() controller.State
}

// The metrics, with docs/metrics.md.
var (
	objects = prometheus.NewDesc("nodekeeper_promote_objects",
		"Objects of the last whole pass by what was decided, or by the rule for which they are not marked", []string{"decision"}, nil)
	promotions = prometheus.NewDesc("nodekeeper_promotions_total",
		"Objects that were to be marked, by what came of it", []string{"result"}, nil)
	leader = prometheus.NewDesc("nodekeeper_promote_leader",
		"1 while this promoter has the lease", nil, nil)
	lastPass = prometheus.NewDesc("nodekeeper_promote_last_pass_timestamp_seconds",
		"When the last whole pass of this promoter ended", nil, nil)
	duration = prometheus.NewDesc("nodekeeper_promote_pass_duration_seconds",
		"How long the last whole pass of this promoter took", nil, nil)
)

// collector reads the promoter at each scrape.
type collector struct{ counted }

// registry has the promoter's metrics and those of its process.
func registry(c counted) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{c}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Describe implements prometheus.Collector.
func (collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{objects, promotions, leader, lastPass, duration} {
		to <- d
	}
}

// Collect implements prometheus.Collector. What a pass has told is missing before
// the first.
func (c collector) Collect(to chan<- prometheus.Metric) {
	show := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	n, s := c.Counts(), c.State()
	for result, times := range map[string]int{"promoted": n.Promoted, "dry-run": n.WouldPromote, "raced": n.Raced, "failed": n.Failed} {
		show(promotions, prometheus.CounterValue, float64(times), result)
	}
	leads := 0.0
	if s.Leading {
		leads = 1
	}
	show(leader, prometheus.GaugeValue, leads)
	if s.LastPass.IsZero() {
		return
	}
	show(lastPass, prometheus.GaugeValue, float64(s.LastPass.UnixMilli())/1000)
	show(duration, prometheus.GaugeValue, s.Took.Seconds())
	decided := map[string]int{"promoted": s.Pass.Promoted, "would-promote": s.Pass.WouldPromote,
		"raced": s.Pass.Raced, "failed": s.Pass.Failed, "forgotten": s.Pass.Forgotten}
	for rule, times := range s.Pass.Refused {
		decided[string(rule)] += times
	}
	for _, decision := range slices.Sorted(maps.Keys(decided)) {
		show(objects, prometheus.GaugeValue, float64(decided[decision]), decision)
	}
}
