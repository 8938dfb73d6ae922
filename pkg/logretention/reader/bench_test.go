package reader

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// bigLog is one attempt with a log of so many bytes.
func bigLog(b *testing.B, size int64) (*Dir, Attempt) {
	b.Helper()
	dir := b.TempDir()
	file, err := os.Create(filepath.Join(dir, "log.0"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	text := strings.Repeat("I1130 12:00:00.000000 trace.go:236] audit request latency ", 4)
	var block strings.Builder
	for i := range 10_000 {
		block.WriteString(line(i, [...]string{"stdout", "stderr"}[i%7/6], "F", text[:20+i%160]))
	}
	var n int64
	for n < size {
		written, err := w.WriteString(block.String())
		if err != nil {
			b.Fatal(err)
		}
		n += int64(written)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	files, err := Local(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { files.Close() })
	return files, Attempt{Attempt: who(1), Segments: []record.Segment{{Name: "log.0", Bytes: n}}}
}

// BenchmarkTail10Of1GiB has a target: less than 20 ms.
func BenchmarkTail10Of1GiB(b *testing.B) {
	files, a := bigLog(b, 1<<30)
	ten := int64(10)
	for b.Loop() {
		if err := Write(b.Context(), io.Discard, files, []Attempt{a}, Options{Tail: &ten}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFullRead(b *testing.B) {
	files, a := bigLog(b, 256<<20)
	for name, o := range map[string]Options{"plain": {}, "timestamps": {Timestamps: true}, "since": {SinceTime: noon}, "tail": {Tail: ptr(int64(1 << 40))}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(a.Segments[0].Bytes)
			b.ReportAllocs()
			for b.Loop() {
				if err := Write(b.Context(), io.Discard, files, []Attempt{a}, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEscape(b *testing.B) {
	text := []byte(strings.Repeat("I1130 12:00:00.000000 trace.go:236] audit\trequest\n", 1000))
	w := Escape(io.Discard)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := w.Write(text); err != nil {
			b.Fatal(err)
		}
	}
}
