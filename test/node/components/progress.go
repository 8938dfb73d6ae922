package components

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// heartbeat is the longest silence while something is made.
const heartbeat = 30 * time.Second

// progress writes lines that say what is being done and since when.
type progress struct {
	start time.Time
	mu    sync.Mutex // guards out
	out   io.Writer
}

func (p *progress) printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "[%4ds] %s\n", int(time.Since(p.start).Seconds()), fmt.Sprintf(format, args...))
}

// step runs act and says so before, after, and in between while it takes long.
func (p *progress) step(what string, act func() error) error {
	begin := time.Now()
	p.printf("%s ...", what)
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				p.printf("%s: still at it, %d s", what, int(time.Since(begin).Seconds()))
			}
		}
	}()
	err := act()
	close(done)
	<-stopped
	if err != nil {
		p.printf("%s: failed after %d s", what, int(time.Since(begin).Seconds()))
		return err
	}
	p.printf("%s: done in %d s", what, int(time.Since(begin).Seconds()))
	return nil
}
