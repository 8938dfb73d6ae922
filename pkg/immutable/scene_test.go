package immutable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/upstream"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

// server is an API server that the guard asks: one revision for all, a history,
// and whatever is to go wrong.
type server struct {
	mu       sync.Mutex
	revision uint64
	oldest   uint64 // a WATCH from before it has expired
	objects  map[shape.Key]*wire.Object
	history  []happening
	watches  map[*open]struct{}
	lists    []string // the versions that LISTs asked for
	watched  []string // the versions that WATCHes asked for
	listAt   []time.Time
	watchAt  []time.Time

	delay   time.Duration       // of each LIST, after the state was read
	refuse  func() error        // LISTs
	deny    func() error        // WATCHes
	distort func(string) string // the version of a LIST
	lazy    bool                // LISTs with a version are answered as of it, if that may be
	mute    bool                // WATCHes hold back what they have to tell
}

type happening struct {
	key   shape.Key
	event wire.Event
	at    uint64
}

func newServer() *server {
	return &server{revision: 100, objects: map[shape.Key]*wire.Object{}, watches: map[*open]struct{}{}}
}

// put creates or changes an object.
func (s *server) put(key shape.Key, data string, immutable bool) *wire.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.objects[key]
	uid, what := "", watch.Modified
	if old == nil {
		s.revision++ // two objects never share a version
		uid, what = fmt.Sprint("uid-", s.revision), watch.Added
	} else {
		uid = old.UID
	}
	s.revision++
	o := newObject(key, uid, s.revision, data, immutable)
	s.objects[key] = o
	s.happen(key, wire.Event{Type: what, Object: o, ResourceVersion: o.ResourceVersion})
	return o
}

func newObject(key shape.Key, uid string, revision uint64, data string, immutable bool) *wire.Object {
	meta := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: types.UID(uid), ResourceVersion: strconv.FormatUint(revision, 10)}
	var message []byte
	var err error
	if key.Resource == shape.Secrets {
		message, err = (&corev1.Secret{ObjectMeta: meta, Immutable: &immutable, Data: map[string][]byte{"data": []byte(data)}}).Marshal()
	} else {
		message, err = (&corev1.ConfigMap{ObjectMeta: meta, Immutable: &immutable, Data: map[string]string{"data": data}}).Marshal()
	}
	if err != nil {
		panic(err)
	}
	return &wire.Object{Namespace: key.Namespace, Name: key.Name, UID: uid, ResourceVersion: meta.ResourceVersion, Immutable: immutable, Protobuf: message}
}

func (s *server) remove(key shape.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.objects[key]
	delete(s.objects, key)
	s.revision++
	gone, err := old.WithResourceVersion(strconv.FormatUint(s.revision, 10))
	if err != nil {
		panic(err)
	}
	s.happen(key, wire.Event{Type: watch.Deleted, Object: gone, ResourceVersion: gone.ResourceVersion})
}

func (s *server) happen(key shape.Key, ev wire.Event) {
	s.history = append(s.history, happening{key, ev, s.revision})
	for w := range s.watches {
		switch {
		case w.key != key:
		case s.mute:
			w.held = append(w.held, ev)
		default:
			w.push(ev)
		}
	}
}

// unmute lets the WATCHes tell what they held back.
func (s *server) unmute() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = false
	for w := range s.watches {
		for _, ev := range w.held {
			w.push(ev)
		}
		w.held = nil
	}
}

// bookmark sends every WATCH the present revision.
func (s *server) bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		w.push(wire.Event{Type: watch.Bookmark, ResourceVersion: strconv.FormatUint(s.revision, 10)})
	}
}

// cut ends every WATCH, as a server that restarts.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		w.close()
	}
	clear(s.watches)
}

func (s *server) List(ctx context.Context, key shape.Key, version, match string) (string, *wire.Object, error) {
	s.mu.Lock()
	s.lists = append(s.lists, version)
	s.listAt = append(s.listAt, time.Now())
	if s.refuse != nil {
		if err := s.refuse(); err != nil {
			s.mu.Unlock()
			return "", nil, err
		}
	}
	revision, object := s.revision, s.objects[key]
	if wanted, err := strconv.ParseUint(version, 10, 64); err == nil && wanted > revision {
		s.mu.Unlock()
		return "", nil, &upstream.Refusal{Code: http.StatusGatewayTimeout}
	}
	if s.lazy && version != "" {
		revision, object = s.asOf(key, version)
	}
	delay := s.delay
	shown := strconv.FormatUint(revision, 10)
	if s.distort != nil {
		shown = s.distort(shown)
	}
	s.mu.Unlock()
	if !wait(ctx, delay) {
		return "", nil, ctx.Err()
	}
	return shown, object, nil
}

// asOf is the oldest state that answers a LIST with a version.
func (s *server) asOf(key shape.Key, version string) (uint64, *wire.Object) {
	revision, _ := strconv.ParseUint(version, 10, 64)
	revision = max(revision, 100)
	var object *wire.Object
	for _, h := range s.history {
		if h.key == key && h.at <= revision {
			object = h.event.Object
			if h.event.Type == watch.Deleted {
				object = nil
			}
		}
	}
	return revision, object
}

func (s *server) Watch(ctx context.Context, key shape.Key, version string) (Events, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = append(s.watched, version)
	s.watchAt = append(s.watchAt, time.Now())
	if s.deny != nil {
		if err := s.deny(); err != nil {
			return nil, err
		}
	}
	from, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return nil, err
	}
	w := &open{key: key, server: s, events: make(chan wire.Event, 100), closed: make(chan struct{})}
	if from < s.oldest {
		w.push(wire.Event{Type: watch.Error, Status: &metav1.Status{Code: http.StatusGone}})
		return w, nil
	}
	for _, h := range s.history {
		if h.key == key && h.at > from {
			w.push(h.event)
		}
	}
	s.watches[w] = struct{}{}
	context.AfterFunc(ctx, w.Close)
	return w, nil
}

// open is a WATCH at the server.
type open struct {
	key    shape.Key
	server *server
	events chan wire.Event
	held   []wire.Event
	closed chan struct{}
	once   sync.Once
}

func (w *open) push(ev wire.Event) { w.events <- ev }
func (w *open) close()             { w.once.Do(func() { close(w.closed) }) }

func (w *open) Next() (wire.Event, error) {
	select {
	case ev := <-w.events:
		return ev, nil
	default:
	}
	select {
	case ev := <-w.events:
		return ev, nil
	case <-w.closed:
		return wire.Event{}, io.EOF
	}
}

func (w *open) Close() {
	w.server.mu.Lock()
	delete(w.server.watches, w)
	w.server.mu.Unlock()
	w.close()
}

// change changes the server itself.
func (s *server) change(how func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how()
}

// counts are the LISTs and WATCHes received and the WATCHes open.
func (s *server) counts() (lists, watches, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lists), len(s.watched), len(s.watches)
}

// scene is a guard before a server, in simulated time.
type scene struct {
	*testing.T
	server *server
	guard  *Guard
	passed atomic.Int64 // requests, several at once
	end    context.CancelFunc
}

func play(t *testing.T, configure func(*config.Proxy), act func(*scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, server: newServer()}
		c := config.Default().Proxy
		if configure != nil {
			configure(&c)
		}
		s.guard = New(Options{
			Config: c, Upstream: s.server, Rand: func() float64 { return 0 },
			PassThrough: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				s.passed.Add(1)
				w.WriteHeader(http.StatusTeapot)
			}),
		})
		ctx, cancel := context.WithCancel(t.Context())
		s.end = cancel
		over := make(chan struct{})
		go func() { s.guard.Run(ctx); close(over) }()
		act(s)
		cancel()
		<-over
		synctest.Wait()
		if st := s.guard.Stats(); st.Streams != 0 || st.Bytes != 0 || st.Objects != 0 || st.OpenWatches != 0 {
			t.Errorf("the guard ended with %+v", st)
		}
		if _, _, open := s.server.counts(); open != 0 {
			t.Errorf("%d WATCHes were left open", open)
		}
	})
}

// pass lets minutes pass, with the API server's bookmarks.
func (s *scene) pass(minutes int) {
	for range minutes {
		time.Sleep(time.Minute)
		s.server.bookmark()
	}
}

func (s *scene) expectCounts(lists, watches, open int) {
	s.Helper()
	synctest.Wait()
	if l, w, o := s.server.counts(); l != lists || w != watches || o != open {
		s.Errorf("the API server received %d LISTs and %d WATCHes with %d open, want %d, %d and %d", l, w, o, lists, watches, open)
	}
}

func (s *scene) expectCounter(which Counter, want int64) {
	s.Helper()
	if got := s.guard.Stats().Counters[which.String()]; got != want {
		s.Errorf("%s is %d, want %d", which, got, want)
	}
}

// call is a request in progress, or answered.
type call struct {
	scene  *scene
	q      shape.Query
	cancel context.CancelFunc
	began  time.Time

	mu     sync.Mutex
	status int
	header http.Header
	body   []byte
	took   time.Duration // to the header
	events []wire.Event
	over   bool
	broken error
	pipe   *io.PipeWriter
	gate   chan struct{} // while it is open the client does not read
}

func (c *call) Header() http.Header { return c.header }

func (c *call) WriteHeader(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == 0 {
		c.status, c.took = status, time.Since(c.began)
	}
}

func (c *call) Write(b []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	if c.q.Verb != shape.List && c.status == http.StatusOK {
		return c.pipe.Write(b)
	}
	c.body = append(c.body, b...)
	return len(b), nil
}

func (c *call) Flush() {}

// ask sends a request and waits until nothing more happens without time.
func (s *scene) ask(q shape.Query) *call {
	s.Helper()
	q.Encoding = wire.Protobuf
	if q.Verb == shape.WatchList {
		q.AllowBookmarks, q.ResourceVersionMatch = true, shape.NotOlderThan
	}
	r := httptest.NewRequest(http.MethodGet, q.URI(), http.NoBody)
	r.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
	if parsed, ok := shape.Parse(r); !ok || parsed != q {
		s.Fatalf("%s is not the guard's", q.URI())
	}
	ctx, cancel := context.WithCancel(s.Context())
	reader, writer := io.Pipe()
	c := &call{scene: s, q: q, cancel: cancel, began: time.Now(), header: http.Header{}, pipe: writer}
	go func() {
		s.guard.ServeHTTP(c, r.WithContext(ctx))
		c.mu.Lock()
		c.over = true
		c.mu.Unlock()
		writer.Close()
	}()
	go func() {
		events := wire.NewEventReader(q.Resource, reader)
		for {
			ev, err := events.Next()
			c.mu.Lock()
			if err == nil {
				c.events = append(c.events, ev)
			} else if !errors.Is(err, io.EOF) {
				c.broken = err
			}
			gate := c.gate
			c.mu.Unlock()
			if err != nil {
				return
			}
			if gate != nil {
				<-gate
			}
		}
	}()
	synctest.Wait()
	return c
}

func (s *scene) watchList(key shape.Key) *call {
	s.Helper()
	return s.ask(shape.Query{Key: key, Verb: shape.WatchList})
}

// leave is the client that closes its stream.
func (c *call) leave() {
	c.cancel()
	synctest.Wait()
}

// expect compares what was said since the last time, as "ADDED 102 data" and
// "BOOKMARK 103 end", and whether the stream is over by "EOF".
func (c *call) expect(want ...string) {
	c.scene.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var got []string
	for _, ev := range c.events {
		text := string(ev.Type) + " " + ev.ResourceVersion
		switch {
		case ev.Object != nil:
			text += " " + dataOf(c.q.Resource, ev.Object)
		case ev.InitialEventsEnd:
			text += " end"
		case ev.Status != nil:
			text += strconv.Itoa(int(ev.Status.Code))
		}
		got = append(got, text)
	}
	c.events = nil
	if c.over {
		got = append(got, "EOF")
	}
	if c.broken != nil {
		got = append(got, c.broken.Error())
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		c.scene.Errorf("the client was told\n  %s\nwant\n  %s", strings.Join(got, "; "), strings.Join(want, "; "))
	}
}

func dataOf(resource shape.Resource, o *wire.Object) string {
	if resource == shape.Secrets {
		var secret corev1.Secret
		if err := secret.Unmarshal(o.Protobuf); err != nil {
			return err.Error()
		}
		return string(secret.Data["data"])
	}
	var configMap corev1.ConfigMap
	if err := configMap.Unmarshal(o.Protobuf); err != nil {
		return err.Error()
	}
	return configMap.Data["data"]
}

// expectList compares the answer of a LIST: its version, and the data or "".
func (c *call) expectList(version, data string) {
	c.scene.Helper()
	synctest.Wait()
	got, items, err := wire.DecodeList(c.q.Resource, c.body)
	if err != nil {
		c.scene.Fatalf("status %d: %v", c.status, err)
	}
	held := ""
	if len(items) > 0 {
		held = dataOf(c.q.Resource, items[0])
	}
	if got != version || held != data {
		c.scene.Errorf("the list is %q at %s, want %q at %s", held, got, data, version)
	}
}

func secret(name string) shape.Key {
	return shape.Key{Resource: shape.Secrets, Namespace: "ns", Name: name}
}

func configMap(namespace, name string) shape.Key {
	return shape.Key{Resource: shape.ConfigMaps, Namespace: namespace, Name: name}
}
