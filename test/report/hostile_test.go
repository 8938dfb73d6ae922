package report

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	product "github.com/nodekeeper/nodekeeper/pkg/report"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// attacks are texts that would be something else on a careless page.
var attacks = []string{
	`<script>window.owned=1</script>`, `"><img src=x onerror="window.owned=1">`, `'+alert(1)+'`, `</style><style>*{display:none}`,
	`</pre></details><h1>gotcha`, `{{.}}`, `javascript:window.owned=1`, "\x1b[2J\x1b]0;title\x07\x00\b", "\u202eexe.gpj\u2066", "ab\u200bcd",
	"مرحبا بالعالم", "שלום עולם", "👩‍👩‍👧‍👦🏴‍☠️", "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞", "\xff\xfe\xc0\xaf",
	strings.Repeat("unbreakable", 60), strings.Repeat("&", 400), strings.Repeat("\"", 400), "]]>", "%s%n\\u003cscript\\u003e", "line\nbreak\r\nand\u2028more",
}

func attack(i int) string { return attacks[i%len(attacks)] }

// hostile is a node with 500 pods and 10,000 crashes, whose texts are attacks.
func hostile() (src product.Sources, from, to time.Time) {
	to = time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("<b>", 5*3600+1800))
	from = to.Add(-24 * time.Hour)
	const pods, crashes = 500, 10_000
	pod := func(i int) string { return fmt.Sprintf("%s%d", attack(i), i) }
	states := []string{"healthy", "in-backoff", "forgotten", "<b>", "starting+unknown", "waiting-for-old", "frozen"}

	s := &status.Status{Agent: status.Agent{Version: attack(0)}, Node: status.Node{Name: attack(1), Runtime: status.Runtime{Name: attack(2), Version: attack(3)}, Paused: attack(4)}}
	x := &record.Index{Node: attack(1)}
	h := &src.Timeline
	h.Skipped = 12
	h.Lines = append(h.Lines, timeline.Line{Time: from.Add(-time.Hour), Kind: timeline.Started, BootID: "a"})
	for i := range pods {
		key := restartpolicy.Key{PodName: node.PodName{Namespace: attack(i + 1), Name: pod(i)}, Container: attack(i + 2)}
		next := int64(i - 100)
		s.Verdicts = append(s.Verdicts, status.Verdict{Namespace: key.Namespace, Pod: key.Name, Container: key.Container,
			State: restartpolicy.State(states[i%len(states)]), Detail: attack(i + 3), BlockedBy: []string{attack(i + 4), attack(i)}, Next: &next, Overdue: i%3 == 0})
		s.Node.Manifests.Problems = append(s.Node.Manifests.Problems, status.Problem{Path: attack(i), Message: attack(i + 1)})
		src.Acts = append(src.Acts, restartpolicy.Act{ID: attack(i), Result: restartpolicy.Result(attack(i)), Detail: attack(i + 5), Began: node.Instant{Wall: from.Add(time.Duration(i) * time.Minute)},
			Step: restartpolicy.Step{Key: key, Kind: restartpolicy.StepKind(attack(i + 6)), State: restartpolicy.State(attack(i)), Reason: attack(i + 7)}})
	}
	for i := range 40_000 {
		at := from.Add(time.Duration(i) * 2 * time.Second)
		if i%1000 == 0 {
			h.Lines = append(h.Lines, timeline.Line{Time: at, Kind: timeline.Started, BootID: fmt.Sprint(i), UpSeconds: 1 << 40})
		}
		p := i % pods
		h.Lines = append(h.Lines, timeline.Line{Time: at, Kind: timeline.Verdict, Namespace: attack(p + 1), Pod: pod(p), Container: attack(i / 7),
			State: states[i/pods%len(states)], Detail: attack(i), Revision: attack(i / pods)},
			timeline.Line{Time: at, Kind: timeline.Proxy, Counts: &timeline.Counts{Streams: i * i, Watches: i % 3, Lists: int64(-i % 9)}})
	}
	for i := range crashes {
		at := from.Add(time.Duration(i) * 8 * time.Second)
		code := int32(i%300 - 20)
		x.Records = append(x.Records, record.Entry{Meta: record.Meta{
			ID: fmt.Sprint(i), Attempt: record.Attempt{Namespace: attack(i%pods + 1), Pod: pod(i % pods), Container: attack(i), Attempt: uint32(i)},
			Recorded: at, Started: &to, Finished: &at, Class: record.Classes[i%len(record.Classes)], ClassReason: attack(i), ExitCode: &code, Signal: i%5 - 2,
			Segments: []record.Segment{{Name: "log.0", Bytes: 1 << 62}}, Gaps: []record.Gap{{}}}})
	}
	src.Status, src.Records, src.Version, src.Node = s, x, attack(0), attack(1)
	n := 0
	src.Tail = func(*record.Entry) (string, error) {
		n++
		var err error
		if n%7 == 0 {
			err = errors.New(attack(n))
		}
		return strings.Repeat(attack(n)+"\n", 1000), err
	}
	for i := range 100 {
		src.Notes = append(src.Notes, attack(i))
	}
	return src, from, to
}
