package manifests

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

var promQL = parser.NewParser(parser.Options{})

// memory is a storage of series written in promtool's notation, which begin at the
// Unix epoch. Prometheus's own storage would bring along its configuration, and with
// it the clients of every cloud.
type memory []storage.Series

func remember(t *testing.T, interval time.Duration, series map[string]string) memory {
	t.Helper()
	var m memory
	for _, name := range slices.Sorted(maps.Keys(series)) {
		of, values, err := promQL.ParseSeriesDesc(name + " " + series[name])
		if err != nil {
			t.Fatalf("%s %s: %v", name, series[name], err)
		}
		var samples []chunks.Sample
		for i, v := range values {
			if !v.Omitted {
				samples = append(samples, sample{int64(i) * interval.Milliseconds(), v.Value})
			}
		}
		m = append(m, storage.NewListSeries(of, samples))
	}
	return m
}

func (m memory) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		found := &set{at: -1}
		for _, s := range m {
			if !slices.ContainsFunc(matchers, func(by *labels.Matcher) bool { return !by.Matches(s.Labels().Get(by.Name)) }) {
				found.series = append(found.series, s)
			}
		}
		return found
	}}, nil
}

type set struct {
	series []storage.Series
	at     int
}

func (s *set) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *set) At() storage.Series                { return s.series[s.at] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// alert is one that fires.
type alert struct {
	labels      map[string]string
	annotations map[string]string
}

// evaluate evaluates a rule in each interval up to a time, as
// rules.AlertingRule.Eval does, v0.315: a result that has been there without a break
// for the rule's time fires.
func (m memory) evaluate(t *testing.T, engine *promql.Engine, rule rulefmt.Rule, interval, end time.Duration, each func(time.Duration, []alert)) {
	t.Helper()
	since := map[string]time.Duration{}
	for now := time.Duration(0); now <= end; now += interval {
		still := map[string]time.Duration{}
		var fire []alert
		for _, r := range m.instant(t, engine, rule.Expr, now) {
			of := labels.NewBuilder(r.Metric).Del(model.MetricNameLabel).Labels()
			began, known := since[of.String()]
			if !known {
				began = now
			}
			still[of.String()] = began
			if now-began >= time.Duration(rule.For) {
				fire = append(fire, expand(t, rule, of.Map(), r))
			}
		}
		since = still
		each(now, fire)
	}
}

// end is the time of the last sample.
func (m memory) end() time.Duration {
	last := time.Duration(0)
	for _, s := range m {
		for it := s.Iterator(nil); it.Next() != chunkenc.ValNone; {
			last = max(last, time.Duration(it.AtT())*time.Millisecond)
		}
	}
	return last
}

func (m memory) instant(t *testing.T, engine *promql.Engine, expr string, now time.Duration) promql.Vector {
	t.Helper()
	query, err := engine.NewInstantQuery(t.Context(), m, nil, expr, time.UnixMilli(now.Milliseconds()))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	defer query.Close()
	result := query.Exec(t.Context())
	vector, err := result.Vector()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return vector
}

// expand fills in the templates of labels and annotations.
func expand(t *testing.T, rule rulefmt.Rule, of map[string]string, s promql.Sample) alert {
	t.Helper()
	text := func(text string) string {
		data := template.AlertTemplateData(of, nil, "", s)
		expander := template.NewTemplateExpander(t.Context(), "{{$labels := .Labels}}{{$value := .Value}}"+text, rule.Alert, data, model.Time(s.T),
			func(context.Context, string, time.Time) (promql.Vector, error) { return nil, nil }, nil, []string{"missingkey=error"})
		out, err := expander.Expand()
		if err != nil {
			t.Errorf("%s: %v", rule.Alert, err)
		}
		return out
	}
	a := alert{labels: maps.Clone(of), annotations: map[string]string{}}
	for name, value := range rule.Labels {
		a.labels[name] = text(value)
	}
	for name, value := range rule.Annotations {
		a.annotations[name] = text(value)
	}
	return a
}
