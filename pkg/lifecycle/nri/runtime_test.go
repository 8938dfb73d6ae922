package nri_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	nrilog "github.com/containerd/nri/pkg/log"
)

// world is what a runtime tells a plugin that synchronizes.
type world struct {
	pods       []*api.PodSandbox
	containers []*api.Container
}

// fakeRuntime is the runtime's side of NRI as CRI-O and containerd have it,
// behind a wire that the test can cut.
type fakeRuntime struct {
	*adaptation.Adaptation
	wire *wire
	// answered has the plugin's answer to each Synchronize.
	answered chan answer
}

type answer struct {
	updates []*api.ContainerUpdate
	err     error
}

// startRuntime serves NRI at the socket until the test ends.
func startRuntime(t *testing.T, socket string, w world) *fakeRuntime {
	t.Helper()
	dir := t.TempDir()
	r := &fakeRuntime{answered: make(chan answer, 16)}
	synchronize := func(ctx context.Context, cb adaptation.SyncCB) error {
		updates, err := cb(ctx, w.pods, w.containers)
		r.answered <- answer{updates, err}
		return err
	}
	update := func(context.Context, []*api.ContainerUpdate) ([]*api.ContainerUpdate, error) {
		return nil, errors.New("an observer asked for an update")
	}
	behind := filepath.Join(dir, "nri.sock")
	var err error
	r.Adaptation, err = adaptation.New("fake", "v1.2.3", synchronize, update,
		adaptation.WithSocketPath(behind),
		adaptation.WithPluginPath(filepath.Join(dir, "plugins")),
		adaptation.WithPluginConfigPath(filepath.Join(dir, "conf.d")))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	r.wire = lay(t, socket, func(near net.Conn) {
		far, err := net.Dial("unix", behind)
		if err != nil {
			return
		}
		defer far.Close()
		var both sync.WaitGroup
		both.Go(func() { io.Copy(far, near); far.Close(); near.Close() })
		both.Go(func() { io.Copy(near, far); far.Close(); near.Close() })
		both.Wait()
	})
	return r
}

// wire is a listener whose connections the test can cut.
type wire struct {
	listener net.Listener
	serving  sync.WaitGroup
	lock     sync.Mutex
	conns    []net.Conn
}

// lay serves each connection to a socket with serve until cut.
func lay(t *testing.T, socket string, serve func(net.Conn)) *wire {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l}
	w.serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			w.lock.Lock()
			w.conns = append(w.conns, conn)
			w.lock.Unlock()
			w.serving.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(w.cut)
	return w
}

// cut takes the socket away and ends all connections, as the runtime's death
// does.
func (w *wire) cut() {
	w.listener.Close()
	w.lock.Lock()
	for _, c := range w.conns {
		c.Close()
	}
	w.lock.Unlock()
	w.serving.Wait()
}

// TestMain silences the runtime's side, which has one logger for the process, and
// has it wait for a plugin as long as a test does.
func TestMain(m *testing.M) {
	nrilog.Set(silent{})
	adaptation.SetPluginRegistrationTimeout(bound)
	adaptation.SetPluginRequestTimeout(bound)
	m.Run()
}

// silent is a logger of the runtime's side.
type silent struct{}

func (silent) Debugf(context.Context, string, ...any) {}
func (silent) Infof(context.Context, string, ...any)  {}
func (silent) Warnf(context.Context, string, ...any)  {}
func (silent) Errorf(context.Context, string, ...any) {}
