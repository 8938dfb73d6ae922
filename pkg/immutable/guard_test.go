package immutable

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/upstream"
)

func TestAnImmutableObjectIsNeverWatched(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", true)
		c := s.watchList(secret("a"))
		c.expect("ADDED 102 v1", "BOOKMARK 102 end")
		if c.took != 0 {
			t.Errorf("the answer took %v", c.took)
		}
		s.expectCounts(1, 0, 0)
		time.Sleep(10 * time.Second)
		c.leave()
		time.Sleep(time.Hour)
		s.expectCounts(1, 0, 0)
	})
}

func TestAMutableObjectIsWatchedAfterTheGrace(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		c := s.watchList(secret("a"))
		c.expect("ADDED 102 v1", "BOOKMARK 102 end")
		s.server.put(secret("a"), "v2", false)
		time.Sleep(9 * time.Second)
		s.expectCounts(1, 0, 0)
		time.Sleep(time.Second)
		s.expectCounts(1, 1, 1)
		c.expect("MODIFIED 103 v2") // resumed from the LIST's version: nothing is lost
		s.server.put(secret("a"), "v3", false)
		c.expect("MODIFIED 104 v3")
		s.server.remove(secret("a"))
		c.expect("DELETED 105 v3")
		s.server.put(secret("a"), "again", false)
		c.expect("ADDED 107 again")
		s.expectCounts(1, 1, 1)
	})
}

func TestAShortPodNeverCausesAWatch(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		c := s.watchList(secret("a"))
		time.Sleep(9 * time.Second)
		c.leave()
		time.Sleep(time.Hour)
		s.expectCounts(1, 0, 0)
	})
}

func TestAMissingObjectIsWatchedAtOnce(t *testing.T) {
	play(t, nil, func(s *scene) {
		c := s.watchList(secret("a"))
		c.expect("BOOKMARK 100 end")
		s.expectCounts(1, 1, 1)
		s.server.put(secret("a"), "v1", true)
		c.expect("ADDED 102 v1")
		// It turned out to be immutable.
		s.expectCounts(1, 1, 0)
	})
}

func TestAnObjectThatBecomesImmutableIsNoLongerWatched(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		c := s.watchList(secret("a"))
		time.Sleep(11 * time.Second)
		s.expectCounts(1, 1, 1)
		s.server.put(secret("a"), "v1", true)
		c.expect("ADDED 102 v1", "BOOKMARK 102 end", "MODIFIED 103 v1")
		s.expectCounts(1, 1, 0)
	})
}

func TestBookmarksAreRelayed(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		c := s.watchList(secret("a"))
		time.Sleep(11 * time.Second)
		c.expect("ADDED 102 v1", "BOOKMARK 102 end")
		s.server.put(secret("other"), "v1", false)
		s.server.bookmark()
		c.expect("BOOKMARK 104")
	})
}

func TestARestartOfTheKubeletOpensNoWatch(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("mutable"), "v1", false)
		s.server.put(secret("immutable"), "v1", true)
		first := []*call{s.watchList(secret("mutable")), s.watchList(secret("immutable")), s.watchList(secret("missing"))}
		time.Sleep(20 * time.Second)
		s.expectCounts(3, 2, 2)
		for _, c := range first {
			c.leave()
		}
		time.Sleep(30 * time.Second)
		s.server.put(secret("mutable"), "v2", false)
		s.watchList(secret("mutable")).expect("ADDED 105 v2", "BOOKMARK 105 end")
		s.watchList(secret("immutable")).expect("ADDED 104 v1", "BOOKMARK 105 end")
		s.watchList(secret("missing")).expect("BOOKMARK 105 end")
		time.Sleep(time.Minute)
		// Each was checked by a LIST, and once a minute the immutable one whose
		// stream stays open.
		s.expectCounts(7, 2, 2)
	})
}

func TestInAStormTheOpenWatchVouchesInsteadOfAList(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		c := s.watchList(secret("a"))
		time.Sleep(20 * time.Second)
		c.leave()
		for i := range 200 {
			s.watchList(secret("other" + string(rune('a'+i%26)) + string(rune('a'+i/26)))).leave()
		}
		before, _, _ := s.server.counts()
		s.watchList(secret("a")).expect("ADDED 102 v1", "BOOKMARK 102 end")
		after, _, _ := s.server.counts()
		if after != before {
			t.Errorf("%d LISTs were sent for what is being watched", after-before)
		}
		s.expectCounter(ServedLive, 1)
	})
}

func TestWhatNobodyUsesIsForgotten(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		c := s.watchList(secret("a"))
		time.Sleep(20 * time.Second)
		c.leave()
		time.Sleep(119 * time.Second)
		s.expectCounts(1, 1, 1)
		if s.guard.Stats().Objects != 1 {
			t.Error("forgotten before the linger was over")
		}
		time.Sleep(time.Second)
		s.expectCounts(1, 1, 0)
		if st := s.guard.Stats(); st.Objects != 0 || st.Bytes != 0 {
			t.Errorf("after the linger there is still %+v", st)
		}
	})
}

func TestWhatTheNodeMayNoLongerReadIsForgottenWithItsLastUser(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		c := s.watchList(secret("a"))
		time.Sleep(20 * time.Second)
		s.server.change(func() {
			s.server.deny = func() error { return &upstream.Refusal{Code: http.StatusForbidden} }
		})
		s.server.cut()
		time.Sleep(10 * time.Second)
		c.expect("ADDED 102 v1", "BOOKMARK 102 end") // a stream that is open is not authorised anew
		c.leave()
		time.Sleep(30 * time.Second)
		if n := s.guard.Stats().Objects; n != 0 {
			t.Errorf("%d objects are kept", n)
		}
	})
}

func TestAStreamEndsCleanlyWhenItsTimeIsUp(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		c := s.ask(shape.Query{Key: secret("a"), Verb: shape.WatchList, Timeout: 2118 * time.Second})
		time.Sleep(2117 * time.Second)
		c.expect("ADDED 102 v1", "BOOKMARK 102 end")
		time.Sleep(time.Second)
		c.expect("EOF")
	})
}

func TestTheListPathOfOlderKubelets(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		s.server.put(secret("b"), "v1", true)
		l := s.ask(shape.Query{Key: secret("a"), Verb: shape.List, ResourceVersion: "0", Limit: 500})
		l.expectList("104", "v1")
		s.ask(shape.Query{Key: secret("b"), Verb: shape.List, ResourceVersion: "0", Limit: 500}).expectList("104", "v1")
		c := s.ask(shape.Query{Key: secret("a"), Verb: shape.Watch, ResourceVersion: "104", AllowBookmarks: true})
		b := s.ask(shape.Query{Key: secret("b"), Verb: shape.Watch, ResourceVersion: "104", AllowBookmarks: true})
		if c.status != http.StatusOK {
			t.Errorf("the watch was answered %d", c.status)
		}
		time.Sleep(11 * time.Second)
		s.server.put(secret("a"), "v2", false)
		c.expect("MODIFIED 105 v2")
		b.expect()
		s.expectCounts(2, 1, 1)
		if s.server.lists[0] != "0" {
			t.Errorf("the API server was asked for %q, want what the kubelet asked for", s.server.lists[0])
		}
	})
}

func TestRequestsOfOneMomentShareAList(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.put(secret("a"), "v1", false)
		s.server.delay = 100 * time.Millisecond
		first := s.watchList(secret("a")) // its LIST is with the API server now
		time.Sleep(50 * time.Millisecond)
		s.server.put(secret("a"), "v2", false)
		second := s.watchList(secret("a")) // wants what is true now: a LIST of its own
		any := s.ask(shape.Query{Key: secret("a"), Verb: shape.List, ResourceVersion: "0"})
		time.Sleep(time.Second)
		any.expectList("102", "v1")
		first.expect("ADDED 102 v1", "BOOKMARK 102 end", "MODIFIED 103 v2", "BOOKMARK 103")
		second.expect("ADDED 103 v2", "BOOKMARK 103 end")
		s.expectCounts(2, 0, 0)
	})
}

func TestAStormAsksEtcdForItsFirstReadsOnly(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.change(func() { s.server.delay, s.server.lazy = 10*time.Millisecond, true })
		var calls []*call
		for i := range 500 {
			key := configMap("ns", fmt.Sprint("c", i))
			s.server.put(key, "v1", i < 499)
			calls = append(calls, s.watchList(key))
		}
		time.Sleep(15 * time.Millisecond)
		last := s.server.put(configMap("ns", "c499"), "v2", false).ResourceVersion
		late := s.watchList(configMap("ns", "c499"))
		time.Sleep(time.Second)
		late.expect("ADDED "+last+" v2", "BOOKMARK "+last+" end")
		for _, c := range calls[:499] {
			c.mu.Lock()
			if n := len(c.events); n != 2 {
				t.Errorf("%s was told %d events", c.q.Name, n)
			}
			c.mu.Unlock()
		}
		s.expectCounter(ListsConsistent, 2*consistentInFlight+1)
		s.expectCounts(500, 0, 0)
	})
}

func TestAFirstReadIsInTimeWhenTheBucketIsEmpty(t *testing.T) {
	play(t, func(c *config.Proxy) { c.MaxObjects = 5000 }, func(s *scene) {
		s.server.delay = 10 * time.Millisecond
		var calls []*call
		for i := range 2000 {
			key := configMap("ns", "c"+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)))
			s.server.put(key, "v1", true)
			calls = append(calls, s.watchList(key))
		}
		time.Sleep(700 * time.Millisecond)
		synctest.Wait()
		for _, c := range calls {
			if c.took > 700*time.Millisecond || c.status != http.StatusOK {
				t.Fatalf("a first read took %v", c.took)
			}
		}
		s.expectCounter(FirstReadsLate, 0)
		s.expectCounts(2000, 0, 0)
	})
}

func TestAFirstReadIsInTimeWhenTheAPIServerIsFarAway(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.server.delay = 80 * time.Millisecond
		var calls []*call
		for i := range 2000 {
			key := configMap("ns", fmt.Sprint("c", i))
			s.server.put(key, "v1", true)
			calls = append(calls, s.watchList(key))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for i, c := range calls {
			if c.took > 950*time.Millisecond || c.status != http.StatusOK {
				t.Fatalf("first read %d took %v", i, c.took)
			}
		}
		s.expectCounter(ListsConsistent, 2*consistentInFlight)
		s.expectCounts(2000, 0, 0)
	})
}

func TestWithoutCreditFirstReadsKeepToTheRate(t *testing.T) {
	play(t, func(c *config.Proxy) { c.Lists.Credit = 0 }, func(s *scene) {
		for i := range 300 {
			key := configMap("ns", fmt.Sprint("c", i))
			s.server.put(key, "v1", true)
			s.watchList(key)
		}
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		if lists, _, _ := s.server.counts(); lists != 149 {
			t.Errorf("%d LISTs within a second, want a burst of 100 and 49 more", lists)
		}
		time.Sleep(4 * time.Second)
		s.expectCounts(300, 0, 0)
	})
}

func TestWatchesAreOpenedAtTheirRate(t *testing.T) {
	play(t, nil, func(s *scene) {
		for i := range 100 {
			key := configMap("ns", "c"+string(rune('a'+i%26))+string(rune('a'+i/26)))
			s.server.put(key, "v1", false)
			s.watchList(key)
		}
		time.Sleep(10*time.Second + 999*time.Millisecond)
		if _, watches, _ := s.server.counts(); watches != 39 {
			t.Errorf("%d WATCHes within a second, want a burst of 20 and 19 more", watches)
		}
		time.Sleep(10 * time.Second)
		s.expectCounts(100, 100, 100)
		// The API server restarts: they all come back, no faster.
		s.server.cut()
		time.Sleep(1700 * time.Millisecond)
		if _, watches, _ := s.server.counts(); watches > 100+20+18 {
			t.Errorf("%d WATCHes came back at once", watches-100)
		}
		time.Sleep(10 * time.Second)
		s.expectCounts(100, 200, 100)
	})
}
