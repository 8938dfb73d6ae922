package manifests

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
)

// A case is a life of some series in which an alert fires at a time and not before,
// and one in which it does not. Values are in promtool's notation, one a minute if
// not said otherwise.
type alertCase struct {
	alert    string
	interval time.Duration
	series   map[string]string
	// at is when it fires; an interval before it does not.
	at time.Duration
	// labels are some of those that it has then, says a part of its description.
	labels map[string]string
	says   string
	// quiet are series with which it never fires.
	quiet map[string]string
}

const node = `{job="nodekeeper",namespace="nodekeeper",node="n1"}`

// of are the labels of node and more.
func of(more string) string { return strings.Replace(node, "}", ","+more+"}", 1) }

var alertCases = []alertCase{
	{
		alert:  "NodekeeperAbsent",
		series: map[string]string{"up" + node: "1x5 0x20"}, at: 16 * time.Minute,
		labels: map[string]string{"node": "n1"}, says: "on node n1",
		// An upgrade.
		quiet: map[string]string{"up" + node: "1x5 0x8 1x20", `up{job="other",node="n1"}`: "0x40"},
	},
	{
		alert:  "NodekeeperNotLooking",
		series: map[string]string{"nodekeeper_last_look_timestamp_seconds" + node: "0+60x10 600x20"}, at: 18 * time.Minute,
		says: "looked at its static pods 8m 0s ago",
		// Acts last up to two minutes.
		quiet: map[string]string{"nodekeeper_last_look_timestamp_seconds" + node: "0 0 0 120 120 240 300 360 420+60x20"},
	},
	{
		alert:  "NodekeeperCannotSee",
		series: map[string]string{"nodekeeper_source_up" + of(`source="kubelet"`): "1x5 0x30"}, at: 21 * time.Minute,
		labels: map[string]string{"source": "kubelet"}, says: "no answer from kubelet",
		quiet: map[string]string{"nodekeeper_source_up" + of(`source="kubelet"`): "1x5 0x10 1x30"},
	},
	{
		alert:  "NodekeeperManifestProblem",
		series: map[string]string{"nodekeeper_manifest_problems" + of(`kind="duplicate"`): "0x5 2x30"}, at: 21 * time.Minute,
		says:  "2 files",
		quiet: map[string]string{"nodekeeper_manifest_problems" + of(`kind="duplicate"`): "0x5 2x10 0x30"},
	},
	{
		alert:  "NodekeeperOverdue",
		series: map[string]string{"nodekeeper_containers_overdue" + node: "0x5 2x20"}, at: 16 * time.Minute,
		labels: map[string]string{"severity": "critical"}, says: "On node n1 2 containers",
		// It is mended in time.
		quiet: map[string]string{"nodekeeper_containers_overdue" + node: "0x5 2x8 0x20"},
	},
	{
		alert: "NodekeeperContainerDown",
		series: map[string]string{
			"nodekeeper_container_down_seconds" + of(`exported_namespace="kube-system",pod="etcd-n1",container="etcd"`): "0+60x30",
		}, at: 12 * time.Minute,
		labels: map[string]string{"severity": "warning", "pod": "etcd-n1", "exported_namespace": "kube-system"},
		says:   "etcd of kube-system/etcd-n1 on node n1 has been down for 12m 0s",
		// The longest back-off of the kubelet, over and over.
		quiet: map[string]string{
			"nodekeeper_container_down_seconds" + of(`exported_namespace="kube-system",pod="etcd-n1",container="etcd"`): "0+60x5 _ 0+60x5 _ 0+60x5 _x20",
		},
	},
	{
		alert:  "NodekeeperRestartFailing",
		series: map[string]string{"nodekeeper_acts_total" + of(`step="stop-container",result="in-vain"`): "0x5 1x5 2x5 3x50"}, at: 19 * time.Minute,
		labels: map[string]string{"step": "stop-container"},
		quiet: map[string]string{
			"nodekeeper_acts_total" + of(`step="stop-container",result="in-vain"`): "0x5 1x60 2x60",
			"nodekeeper_acts_total" + of(`step="stop-container",result="healed"`):  "0+1x130",
		},
	},
	{
		alert:  "NodekeeperBudgetUsedUp",
		series: map[string]string{"nodekeeper_acts_budget_remaining" + node: "3 2 1 0x20"}, at: 8 * time.Minute,
		quiet: map[string]string{"nodekeeper_acts_budget_remaining" + node: "3 2 1x30"},
	},
	{
		alert:  "NodekeeperBreakerOpen",
		series: map[string]string{"nodekeeper_breaker_open" + node: "0x4 1x20"}, at: 6 * time.Minute,
		labels: map[string]string{"severity": "critical"},
		quiet:  map[string]string{"nodekeeper_breaker_open" + node: "0x20"},
	},
	{
		alert:  "NodekeeperActsWithheld",
		series: map[string]string{"nodekeeper_acts_withheld" + node: "0x5 1x30"}, at: 21 * time.Minute,
		quiet: map[string]string{"nodekeeper_acts_withheld" + node: "0x5 1x10 0x30"},
	},
	{
		alert:  "NodekeeperCrashLooping",
		series: map[string]string{"nodekeeper_crashes_total" + of(`class="oom"`): "0+0.2x80"}, at: 30 * time.Minute,
		labels: map[string]string{"class": "oom"}, says: "as oom",
		quiet: map[string]string{
			"nodekeeper_crashes_total" + of(`class="oom"`): "0x30 4x80",
			// Rollouts.
			"nodekeeper_crashes_total" + of(`class="replaced-by-revision"`): "0+1x110",
		},
	},
	{
		alert: "NodekeeperDryRunForgotten", interval: 30 * time.Minute,
		series: map[string]string{"nodekeeper_dry_run" + node: "0x2 1x400"}, at: 7*24*time.Hour + 150*time.Minute,
		labels: map[string]string{"severity": "info"},
		quiet:  map[string]string{"nodekeeper_dry_run" + node: "1x330 0x10 1x200"},
	},
	{
		alert:  "NodekeeperNoRecords",
		series: map[string]string{"nodekeeper_records_up" + node: "1x5 0x30"}, at: 21 * time.Minute,
		// Where none are wanted, there is no such series.
		quiet: map[string]string{"up" + node: "1x60", `nodekeeper_records_up{node="n2"}`: "1x5 0x10 1x40"},
	},
	{
		alert: "NodekeeperRecordsNearLimit",
		series: map[string]string{
			"nodekeeper_records_bytes" + node: "80x5 95x80", "nodekeeper_records_limit_bytes" + node: "100x90",
		}, at: 66 * time.Minute,
		says: "95%",
		quiet: map[string]string{
			"nodekeeper_records_bytes" + node: "80x5 95x30 80x90", "nodekeeper_records_limit_bytes" + node: "100x120",
			// No limit.
			`nodekeeper_records_bytes{node="n2"}`: "80x120", `nodekeeper_records_limit_bytes{node="n2"}`: "0x120",
		},
	},
	{
		alert:  "NodekeeperRecordsEvicted",
		series: map[string]string{"nodekeeper_record_evictions_total" + of(`reason="use"`): "0x5 1x30"}, at: 7 * time.Minute,
		says:  "(use)",
		quiet: map[string]string{"nodekeeper_record_evictions_total" + of(`reason="age"`): "0+1x60", "nodekeeper_record_evictions_total" + of(`reason="share"`): "0+1x60", "nodekeeper_record_evictions_total" + of(`reason="use"`): "3x60"},
	},
	{
		alert:  "NodekeeperRecordGaps",
		series: map[string]string{"nodekeeper_record_gaps_total" + node: "0x5 1x30"}, at: 7 * time.Minute,
		quiet: map[string]string{"nodekeeper_record_gaps_total" + node: "4x60"},
	},
	{
		alert:  "NodekeeperLifecycleSourceDown",
		series: map[string]string{"nodekeeper_lifecycle_source_up" + of(`source="hook"`): "1x5 0x30"}, at: 21 * time.Minute,
		says:  "the source hook",
		quiet: map[string]string{"nodekeeper_lifecycle_source_up" + of(`source="hook"`): "1x5 0x10 1x30"},
	},
	{
		alert:  "NodekeeperSpoolDropped",
		series: map[string]string{"nodekeeper_spool_dropped_total" + node: "0x5 3x30"}, at: 7 * time.Minute,
		quiet: map[string]string{"nodekeeper_spool_dropped_total" + node: "3x60"},
	},
	{
		alert:  "NodekeeperProxyDown",
		series: map[string]string{"nodekeeper_proxy_up" + node: "1x5 0x30"}, at: 8 * time.Minute,
		// Where no proxy is configured, there is no such series.
		quiet: map[string]string{"up" + node: "1x60", `nodekeeper_proxy_up{node="n2"}`: "1x5 0 1x60"},
	},
	{
		alert:  "NodekeeperProxyBypassed",
		series: map[string]string{"nodekeeper_proxy_bypass" + of(`reason="sick"`): "0x5 1x30"}, at: 21 * time.Minute,
		says:  "(sick)",
		quiet: map[string]string{"nodekeeper_proxy_bypass" + of(`reason="sick"`): "0x5 1x10 0x30"},
	},
	{
		alert: "NodekeeperUpstreamWatchRateHigh",
		series: map[string]string{
			"nodekeeper_proxy_upstream_requests_total" + of(`verb="watch",result="ok"`): "0+120x60",
		}, at: 21 * time.Minute,
		says: "begins 2 WATCHes a second",
		quiet: map[string]string{
			// A node that has just started, and reads of single objects.
			"nodekeeper_proxy_upstream_requests_total" + of(`verb="watch",result="ok"`): "0 500 510+1x60",
			"nodekeeper_proxy_upstream_requests_total" + of(`verb="get",result="ok"`):   "0+300x60",
		},
	},
	{
		alert:  "NodekeeperLateAnswers",
		series: map[string]string{"nodekeeper_proxy_late_answers_total" + node: "0x5 4x30"}, at: 11 * time.Minute,
		quiet: map[string]string{"nodekeeper_proxy_late_answers_total" + node: "4x60"},
	},
	{
		alert: "NodekeeperPromoteNoLeader",
		series: map[string]string{
			`nodekeeper_promote_leader{job="nodekeeper-promote",pod="a"}`: "1x5 0x30", `nodekeeper_promote_leader{job="nodekeeper-promote",pod="b"}`: "0x36",
		}, at: 21 * time.Minute,
		quiet: map[string]string{
			`nodekeeper_promote_leader{job="nodekeeper-promote",pod="a"}`: "1x5 0x55", `nodekeeper_promote_leader{job="nodekeeper-promote",pod="b"}`: "0x8 1x52",
		},
	},
	{
		alert:  "NodekeeperPromoteNoLeader",
		series: map[string]string{"up" + node: "1x40"}, at: 15 * time.Minute,
	},
	{
		alert: "NodekeeperPromoteNotPassing",
		series: map[string]string{
			`nodekeeper_promote_last_pass_timestamp_seconds{job="nodekeeper-promote",pod="a"}`: "0+60x10 600x100",
			// The replica that waits has never made one.
			`nodekeeper_promote_last_pass_timestamp_seconds{job="nodekeeper-promote",pod="b"}`: "0x110",
		}, at: 76 * time.Minute,
		quiet: map[string]string{
			`nodekeeper_promote_last_pass_timestamp_seconds{job="nodekeeper-promote",pod="a"}`: "0+60x110",
			`nodekeeper_promote_last_pass_timestamp_seconds{job="nodekeeper-promote",pod="b"}`: "0x110",
		},
	},
}

func TestEachAlertFiresAndKeepsQuiet(t *testing.T) {
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, Parser: promQL})
	rules := map[string]rulefmt.Rule{}
	for _, r := range alerts(t) {
		rules[r.Alert] = r
	}
	without := maps.Clone(rules)
	quiet := map[string]bool{}
	for _, c := range alertCases {
		delete(without, c.alert)
		quiet[c.alert] = quiet[c.alert] || len(c.quiet) > 0
		t.Run(c.alert, func(t *testing.T) {
			rule, ok := rules[c.alert]
			if !ok {
				t.Fatal("there is no such alert")
			}
			if c.interval == 0 {
				c.interval = time.Minute
			}
			m := remember(t, c.interval, c.series)
			var fire []alert
			first := time.Duration(-1)
			m.evaluate(t, engine, rule, c.interval, c.at, func(now time.Duration, firing []alert) {
				if fire = firing; first < 0 && len(firing) > 0 {
					first = now
				}
			})
			if first != c.at {
				t.Errorf("it fires after %v, not after %v", first, c.at)
			}
			if len(fire) != 1 {
				t.Fatalf("%d alerts after %v", len(fire), c.at)
			}
			for name, want := range c.labels {
				if got := fire[0].labels[name]; got != want {
					t.Errorf("label %s is %q", name, got)
				}
			}
			if text := fire[0].annotations["description"]; !strings.Contains(text, c.says) {
				t.Errorf("it says %q", text)
			}
			if len(c.quiet) == 0 {
				return
			}
			m = remember(t, c.interval, c.quiet)
			m.evaluate(t, engine, rule, c.interval, m.end(), func(now time.Duration, fire []alert) {
				if len(fire) > 0 {
					t.Fatalf("it fires after %v of quiet: %v", now, fire[0].labels)
				}
			})
		})
	}
	for name := range without {
		t.Errorf("nothing makes %s fire", name)
	}
	for name, ok := range quiet {
		if !ok {
			t.Errorf("nothing shows when %s does not fire", name)
		}
	}
}
