package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/cmd/internal/fixture"
	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// broken breaks an answer off after a few bytes of its body.
type broken struct{ http.ResponseWriter }

func (b *broken) Write(p []byte) (int, error) {
	_, _ = b.ResponseWriter.Write(p[:min(len(p), 7)])
	if f, ok := b.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
	panic(http.ErrAbortHandler)
}

// stream is what a command that goes on has written.
type stream struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *stream) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// following is logs -f of the live attempt, which is laid out in a record root.
type following struct {
	*scene
	index    *record.Index
	live     *record.Live
	out, err stream
	cancel   context.CancelFunc
	done     chan int
}

func follow(s *scene, args ...string) *following {
	s.Helper()
	f := toFollow(s)
	f.begin(args...)
	return f
}

func toFollow(s *scene) *following {
	s.Helper()
	f := &following{scene: s, index: fixture.Records(s.T, s.records(fixture.Node), now), done: make(chan int, 1)}
	f.live = &f.index.Live[0]
	return f
}

func (f *following) begin(args ...string) {
	ctx, cancel := context.WithCancel(f.Context())
	f.cancel = cancel
	p := newPlugin(&f.out, &f.err, func() time.Time { return now })
	p.poll = 5 * time.Millisecond
	args = append([]string{"logs", "-f", fixture.Namespace + "/" + fixture.Pod, "-c", fixture.Container, "--node", fixture.Node,
		"--server", f.server.URL, "--kubeconfig", f.kubeconfig}, args...)
	go func() { f.done <- p.execute(ctx, args) }()
	f.Cleanup(func() {
		cancel()
		f.server.CloseClientConnections()
	})
}

func (f *following) add(segment int, text string) {
	f.Helper()
	path := filepath.Join(f.records(fixture.Node), f.live.Path, record.SegmentName(segment, false))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	if _, err := io.WriteString(file, text); err != nil {
		f.Fatal(err)
	}
}

func entry(text string) string { return "2026-03-01T12:00:00.000000000+00:00 stdout F " + text + "\n" }

func (f *following) publish(name string, v any) {
	f.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(f.records(fixture.Node), name)
	f.write(path+".new", string(data))
	if err := os.Rename(path+".new", path); err != nil {
		f.Fatal(err)
	}
}

// rotated publishes that the live attempt has n segments.
func (f *following) rotated(n int) {
	f.Helper()
	f.live.Segments = nil
	for i := range n {
		f.live.Segments = append(f.live.Segments, record.Segment{Name: record.SegmentName(i, false)})
	}
	f.publish(filepath.Join(f.live.Path, record.CaptureFile),
		record.Capture{APIVersion: record.APIVersion, Kind: record.KindCapture, Segments: f.live.Segments})
}

// end makes a record of the live attempt, as the store does: the files move,
// and the index tells of it after that. Text is written to the last segment in
// between.
func (f *following) end(last string) {
	f.Helper()
	m := f.index.Records[0].Meta
	m.Attempt, m.ID = f.live.Attempt, record.ID(now, "1a2b3c4d5e6f", f.live.Attempt.Attempt)
	m.Segments = f.live.Segments
	e := record.Entry{Path: record.ContainerDir(m.Namespace, m.Pod, m.Container) + "/" + m.ID, Meta: m}
	f.publish(filepath.Join(e.Path, record.MetaFile), m)
	for i, s := range m.Segments {
		if i == len(m.Segments)-1 {
			f.add(i, last)
		}
		if err := os.Rename(filepath.Join(f.records(fixture.Node), f.live.Path, s.Name), filepath.Join(f.records(fixture.Node), e.Path, s.Name)); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(f.records(fixture.Node), f.live.Path)); err != nil {
		f.Fatal(err)
	}
	f.index.Records, f.index.Live = append(f.index.Records, e), nil
	f.publish(record.IndexFile, f.index)
}

func within(t *testing.T, what func() string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what())
		}
	}
}

func (f *following) shows(want string) {
	f.Helper()
	within(f.T, func() string { return fmt.Sprintf("got  %q\nwant %q\nstderr %q", f.out.String(), want, f.err.String()) },
		func() bool { return f.out.String() == want })
}

// says waits for a line on stderr.
func (f *following) says(text string) {
	f.Helper()
	within(f.T, func() string { return fmt.Sprintf("stderr %q, want %q", f.err.String(), text) },
		func() bool { return strings.Contains(f.err.String(), text) })
}

func (f *following) ends(code int) {
	f.Helper()
	select {
	case got := <-f.done:
		if got != code {
			f.Errorf("code %d, want %d: %q", got, code, f.err.String())
		}
	case <-time.After(20 * time.Second):
		f.Fatalf("goes on: %q, %q", f.out.String(), f.err.String())
	}
}

func TestALogIsFollowedAcrossRotationToItsEnd(t *testing.T) {
	for name, noRange := range map[string]bool{"with ranges": false, "without ranges": true} {
		t.Run(name, func(t *testing.T) {
			s := stage(t)
			s.noRange = noRange
			f := follow(s, "--tail=1", "--headers=always")
			want := "--- nodekeeper: " + f.live.Namespace + "/" + f.live.Pod + "/kube-apiserver attempt 7, not ended, first seen 2026-03-01T11:59:00Z ---\n" +
				fixture.Line(7, 9) + "\n"
			f.shows(want)
			half := entry("one")
			f.add(0, half[:10])
			f.add(0, half[10:])
			want += "one\n"
			f.shows(want)
			f.add(0, entry("two"))
			f.add(1, entry("three"))
			f.rotated(2)
			want += "two\nthree\n"
			f.shows(want)
			// Two rotations and a half line before it is asked again.
			f.add(1, entry("four")+half[:30])
			want += "four\n"
			f.shows(want)
			f.add(1, half[30:])
			f.add(2, entry("five"))
			f.add(3, entry("six"))
			f.rotated(4)
			want += "one\nfive\nsix\n"
			f.shows(want)
			f.add(3, half[:40])
			f.end(half[40:])
			f.ends(cli.ExitOK)
			f.shows(want + "one\n--- nodekeeper: ended: crash, exit code 1, started 2026-03-01T07:59:00Z, finished 2026-03-01T08:00:00Z ---\n")
			if said := f.err.String(); said != "" {
				t.Errorf("said %q", said)
			}
		})
	}
}

// The line that is being written belongs to what is to come.
func TestALogIsFollowedFromItsEnd(t *testing.T) {
	for _, noRange := range []bool{false, true} {
		s := stage(t)
		s.noRange = noRange
		f := toFollow(s)
		half := entry("one")
		f.add(0, half[:10])
		f.begin("--tail=0", "--headers=always")
		header := "--- nodekeeper: " + f.live.Namespace + "/" + f.live.Pod + "/kube-apiserver attempt 7, not ended, first seen 2026-03-01T11:59:00Z ---\n"
		f.shows(header)
		f.add(0, half[10:])
		f.shows(header + "one\n")
		f.cancel()
		f.ends(cli.ExitOK)
	}
}

// What was read once is not asked for again.
func TestFollowingAsksForWhatIsNew(t *testing.T) {
	s := stage(t)
	f := follow(s)
	long := strings.Repeat("x", 1000)
	f.add(0, strings.Repeat(entry(long), 2000))
	within(t, f.err.String, func() bool { return strings.Count(f.out.String(), long) == 2000 })
	info, err := os.Stat(filepath.Join(s.records(fixture.Node), f.live.Path, "log.0"))
	if err != nil {
		t.Fatal(err)
	}
	s.asked()
	request := fmt.Sprintf("log.0 bytes=%d-", info.Size())
	var asked []string
	within(t, func() string { return fmt.Sprintf("asked for %q, not %s", asked, request) }, func() bool {
		asked = append(asked, s.asked()...)
		return strings.Count(strings.Join(asked, "\n")+"\n", request+"\n") > 1
	})
	f.cancel()
	f.ends(cli.ExitOK)
}

func TestFollowingOutlastsAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		out  func(http.ResponseWriter)
		says string
	}{
		"no kubelet": {func(w http.ResponseWriter) {
			refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "", "error trying to reach service: connection refused")
		}, "the kubelet cannot be reached"},
		"no API server": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "the API server"},
		// So it answers until it has read the roles.
		"an API server that begins": {func(w http.ResponseWriter) {
			refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "nodes", `nodes "n" is forbidden`)
		}, "needs get on nodes/proxy"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(t)
			f := follow(s, "--tail=1")
			want := fixture.Line(7, 9) + "\n"
			f.shows(want)
			s.fail(c.out)
			f.says("nodekeeper: node " + fixture.Node + ": waiting, up to 15m0s: ")
			f.says(c.says)
			f.add(0, entry("one"))
			f.end(entry("two"))
			s.asked()
			within(t, f.err.String, func() bool { return len(s.asked()) > 0 })
			s.fail(nil)
			f.ends(cli.ExitOK)
			f.shows(want + "one\ntwo\n")
			f.says("reached again")
			if said := f.err.String(); strings.Count(said, "\n") != 2 {
				t.Errorf("said %q", said)
			}
		})
	}
}

func (s *scene) fail(out func(http.ResponseWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = out
}

// An answer that breaks off is gone on with where it broke off.
func TestFollowingLosesNothingOfABrokenAnswer(t *testing.T) {
	for _, noRange := range []bool{false, true} {
		s := stage(t)
		s.noRange, s.truncate = noRange, 20
		f := follow(s)
		want := ""
		for n := range fixture.Lines {
			want += fixture.Line(7, n) + "\n"
		}
		f.shows(want)
		f.add(0, entry("one"))
		f.end(entry("two"))
		f.ends(cli.ExitOK)
		f.shows(want + "one\ntwo\n")
	}
}

func TestFollowingEndsQuietlyWithTheInterruption(t *testing.T) {
	for name, out := range map[string]func(http.ResponseWriter){"well": nil, "in an outage": func(w http.ResponseWriter) { http.Error(w, "no", http.StatusBadGateway) }} {
		s := stage(t)
		f := follow(s, "--tail=1")
		f.shows(fixture.Line(7, 9) + "\n")
		s.fail(out)
		if out != nil {
			f.says("waiting")
		}
		said := f.err.String()
		f.cancel()
		f.ends(cli.ExitOK)
		if f.err.String() != said {
			t.Errorf("%s: said %q", name, f.err.String())
		}
	}
}
