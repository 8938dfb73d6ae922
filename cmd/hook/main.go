// Command nodekeeper-hook is an OCI hook for createRuntime (and poststop): it
// gives the log of a container that is about to start a second name, which the
// runtime and the kubelet do not know and so do not delete, and tells the agent.
//
// It stands in the way of etcd and kube-apiserver, so it never fails and never
// waits: it ends with 0 before its deadline whatever happens, starts no process,
// waits for no disk and no network, and says one line to the journal when
// something is wrong. It reads all of its input first: crun dies of a hook that
// does not.
//
//	nodekeeper-hook [--root DIR] [--run DIR] [--deadline 150ms] [--all]
//	                [--max-live 1000] [--min-free-percent 5] [--journal SOCKET]
//
// One thing is beyond it: a kernel that does not let its thread go, as on a
// dead disk. The runtime and conmon, which write to the same one, hang there
// too.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

func main() {
	began := time.Now()
	// A runtime or a terminal that has gone away is no reason to fail.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	o, misread := parse(os.Args[1:])
	r := &run{options: o, began: began, journal: line{socket: o.journal}}
	r.at("reading the state")
	time.AfterFunc(time.Until(began.Add(o.deadline)), r.giveUp)
	defer os.Exit(0)
	defer r.journal.send()
	defer r.rescue()

	s, err := readState(os.Stdin)
	r.journal.add(errors.Join(misread, err))
	if misread == nil && err == nil { // misread flags may have meant another place
		r.work(s)
	}
}

// run is the run of this program for one container.
type run struct {
	options
	began   time.Time
	journal line
	step    atomic.Value // what it is at: a string
}

func (r *run) at(step string) { r.step.Store(step) }

func (r *run) giveUp() {
	r.journal.add(fmt.Errorf("gave up after %v: %v", r.deadline, r.step.Load()))
	r.journal.send()
	os.Exit(0)
}

// work looks after one container. Either half of it may hang, in a dead file
// system or with a dead agent; the other is done nevertheless.
func (r *run) work(s *state) {
	if !r.all && !s.static() {
		return
	}
	e, err := s.event(r.began)
	if err != nil {
		r.journal.add(err)
		return
	}
	linked := make(chan error, 1)
	if e.Kind == lifecycle.Removed {
		linked <- nil
	} else {
		r.at("linking " + e.LogPath)
		go func() {
			defer r.rescue()
			linked <- capture(s, e, r.options)
		}()
	}
	late := false
	select {
	case err = <-linked:
		r.journal.add(err)
	case <-time.After(r.deadline / 2):
		late, err = true, errors.New("linking the log takes long")
	}
	if err != nil {
		e.Detail = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	if !late {
		r.at("telling the agent")
	}
	ctx, cancel := context.WithDeadline(context.Background(), r.began.Add(r.deadline*4/5))
	defer cancel()
	r.journal.add(tell(ctx, e, r.options))
	if late {
		r.journal.add(<-linked)
	}
}

// rescue ends a panic in what it may not do: fail the container.
func (r *run) rescue() {
	if p := recover(); p != nil {
		r.journal.add(fmt.Errorf("panic: %v", p))
	}
}

// maxState is how much of the state is kept; CRI-O stores annotations twice,
// and the API server takes 256 KiB of them.
const maxState = 4 << 20

// slurp reads everything, and keeps the beginning of it.
func slurp(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxState))
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	return data, err
}
