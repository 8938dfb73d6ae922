package unit

import (
	"context"
	"errors"
	"sync"
)

// fakeSystemd is a service manager in memory.
type fakeSystemd struct {
	mu         sync.Mutex
	units      map[string]map[string]any
	state      string
	announced  bool
	stateErr   error
	logindErr  error
	results    map[string]string
	done       []string
	calls      int
	dials      int
	lost       bool
	dialErr    error
	jobStarted chan struct{}
	// failNext is returned by the next call, after which the connection is lost.
	failNext error
}

var errBroken = errors.New("read: connection reset by peer")

// dial is a dialer. All connections lead to the same systemd.
func (f *fakeSystemd) dial(context.Context) (systemd, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials++
	f.lost = false
	return f, f.dialErr
}

// call counts a call and fails it if it is to fail.
func (f *fakeSystemd) call() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	err := f.failNext
	f.failNext = nil
	return err
}

func (f *fakeSystemd) Properties(_ context.Context, unit string) (map[string]any, error) {
	if err := f.call(); err != nil {
		return nil, err
	}
	if p, ok := f.units[unit]; ok {
		return p, nil
	}
	return map[string]any{"LoadState": "not-found", "ActiveState": "inactive", "SubState": "dead"}, nil
}

func (f *fakeSystemd) SystemState(context.Context) (string, error) {
	return f.state, errors.Join(f.call(), f.stateErr)
}

func (f *fakeSystemd) PreparingForShutdown(context.Context) (bool, error) {
	return f.announced, errors.Join(f.call(), f.logindErr)
}

func (f *fakeSystemd) Job(ctx context.Context, verb jobVerb, unit string) (string, error) {
	if err := f.call(); err != nil {
		return "", err
	}
	f.record(string(verb) + " " + unit)
	result, ok := f.results[unit]
	if !ok {
		close(f.jobStarted)
		<-ctx.Done()
		return "", ctx.Err()
	}
	return result, nil
}

func (f *fakeSystemd) KillMain(_ context.Context, unit string, _ int32) error {
	f.record("kill " + unit)
	return f.call()
}

func (f *fakeSystemd) ResetFailed(_ context.Context, unit string) error {
	f.record("reset-failed " + unit)
	return f.call()
}

func (f *fakeSystemd) record(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = append(f.done, what)
}

func (f *fakeSystemd) Alive() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.lost
}

func (f *fakeSystemd) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = true
}
