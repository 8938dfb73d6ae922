package immutable

import (
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

const rootCA = "kube-root-ca.crt"

func withSentinel(c *config.Proxy) { c.Sentinels = []string{rootCA} }

func TestOneMemberIsWatchedForItsFamily(t *testing.T) {
	play(t, withSentinel, func(s *scene) {
		calls := map[string]*call{}
		for _, namespace := range []string{"a", "b", "c"} {
			s.server.put(configMap(namespace, rootCA), "ca1", false)
			calls[namespace] = s.watchList(configMap(namespace, rootCA))
		}
		time.Sleep(15 * time.Second)
		s.expectCounts(3, 1, 1)
		for _, c := range calls {
			c.events = nil
		}
		// The publisher goes through the namespaces, the last one much later.
		s.server.put(configMap("a", rootCA), "ca2", false) // 107
		calls["a"].expect("MODIFIED 107 ca2")
		s.server.put(configMap("b", rootCA), "ca2", false) // 108
		time.Sleep(2 * time.Second)
		calls["b"].expect("MODIFIED 108 ca2", "BOOKMARK 108")
		time.Sleep(10 * time.Second)
		s.server.put(configMap("c", rootCA), "ca2", false) // 109
		time.Sleep(20 * time.Second)
		calls["c"].expect("BOOKMARK 108", "MODIFIED 109 ca2", "BOOKMARK 109")
		s.pass(10)
		// b was checked once, c twice: who has changed is not checked again.
		s.expectCounts(3+1+2, 1, 1)
	})
}

func TestTheSentinelMovesWhenItsNamespaceLeaves(t *testing.T) {
	play(t, withSentinel, func(s *scene) {
		for _, namespace := range []string{"a", "b"} {
			s.server.put(configMap(namespace, rootCA), "ca1", false)
		}
		a, b := s.watchList(configMap("a", rootCA)), s.watchList(configMap("b", rootCA))
		time.Sleep(15 * time.Second)
		s.expectCounts(2, 1, 1)
		a.leave()
		time.Sleep(121 * time.Second)
		s.expectCounts(2, 2, 1)
		s.server.put(configMap("b", rootCA), "ca2", false)
		b.expect("ADDED 104 ca1", "BOOKMARK 104 end", "MODIFIED 105 ca2")
	})
}

func TestAMissingMemberIsWatchedUntilItAppears(t *testing.T) {
	play(t, withSentinel, func(s *scene) {
		s.server.put(configMap("a", rootCA), "ca1", false)
		s.watchList(configMap("a", rootCA))
		time.Sleep(15 * time.Second)
		b := s.watchList(configMap("b", rootCA))
		s.expectCounts(2, 2, 2)
		s.server.put(configMap("b", rootCA), "ca1", false)
		b.expect("BOOKMARK 102 end", "ADDED 104 ca1")
		s.expectCounts(2, 2, 1)
	})
}

func TestMembersAreCheckedInTheBackground(t *testing.T) {
	play(t, withSentinel, func(s *scene) {
		for _, namespace := range []string{"a", "b"} {
			s.server.put(configMap(namespace, rootCA), "ca1", false)
			s.ask(shape.Query{Key: configMap(namespace, rootCA), Verb: shape.WatchList, Timeout: time.Hour})
		}
		s.pass(44)
		s.expectCounts(2, 1, 1)
		s.pass(2)
		s.expectCounts(3, 1, 1)
	})
}
