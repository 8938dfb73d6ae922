package logretention

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

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
	if err := src.LinkAt(d, record.SegmentName(0, false)); !safelink.CannotLink(err) {
		c.must(err)
	}
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
