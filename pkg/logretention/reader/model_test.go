package reader

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"pgregory.net/rapid"
)

// rec is one record as a runtime writes it, in the chunk of the log between two
// gaps.
type rec struct {
	chunk   int
	at      int
	stream  string
	partial bool
	text    string // with its newline, unless partial
}

func (r rec) bytes() string {
	tag := "F"
	if r.partial {
		tag = "P"
	}
	return line(r.at, r.stream, tag, strings.TrimSuffix(r.text, "\n"))
}

// logLine is a line of the container: the index of its last record, and its
// text.
type logLine struct {
	chunk, first, last int
	stream, text       string
}

// linesOf joins records as simply as can be.
func linesOf(records []rec) []logLine {
	var all []logLine
	open := map[string]int{}
	chunk := 0
	for i, r := range records {
		if r.chunk != chunk {
			chunk, open = r.chunk, map[string]int{}
		}
		k, ok := open[r.stream]
		if !ok {
			k = len(all)
			all = append(all, logLine{chunk: r.chunk, first: i, stream: r.stream})
		}
		all[k].text += r.text
		all[k].last = i
		if r.partial {
			open[r.stream] = k
		} else {
			delete(open, r.stream)
		}
	}
	return all
}

// show is the text of lines as it is to be written.
func show(lines []logLine) string {
	var b strings.Builder
	ragged := false
	for _, l := range lines {
		if ragged {
			b.WriteByte('\n')
		}
		b.WriteString(l.text)
		if l.text != "" {
			ragged = !strings.HasSuffix(l.text, "\n")
		} else {
			ragged = false
		}
	}
	return b.String()
}

// drawRecords is a container that writes to both streams, whose runtime cuts
// lines at some length, as conmon does.
func drawRecords(t *rapid.T) []rec {
	longest := rapid.SampledFrom([]int{1, 3, 20, 5000}).Draw(t, "longest")
	var all []rec
	for i := range rapid.IntRange(0, 30).Draw(t, "writes") {
		stream := rapid.SampledFrom([]string{"stdout", "stderr"}).Draw(t, "stream")
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab{ \r\n\x00")), 1, 40, -1).Draw(t, "text")
		for text != "" {
			n := min(longest, len(text))
			full := false
			if k := strings.IndexByte(text, '\n'); k >= 0 && k < longest {
				n, full = k+1, true
			}
			all = append(all, rec{at: i, stream: stream, partial: !full, text: text[:n]})
			text = text[n:]
		}
	}
	return all
}

// stored is a log as it is kept: records in segments, some of them compressed,
// some of them gone.
type stored struct {
	attempt Attempt
	files   memory
	left    []rec
}

func drawStored(t *rapid.T, records []rec) stored {
	s := stored{attempt: Attempt{Attempt: who(1), Path: "a"}, files: memory{}}
	chunk, n := 0, 0
	for len(records) > 0 || n == 0 {
		take := min(rapid.IntRange(0, 15).Draw(t, "in segment"), len(records))
		var text strings.Builder
		for _, r := range records[:take] {
			text.WriteString(r.bytes())
		}
		if rapid.IntRange(0, 5).Draw(t, "drop") == 0 {
			s.attempt.Gaps = append(s.attempt.Gaps, record.Gap{Before: len(s.attempt.Segments), Bytes: int64(text.Len()), Reason: "dropped"})
			chunk++
		} else {
			s.keep(t, n, records[:take], &chunk, text.String())
		}
		records = records[take:]
		n++
	}
	return s
}

// keep stores one segment, sometimes without some records in its middle.
func (s *stored) keep(t *rapid.T, n int, records []rec, chunk *int, text string) {
	if len(records) > 2 && rapid.IntRange(0, 4).Draw(t, "hole") == 0 {
		from := rapid.IntRange(1, len(records)-1).Draw(t, "from")
		to := rapid.IntRange(from, len(records)-1).Draw(t, "to")
		var head, hole, rest strings.Builder
		for i, r := range records {
			switch {
			case i < from:
				head.WriteString(r.bytes())
			case i < to:
				hole.WriteString(r.bytes())
			default:
				rest.WriteString(r.bytes())
			}
		}
		s.attempt.Gaps = append(s.attempt.Gaps, record.Gap{Before: len(s.attempt.Segments), Offset: int64(head.Len()), Bytes: int64(hole.Len()), Reason: "hole"})
		s.take(records[:from], *chunk)
		*chunk++
		records, text = records[to:], head.String()+rest.String()
	}
	s.take(records, *chunk)
	compressed := rapid.Bool().Draw(t, "gz")
	name := record.SegmentName(n, compressed)
	s.attempt.Segments = append(s.attempt.Segments, record.Segment{Name: name, Bytes: int64(len(text))})
	s.files["a/"+name] = []byte(text)
	if compressed {
		s.files["a/"+name] = compress([]byte(text))
	}
}

func (s *stored) take(records []rec, chunk int) {
	for _, r := range records {
		r.chunk = chunk
		s.left = append(s.left, r)
	}
}

// memory is files that cannot be searched; seekableMemory can.
type memory map[string][]byte

func (m memory) Open(_ context.Context, name string) (io.ReadCloser, error) {
	data, ok := m[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

type seekableMemory struct{ memory }

func (m seekableMemory) Open(_ context.Context, name string) (io.ReadCloser, error) {
	data, ok := m.memory[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return memoryFile{bytes.NewReader(data)}, nil
}

type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error           { return nil }
func (f memoryFile) Size() (int64, error) { return f.Reader.Size(), nil }

// What a container wrote to each stream comes out again, byte for byte, except
// for what was declared missing.
func TestEveryByteThatIsKeptComesOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStored(t, drawRecords(t))
		all := linesOf(s.left)
		for _, stream := range []string{"", "stdout", "stderr"} {
			want := show(slices.DeleteFunc(slices.Clone(all), func(l logLine) bool { return stream != "" && l.stream != stream }))
			for _, files := range []Files{s.files, seekableMemory{s.files}} {
				if got := s.write(t, files, Options{Stream: stream}); got != want {
					t.Fatalf("stream %q:\ngot  %q\nwant %q", stream, got, want)
				}
			}
		}
	})
}

// The last n lines are those that were finished last, in the order in which they
// began.
func TestTailCountsLinesOfTheContainer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStored(t, drawRecords(t))
		stream := rapid.SampledFrom([]string{"", "stdout", "stderr"}).Draw(t, "only")
		n := rapid.IntRange(0, 40).Draw(t, "tail")
		lines := slices.DeleteFunc(linesOf(s.left), func(l logLine) bool { return stream != "" && l.stream != stream })
		slices.SortFunc(lines, func(a, b logLine) int { return a.last - b.last })
		lines = lines[max(0, len(lines)-n):]
		slices.SortFunc(lines, func(a, b logLine) int { return a.first - b.first })
		for _, files := range []Files{s.files, seekableMemory{s.files}} {
			if got, want := s.write(t, files, Options{Stream: stream, Tail: ptr(int64(n))}), show(lines); got != want {
				t.Fatalf("%T:\ngot  %q\nwant %q", files, got, want)
			}
		}
	})
}

func (s stored) write(t *rapid.T, files Files, o Options) string {
	var out bytes.Buffer
	if err := Write(context.Background(), &out, files, []Attempt{s.attempt}, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Whatever the segments hold, reading them forwards and backwards agrees, and
// only a compressed segment can fail.
func FuzzWrite(f *testing.F) {
	f.Add([]byte(line(1, "stdout", "P", "a")+line(2, "stderr", "F", "b")), []byte(line(3, "stdout", "F", "c")), int64(1), int64(0))
	f.Add([]byte("\x00\x00\x00"+line(1, "stdout", "F", "a")+"\n\r\ntorn"), []byte(`{"log":"x\n","stream":"stderr","time":"2026-11-30T12:00:00Z"}`+"\n{"), int64(2), int64(9))
	f.Fuzz(func(t *testing.T, one, two []byte, n, offset int64) {
		if n < 0 || offset < 0 {
			return
		}
		a := Attempt{
			Attempt: who(1), Path: "a", Segments: []record.Segment{{Name: "log.0"}, {Name: "log.1"}},
			Gaps: []record.Gap{{Before: 1, Offset: offset, Bytes: -1}},
		}
		files := memory{"a/log.0": one, "a/log.1": two}
		for _, o := range []Options{{}, {Tail: &n}, {Tail: &n, Stream: "stdout", Headers: true, Timestamps: true}, {SinceTime: noon, Until: noon.Add(1e9)}, {Raw: true}} {
			var forwards, both bytes.Buffer
			if err := Write(t.Context(), &forwards, files, []Attempt{a}, o); err != nil {
				t.Fatal(err)
			}
			if err := Write(t.Context(), &both, seekableMemory{files}, []Attempt{a}, o); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(forwards.Bytes(), both.Bytes()) {
				t.Errorf("%+v:\nforwards  %q\nbackwards %q", o, forwards.Bytes(), both.Bytes())
			}
			if o.Raw && forwards.String() != string(one)+string(two) {
				t.Errorf("raw: %q", forwards.Bytes())
			}
		}
		files = memory{"a/log.0.gz": one, "a/log.1.gz": compress(two)}
		a.Segments = []record.Segment{{Name: "log.0.gz"}, {Name: "log.1.gz"}}
		_ = Write(t.Context(), io.Discard, files, []Attempt{a}, Options{Tail: &n})
	})
}
