package immutable

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/upstream"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

var errDown = errors.New("connection refused")

func TestAVersionIsAnsweredOnlyByAStateThatIsNotOlder(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", true)
		s.watchList(secret("a")).leave()
		s.server.put(secret("b"), "v1", true) // 104
		// A copy of 102 is no answer to 104, and the API server's is.
		s.ask(shape.Query{Key: secret("a"), Verb: shape.List, ResourceVersion: "104", ResourceVersionMatch: shape.NotOlderThan}).expectList("104", "v1")
		s.expectCounts(2, 0, 0)
		if got := s.server.lists[1]; got != "104" {
			t.Errorf("the API server was asked for %q", got)
		}
		// Any version will do, but none before what was shown already.
		s.ask(shape.Query{Key: secret("a"), Verb: shape.List, ResourceVersion: "0"}).expectList("104", "v1")
		if got := s.server.lists[2]; got != "104" {
			t.Errorf("the API server was asked for %q", got)
		}
		// And with the API server down, the copy answers what it can.
		s.server.refuse = func() error { return errDown }
		s.ask(shape.Query{Key: secret("a"), Verb: shape.List, ResourceVersion: "103", ResourceVersionMatch: shape.NotOlderThan}).expectList("104", "v1")
		s.ask(shape.Query{Key: secret("a"), Verb: shape.List, ResourceVersion: "0"}).expectList("104", "v1")
		s.expectCounter(ServedOlder, 2)
	})
}

func TestAClientAheadOfTheAPIServerIsToldSo(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		c := s.ask(shape.Query{Key: secret("a"), Verb: shape.List, ResourceVersion: "900", ResourceVersionMatch: shape.NotOlderThan})
		if c.status != http.StatusGatewayTimeout {
			t.Errorf("a LIST of the future was answered %d", c.status)
		}
		w := s.ask(shape.Query{Key: secret("a"), Verb: shape.Watch, ResourceVersion: "900"})
		w.expect("ERROR 410", "EOF")
	})
}

func TestAPlainWatchIsTakenOnAtOnceAndCaughtUp(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("same"), "v1", false)
		changed := s.server.put(secret("changed"), "v1", false).ResourceVersion
		s.server.put(secret("changed"), "v2", false)
		gone := s.server.put(secret("gone"), "v1", false).ResourceVersion
		s.server.remove(secret("gone"))
		s.server.delay = 500 * time.Millisecond
		watch := func(name, version string) *call {
			c := s.ask(shape.Query{Key: secret(name), Verb: shape.Watch, ResourceVersion: version, AllowBookmarks: true})
			if c.status != http.StatusOK || c.took != 0 {
				t.Errorf("the watch of %s was answered %d after %v", name, c.status, c.took)
			}
			return c
		}
		now := strconv.FormatUint(s.server.revision, 10)
		calls := map[string]*call{
			"same": watch("same", now), "changed": watch("changed", changed),
			"gone": watch("gone", gone), "absent": watch("absent", now),
		}
		time.Sleep(time.Second)
		calls["same"].expect()
		calls["changed"].expect("MODIFIED 105 v2", "BOOKMARK "+now)
		calls["gone"].expect("ERROR 410", "EOF") // a watch-list follows, and finds nothing
		calls["absent"].expect()
		s.server.put(secret("absent"), "v1", false)
		time.Sleep(time.Second)
		calls["absent"].expect("ADDED 110 v1")
		s.expectCounter(ExpiredLocal, 1)
	})
}

func TestAClientThatWasServedElsewhereIsNotTakenBack(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		s.watchList(secret("a")).leave()
		s.server.put(secret("a"), "v2", false)
		s.server.put(secret("b"), "v1", false) // 105: past the guard's copy, and past v2
		c := s.ask(shape.Query{Key: secret("a"), Verb: shape.Watch, ResourceVersion: "105", AllowBookmarks: true})
		time.Sleep(20 * time.Second)
		c.expect()
		s.server.put(secret("a"), "v3", false)
		c.expect("MODIFIED 106 v3")
	})
}

func TestAListAndAWatchThatOvertakeEachOther(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		first := s.watchList(secret("a"))
		time.Sleep(11 * time.Second)
		// A LIST reads v1, and the WATCH tells v2 before its answer is there.
		s.server.change(func() { s.server.delay = time.Second })
		second := s.watchList(secret("a"))
		s.server.put(secret("a"), "v2", false)
		time.Sleep(2 * time.Second)
		second.expect("ADDED 103 v2", "BOOKMARK 103 end")
		// The WATCH tells v3 and v4 after a LIST told v4.
		s.server.change(func() { s.server.delay, s.server.mute = 0, true })
		s.server.put(secret("a"), "v3", false)
		s.server.put(secret("a"), "v4", false)
		third := s.watchList(secret("a"))
		third.expect("ADDED 105 v4", "BOOKMARK 105 end")
		s.server.unmute()
		s.server.put(secret("a"), "v5", false)
		third.expect("MODIFIED 106 v5")
		first.expect("ADDED 102 v1", "BOOKMARK 102 end", "MODIFIED 103 v2", "MODIFIED 105 v4", "BOOKMARK 105", "MODIFIED 106 v5")
		s.expectCounts(3, 1, 1)
	})
}

func TestANewRequestDoesNotWaitForAnOldOnesPause(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		s.server.refuse = func() error { return errDown }
		old := s.watchList(secret("a"))
		time.Sleep(5 * time.Second)
		s.server.change(func() { s.server.refuse = nil })
		c := s.watchList(secret("a"))
		c.expect("ADDED 102 v1", "BOOKMARK 102 end")
		old.expect("ADDED 102 v1", "BOOKMARK 102 end")
	})
}

func TestAnExpiredWatchIsCaughtUpAndNeverForwarded(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("changed"), "v1", false)
		s.server.put(secret("gone"), "v1", false)
		s.server.put(secret("again"), "v1", false)
		calls := []*call{s.watchList(secret("changed")), s.watchList(secret("gone")), s.watchList(secret("again"))}
		for i, version := range []string{"102", "104", "106"} {
			calls[i].expect("ADDED "+version+" v1", "BOOKMARK 106 end")
		}
		s.server.put(secret("changed"), "v2", false)
		s.server.remove(secret("gone"))
		s.server.remove(secret("again"))
		s.server.put(secret("again"), "v2", false) // 111
		s.server.change(func() { s.server.oldest = 111 })
		time.Sleep(20 * time.Second)
		calls[0].expect("MODIFIED 107 v2", "BOOKMARK 111")
		calls[1].expect("DELETED 111 v1", "BOOKMARK 111")
		calls[2].expect("DELETED 110 v1", "ADDED 111 v2", "BOOKMARK 111")
		s.expectCounter(Expired, 3)
		s.expectCounter(Recreated, 1)
		s.expectCounts(6, 6, 3)
	})
}

func TestAnImmutableCopyIsServedUncheckedOnlyWhileTheAPIServerFails(t *testing.T) {
	for name, fail := range map[string]func(*server){
		"refused connections": func(s *server) { s.refuse = func() error { return errDown } },
		"too many requests": func(s *server) {
			s.refuse = func() error { return &upstream.Refusal{Code: http.StatusTooManyRequests, RetryAfter: "1"} }
		},
		"late": func(s *server) { s.delay = 5 * time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				s.server.put(secret("a"), "v1", true)
				s.server.put(secret("b"), "v1", false)
				s.watchList(secret("a")).leave()
				s.watchList(secret("b")).leave()
				fail(s.server)
				s.server.remove(secret("a"))
				s.server.put(secret("a"), "v2", true) // 107
				a, b := s.watchList(secret("a")), s.watchList(secret("b"))
				time.Sleep(700 * time.Millisecond)
				a.expect("ADDED 102 v1", "BOOKMARK 104 end")
				b.expect() // a mutable one waits for the truth
				s.expectCounter(ServedStale, 1)
				s.server.change(func() { s.server.refuse, s.server.delay = nil, 0 })
				time.Sleep(10 * time.Second)
				a.expect("DELETED 106 v1", "ADDED 107 v2", "BOOKMARK 107")
				b.expect("ADDED 104 v1", "BOOKMARK 107 end")
			})
		})
	}
}

func TestNeverA429ToAWatchList(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		s.server.refuse = func() error { return &upstream.Refusal{Code: http.StatusTooManyRequests, RetryAfter: "1"} }
		c := s.watchList(secret("a"))
		l := s.ask(shape.Query{Key: secret("a"), Verb: shape.List, ResourceVersion: "0"})
		time.Sleep(time.Minute)
		c.expect("EOF")
		if c.status != http.StatusServiceUnavailable || c.took != answerPatience || c.header.Get("Retry-After") != "" {
			t.Errorf("the watch-list was answered %d after %v", c.status, c.took)
		}
		if l.status != http.StatusTooManyRequests || l.header.Get("Retry-After") != "1" {
			t.Errorf("the LIST was answered %d, want the API server's answer", l.status)
		}
		// The guard itself did not make it worse.
		if lists, _, _ := s.server.counts(); lists > 20 {
			t.Errorf("%d LISTs were sent in half a minute", lists)
		}
	})
}

func TestARefusalIsTheAPIServersOwn(t *testing.T) {
	play(t, nil, func(s *scene) {
		body, err := wire.EncodeStatus(wire.Protobuf, &metav1.Status{
			Status: metav1.StatusFailure, Message: "no relationship found", Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.server.put(secret("a"), "v1", true)
		s.watchList(secret("a")).leave()
		s.server.refuse = func() error { return &upstream.Refusal{Code: http.StatusForbidden, Body: body} }
		c := s.watchList(secret("a")) // a copy is no permission
		if c.status != http.StatusForbidden || string(c.body) != string(body) || c.header.Get("Content-Type") != wire.Protobuf.ContentType() {
			t.Errorf("answered %d %q", c.status, c.body)
		}
		w := s.ask(shape.Query{Key: secret("b"), Verb: shape.Watch, ResourceVersion: "104"})
		w.expect("ERROR 403", "EOF")
	})
}

func TestAReplicaThatLagsIsNotBelieved(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", true)
		s.server.put(secret("a"), "v1 labelled", true)
		s.watchList(secret("a")).leave()
		s.server.distort = func(string) string { return "102" }
		s.server.objects[secret("a")] = newObject(secret("a"), "uid-101", 102, "v1", true)
		c := s.watchList(secret("a"))
		if c.status != http.StatusTeapot || s.passed.Load() != 1 {
			t.Errorf("answered %d, want it passed through", c.status)
		}
		s.expectCounter(WentBack, 1)
		s.expectCounter(PassedVersion, 1)
	})
}

func TestVersionsThatAreNoNumbersArePassedThrough(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", true)
		s.server.distort = func(string) string { return "a1" }
		if c := s.watchList(secret("a")); c.status != http.StatusTeapot {
			t.Errorf("answered %d", c.status)
		}
		s.expectCounter(PassedVersion, 1)
	})
}

func TestAnObjectThatWasCreatedAnewWhileItsStreamWasOpenIsTold(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", true)
		c := s.watchList(secret("a"))
		s.server.remove(secret("a"))
		s.server.put(secret("a"), "v2", true)
		time.Sleep(immutableCheck + time.Second)
		c.expect("ADDED 102 v1", "BOOKMARK 102 end", "DELETED 104 v1", "ADDED 105 v2", "BOOKMARK 105")
		s.expectCounts(2, 0, 0)
	})
}

func TestPastEachBoundRequestsArePassedThrough(t *testing.T) {
	for _, bound := range []struct {
		counter Counter
		set     func(*config.Proxy)
	}{
		{PassedStreams, func(c *config.Proxy) { c.MaxStreams = 1 }},
		{PassedObjects, func(c *config.Proxy) { c.MaxObjects = 1 }},
		{PassedBytes, func(c *config.Proxy) { c.MaxBytes = "1500" }},
		{PassedLarge, func(c *config.Proxy) { c.MaxObjectBytes = "1100" }},
	} {
		t.Run(bound.counter.String(), func(t *testing.T) {
			play(t, bound.set, func(s *scene) {
				small, large := make([]byte, 900), make([]byte, 1200)
				s.server.put(secret("a"), string(small), true)
				s.server.put(secret("b"), string(large), true)
				a := s.watchList(secret("a"))
				b := s.watchList(secret("b"))
				if a.status != http.StatusOK || b.status != http.StatusTeapot {
					t.Errorf("answered %d and %d", a.status, b.status)
				}
				s.expectCounter(bound.counter, 1)
				if bound.counter == PassedLarge {
					return
				}
				// Room is made of what nobody uses.
				a.leave()
				if b := s.watchList(secret("b")); b.status != http.StatusOK {
					t.Errorf("answered %d with room to be made", b.status)
				}
			})
		})
	}
}

func TestAPageAtOneVersionIsPassedThrough(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		c := s.ask(shape.Query{Key: secret("a"), Verb: shape.List, ResourceVersion: "101", Limit: 500})
		if c.status != http.StatusTeapot {
			t.Errorf("answered %d", c.status)
		}
	})
}

func TestAClientThatDoesNotReadLosesItsStreamOnly(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		c := s.watchList(secret("a"))
		time.Sleep(11 * time.Second)
		gate := make(chan struct{})
		c.mu.Lock()
		c.gate = gate
		c.mu.Unlock()
		for range 2 * streamQueue {
			s.server.put(secret("a"), "v2", false)
			time.Sleep(time.Millisecond)
		}
		close(gate)
		time.Sleep(time.Millisecond)
		s.expectCounter(SlowStreams, 1)
		if c.mu.Lock(); !c.over || c.broken != nil {
			t.Errorf("over %t, error %v: want a clean end", c.over, c.broken)
		}
		c.mu.Unlock()
	})
}

func TestAMuteWatchStopsToVouchAndIsOpenedAgain(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		s.watchList(secret("a"))
		time.Sleep(10*time.Second + 2*silence + 2*time.Second)
		s.expectCounts(1, 2, 1)
	})
}

func TestAfterItsEndTheGuardPassesThrough(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", true)
		c := s.watchList(secret("a"))
		s.end()
		c.expect("ADDED 102 v1", "BOOKMARK 102 end", "EOF")
		if c := s.watchList(secret("a")); c.status != http.StatusTeapot {
			t.Errorf("answered %d", c.status)
		}
	})
}
