package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkHook is what the hook adds to a container's start, and beside it
// what /bin/true would, in the same run and with the same state as input. The
// agent is absent: the hook links, writes the birth and spools the event.
func BenchmarkHook(b *testing.B) {
	s := newScene(b)
	var hook, nothing []time.Duration
	for i := 0; b.Loop(); i++ {
		state := s.state(b, fmt.Sprint("c", i))
		state.Annotations["io.kubernetes.cri-o.Volumes"] = strings.Repeat("x", 8<<10) // as large as an apiserver's
		input := encoded(b, state)
		hook = append(hook, spawn(b, s.command("--max-live", "1000000"), input))
		nothing = append(nothing, spawn(b, exec.Command("/bin/true"), input))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(hook, 50), "hook-p50-ms")
	b.ReportMetric(quantile(hook, 99), "hook-p99-ms")
	b.ReportMetric(quantile(nothing, 50), "true-p50-ms")
	b.ReportMetric(quantile(nothing, 99), "true-p99-ms")
}

func spawn(b *testing.B, cmd *exec.Cmd, input string) time.Duration {
	b.Helper()
	cmd.Stdin = strings.NewReader(input)
	began := time.Now()
	do(b, cmd.Run())
	return time.Since(began)
}

func quantile(all []time.Duration, percent int) float64 {
	slices.Sort(all)
	return float64(all[len(all)*percent/100].Microseconds()) / 1000
}
