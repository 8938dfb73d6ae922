package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	peer "k8s.io/cri-client/pkg/logs"
	"k8s.io/klog/v2"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

var (
	seed  = flag.Uint64("seed", seedOfEnvironment(), "seed of the generated logs")
	cases = flag.Int("cases", 400, "generated logs for each test")
)

func seedOfEnvironment() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("NODEKEEPER_SEED"), 10, 64); err == nil {
		return n
	}
	return 137
}

var began = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// entry is one record.
type entry struct {
	at      time.Time
	zone    *time.Location
	layout  string
	stream  string
	partial bool
	text    string // without the newline that ends a line
}

func (e entry) cri() string {
	tag := "F"
	if e.partial {
		tag = "P"
	}
	return e.at.In(e.zone).Format(e.layout) + " " + e.stream + " " + tag + " " + e.text + "\n"
}

func (e entry) docker() string {
	text := e.text
	if !e.partial {
		text += "\n"
	}
	data, err := json.Marshal(map[string]any{"log": text, "stream": e.stream, "time": e.at})
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

// shape says what a generated log may have.
type shape struct {
	partial     bool // lines of several records
	interleaved bool // of which the other stream's records come in between
	tty         bool // one stream, lines end in CR LF
	docker      bool // docker's format
}

type log struct {
	entries []entry
	text    string
}

// layouts are those that runtimes have written times in.
var layouts = []string{
	"2006-01-02T15:04:05.000000000-07:00", time.RFC3339Nano, "2006-01-02T15:04:05.000000000Z07:00", time.RFC3339, "2006-01-02T15:04:05.000000-07:00",
}

func generate(r *rand.Rand, s shape) log {
	zones := []*time.Location{time.UTC, time.FixedZone("", 2*3600), time.FixedZone("", -(3*3600 + 1800))}
	zone, layout := zones[r.IntN(len(zones))], layouts[r.IntN(len(layouts))]
	var l log
	at := began
	open := ""
	for range r.IntN(40) {
		at = at.Add(time.Duration(r.IntN(3)) * 400 * time.Millisecond)
		stream := [...]string{"stdout", "stderr"}[r.IntN(2)]
		if s.tty {
			stream = "stdout"
		}
		if open != "" && !s.interleaved {
			stream = open
		}
		e := entry{at: at, zone: zone, layout: layout, stream: stream, text: words(r)}
		e.partial = s.partial && r.IntN(3) == 0
		open = ""
		if e.partial {
			open = stream
			e.text += "." // never empty: see meant_test.go
		} else if s.tty {
			e.text += "\r"
		}
		l.entries = append(l.entries, e)
		if s.docker {
			l.text += e.docker()
		} else {
			l.text += e.cri()
		}
	}
	return l
}

func words(r *rand.Rand) string {
	if r.IntN(20) == 0 {
		return strings.Repeat("long ", r.IntN(20_000))
	}
	return strings.Repeat([...]string{"a", " ", "ü", "\x00", "P ", "{}"}[r.IntN(6)], r.IntN(30))
}

// lines gives for each entry whether it is the last of its line.
func (l log) ends(i int) bool { return !l.entries[i].partial || i == len(l.entries)-1 }

// recordsOf is how many records the last n lines have.
func (l log) recordsOf(n int64) int64 {
	var records int64
	for i := len(l.entries) - 1; i >= 0; i-- {
		if l.ends(i) {
			if n == 0 {
				break
			}
			n--
		}
		records++
	}
	return records
}

// dir holds one log file at a time.
type dir struct {
	path  string
	files *reader.Dir
}

func newDir(tb testing.TB) dir {
	tb.Helper()
	path := tb.TempDir()
	files, err := reader.Local(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { files.Close() })
	return dir{path, files}
}

func (d dir) put(tb testing.TB, text string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(d.path, "0.log"), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func attempt() reader.Attempt {
	return reader.Attempt{
		Attempt:  record.Attempt{Namespace: "ns", Pod: "pod", Container: "c", ContainerID: "id"},
		Segments: []record.Segment{{Name: "0.log"}},
	}
}

func (d dir) ours(tb testing.TB, o reader.Options) string {
	tb.Helper()
	var out bytes.Buffer
	if err := reader.Write(context.Background(), &out, d.files, []reader.Attempt{attempt()}, o); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// theirs gives what the kubelet would, for the same options.
func (d dir) theirs(tb testing.TB, o reader.Options) string {
	tb.Helper()
	var out bytes.Buffer
	if err := d.read(&out, o); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func (d dir) read(out *bytes.Buffer, o reader.Options) error {
	options := &peer.LogOptions{TailLines: o.Tail, LimitBytes: o.LimitBytes, Since: o.SinceTime, Timestamp: o.Timestamps}
	path := filepath.Join(d.path, "0.log")
	// It logs each damaged line.
	ctx := klog.NewContext(context.Background(), klog.Logger{})
	switch o.Stream {
	case "stdout":
		return peer.ReadLogs(ctx, path, "", options, nil, out, nil)
	case "stderr":
		return peer.ReadLogs(ctx, path, "", options, nil, nil, out)
	}
	return peer.ReadLogs(ctx, path, "", options, nil, out, out)
}

func describe(o reader.Options) string {
	text := fmt.Sprintf("timestamps %t, since %s, stream %q", o.Timestamps, o.SinceTime.Format(time.RFC3339Nano), o.Stream)
	if o.Tail != nil {
		text += fmt.Sprintf(", tail %d", *o.Tail)
	}
	if o.LimitBytes != nil {
		text += fmt.Sprintf(", limit %d", *o.LimitBytes)
	}
	return text
}

func short(s string) string {
	if len(s) > 600 {
		return fmt.Sprintf("%q ... %q", s[:300], s[len(s)-300:])
	}
	return strconv.Quote(s)
}
