package logretention

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// scene is a node with real files: the pod log root that a kubelet and conmon
// would fill, CRI-O's storage, and a keeper beside them.
type scene struct {
	testing.TB
	podLogs, root, storage, exits string
	config                        config.Logs
	watches                       int
	rotatesAbove                  int64

	lock       sync.Mutex // guards what follows
	wall       time.Time
	boot       time.Duration
	bootID     string
	cri        map[string]*node.Container
	criErr     error
	sandboxes  []node.Sandbox
	manifests  []node.Manifest
	intentErr  error
	problems   []node.ManifestProblem
	view       node.View
	calls      []node.RuntimeCall
	shutting   bool
	journal    []entry
	pokes      int
	ids        int
	logs       bytes.Buffer
	keeper     *Keeper
	stopKeeper func()
}

type entry struct {
	fields  map[string]string
	message string
}

func newScene(t testing.TB) *scene {
	t.Helper()
	top := t.TempDir()
	s := &scene{
		TB: t, podLogs: filepath.Join(top, "pods"), root: filepath.Join(top, "nodekeeper"),
		storage: filepath.Join(top, "storage"), exits: filepath.Join(top, "exits"),
		config: config.Default().Logs, rotatesAbove: rotatesAbove,
		wall: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), boot: time.Hour, bootID: "boot-1",
		cri: map[string]*node.Container{},
	}
	s.config.PodLogs, s.config.Exits, s.config.NRISocket = s.podLogs, s.exits, ""
	s.config.Retention.KeepFreePercent, s.config.Retention.MaxUsePercent = 0, 90
	for _, dir := range []string{s.podLogs, s.exits, s.storage} {
		s.must(os.MkdirAll(dir, 0o755))
	}
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			s.lock.Lock()
			defer s.lock.Unlock()
			t.Log("log of the keeper:\n" + s.logs.String())
		}
	})
	return s
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// Write takes the keeper's log.
func (s *scene) Write(p []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.logs.Write(p)
}

// Now and BootID make the scene a clock.
func (s *scene) Now() node.Instant {
	s.lock.Lock()
	defer s.lock.Unlock()
	return node.Instant{Wall: s.wall, Boot: s.boot}
}

func (s *scene) BootID() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.bootID
}

func (s *scene) pass(d time.Duration) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.wall, s.boot = s.wall.Add(d), s.boot+d
}

// start starts a keeper, as a new process would be.
func (s *scene) start() {
	s.Helper()
	k, err := New(Options{
		Config: s.config, Root: s.root, Clock: s, Storage: s.storage, Watches: s.watches,
		Status: s.status,
		Journal: func(fields map[string]string, message string, _ int) error {
			s.lock.Lock()
			defer s.lock.Unlock()
			s.journal = append(s.journal, entry{fields, message})
			return nil
		},
		Log: slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Poke: func() {
			s.lock.Lock()
			defer s.lock.Unlock()
			s.pokes++
		},
	})
	s.must(err)
	k.rotatesAbove = s.rotatesAbove
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	s.keeper = k
	s.stopKeeper = func() {
		cancel()
		if err := <-done; err != nil {
			s.Errorf("Run: %v", err)
		}
	}
	s.settle()
}

func (s *scene) stop() {
	if s.stopKeeper != nil {
		s.stopKeeper()
		s.stopKeeper = nil
	}
}

// settle waits until the keeper has taken what it was handed.
func (s *scene) settle() {
	s.Helper()
	s.await("the keeper takes what it was handed", func() bool { return len(s.keeper.looked) == 0 && len(s.keeper.events) == 0 })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s.keeper.Record(ctx, "nobody") // served after it
	if ctx.Err() != nil {
		s.Fatal("the keeper hangs")
	}
}

// await waits for a condition.
func (s *scene) await(what string, holds func() bool) {
	s.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			s.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

func (s *scene) status(_ context.Context, id string) (node.Container, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.criErr != nil {
		return node.Container{}, s.criErr
	}
	c, ok := s.cri[id]
	if !ok {
		return node.Container{}, fmt.Errorf("container %s: %w", id, ErrNoRecord)
	}
	return *c, nil
}

// look hands the keeper a look at the node as it is now.
func (s *scene) look() {
	s.Helper()
	s.pass(time.Second)
	s.keeper.Observe(s.snapshot())
	s.settle()
}

func (s *scene) snapshot() *node.Snapshot {
	s.lock.Lock()
	defer s.lock.Unlock()
	out := &node.Snapshot{
		Taken:  node.Instant{Wall: s.wall, Boot: s.boot},
		Host:   node.Host{BootID: s.bootID, ShuttingDown: s.shutting},
		Intent: node.Intent{Pods: slices.Clone(s.manifests), Err: s.intentErr, Problems: s.problems},
	}
	out.Settings.NodeName = "node-1" // the agent is started before it is known
	out.Kubelet.View = s.view
	out.Runtime.Calls = s.calls
	if out.Runtime.Err = s.criErr; s.criErr != nil {
		return out
	}
	for _, sb := range s.sandboxes {
		sb.Containers = nil
		for _, c := range s.cri {
			if c.SandboxID == sb.ID {
				sb.Containers = append(sb.Containers, *c)
			}
		}
		slices.SortFunc(sb.Containers, func(a, b node.Container) int { return int(b.Attempt) - int(a.Attempt) })
		out.Runtime.Sandboxes = append(out.Runtime.Sandboxes, sb)
	}
	return out
}

func (s *scene) text(e record.Entry) string {
	s.Helper()
	var out strings.Builder
	for _, seg := range e.Segments {
		f, err := os.Open(filepath.Join(s.root, e.Path, seg.Name))
		s.must(err)
		var r io.Reader = f
		if seg.Compressed() {
			r, err = gzip.NewReader(f)
			s.must(err)
		}
		_, err = io.Copy(&out, r)
		s.must(errors.Join(err, f.Close()))
	}
	return out.String()
}

// names are all names below the pod log root.
func (s *scene) names() []string {
	s.Helper()
	var names []string
	s.must(filepath.WalkDir(s.podLogs, func(path string, _ os.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(path, s.podLogs))
		return err
	}))
	return names
}

func (s *scene) entries() []entry {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Clone(s.journal)
}
