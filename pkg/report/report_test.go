package report

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	from = noon.Add(-10 * time.Hour)
)

// at is a time in minutes after the beginning.
func at(minute int) time.Time { return from.Add(time.Duration(minute) * time.Minute) }

func verdict(minute int, container, state string) timeline.Line {
	return timeline.Line{Time: at(minute), Kind: timeline.Verdict, Namespace: "kube-system", Pod: "etcd-n1", Container: container, State: state}
}

func started(minute int, boot string) timeline.Line {
	return timeline.Line{Time: at(minute), Kind: timeline.Started, BootID: boot, UpSeconds: 60}
}

// alive are signs of life from one minute up to another.
func alive(first, last int) []timeline.Line {
	var lines []timeline.Line
	for m := first; m <= last; m += 5 {
		lines = append(lines, timeline.Line{Time: at(m), Kind: timeline.Alive})
	}
	return lines
}

// told puts lines into the order of time.
func told(parts ...[]timeline.Line) timeline.History {
	lines := slices.Concat(parts...)
	slices.SortStableFunc(lines, func(a, b timeline.Line) int { return a.Time.Compare(b.Time) })
	return timeline.History{Lines: lines}
}

func lines(l ...timeline.Line) []timeline.Line { return l }

func etcd(attempt uint32, minute int, class record.Class) record.Entry {
	start, end, code := at(minute-1), at(minute), int32(2)
	return record.Entry{Meta: record.Meta{ID: fmt.Sprintf("id-%d", attempt), Class: class, Started: &start, Finished: &end, ExitCode: &code,
		Attempt:  record.Attempt{Namespace: "kube-system", Pod: "etcd-n1", Container: "etcd", Attempt: attempt},
		Segments: []record.Segment{{Name: "log.0", Bytes: 2048}}}}
}

func act(minute int, result restartpolicy.Result) restartpolicy.Act {
	return restartpolicy.Act{ID: fmt.Sprint(minute), Result: result, Began: node.Instant{Wall: at(minute), Boot: time.Hour}, Finished: node.Instant{Boot: time.Hour + 3*time.Second},
		Step: restartpolicy.Step{Kind: restartpolicy.RestartKubelet, State: restartpolicy.Forgotten,
			Key: restartpolicy.Key{PodName: node.PodName{Namespace: "kube-system", Name: "etcd-n1"}, Container: "etcd"}}}
}

// looksOf are the spans of a lane: from minute to minute.
func looksOf(l *Lane) []string {
	var out []string
	for _, s := range l.Spans {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s %s", int(s.at.Sub(from).Minutes()), s.Look, s.For)))
	}
	return out
}

func want(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAPodIsAsItsWorstContainerIs(t *testing.T) {
	r := Of(Sources{Node: "n1", Records: &record.Index{Records: []record.Entry{etcd(1, 60, record.Crash), etcd(2, 90, record.LostInReboot), etcd(0, -5, record.Crash)}},
		Acts: []restartpolicy.Act{act(66, restartpolicy.ResultHealed), act(70, restartpolicy.ResultRefused)},
		Timeline: told(alive(0, 600), lines(verdict(-90, "etcd", "healthy"), verdict(-90, "metrics", "healthy"), verdict(60, "etcd", "in-backoff"),
			verdict(65, "etcd", "forgotten"), verdict(66, "metrics", "in-backoff"), verdict(67, "etcd", "healthy"), verdict(70, "metrics", "healthy"),
			verdict(80, "etcd", "healthy+two-generations"), verdict(85, "etcd", "healthy"), verdict(90, "etcd", "gone"), verdict(90, "metrics", "gone")))},
		from, noon)
	if len(r.Lanes) != 1 || len(r.Services) != 0 {
		t.Fatalf("%d lanes", len(r.Lanes))
	}
	l := r.Lanes[0]
	want(t, looksOf(l), []string{"0 running 1h0m", "60 crash", "60 back-off 5m", "65 down 2m", "66 act", "67 back-off 3m", "70 running 10m",
		"80 rollout held up 5m", "85 running 5m"})
	want(t, l.Caption, "down 2m · rollout held up 5m · back-off 8m · 1 crash · 1 act")
	want(t, l.Short, "etcd")
	want(t, []any{l.Now, r.CrashCount, r.Ends, r.ActCount, r.Longest, r.LongestPod}, []any{Unseen, 1, 2, 1, "2m", "etcd"})
	want(t, r.Legend, []Look{Down, HeldUp, BackOff, Running})
	if b := l.Bands[1]; b.X != "10.00%" || b.Width != "0.83%" || !strings.Contains(b.Title, "back-off from 1 Mar 03:00:00 for 5m: etcd: in-backoff") {
		t.Errorf("%+v", b)
	}
}

func TestWhenNobodyLookedIsShown(t *testing.T) {
	r := Of(Sources{Timeline: told(
		lines(started(100, "a"), verdict(100, "etcd", "healthy")), alive(100, 200),
		// The node went down without a word after minute 200, and came back.
		lines(started(230, "b"), verdict(230, "etcd", "healthy")), alive(230, 300),
		// An update.
		lines(timeline.Line{Time: at(300), Kind: timeline.Ended}, started(300, "b"), verdict(300, "etcd", "healthy")), alive(300, 500),
		lines(timeline.Line{Time: at(500), Kind: timeline.Ended}))}, from, noon)
	want(t, looksOf(r.Lanes[0]), []string{"100 running 1h40m", "230 running 4h30m"})
	want(t, r.Lanes[0].Now, Unseen)
	var gaps, boots []string
	for _, g := range r.Gaps {
		gaps = append(gaps, g.X+" "+g.Width)
	}
	for _, b := range r.Reboots {
		boots = append(boots, b.At.Text)
	}
	want(t, gaps, []string{"0.00% 16.67%", "33.33% 5.00%", "83.33% 16.67%"})
	// Of the first start nobody knows whether the boot was a new one, but when.
	want(t, boots, []string{"1 Mar 03:39:00", "1 Mar 05:49:00"})
}

func TestAClockThatIsSetBackTearsNothing(t *testing.T) {
	r := Of(Sources{Timeline: told(alive(0, 600))}, from, noon)
	want(t, len(r.Gaps), 0)
	h := told(alive(0, 300))
	h.Lines = append(h.Lines, verdict(200, "etcd", "healthy"), verdict(100, "etcd", "forgotten"))
	h.Lines = append(h.Lines, alive(201, 600)...)
	r = Of(Sources{Timeline: h}, from, noon)
	want(t, looksOf(r.Lanes[0]), []string{"200 down 6h40m"})
}

func TestSignsThatTouchAreOne(t *testing.T) {
	l := &Lane{}
	a := axis{from, noon, generous()}
	for m := range 60 {
		l.mark(a, Crashed, at(m*10), "crash of etcd")
		l.mark(a, Crashed, at(m*10+1), "crash of etcd")
	}
	l.mark(a, Rolled, at(300), "rollout")
	l.mark(a, Acted, at(301), "act")
	if n := l.signs(Crashed); n != a.most.marks {
		t.Errorf("%d marks", n)
	}
	want(t, l.Marks[0].Title, "crash of etcd at 1 Mar 02:00:00, and 1 more until 1 Mar 02:01:00")
	if m := l.Marks[len(l.Marks)-1]; m.Sign != Acted || !m.Aside {
		t.Errorf("an act beside a rollout: %+v", m)
	}
}

func TestThePresentIsTold(t *testing.T) {
	next := int64(90)
	s := &status.Status{Node: status.Node{Name: "n1", Runtime: status.Runtime{Name: "cri-o", Version: "1.34.0", Error: "does not answer"}}, Verdicts: []status.Verdict{
		{Namespace: "kube-system", Pod: "etcd-n1", Container: "etcd", State: restartpolicy.Healthy},
		{Namespace: "kube-system", Pod: "api-n1", Container: "api", State: restartpolicy.InBackOff, ForSeconds: 30, Next: &next},
		{Namespace: "kube-system", Pod: "dns-n1", State: restartpolicy.Rejected, Overdue: true, BlockedBy: []string{"budget", "paused"}},
		{Container: "crio.service", State: restartpolicy.Healthy},
	}}
	r := Of(Sources{Status: s}, from, noon)
	want(t, r.Headline(), "2 of 3 static pods are not well.")
	want(t, []any{r.Now[0].Pod, r.Now[0].Blocked, r.Now[1].Pod, r.Now[1].Next}, []any{"dns", "budget, paused", "api", "in 1m30s"})
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "does not answer") }) {
		t.Errorf("notes %q", r.Notes)
	}
	want(t, Of(Sources{Status: s, Stale: true}, from, noon).Well(), false)
	want(t, Of(Sources{}, from, noon).Headline(), "How the pods are now is not known: the agent does not run.")
}

func TestTheGuardsCounts(t *testing.T) {
	count := func(minute, streams, watches int, lists int64) timeline.Line {
		return timeline.Line{Time: at(minute), Kind: timeline.Proxy, Counts: &timeline.Counts{Streams: streams, Watches: watches, Lists: lists}}
	}
	var all []timeline.Line
	for m := range 100 {
		all = append(all, count(m, 100+m%7, 5, int64(10+m)))
	}
	// After an hour's silence a new guard counts from zero.
	all = append(all, count(160, 40, 4, 3), count(161, 42, 4, 4))
	g := Of(Sources{Timeline: told(all)}, from, noon).Guard
	want(t, []int{g.Streams.Last, g.Streams.Least, g.Streams.Most, g.Watches.Most, g.Top, g.Lists}, []int{42, 40, 106, 5, 120, 99 + 3 + 1})
	want(t, strings.Count(g.Streams.Path, "M"), 2)
	if Of(Sources{Timeline: told(alive(0, 600))}, from, noon).Guard != nil {
		t.Error("a guard that does not run")
	}
}

func TestTicksAreAtRoundTimesOfTheZone(t *testing.T) {
	kathmandu := time.FixedZone("", 5*3600+45*60)
	a := axis{from.In(kathmandu), noon.In(kathmandu), generous()}
	var texts []string
	for _, tick := range a.ticks() {
		texts = append(texts, tick.Text)
	}
	want(t, texts, []string{"09:00", "10:00", "11:00", "12:00", "13:00", "14:00", "15:00", "16:00", "17:00"})
	want(t, []string{zone(noon), zone(noon.In(kathmandu)), zone(noon.In(time.FixedZone("CET", 3600)))}, []string{"UTC", "UTC+05:45", "CET (UTC+01:00)"})
	want(t, interval(noon.Add(-time.Hour), noon), "Sun 1 Mar 2026 11:00 – 12:00")
	for _, span := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 90 * 24 * time.Hour} {
		if n := len((axis{noon.Add(-span), noon, generous()}).ticks()); n < 1 && span > time.Minute || n > mostTicks {
			t.Errorf("%s: %d ticks", span, n)
		}
	}
}

func TestOtherPeoplesTextIsCleaned(t *testing.T) {
	for in, out := range map[string]string{
		"plain":                             "plain",
		"\x1b[31mred\x1b[0m \x1b]0;t\x07on": "red on",
		"a\x00b\x7fc\u0085d":                "abcd",
		"\u202egnp.exe\u2066":               "gnp.exe",
		"two\nlines\r\nand\ttabs":           "two lines  and tabs",
		"\xff\xfe":                          "\uFFFD\uFFFD",
		"שלום 👩\u200d👧":                     "שלום 👩\u200d👧",
		"Z\u0301\u0301\u0301\u0301\u0301":   "Z\u0301\u0301\u0301",
		"\x1b":                              "",
		strings.Repeat("é", 200):            strings.Repeat("é", 78) + "…",
		"  spaces  ":                        "spaces",
	} {
		if got := name(in); got != out {
			t.Errorf("%q: %q, want %q", in, got, out)
		}
	}
	log := strings.Repeat("a line of a log\r\n", 1000) + "\x1b[1mthe last\x1b[m\n\n"
	if got := tail(log); len(got) > TailBytes || !strings.HasSuffix(got, "a line of a log\nthe last") || !strings.HasPrefix(got, "a line") {
		t.Errorf("%d bytes, %.20q", len(got), got)
	}
	want(t, []string{word("in-vain"), word("<b>"), word(""), word(strings.Repeat("x", 99))}, []string{"in-vain", "?b?", "?", strings.Repeat("x", 24)})
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\n\u202e\xff\r\n", 10)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 3 + max(0, limit)%5000
		for _, lines := range []bool{false, true} {
			got := clean(text, limit, lines)
			if !utf8.ValidString(got) || len(got) > limit || strings.ContainsAny(got, "\x00\x1b\r\u202e\u2028") || !lines && strings.Contains(got, "\n") {
				t.Errorf("%q, %d: %q", text, limit, got)
			}
		}
		if got := tail(text); len(got) > TailBytes {
			t.Errorf("%d bytes", len(got))
		}
	})
}

// page writes a page.
func page(t *testing.T, src Sources) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, src, from, noon); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLogsAreShownWhereTheyCanBeRead(t *testing.T) {
	x := &record.Index{Records: []record.Entry{etcd(1, 60, record.Crash), etcd(2, 61, record.OOM), etcd(3, 62, record.Completed)}, Dropped: map[string]int{"a/b": 3}}
	x.Records[2].Segments = nil
	text := page(t, Sources{Records: x, Tail: func(e *record.Entry) (string, error) {
		if e.Class == record.OOM {
			return "", errors.New("is gone & away")
		}
		return "last <words>\n", nil
	}})
	for _, words := range []string{"<pre dir=\"auto\">last &lt;words&gt;</pre>", "is gone &amp; away", "3 records were evicted", "nodekeeper logs --crash id-1", "exit 2"} {
		if !strings.Contains(text, words) {
			t.Errorf("no %s", words)
		}
	}
	want(t, strings.Count(text, "<pre"), 2)
}

func TestAPageIsBoundedWhateverTheSourcesHold(t *testing.T) {
	nasty := strings.Repeat(`"<&'+`, 200)
	var src Sources
	src.Status = &status.Status{}
	src.Records = &record.Index{}
	src.Tail = func(*record.Entry) (string, error) { return strings.Repeat(nasty+"\n", 20), nil }
	for i := range 500 {
		pod := fmt.Sprint(i, nasty)
		src.Status.Verdicts = append(src.Status.Verdicts, status.Verdict{Pod: pod, Namespace: nasty, Container: nasty, Detail: nasty, State: restartpolicy.Frozen})
		for m := range 40 {
			src.Timeline.Lines = append(src.Timeline.Lines, timeline.Line{Time: at(m * 15), Kind: timeline.Verdict, Namespace: nasty, Pod: pod, Container: nasty,
				State: []string{"healthy", "forgotten", "in-backoff"}[m%3], Detail: nasty})
		}
		for n := range 20 {
			e := etcd(uint32(n), i, record.Crash)
			e.Namespace, e.Pod, e.Container, e.ClassReason = nasty, pod, fmt.Sprint(n, nasty), nasty
			src.Records.Records = append(src.Records.Records, e)
		}
		a := act(i, restartpolicy.ResultDone)
		a.Key.Namespace, a.Key.Name, a.Detail, a.Reason = nasty, pod, nasty, nasty
		src.Acts = append(src.Acts, a)
		src.Notes = append(src.Notes, pod)
	}
	text := page(t, src)
	if len(text) > MaxBytes || len(text) < MaxBytes/4 {
		t.Errorf("%d bytes", len(text))
	}
	for _, words := range []string{"more pods", "older ones: nodekeeper crashes", "older ones: nodekeeper acts", "10000</dd>", "</html>"} {
		if !strings.Contains(text, words) {
			t.Errorf("no %s", words)
		}
	}
}
