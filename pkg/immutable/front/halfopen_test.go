package front

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"
)

// relay passes connections on until it is frozen: then those that there are
// neither move nor end, as when a cable is pulled. New ones are passed on.
type relay struct {
	net.Listener
	mu     sync.Mutex // guards both
	frozen chan bool
	conns  []net.Conn
}

func startRelay(s *scene, to string) *relay {
	s.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	r := &relay{Listener: l, frozen: make(chan bool)}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			onward, err := net.Dial("tcp", to)
			if err != nil {
				_ = from.Close()
				continue
			}
			r.mu.Lock()
			frozen := r.frozen
			r.conns = append(r.conns, from, onward)
			r.mu.Unlock()
			all.Go(func() { move(onward, from, frozen) })
			all.Go(func() { move(from, onward, frozen) })
		}
	})
	s.Cleanup(func() {
		_ = l.Close()
		r.mu.Lock()
		for _, c := range r.conns {
			_ = c.Close()
		}
		r.mu.Unlock()
		all.Wait()
	})
	return r
}

func move(to, from net.Conn, frozen chan bool) {
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		select {
		case <-frozen:
			return // neither end hears anything again
		default:
		}
		if err != nil {
			_ = to.Close()
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			_ = from.Close()
			return
		}
	}
}

func (r *relay) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.frozen)
	r.frozen = make(chan bool)
}

// quickPings leave a peer on a busy machine its time to answer.
var quickPings = pings{200 * time.Millisecond, 2 * time.Second}

// held is an answer that goes on until its request ends.
func held(began, ended chan bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/watch" {
			_, _ = io.WriteString(w, "ok")
			return
		}
		w.(http.Flusher).Flush()
		began <- true
		<-r.Context().Done()
		ended <- true
	}
}

func TestAKubeletThatIsGoneWithoutAWordIsLetGo(t *testing.T) {
	s := stage(t, arrangement{pings: quickPings})
	began, ended := make(chan bool, 1), make(chan bool, 1)
	s.answer(held(began, ended))
	r := startRelay(s, s.address)
	s.address = r.Addr().String()
	go func() { _, _ = s.get(s.client(s.kubelet), "/watch") }()
	<-began
	// A kubelet that is silent and alive is left alone.
	select {
	case <-ended:
		t.Fatal("a live kubelet was let go")
	case <-time.After(2 * (quickPings.after + quickPings.timeout)):
	}
	r.freeze()
	select {
	case <-ended:
	case <-time.After(bound):
		t.Error("its watch goes on at the API server")
	}
	s.until("its connection is closed", func() bool { return s.front.Stats().Open == 0 })
}

func TestAConnectionToTheAPIServerThatIsDeadIsReplaced(t *testing.T) {
	s := stage(t, arrangement{pings: quickPings})
	began, ended := make(chan bool, 1), make(chan bool, 1)
	s.answer(held(began, ended))
	r := startRelay(s, s.api.Listener.Addr().String())
	target := s.upstream.Target()
	target.URL = &url.URL{Scheme: "https", Host: r.Addr().String()}
	s.upstream.SetTarget(target)
	client := s.client(s.kubelet)
	response, err := client.Get("https://" + s.address + "/watch")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	<-began
	watched := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(response.Body)
		watched <- err
	}()
	r.freeze()
	select {
	case err := <-watched:
		if err == nil {
			t.Error("the watch ended cleanly")
		}
	case <-time.After(bound):
		t.Error("the kubelet waits for ever")
	}
	s.wants(client, "/", "ok")
}
