package logretention

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// life is a random life of one container's attempts, with a kubelet that
// rotates, compresses and removes, and an agent that comes and goes.
type life struct {
	*scene
	random *rand.Rand
	pod    *pod
	up     bool
	// copying is set where logs cannot be linked.
	copying bool
	now     *ctr
	dead    *ctr
	// rotated are the current attempt's rotated files, oldest first.
	rotated []string
	tick    int
	// seen are the attempts that hook or agent saw begin.
	seen []*ctr
}

func (l *life) begin() {
	attempt := uint32(0)
	if l.now != nil {
		attempt = l.now.attempt + 1
	}
	l.now, l.rotated = l.pod.create("etcd", attempt), nil
	hooked := l.random.IntN(2) == 0
	if hooked {
		l.now.hook()
		if l.up {
			l.keeper.Event(lifecycle.Event{Kind: lifecycle.Created, Source: lifecycle.Hook, ContainerID: l.now.id})
		}
	}
	l.now.list()
	l.now.write(fmt.Sprintf("attempt %d begins", attempt))
	if l.up && !hooked {
		l.look()
	}
	if l.up || hooked {
		l.seen = append(l.seen, l.now)
	}
}

// rotate is one round of the kubelet's container_log_manager.
func (l *life) rotate() {
	const most = 5
	for len(l.rotated) > most-2 {
		for _, name := range []string{l.rotated[0], l.rotated[0] + ".gz"} {
			_ = os.Remove(l.now.log + "." + name)
		}
		l.rotated = l.rotated[1:]
	}
	for _, name := range l.rotated {
		if _, err := os.Stat(l.now.log + "." + name); err == nil {
			l.now.compress(name)
		}
	}
	l.tick++
	name := fmt.Sprintf("20261130-%06d", l.tick)
	if l.copying && l.up {
		// A copy is as good as the last look: there are two between any two
		// rotations, and so there are here.
		l.look()
		l.now.rotate(name)
		l.now.write("after a rotation")
		l.look()
	} else {
		l.now.rotate(name)
	}
	l.rotated = append(l.rotated, name)
}

func (l *life) crash() {
	l.now.exit(1)
	if l.up {
		l.look() // which it asked for
		l.now.recorded()
	}
	if l.dead != nil {
		l.dead.remove()
	}
	l.dead = l.now
	l.pass(20 * time.Second)
	l.begin()
}

func (l *life) step() {
	l.pass(time.Second)
	switch l.random.IntN(12) {
	case 0, 1, 2, 3:
		for range 1 + l.random.IntN(5) {
			l.now.write(fmt.Sprintf("line %d", l.random.Uint64()))
		}
	case 4, 5:
		l.now.write("before a rotation")
		l.rotate()
		l.now.write("after a rotation")
	case 6, 7:
		if l.up {
			l.look()
		}
	case 8:
		l.crash()
	case 9:
		if l.up {
			l.settle()
		}
	default:
		if l.up {
			l.stop()
		} else {
			l.start()
			l.look()
		}
		l.up = !l.up
	}
}

// check compares a record with what was written: all of it, or pieces of it in
// order with a gap declared.
func (l *life) check(c *ctr, e record.Entry) {
	l.Helper()
	text := c.text(e)
	if text == string(c.written) {
		return
	}
	if len(e.Gaps) == 0 {
		l.Errorf("%s: written\n%s\nrecorded without a gap\n%s", c.id, c.written, text)
		return
	}
	written := strings.SplitAfter(string(c.written), "\n")
	for _, line := range strings.SplitAfter(text, "\n") {
		i := slices.Index(written, line)
		if i < 0 {
			l.Errorf("%s: %q recorded out of order, or twice: %+v, gaps %+v\n%s\nwritten\n%s", c.id, line, e.Segments, e.Gaps, text, c.written)
			return
		}
		written = written[i+1:]
	}
}

// lives lives so many of them.
func lives(t *testing.T, count int, copying bool) {
	t.Helper()
	if testing.Short() {
		count = min(count, 5)
	}
	for seed := range count {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newScene(t)
			if copying {
				onAnotherDisk(t, s)
			}
			s.rotatesAbove = 0
			s.config.Retention.First, s.config.Retention.Last = 1000, 1000
			l := &life{scene: s, random: rand.New(rand.NewPCG(uint64(seed), 1)), pod: s.newPod("etcd", "uid1"), up: true, copying: copying}
			s.start()
			l.begin()
			for range 60 {
				l.step()
			}
			if !l.up {
				s.start()
			}
			s.look()
			l.now.exit(1)
			for _, c := range l.seen {
				l.check(c, c.recorded())
			}
			for _, name := range s.names() {
				if base := filepath.Base(name); strings.HasPrefix(base, "log.") || strings.HasSuffix(base, ".json") {
					t.Errorf("%s is not the kubelet's", name)
				}
			}
		})
	}
}

func TestWhateverHappensWhatIsRecordedWasWritten(t *testing.T) {
	lives(t, 25, false)
}

func TestWhateverHappensOnAnotherDisk(t *testing.T) { lives(t, 10, true) }

// A kubelet that rotates, compresses and removes without a pause: each list of
// files is out of date when it is read. What is kept is in order, and what was
// removed unseen is declared.
func TestRotationsWithoutAPause(t *testing.T) {
	s := newScene(t)
	s.config.Retention.MaxBytesPerRecord = "1Gi"
	s.start()
	l := &life{scene: s, random: rand.New(rand.NewPCG(1, 1)), pod: s.newPod("etcd", "uid1"), up: true}
	l.begin()
	for i := range 300 {
		l.pass(time.Second)
		l.now.write(fmt.Sprintf("line %d", i))
		l.rotate()
	}
	s.look()
	l.now.write("at last")
	l.now.exit(1)
	e := l.now.recorded()
	l.check(l.now, e)
	if len(e.Segments) < 5 || !strings.HasSuffix(l.now.text(e), "at last\n") {
		t.Errorf("%d segments, of which the last is not what was written last", len(e.Segments))
	}
}

// Somebody removes the record root under a running agent.
func TestWhatRunsIsFollowedAgainAfterTheRootWasRemoved(t *testing.T) {
	s := newScene(t)
	s.start()
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	s.look()
	c.linked(1)
	// At one stroke: the keeper may be writing into it.
	s.must(os.Rename(s.keeper.Root, filepath.Join(s.TempDir(), "removed")))
	s.look()
	c.linked(1)
	c.write("goes on")
	c.exit(1)
	c.whole(c.recorded())
}
