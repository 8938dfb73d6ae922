package manifest

import (
	"fmt"
	"testing"
)

// BenchmarkRead is the cost of one look at a directory that has not changed.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{10, 110, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			for i := range n {
				write(b, dir, fmt.Sprintf("%03d.yaml", i), manifestOf(fmt.Sprintf("pod-%d", i), "", ""))
			}
			r := later(NewReader())
			r.Read(dir, "n")
			b.ReportAllocs()
			for b.Loop() {
				if got := len(r.Read(dir, "n").Pods); got != n {
					b.Fatal(got)
				}
			}
		})
	}
}
