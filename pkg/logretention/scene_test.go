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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// scene is a node with real files: the pod log root that a kubelet and conmon
// would fill, CRI-O's storage, and a keeper beside them.
type scene struct {
	*testing.T
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

func newScene(t *testing.T) *scene {
	t.Helper()
	top := t.TempDir()
	s := &scene{
		T: t, podLogs: filepath.Join(top, "pods"), root: filepath.Join(top, "nodekeeper"),
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
		Config: s.config, Root: s.root, Node: "node-1", Clock: s, Storage: s.storage, Watches: s.watches,
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

// pod is one generation of a static pod.
type pod struct {
	*scene
	name node.PodName
	uid  string
	dir  string
}

// newPod makes a pod's sandbox, log directory and manifest.
func (s *scene) newPod(name, uid string) *pod {
	p := s.sandbox(name, uid, "file")
	s.manifest(name, "digest-"+uid)
	return p
}

func (s *scene) sandbox(name, uid, source string) *pod {
	s.lock.Lock()
	defer s.lock.Unlock()
	p := &pod{scene: s, name: node.PodName{Namespace: "kube-system", Name: name}, uid: uid}
	p.dir = filepath.Join(s.podLogs, "kube-system_"+name+"_"+uid)
	s.sandboxes = append(s.sandboxes, node.Sandbox{
		ID: "sandbox-" + uid, Pod: p.name, UID: uid, Ready: true, Source: source, CreatedAt: s.wall,
		Labels: map[string]string{"revision": "7"},
	})
	return p
}

// manifest puts a manifest in its place; an empty digest removes it.
func (s *scene) manifest(name, digest string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	of := node.PodName{Namespace: "kube-system", Name: name}
	s.manifests = slices.DeleteFunc(s.manifests, func(m node.Manifest) bool { return m.Name == of })
	if digest != "" {
		s.manifests = append(s.manifests, node.Manifest{Name: of, Digest: digest, Modified: s.wall})
	}
}

// gone removes a pod's sandbox with its containers, and its log directory in
// the way of the kubelet's GC.
func (p *pod) gone() {
	p.lock.Lock()
	p.sandboxes = slices.DeleteFunc(p.sandboxes, func(sb node.Sandbox) bool { return sb.UID == p.uid })
	for id, c := range p.cri {
		if c.SandboxID == "sandbox-"+p.uid {
			delete(p.cri, id)
		}
	}
	p.lock.Unlock()
	p.must(os.RemoveAll(p.dir))
}

// ctr is one attempt, with the conmon behind it.
type ctr struct {
	*pod
	id, container string
	attempt       uint32
	log           string
	written       []byte
}

// create makes the log as conmon does; the runtime does not list it yet.
func (p *pod) create(container string, attempt uint32) *ctr {
	p.Helper()
	p.lock.Lock()
	p.ids++
	c := &ctr{pod: p, id: fmt.Sprintf("%s-%d-%04d", container, attempt, p.ids), container: container, attempt: attempt}
	p.lock.Unlock()
	dir := filepath.Join(p.dir, container)
	p.must(os.MkdirAll(dir, 0o755))
	p.must(os.MkdirAll(c.persist(), 0o755))
	c.log = filepath.Join(dir, strconv.Itoa(int(attempt))+".log")
	c.append(os.O_CREATE|os.O_EXCL, "")
	return c
}

// run creates a container that runs and has written a line.
func (p *pod) run(container string, attempt uint32) *ctr {
	p.Helper()
	c := p.create(container, attempt)
	c.list()
	c.write("attempt " + strconv.Itoa(int(attempt)) + " of " + container + " says hello")
	return c
}

func (c *ctr) list() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.cri[c.id] = &node.Container{
		ID: c.id, SandboxID: "sandbox-" + c.uid, Name: c.container, Attempt: c.attempt, State: node.ContainerRunning,
		CreatedAt: c.wall, StartedAt: c.wall, LogPath: c.log, Process: node.Process{PID: 1, State: node.ProcessAlive},
	}
}

func (c *ctr) persist() string {
	return filepath.Join(c.storage, "overlay-containers", c.id, "userdata")
}

func (c *ctr) append(flags int, text string) {
	c.Helper()
	f, err := os.OpenFile(c.log, os.O_WRONLY|os.O_APPEND|flags, 0o640)
	c.must(err)
	_, err = f.WriteString(text)
	c.must(errors.Join(err, f.Close()))
	c.written = append(c.written, text...)
}

func (c *ctr) write(line string) {
	c.Helper()
	c.append(0, c.Now().Wall.Format(time.RFC3339Nano)+" stderr F "+line+"\n")
}

// rotate does what kubelet and conmon do: rename, then a new file moved into
// the place.
func (c *ctr) rotate(at string) {
	c.Helper()
	c.must(os.Rename(c.log, c.log+"."+at))
	c.must(os.WriteFile(c.log+".tmp", nil, 0o640))
	c.must(os.Rename(c.log+".tmp", c.log))
}

// compress does what the kubelet does to what it rotated before.
func (c *ctr) compress(at string) {
	c.Helper()
	data, err := os.ReadFile(c.log + "." + at)
	c.must(err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(data)
	c.must(errors.Join(err, w.Close()))
	c.must(os.WriteFile(c.log+"."+at+".tmp", packed.Bytes(), 0o640))
	c.must(os.Rename(c.log+"."+at+".tmp", c.log+"."+at+".gz"))
	c.must(os.Remove(c.log + "." + at))
}

// exit does what conmon and CRI-O do when the process has ended.
func (c *ctr) exit(code int32) {
	c.Helper()
	c.must(os.WriteFile(filepath.Join(c.persist(), "exit"), []byte(strconv.Itoa(int(code))), 0o600))
	c.exited(code, "Error")
	c.tell()
}

// exited is CRI's side of an exit alone.
func (c *ctr) exited(code int32, reason string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	r := c.cri[c.id]
	r.State, r.ExitCode, r.Reason, r.FinishedAt, r.Process = node.ContainerExited, code, reason, c.wall, node.Process{}
}

// tell is conmon's file in the directory of exits, which CRI-O removes at once.
func (c *ctr) tell() {
	c.Helper()
	told := filepath.Join(c.exits, c.id)
	c.must(os.WriteFile(told, nil, 0o600))
	c.must(os.Remove(told))
}

// remove is the kubelet's removal of a dead container.
func (c *ctr) remove() {
	c.Helper()
	names, err := filepath.Glob(c.log + "*")
	c.must(err)
	for _, name := range names {
		c.must(os.Remove(name))
	}
	c.forgotten()
}

// forgotten is the runtime's side of it.
func (c *ctr) forgotten() {
	c.lock.Lock()
	delete(c.cri, c.id)
	c.lock.Unlock()
	c.must(os.RemoveAll(filepath.Dir(c.persist())))
}

// hook does what the OCI hook does at createRuntime.
func (c *ctr) hook() {
	c.Helper()
	dir := filepath.Join(c.root, record.LivePath(c.id))
	c.must(os.MkdirAll(dir, 0o700))
	src, err := safelink.Open(c.log)
	c.must(err)
	defer src.Close()
	d, err := os.Open(dir)
	c.must(err)
	defer d.Close()
	c.must(src.LinkAt(d, record.SegmentName(0, false)))
	birth := fmt.Sprintf(`{"apiVersion":%q,"kind":"Birth","namespace":"kube-system","pod":%q,"podUID":%q,"container":%q,"attempt":%d,`+
		`"containerID":%q,"sandboxID":%q,"bootID":%q,"seen":%q,"by":"hook","logPath":%q}`,
		record.APIVersion, c.name.Name, c.uid, c.container, c.attempt, c.id, "sandbox-"+c.uid, c.BootID(), c.Now().Wall.Format(time.RFC3339Nano), c.log)
	c.must(os.WriteFile(filepath.Join(dir, record.BirthFile), []byte(birth), 0o600))
}

// recorded waits for the record of a container.
func (c *ctr) recorded() record.Entry {
	c.Helper()
	var e record.Entry
	c.await("record of "+c.id, func() (ok bool) {
		e, ok = c.keeper.store.Find(c.id)
		return ok
	})
	return e
}

// live tells whether the keeper follows a container.
func (c *ctr) live() bool {
	return slices.ContainsFunc(c.keeper.store.Index().Live, func(l record.Live) bool { return l.ContainerID == c.id })
}

// linked waits until the keeper has so many pieces of a live log.
func (c *ctr) linked(pieces int) {
	c.Helper()
	c.await(fmt.Sprintf("%d pieces of %s", pieces, c.id), func() bool {
		return slices.ContainsFunc(c.keeper.store.Index().Live, func(l record.Live) bool {
			return l.ContainerID == c.id && len(l.Segments) == pieces
		})
	})
}

// want compares a record with what ought to be in it.
func (c *ctr) want(e record.Entry, class record.Class, code int32) {
	c.Helper()
	got := int32(-1000)
	if e.ExitCode != nil {
		got = *e.ExitCode
	}
	if e.Class != class || got != code {
		c.Errorf("%s: class %s, code %d (%s); want %s, %d", c.id, e.Class, got, e.ClassReason, class, code)
	}
	if e.Container != c.container || e.Attempt.Attempt != c.attempt || e.PodUID != c.uid || e.Pod != c.name.Name {
		c.Errorf("%s: recorded as %+v", c.id, e.Attempt)
	}
}

const unknown = int32(-1000)

// whole checks that a record has every byte that was written, and says so.
func (c *ctr) whole(e record.Entry) {
	c.Helper()
	if text := c.text(e); text != string(c.written) {
		c.Errorf("%s: recorded\n%q\nwritten\n%q", c.id, text, c.written)
	}
	if len(e.Gaps) > 0 {
		c.Errorf("%s: gaps %+v", c.id, e.Gaps)
	}
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
