package logretention

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkCapture is the whole life of a short attempt, from its log's birth to
// its record.
func BenchmarkCapture(b *testing.B) {
	s := newScene(b)
	s.start()
	p := s.newPod("etcd", "uid1")
	var old *ctr
	attempt := uint32(0)
	for b.Loop() {
		c := p.run("etcd", attempt)
		c.hook()
		s.look()
		c.exit(1)
		c.recorded()
		if old != nil {
			old.remove()
		}
		old = c
		attempt++
		s.pass(20 * time.Second)
	}
}

// BenchmarkLook is a look at a full node on which nothing happens.
func BenchmarkLook(b *testing.B) {
	s := newScene(b)
	for i := range 40 {
		c := s.newPod(fmt.Sprintf("static-%d", i), fmt.Sprintf("uid%d", i)).run("main", 0)
		c.rotate("20261130-090001")
		c.rotate("20261130-090002")
	}
	for i := range 200 {
		s.sandbox(fmt.Sprintf("api-%d", i), fmt.Sprintf("api%d", i), "api").run("main", 0)
	}
	s.start()
	s.look()
	for b.Loop() {
		s.look()
	}
}
