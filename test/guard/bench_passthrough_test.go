package guard

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkPassThrough is what the proxy costs all that it does not answer
// itself.
func BenchmarkPassThrough(b *testing.B) {
	const warm, rounds, large = 300, 3000, 400
	c := startCluster(b)
	w := c.create(b, load{namespaces: 1, pods: 1, immutable: 1})
	c.createLarge(b, large)
	proxied, spliced := c.process(b, false), c.process(b, true)
	ways := []*way{
		newWay(b, "direct", c.nodeConfig(b, nodeName)),
		newWay(b, "proxy", proxied.config),
		newWay(b, "proxy, bypassed", spliced.config),
	}
	small := fmt.Sprintf("/api/v1/namespaces/ns-0/pods/%s", w.pods[0].pod.Name)
	one := func(w *way, path string) int64 {
		response := w.get(b, path)
		defer response.Body.Close()
		n, err := io.Copy(io.Discard, response.Body)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}

	section(b, "Pass-through", fmt.Sprintf("GET of a pod, %d rounds, each way once a round over mTLS and HTTP/2, one after the other.", rounds))
	for i := range warm + rounds {
		for j := range ways {
			w := ways[(i+j)%len(ways)]
			at := time.Now()
			one(w, small)
			if i >= warm {
				w.took = append(w.took, time.Since(at))
			}
		}
	}
	head("way", "p50 ms", "p99 ms", "added p50 (target < 1)", "added p99 (target < 2)")
	p50, p99 := quantile(ways[0].took, .5), quantile(ways[0].took, .99)
	for _, w := range ways {
		a, z := quantile(w.took, .5), quantile(w.took, .99)
		row(w.name, ms(a), ms(z), ms(a-p50), ms(z-p99))
	}

	const turns = 7
	bytes := one(ways[0], largeList)
	fmt.Printf("\nLIST of %d pods, %.1f MiB; and GETs of a pod by 16 side by side for 2 s; %d turns each, the median.\n\n", large+1, float64(bytes)/(1<<20), turns)
	head("way", "LIST ms", "MiB/s", "GETs a second", "CPU of the proxy for one GET, µs")
	lists, rates, costs := make([][]time.Duration, 3), make([][]time.Duration, 3), make([][]time.Duration, 3)
	pids := []int{0, proxied.pid, spliced.pid}
	for range turns {
		for j, w := range ways {
			at := time.Now()
			one(w, largeList)
			lists[j] = append(lists[j], time.Since(at))
			before := time.Duration(0)
			if pids[j] != 0 {
				before = cpu(b, pids[j])
			}
			n := sideBySide(16, 2*time.Second, func() { one(w, small) })
			rates[j] = append(rates[j], 2*time.Second/time.Duration(n))
			if pids[j] != 0 {
				costs[j] = append(costs[j], (cpu(b, pids[j])-before)/time.Duration(n))
			}
		}
	}
	for j, w := range ways {
		median, cost := quantile(lists[j], .5), "-"
		if pids[j] != 0 {
			cost = fmt.Sprint(quantile(costs[j], .5).Microseconds())
		}
		row(w.name, ms(median), fmt.Sprintf("%.0f", float64(bytes)/(1<<20)/median.Seconds()), int(1/quantile(rates[j], .5).Seconds()), cost)
	}
}

const largeList = "/api/v1/pods?fieldSelector=spec.nodeName%3D" + nodeName + "&resourceVersion=0"

// createLarge makes pods of the node of 16 KiB each.
func (c *cluster) createLarge(t testing.TB, pods int) {
	t.Helper()
	filler := make([]byte, 16<<10)
	for i := range filler {
		filler[i] = 'a' + byte(i%26)
	}
	var makers []work
	for i := range pods {
		pod := newPod(fmt.Sprint("large-", i), "ns-0", nil)
		pod.Annotations = map[string]string{"filler": string(filler)}
		makers = append(makers, c.makePod(pod, nil))
	}
	parallel(t, 8, makers)
}

// sideBySide is how often n callers got through in the time.
func sideBySide(n int, lasting time.Duration, call func()) int64 {
	var done atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(lasting)
	for range n {
		wg.Go(func() {
			for time.Now().Before(end) {
				call()
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return done.Load()
}
