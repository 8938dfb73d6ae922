package immutable

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/upstream"
)

// reflector is a client as client-go's tools/cache/reflector.go: a watch-list,
// then plain watches from where it is, and a watch-list again after an error.
type reflector struct {
	scene   *scene
	key     shape.Key
	version string
	data    string // "" for none
	uid     string
	synced  bool
	call    *call
	wrong   string
}

// streamTime is short, so that plain watches are many.
const streamTime = 40 * time.Second

// step takes in what it was told, and asks again where it has to.
func (r *reflector) step() {
	if r.call == nil {
		r.begin()
	}
	r.call.mu.Lock()
	events, over, status := r.call.events, r.call.over, r.call.status
	r.call.events = nil
	r.call.mu.Unlock()
	for _, ev := range events {
		if ev.Type == watch.Error {
			if ev.Status.Code == http.StatusGone && r.call.q.Verb == shape.WatchList {
				r.wrong = "a watch-list was told 410"
			}
			r.call, r.synced = nil, false
			return
		}
		if r.synced {
			r.goOn(ev.ResourceVersion)
		}
		switch {
		case ev.Type == watch.Deleted:
			r.data, r.uid = "", ""
		case ev.Object != nil:
			r.data, r.uid = dataOf(r.key.Resource, ev.Object), ev.Object.UID
		case ev.InitialEventsEnd:
			r.goOn(ev.ResourceVersion)
			r.synced = true
		}
	}
	if !over {
		return
	}
	if status == http.StatusTooManyRequests && r.call.q.Verb == shape.WatchList {
		r.wrong = "a watch-list was answered 429"
	}
	if status == http.StatusGatewayTimeout {
		r.version = ""
	}
	if status != http.StatusOK {
		r.call, r.synced = nil, false
		return
	}
	if !r.synced {
		r.call = nil
		return
	}
	r.call = r.scene.ask(shape.Query{Key: r.key, Verb: shape.Watch, ResourceVersion: r.version, AllowBookmarks: true, Timeout: streamTime})
}

// begin gets the state anew, which replaces what was known.
func (r *reflector) begin() {
	r.data, r.uid = "", ""
	fresh := r.version == "" && r.scene.server.well()
	r.call = r.scene.ask(shape.Query{Key: r.key, Verb: shape.WatchList, ResourceVersion: r.version, Timeout: streamTime})
	if fresh {
		r.step()
		if data, uid := r.scene.server.truth(r.key); !r.synced || r.data != data || r.uid != uid {
			r.wrong = fmt.Sprintf("was answered %q (%s) at first, synced %t, where %q (%s) was true", r.data, r.uid, r.synced, data, uid)
		}
	}
}

func (r *reflector) goOn(version string) {
	old, _ := strconv.ParseUint(r.version, 10, 64)
	now, err := strconv.ParseUint(version, 10, 64)
	switch {
	case err != nil:
		r.wrong = "a version is " + version
	case now < old:
		r.wrong = fmt.Sprintf("the version went back from %d to %d", old, now)
	case now > r.scene.server.now():
		r.wrong = fmt.Sprintf("version %d is ahead of the API server", now)
	}
	r.version = version
}

// well says that nothing keeps the server from answering at once.
func (s *server) well() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refuse == nil && s.delay == 0
}

func (s *server) now() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// TestClientsOfAnyHistoryEndWithTheTruth lets objects change, vanish, come back
// and become immutable, while the API server fails, forgets, is slow or
// restarts and clients come and go; in the end every client holds what there is.
func TestClientsOfAnyHistoryEndWithTheTruth(t *testing.T) {
	acts := []string{
		"put", "put", "put", "freeze", "remove", "remove", "wait", "wait", "wait long", "linger",
		"restart client", "restart guard", "restart guard", "fail", "throttle", "slow", "recover", "recover", "lazy", "cut", "compact", "bookmark", "bookmark", "deny",
	}
	rapid.Check(t, func(rt *rapid.T) {
		type act struct {
			what   string
			object int
			ms     int
		}
		history := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) act {
			return act{rapid.SampledFrom(acts).Draw(rt, "act"), rapid.IntRange(0, 2).Draw(rt, "object"), rapid.IntRange(1, 15000).Draw(rt, "ms")}
		}), 1, 60).Draw(rt, "history")
		wrong := ""
		play(t, nil, func(s *scene) {
			var clients []*reflector
			for i := range 3 {
				clients = append(clients, &reflector{scene: s, key: secret(fmt.Sprint("s", i))})
			}
			settle := func(d time.Duration) {
				for range 5 {
					time.Sleep(d / 5)
					for _, c := range clients {
						c.step()
						if c.wrong != "" && wrong == "" {
							wrong = c.key.Name + ": " + c.wrong
						}
					}
				}
			}
			settle(time.Millisecond)
			for n, a := range history {
				key := secret(fmt.Sprint("s", a.object))
				there := s.server.has(key)
				switch a.what {
				case "put", "freeze":
					if there == frozen {
						s.server.remove(key) // the only way to change it
					}
					s.server.put(key, fmt.Sprint("v", n), a.what == "freeze")
				case "remove":
					if there != absent {
						s.server.remove(key)
					}
				case "wait":
					settle(time.Duration(a.ms) * time.Millisecond)
				case "wait long":
					settle(time.Duration(a.ms) * 20 * time.Millisecond)
				case "linger":
					clients[a.object].stop()
					settle(130 * time.Second)
				case "restart client":
					clients[a.object].stop()
					clients[a.object].version = ""
					clients[a.object].step()
				case "restart guard":
					s.guard.restart()
				case "fail":
					s.server.change(func() {
						s.server.refuse = func() error { return errDown }
						s.server.deny = s.server.refuse
					})
				case "throttle":
					s.server.change(func() {
						s.server.refuse = func() error { return &upstream.Refusal{Code: http.StatusTooManyRequests, RetryAfter: "1"} }
					})
				case "slow":
					s.server.change(func() { s.server.delay = time.Duration(a.ms/10) * time.Millisecond })
				case "deny":
					s.server.change(func() { s.server.deny = func() error { return &upstream.Refusal{Code: http.StatusForbidden} } })
				case "lazy":
					s.server.change(func() { s.server.lazy = true })
				case "recover":
					s.server.change(func() { s.server.refuse, s.server.deny, s.server.delay, s.server.lazy = nil, nil, 0, false })
				case "cut":
					s.server.cut()
				case "compact":
					s.server.change(func() { s.server.oldest = s.server.revision })
				case "bookmark":
					s.server.bookmark()
				}
			}
			s.server.change(func() { s.server.refuse, s.server.deny, s.server.delay, s.server.lazy = nil, nil, 0, false })
			settle(3 * time.Minute)
			settle(2 * time.Minute)
			for _, c := range clients {
				data, uid := s.server.truth(c.key)
				if wrong == "" && (c.data != data || c.uid != uid || !c.synced) {
					wrong = fmt.Sprintf("%s is %q (%s) to the client, synced %t, and %q (%s) in truth", c.key.Name, c.data, c.uid, c.synced, data, uid)
				}
			}
			for _, c := range clients {
				c.stop()
			}
		})
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// restart loses all that the guard knows, and ends its streams.
func (g *Guard) restart() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.entries {
		g.forget(e)
	}
}

func (r *reflector) stop() {
	if r.call != nil {
		r.call.leave()
	}
	r.call, r.synced = nil, false
}

type presence int

const (
	absent presence = iota
	mutable
	frozen
)

func (s *server) has(key shape.Key) presence {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := s.objects[key]; {
	case o == nil:
		return absent
	case o.Immutable:
		return frozen
	}
	return mutable
}

func (s *server) truth(key shape.Key) (data, uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[key]; o != nil {
		return dataOf(key.Resource, o), o.UID
	}
	return "", ""
}
