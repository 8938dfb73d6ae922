package store

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"pgregory.net/rapid"
)

// drawLog makes a log with all that one can have: segments of ours and such
// that the kubelet holds, compressed ones, gaps within and between.
func drawLog(t *rapid.T, tt testing.TB, dir string) (segs []record.Segment, gaps []record.Gap, want string) {
	hole := func(before int, offset int64) {
		lost := text(rapid.IntRange(1, 3000).Draw(t, "lost"))
		gaps = append(gaps, record.Gap{Before: before, Offset: offset, Bytes: int64(len(lost)), Reason: "before"})
		want += lost
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "segments") {
		if rapid.IntRange(0, 4).Draw(t, "gap before") == 0 {
			hole(i, 0)
		}
		first := text(rapid.SampledFrom([]int{0, 100, 5000, 20000, 80000}).Draw(t, "size"))
		want += first
		body := first
		if len(first) > 0 && rapid.IntRange(0, 4).Draw(t, "gap within") == 0 {
			hole(i, int64(len(first)))
			second := text(rapid.IntRange(1, 20000).Draw(t, "size after"))
			want += second
			body += second
		}
		compressed := rapid.IntRange(0, 2).Draw(t, "compressed") == 0
		name, data := record.SegmentName(i*2, compressed), []byte(body)
		if compressed {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(data)
			_ = z.Close()
			data = b.Bytes()
		}
		must(tt, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		if rapid.IntRange(0, 3).Draw(t, "held by the kubelet") == 0 {
			must(tt, os.Link(filepath.Join(dir, name), filepath.Join(dir, "kubelet."+name)))
		}
		segs = append(segs, record.Segment{Name: name, Bytes: int64(len(body))})
	}
	if rapid.IntRange(0, 4).Draw(t, "gap at the end") == 0 {
		hole(len(segs), 0)
	}
	return segs, gaps, want
}

// Cutting a log, however often, leaves what was written less what the gaps
// say, within the budget, and never touches what the kubelet holds.
func TestCuttingIsAlwaysDeclared(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newScene(t)
		st := s.open()
		e := s.crashes(st, 0, "")
		k, dir := st.records[e.Path], filepath.Join(s.opts.Root, e.Path)
		must(t, os.Remove(filepath.Join(dir, "log.0")))
		segs, gaps, want := drawLog(rt, t, dir)
		k.Segments, k.Gaps = segs, gaps
		held, _ := filepath.Glob(filepath.Join(dir, "kubelet.*"))
		for range rapid.IntRange(1, 3).Draw(rt, "cuts") {
			b := budget{
				head:   rapid.Int64Range(0, 30000).Draw(rt, "head"),
				tail:   rapid.Int64Range(1, 60000).Draw(rt, "tail"),
				reason: "cut",
			}
			must(t, st.shrinkRecord(k, b))
			if err := sameText(dir, k.Segments, k.Gaps, want); err != nil {
				rt.Fatalf("%v\nwith %+v\nsegments %+v\ngaps %+v", err, b, k.Segments, k.Gaps)
			}
			if most := b.head + b.tail + 4*4096; k.log > most {
				rt.Fatalf("%d bytes left of a budget of %+v", k.log, b)
			}
			data, err := encode(k.Meta)
			must(t, err)
			if err := record.Decode(data, new(record.Meta)); err != nil {
				rt.Fatal(err)
			}
		}
		for _, path := range held {
			name := strings.TrimPrefix(filepath.Base(path), "kubelet.")
			if !slices.ContainsFunc(k.Segments, func(seg record.Segment) bool { return seg.Name == name }) {
				rt.Fatalf("%s is gone, which cost nothing", name)
			}
		}
		must(t, st.Close())
	})
}
