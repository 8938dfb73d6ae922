package guard

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"testing"
	"time"
)

// BenchmarkLocalAnswer is what the guard answers itself, beside the API server's
// own answers.
func BenchmarkLocalAnswer(b *testing.B) {
	const immutable, mutable, rounds = 240, 60, 10
	c := startCluster(b)
	w := c.create(b, load{namespaces: 3, pods: 30, immutable: immutable, mutable: mutable, bytes: 1 << 10})
	ways := []*way{
		newWay(b, "direct", c.nodeConfig(b, nodeName)),
		newWay(b, "proxy", c.process(b, false).config),
	}
	section(b, "A local answer", fmt.Sprintf("Time to the first state of one object of 1 KiB, by turns over mTLS and HTTP/2, one after the other; %d objects, %d of them immutable.", immutable+mutable, immutable))
	for _, way := range ways {
		for range 20 { // its connection, and the code of either end
			way.get(b, "/api/v1/namespaces/ns-0/pods/"+w.pods[0].pod.Name).Body.Close()
		}
	}
	secrets, configMaps := w.split()
	measure := func(refs []reference, ask func(*way, reference)) [2][]time.Duration {
		var took [2][]time.Duration
		for i, r := range refs {
			for j := range ways {
				j = (i + j) % 2
				at := time.Now()
				ask(ways[j], r)
				took[j] = append(took[j], time.Since(at))
			}
		}
		return took
	}
	watchList := func(w *way, r reference) { w.watchList(b, r).Close() }
	fromCache := func(w *way, r reference) {
		response := w.get(b, r.path(url.Values{"resourceVersion": {"0"}, "limit": {"500"}}))
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			b.Fatal(err)
		}
	}
	cold := measure(secrets, watchList)
	again := measure(secrets, watchList)
	for _, r := range configMaps {
		body := ways[1].watchList(b, r)
		b.Cleanup(func() { body.Close() })
	}
	until(b, 30*time.Second, "the guard's WATCHes to be open", func() bool { return c.open(b) >= mutable })
	var cached [2][]time.Duration
	for range rounds {
		took := measure(configMaps, fromCache)
		for j := range ways {
			cached[j] = append(cached[j], took[j]...)
		}
	}
	head("", "direct p50 ms", "direct p99", "proxy p50", "proxy p99", "target")
	for _, line := range []struct {
		name   string
		took   [2][]time.Duration
		target string
	}{
		{"watch-list, never seen before (a LIST upstream)", cold, "300"},
		{"watch-list, immutable and known (a LIST upstream to check)", again, ""},
		{"LIST at version 0, known and watched (from memory)", cached, "20"},
	} {
		row(line.name, ms(quantile(line.took[0], .5)), ms(quantile(line.took[0], .99)), ms(quantile(line.took[1], .5)), ms(quantile(line.took[1], .99)), line.target)
	}
}

// BenchmarkMemory is the proxy's: first with the streams that a kubelet keeps,
// which ends those of immutable objects at its first read, then with all open.
func BenchmarkMemory(b *testing.B) {
	c := startCluster(b)
	w := c.create(b, load{namespaces: 10, pods: 20, immutable: 1800, mutable: 200, bytes: 1 << 10})
	p := c.process(b, false)
	way := newWay(b, "proxy", p.config)
	section(b, "Memory of the proxy", "`nodekeeper proxy` with open watch-lists, 10 % of the objects mutable; in the second line those of immutable objects were ended at once, as a kubelet does. Objects of 1 KiB; from /proc/PID/status 20 s after the last was opened.")
	head("objects", "open streams", "WATCHes upstream", "VmRSS MiB", "anonymous", "program file", "peak", "target")
	show := func(objects, streams int, target string) {
		b.Helper()
		time.Sleep(20 * time.Second)
		m := memoryOf(b, p.pid)
		row(objects, streams, c.open(b), mib(m.rss), mib(m.anonymous), mib(m.file), mib(m.peak), target)
	}
	show(0, 0, "")
	var refs []reference
	for _, p := range w.pods {
		refs = append(refs, p.refs...)
	}
	for _, r := range refs[:240] {
		body := way.watchList(b, r)
		if r.immutable {
			body.Close()
			continue
		}
		b.Cleanup(func() { body.Close() })
	}
	show(240, mutableOf(refs[:240]), "< 30")
	opened := 0
	for _, step := range []struct {
		streams int
		target  string
	}{{500, ""}, {2500, "< 100"}} {
		for ; opened < step.streams; opened++ {
			if opened < 240 && !refs[opened].immutable {
				continue // is open
			}
			body := way.watchList(b, refs[opened%len(refs)])
			b.Cleanup(func() { body.Close() })
		}
		show(min(opened, len(refs)), opened, step.target)
	}
}

func mutableOf(refs []reference) (n int) {
	for _, r := range refs {
		if !r.immutable {
			n++
		}
	}
	return n
}

// split are a workload's objects by kind.
func (w *workload) split() (secrets, configMaps []reference) {
	for _, p := range w.pods {
		for _, r := range p.refs {
			if r.configMap {
				configMaps = append(configMaps, r)
			} else {
				secrets = append(secrets, r)
			}
		}
	}
	return secrets, configMaps
}

// path asks for the object as a reflector does.
func (r reference) path(query url.Values) string {
	resource := "secrets"
	if r.configMap {
		resource = "configmaps"
	}
	query.Set("fieldSelector", "metadata.name="+r.name)
	return "/api/v1/namespaces/" + r.namespace + "/" + resource + "?" + query.Encode()
}

// watchList opens one and reads until the bookmark that ends the first state.
func (w *way) watchList(tb testing.TB, r reference) io.Closer {
	tb.Helper()
	response := w.get(tb, r.path(url.Values{
		"allowWatchBookmarks": {"true"}, "resourceVersionMatch": {"NotOlderThan"}, "sendInitialEvents": {"true"},
		"timeout": {"44m45s"}, "timeoutSeconds": {"2685"}, "watch": {"true"},
	}))
	var seen []byte
	for part := make([]byte, 4<<10); !bytes.Contains(seen, []byte("k8s.io/initial-events-end")); {
		n, err := response.Body.Read(part)
		if seen = append(seen, part[:n]...); err != nil {
			response.Body.Close()
			tb.Fatalf("%s: a watch-list of %s ended: %v", w.name, r.key(), err)
		}
	}
	return response.Body
}
