package front

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pin"
)

const shaped = "/api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Db&resourceVersion=0&limit=500"

func TestStrangersAreCutAndTheKubeletIsServed(t *testing.T) {
	s := stage(t, arrangement{})
	s.wants(s.client(s.kubelet), "/", "system:node:n1")
	for name, c := range map[string]*http.Client{
		"nobody":           s.client(),
		"another node":     s.client(s.ca.Kubelet("n2")),
		"an administrator": s.client(s.ca.Client("admin", "system:masters", time.Now().Add(time.Hour))),
	} {
		if body, err := s.get(c, "/"); err == nil {
			t.Errorf("%s got %q", name, body)
		}
	}
	if got := s.front.Stats().Refused; got != (pin.Refusals{NoCertificate: 1, Stranger: 2}) {
		t.Errorf("%+v", got)
	}
}

func TestIdleStrangersDoNotKeepTheKubeletOut(t *testing.T) {
	s := stage(t, arrangement{})
	client := s.client(s.kubelet)
	s.wants(client, "/", "system:node:n1")
	for range mostUnknown + 50 {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	s.wants(s.client(s.kubelet), "/", "system:node:n1")
	s.wants(client, "/", "system:node:n1")
	s.until("the oldest strangers are cut", func() bool { return s.front.Stats().Open <= mostUnknown+2 })
	if accepted := s.front.Stats().Accepted; accepted < mostUnknown+52 {
		t.Errorf("%d connections were accepted", accepted)
	}
	s.wants(client, "/", "system:node:n1")
}

func TestOnlyTheOneShapeGoesToTheGuard(t *testing.T) {
	s := stage(t, arrangement{guard: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "guard") })})
	ask := func(path string) string {
		r, err := http.NewRequest(http.MethodGet, "https://"+s.address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
		response, err := s.client(s.kubelet).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return string(body)
	}
	if got := ask(shaped); got != "guard" {
		t.Errorf("%q", got)
	}
	for _, path := range []string{shaped + "&new=1", "/api/v1/namespaces/a/secrets/b", alivePath} {
		if got := ask(path); got != "system:node:n1" {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := s.front.Stats(); got.Guarded != 1 || got.Passed != 3 {
		t.Errorf("%+v", got)
	}
}

func TestAPanicEndsItsStreamAlone(t *testing.T) {
	s := stage(t, arrangement{guard: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a mistake") })})
	client := s.client(s.kubelet)
	r, err := http.NewRequest(http.MethodGet, "https://"+s.address+shaped, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
	if response, err := client.Do(r); err == nil {
		response.Body.Close()
		t.Error("an answer")
	}
	s.wants(client, "/", "system:node:n1")
	if got := s.front.Stats(); got.Panics != 1 || got.Accepted != 1 {
		t.Errorf("%+v", got)
	}
}

func TestOneConnectionCarriesAllStreamsOfAKubelet(t *testing.T) {
	var open atomic.Int64
	release := make(chan bool)
	s := stage(t, arrangement{guard: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		open.Add(1)
		<-release
	})})
	client := s.client(s.kubelet)
	s.wants(client, "/", "system:node:n1") // now there is a connection
	var all sync.WaitGroup
	defer all.Wait()
	defer close(release)
	for range leastStreams {
		all.Go(func() {
			r, err := http.NewRequest(http.MethodGet, "https://"+s.address+shaped, nil)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
			response, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		})
	}
	s.until("all streams are open", func() bool { return open.Load() == leastStreams })
	if n := s.front.Stats().Accepted; n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestABypassNeedsNothingOfTheKubelet(t *testing.T) {
	s := stage(t, arrangement{})
	began := make(chan bool, 1)
	s.answer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/watch" {
			w.(http.Flusher).Flush()
			began <- true
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName+" "+r.RemoteAddr)
	})
	client := s.client(s.kubelet)
	watch := func() chan error {
		ended := make(chan error, 1)
		go func() {
			_, err := s.get(client, "/watch")
			ended <- err
		}()
		<-began
		return ended
	}
	cut := func(ended chan error, when string) {
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%s: the watch ended cleanly", when)
			}
		case <-time.After(bound):
			t.Errorf("%s: the watch goes on", when)
		}
	}
	served := watch()
	s.front.Bypass("kill switch", true)
	cut(served, "into the bypass")
	if body, err := s.get(client, "/"); err != nil || !strings.HasPrefix(body, "system:node:n1") {
		t.Errorf("in the bypass: %q, %v", body, err)
	}
	spliced := watch()
	// The API server decides who is served now, and the node's name holds.
	if body, err := s.get(s.client(s.ca.Kubelet("n2")), "/"); err != nil || !strings.HasPrefix(body, "system:node:n2") {
		t.Errorf("another client in the bypass: %q, %v", body, err)
	}
	s.front.Bypass("sick", true)
	s.front.Bypass("kill switch", false)
	if got := s.front.Stats(); got.Bypassed != "sick" || got.Spliced < 2 {
		t.Errorf("%+v", got)
	}
	s.front.Bypass("sick", false)
	cut(spliced, "out of the bypass")
	if body, err := s.get(client, "/"); err != nil || !strings.HasPrefix(body, "system:node:n1") {
		t.Errorf("after the bypass: %q, %v", body, err)
	}
	if _, err := s.get(s.client(s.ca.Kubelet("n2")), "/"); err == nil {
		t.Error("another client is served after the bypass")
	}
}

func TestInABypassEachWayEndsByItself(t *testing.T) {
	s := stage(t, arrangement{})
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s.upstream.SetTarget(Target{URL: &url.URL{Scheme: "https", Host: server.Addr().String()}})
	s.front.Bypass("test", true)
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	peer, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "question")
	_ = c.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(peer); err != nil || string(got) != "question" {
		t.Errorf("%q, %v", got, err)
	}
	_, _ = io.WriteString(peer, "answer")
	_ = peer.Close()
	if got, err := io.ReadAll(c); err != nil || string(got) != "answer" {
		t.Errorf("%q, %v", got, err)
	}
	s.until("both are forgotten", func() bool { return s.front.Stats().Open == 0 })
}

func TestABypassGoesThroughTheProxyThatTheKubeconfigNames(t *testing.T) {
	s := stage(t, arrangement{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan *http.Request, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		asked <- r
		_, _ = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		_, _ = io.Copy(c, c)
	}()
	s.upstream.SetTarget(Target{URL: &url.URL{Scheme: "https", Host: "api.example.org"},
		Proxy: &url.URL{Scheme: "http", Host: l.Addr().String(), User: url.UserPassword("u", "p")}})
	c, err := s.upstream.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if r := <-asked; r.Method != http.MethodConnect || r.Host != "api.example.org:443" || r.Header.Get("Proxy-Authorization") != "Basic dTpw" {
		t.Errorf("%+v", r)
	}
	_, _ = io.WriteString(c, "hello")
	b := make([]byte, 5)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestTheProxyKnocksAtItsOwnDoor(t *testing.T) {
	s := stage(t, arrangement{})
	own := s.front.OwnClient(&tls.Config{RootCAs: s.roots(), ServerName: serverName})
	next := s.ca.Kubelet("n1")
	s.node.Rotate(next)
	for _, reason := range []string{"", "test"} {
		if reason != "" {
			s.front.Bypass(reason, true)
		}
		if err := s.front.Knock(t.Context(), own); err != nil {
			t.Errorf("bypassed %q: %v", reason, err)
		}
	}
	if s.conns.Load() != 0 {
		t.Error("the API server was asked")
	}
	s.front.Bypass("test", false)
	// The proxy used the new certificate; the kubelet still has the old one.
	s.wants(s.client(s.kubelet), "/", "system:node:n1")
	// The way on to the API server is open to it too, past the guard.
	s.wants(own, "/", "system:node:n1")
	if s.front.own.has(&net.TCPAddr{}) || len(s.front.own.ports) != 0 {
		t.Errorf("ports are left: %v", s.front.own.ports)
	}
	// When nothing takes connections any more, then it is seen.
	s.stop()
	if err := s.front.Knock(t.Context(), own); err == nil {
		t.Error("a proxy that has ended answers")
	}
}

func TestARotationMovesOnlyNewRequests(t *testing.T) {
	s := stage(t, arrangement{})
	var serials sync.Map
	release := make(chan bool)
	s.answer(func(w http.ResponseWriter, r *http.Request) {
		serials.Store(r.URL.Path, r.TLS.PeerCertificates[0].SerialNumber.String())
		w.(http.Flusher).Flush()
		if r.URL.Path == "/watch" {
			<-release
		}
	})
	client := s.client(s.kubelet)
	ended := make(chan error, 1)
	go func() {
		_, err := s.get(client, "/watch")
		ended <- err
	}()
	s.until("the watch is open", func() bool { _, ok := serials.Load("/watch"); return ok })
	next := s.ca.Kubelet("n1")
	s.node.Rotate(next)
	s.upstream.look(time.Now())
	s.wants(client, "/new", "")
	if was, _ := serials.Load("/watch"); was != s.kubelet.Leaf.SerialNumber.String() {
		t.Errorf("the watch was opened as %v", was)
	}
	if is, _ := serials.Load("/new"); is != next.Leaf.SerialNumber.String() {
		t.Errorf("the new request went as %v", is)
	}
	old := s.upstream.old
	if len(old) != 1 || old[0].open() != 1 {
		t.Fatalf("%d old generations", len(old))
	}
	// New connections on demand leave the old ones to their requests, too.
	before := s.conns.Load()
	s.upstream.Renew()
	s.wants(client, "/renewed", "")
	if s.conns.Load() != before+1 {
		t.Errorf("%d new connections", s.conns.Load()-before)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Errorf("the watch: %v", err)
	}
	s.until("the old connection is closed", func() bool {
		s.upstream.look(time.Now())
		return len(s.upstream.old) == 0
	})
	// A request that does not end has a bound.
	release = make(chan bool)
	serials.Delete("/watch")
	go func() {
		_, err := s.get(client, "/watch")
		ended <- err
	}()
	s.until("the watch is open", func() bool { _, ok := serials.Load("/watch"); return ok })
	s.node.Rotate(s.ca.Kubelet("n1"))
	s.upstream.look(time.Now())
	s.upstream.look(time.Now().Add(oldTime + time.Second))
	if err := <-ended; err == nil {
		t.Error("the watch ended cleanly")
	}
	close(release)
}

func TestARestartBehindASocketOfSystemdLosesNoConnection(t *testing.T) {
	s := stage(t, arrangement{})
	s.stop()
	// The socket unit's own end, of which each process gets a copy.
	kept, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	s.address = kept.Addr().String()
	copyOf := func() net.Listener {
		file, err := kept.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		l, err := net.FileListener(file)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	ctx, cancel := context.WithCancel(t.Context())
	var asked, lost atomic.Int64
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				client := s.client(s.kubelet) // a new connection
				asked.Add(1)
				if _, err := s.get(client, "/"); err != nil {
					lost.Add(1)
					t.Log(err)
				}
				client.CloseIdleConnections()
			}
		})
	}
	patient := arrangement{ends: bound} // on a busy machine a handshake takes long
	for range 5 {
		_, stop := s.serve(copyOf(), patient)
		before := asked.Load()
		s.until("requests are served", func() bool { return asked.Load() > before+20 })
		stop()
	}
	_, stop := s.serve(copyOf(), patient)
	cancel()
	all.Wait()
	stop()
	if lost.Load() != 0 {
		t.Errorf("%d of %d were lost", lost.Load(), asked.Load())
	}
}

func TestTheKillSwitchIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "proxy.off")
	changes := make(chan bool, 10)
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { WatchKillSwitch(ctx, path, func(on bool) { changes <- on }) })
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !<-changes {
		t.Error("off before on")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if <-changes {
		t.Error("on twice")
	}
	cancel()
	ended.Wait()
}

func TestOnlyALoopbackAddressIsListenedOn(t *testing.T) {
	if l, _, err := Listen("0.0.0.0:0"); err == nil {
		l.Close()
		t.Error("it listens on all addresses")
	}
	l, fromSystemd, err := Listen("127.0.0.1:0")
	if err != nil || fromSystemd {
		t.Fatalf("%v, %v", fromSystemd, err)
	}
	_ = l.Close()
}

// BenchmarkPassThrough is what the proxy adds to a small request: both ways in
// turn, in one run.
func BenchmarkPassThrough(b *testing.B) {
	s := stage(b, arrangement{})
	body := strings.Repeat("x", 2000)
	s.answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	addresses := map[string]string{"direct": s.api.Listener.Addr().String(), "proxied": s.address}
	clients := map[string]*http.Client{"direct": s.client(s.kubelet), "proxied": s.client(s.kubelet)}
	took := map[string][]time.Duration{}
	for b.Loop() {
		for name, address := range addresses {
			begin := time.Now()
			response, err := clients[name].Get("https://" + address + "/api/v1/nodes/n1")
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			took[name] = append(took[name], time.Since(begin))
		}
	}
	for name, all := range took {
		for _, percent := range []int{50, 99} {
			b.ReportMetric(float64(percentile(all, percent).Microseconds()), name+"-p"+map[int]string{50: "50", 99: "99"}[percent]+"-µs")
		}
	}
}

func percentile(all []time.Duration, percent int) time.Duration {
	slices.Sort(all)
	return all[min(len(all)*percent/100, len(all)-1)]
}
