package guard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

// The guard says some things in other words than the API server, and means to.
const (
	// A WATCH of a version that the API server no longer has ends with 410. The
	// guard knows the object, and goes on.
	meantGone = "410 of a WATCH that the guard could go on with"
	// How often a version is told that brings nothing new is left to a server.
	meantBookmarks = "bookmarks in another number"
	// Streams are not compressed on loopback.
	meantGzip = "a stream that is not compressed"
)

// TestConversationsAreAnsweredAlike says what kubelets have said, at the same
// states of the same objects, to the API server and to the guard. Both answer
// alike, and as the API server of the recording did.
func TestConversationsAreAnsweredAlike(t *testing.T) {
	for name, v := range conversations {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "watch-list-json" || name == "list-protobuf") {
				t.Skip("the encodings are told apart by others: not with -short")
			}
			said := readConversation(t, name)
			if said.Kubelet != v {
				t.Fatalf("it was recorded of %+v", said.Kubelet)
			}
			c := startCluster(t)
			c.stage(t, v)
			settings := config.Default().Proxy
			settings.Grace.Duration = 10 * time.Millisecond
			direct := c.nodeConfig(t, nodeName)
			guard := c.proxy(t, settings)
			p := &replay{T: t, cluster: c, meant: map[string]int{}, ways: [2]*way{
				newWay(t, "direct", direct),
				newWay(t, "guarded", guard.config(direct)),
			}}
			for i, s := range scenario(v.Strategy) {
				if s.act != nil {
					s.act(t, c)
				}
				p.play(i, s, said.Exchanges)
				if s.outage {
					p.late(i, said.Exchanges)
				}
			}
			p.compare()
			t.Logf("%d exchanges, %d things said; meant to differ: %v; the guard: %v", len(p.asked), p.things, p.meant, guard.counted())
			if n := guard.passed(); n != 0 {
				t.Errorf("%d requests of the guard's shape were passed through", n)
			}
		})
	}
}

type replay struct {
	*testing.T
	cluster *cluster
	ways    [2]*way
	asked   [][2]*answer // by exchange
	of      []*exchange
	things  int
	meant   map[string]int
}

// answer is one that is being read.
type answer struct {
	status                       int
	contentType, contentEncoding string

	mu   sync.Mutex // guards all below
	told []told
	over bool
	err  error

	end context.CancelFunc
}

// play goes on with what was said before, says what was said in this step, and
// ends what ended in it.
func (p *replay) play(i int, s step, exchanges []*exchange) {
	p.Helper()
	before := len(p.asked)
	p.settle(s)
	p.finish(before, func(e *exchange) bool { return e.Until == i })
	for _, e := range exchanges {
		if e.Step == i {
			p.ask(e)
		}
	}
	p.settle(s)
	p.finish(len(p.asked), func(e *exchange) bool { return e.Until == i })
}

func (p *replay) finish(n int, which func(*exchange) bool) {
	for i, e := range p.of[:n] {
		if which(e) {
			p.asked[i][0].end()
			p.asked[i][1].end()
		}
	}
}

func (p *replay) ask(e *exchange) {
	p.Helper()
	var pair [2]*answer
	for j, w := range p.ways {
		uri := e.URI
		if e.After >= 0 {
			version := ""
			until(p, 10*time.Second, "the version to go on from", func() bool {
				version = p.asked[e.After][j].last()
				return version != ""
			})
			_, query := e.query(p)
			uri = strings.Replace(uri, "resourceVersion="+query.Get("resourceVersion"), "resourceVersion="+version, 1)
		}
		pair[j] = p.request(w, uri, e)
	}
	p.asked, p.of = append(p.asked, pair), append(p.of, e)
}

func (p *replay) request(w *way, uri string, e *exchange) *answer {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	p.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.host+uri, nil)
	if err != nil {
		p.Fatal(err)
	}
	for name, value := range map[string]string{"Accept": e.Accept, "Accept-Encoding": e.AcceptEncoding, "User-Agent": e.UserAgent} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	response, err := w.http.Do(r)
	if err != nil {
		p.Fatalf("%s: %s: %v", w.name, uri, err)
	}
	a := &answer{end: cancel, status: response.StatusCode, contentType: response.Header.Get("Content-Type"), contentEncoding: response.Header.Get("Content-Encoding")}
	go func() {
		err := decode(a.contentType, a.contentEncoding, response.Body, func(s told) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.told = append(a.told, s)
		})
		response.Body.Close()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.over, a.err = true, err
	}()
	return a
}

// late says again what was said before a restart of the API server, as a kubelet
// does whose connection was gone meanwhile: WATCHes from versions that the API
// server no longer has.
func (p *replay) late(now int, exchanges []*exchange) {
	p.Helper()
	for _, e := range exchanges {
		if e.Step >= now || e.After < 0 || strings.Contains(e.URI, "sendInitialEvents") || !strings.Contains(e.URI, "watch=true") {
			continue
		}
		p.ask(e)
		n := len(p.asked) - 1
		direct, guarded := p.asked[n][0], p.asked[n][1]
		p.asked, p.of = p.asked[:n], p.of[:n]
		until(p, 10*time.Second, "the API server to refuse an old version", func() bool {
			objects, _ := direct.objects()
			return len(objects) > 0
		})
		d, _ := direct.objects()
		if texts(d) != "ERROR Status 410 Expired" {
			p.Errorf("%s: the API server said %s of an old version", e.URI, texts(d))
		}
		p.meant[meantGone]++
		// The guard tells what has changed since, if anything has.
		r := map[bool]reference{true: changing, false: later}[strings.Contains(e.URI, "/secrets")]
		if e.of(p) != r.of(p) {
			r = settings
		}
		until(p, 10*time.Second, "the guard to go on", func() bool {
			g, over := guarded.objects()
			return over || len(g) == 0 || latest(g) == p.truth(r)
		})
		if g, over := guarded.objects(); over {
			p.Errorf("%s: the guard ended it: %s", e.URI, texts(g))
		}
		direct.end()
		guarded.end()
	}
}

// last is the newest version that was told.
func (a *answer) last() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range slices.Backward(a.told) {
		if s.version != "" && (a.over || s.about() || s.end || s.what == listed || s.what == watch.Bookmark) {
			return s.version
		}
	}
	return ""
}

// all is what was told so far: a stream that was ended may still be read.
func (a *answer) all() []told {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.told)
}

// objects is what was told of the object itself.
func (a *answer) objects() (out []told, over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.told {
		if s.about() {
			out = append(out, s)
		}
	}
	return out, a.over
}

// begun tells whether the first state is complete.
func (a *answer) begun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over || slices.ContainsFunc(a.told, func(s told) bool { return s.end })
}

// settle waits until all answers have told the present state.
func (p *replay) settle(s step) {
	p.Helper()
	var waits string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if waits = p.unsettled(s); waits == "" {
			return
		}
	}
	p.Errorf("%s: %s", s.name, waits)
}

func (p *replay) unsettled(s step) string {
	for i, pair := range p.asked {
		e := p.of[i]
		stream := strings.Contains(e.URI, "watch=true")
		for j, a := range pair {
			objects, over := a.objects()
			switch {
			case over:
			case !stream:
				return fmt.Sprintf("%s %s has not ended", p.ways[j].name, e.URI)
			case strings.Contains(e.URI, "sendInitialEvents=true") && !a.begun():
				return fmt.Sprintf("%s %s has not told its first state", p.ways[j].name, e.URI)
			case s.object != nil && e.of(p) == s.object.of(p):
				if truth := p.truth(*s.object); latest(objects) != truth {
					return fmt.Sprintf("%s %s told %q last, it is %q", p.ways[j].name, e.URI, latest(objects), truth)
				}
			}
		}
	}
	return ""
}

func latest(objects []told) string {
	if len(objects) == 0 || objects[len(objects)-1].what == watch.Deleted {
		return ""
	}
	return objects[len(objects)-1].version
}

// truth is the version of an object that there is.
func (p *replay) truth(r reference) string {
	p.Helper()
	var o metav1.Object
	var err error
	if r.configMap {
		o, err = p.cluster.admin.CoreV1().ConfigMaps(r.namespace).Get(p.Context(), r.name, metav1.GetOptions{})
	} else {
		o, err = p.cluster.admin.CoreV1().Secrets(r.namespace).Get(p.Context(), r.name, metav1.GetOptions{})
	}
	if err != nil {
		return ""
	}
	return o.GetResourceVersion()
}

// of is what requests for the object have in common.
func (r reference) of(t testing.TB) string {
	return (&exchange{URI: r.path(url.Values{})}).of(t)
}

// compare holds the answers against each other and against the recorded ones.
func (p *replay) compare() {
	p.Helper()
	newest := p.newest()
	for i, pair := range p.asked {
		e, direct, guarded := p.of[i], pair[0], pair[1]
		if direct.status != e.Status || direct.contentType != e.ContentType {
			p.Errorf("%s: %d %s direct, %d %s recorded", e.URI, direct.status, direct.contentType, e.Status, e.ContentType)
		}
		if direct.status != guarded.status || direct.contentType != guarded.contentType {
			p.Errorf("%s: %d %s direct, %d %s guarded", e.URI, direct.status, direct.contentType, guarded.status, guarded.contentType)
		}
		if direct.contentEncoding != guarded.contentEncoding {
			if !strings.Contains(e.URI, "watch=true") {
				p.Errorf("%s: encoded %q direct, %q guarded", e.URI, direct.contentEncoding, guarded.contentEncoding)
			}
			p.meant[meantGzip]++
		}
		d, _ := direct.objects()
		g, _ := guarded.objects()
		if texts(d) != texts(about(e.recorded(p))) {
			p.Errorf("%s: said\n  %s\nrecorded is\n  %s", e.URI, texts(d), texts(about(e.recorded(p))))
		}
		p.things += len(d)
		if exactly(d) != exactly(g) {
			p.Errorf("%s: direct\n  %s\nguarded\n  %s", e.URI, exactly(d), exactly(g))
		}
		if len(direct.all())-len(d) != len(guarded.all())-len(g) {
			p.meant[meantBookmarks]++
		}
		guarded.ordered(p, e.URI, newest)
	}
}

func about(all []told) []told {
	return slices.DeleteFunc(slices.Clone(all), func(s told) bool { return !s.about() })
}

// texts is what can be compared between clusters.
func texts(all []told) string {
	var out []string
	for _, s := range all {
		out = append(out, s.String())
	}
	return strings.Join(out, "\n  ")
}

// exactly is what can be compared within one.
func exactly(all []told) string {
	var out []string
	for _, s := range all {
		out = append(out, fmt.Sprint(s, " ", s.uid, " ", s.version))
	}
	return strings.Join(out, "\n  ")
}

// ordered says that no version was told that the API server has not given, and
// none after a newer one.
func (a *answer) ordered(t testing.TB, uri string, newest uint64) {
	t.Helper()
	was := uint64(0)
	for _, s := range a.all() {
		if s.version == "" {
			continue
		}
		n, err := strconv.ParseUint(s.version, 10, 64)
		if err != nil || n < was || n > newest {
			t.Errorf("%s: version %s after %d, the API server is at %d", uri, s.version, was, newest)
		}
		was = n
	}
}

func (p *replay) newest() uint64 {
	p.Helper()
	list, err := p.cluster.admin.CoreV1().Secrets("ns-0").List(p.Context(), metav1.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	n, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil {
		p.Fatal(err)
	}
	return n
}
