package reader

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// following is a Write that goes on.
type following struct {
	t      *testing.T
	mu     sync.Mutex // guards out
	out    bytes.Buffer
	cancel context.CancelFunc
	done   chan error
}

func (f *following) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.Write(p)
}

func (f *following) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.String()
}

func follow(t *testing.T, files Files, a Attempt, o Options) *following {
	ctx, cancel := context.WithCancel(t.Context())
	f := &following{t: t, cancel: cancel, done: make(chan error, 1)}
	o.Follow = true
	go func() { f.done <- Write(ctx, f, files, []Attempt{a}, o) }()
	t.Cleanup(cancel)
	return f
}

// shows waits until the output is as it should be.
func (f *following) shows(want string) {
	f.t.Helper()
	for end := time.Now().Add(10 * time.Second); f.text() != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("got  %q\nwant %q", f.text(), want)
		}
	}
}

func (f *following) ends() error {
	f.t.Helper()
	select {
	case err := <-f.done:
		return err
	case <-time.After(10 * time.Second):
		f.t.Fatalf("does not end; got %q", f.text())
		return nil
	}
}

func (s *scene) add(name, text string) {
	s.t.Helper()
	file, err := os.OpenFile(filepath.Join(s.root, name), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := file.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) liveAttempt(n int, text string) (Attempt, string) {
	s.t.Helper()
	dir := record.LivePath(who(n).ContainerID)
	s.putJSON(dir+"/birth.json", birth(n))
	s.put(dir+"/log.0", []byte(text))
	index, err := Load(s.t.Context(), s.files())
	if err != nil {
		s.t.Fatal(err)
	}
	attempts, err := Select(index, Query{Pod: "etcd-node1"})
	if err != nil {
		s.t.Fatal(err)
	}
	return attempts[0], dir
}

func TestFollowCrossesARotationAndEndsWithTheRecord(t *testing.T) {
	s := newScene(t)
	a, dir := s.liveAttempt(1, line(1, "stdout", "F", "one")+line(2, "stdout", "F", "two"))
	f := follow(t, s.files(), a, Options{Tail: ptr(int64(1)), Headers: true})
	want := "--- nodekeeper: kube-system/etcd-node1/etcd attempt 1, not ended, first seen 2026-11-30T12:01:00Z ---\ntwo\n"
	f.shows(want)

	half := line(3, "stdout", "P", "thr")
	s.add(dir+"/log.0", half[:20])
	s.add(dir+"/log.0", half[20:])
	want += "thr"
	f.shows(want)

	s.add(dir+"/log.0", line(4, "stdout", "F", "ee"))
	s.put(dir+"/log.1", []byte(line(5, "stderr", "F", "four")))
	want += "ee\nfour\n"
	f.shows(want)

	// The container dies, and its last words are in the record alone.
	s.add(dir+"/log.1", line(6, "stderr", "F", "five"))
	e := entryOf(meta(1, record.Segment{Name: "log.0"}, record.Segment{Name: "log.1"}, record.Segment{Name: "log.2.gz"}))
	for _, name := range []string{"log.0", "log.1"} {
		s.put(e.Path+"/"+name, nil)
		if err := os.Rename(filepath.Join(s.root, dir, name), filepath.Join(s.root, e.Path, name)); err != nil {
			t.Fatal(err)
		}
	}
	s.put(e.Path+"/log.2.gz", []byte(line(7, "stdout", "F", "six")))
	s.putJSON(e.Path+"/meta.json", e.Meta)
	if err := os.RemoveAll(filepath.Join(s.root, dir)); err != nil {
		t.Fatal(err)
	}
	if err := f.ends(); err != nil {
		t.Error(err)
	}
	f.shows(want + "five\nsix\n--- nodekeeper: ended: crash, exit code 1, started 2026-11-30T12:00:30Z, finished 2026-11-30T12:01:00Z ---\n")
}

// A prompt has no newline, and what the other stream says must not wait for it.
func TestFollowShowsTheOtherStreamBesideAPrompt(t *testing.T) {
	s := newScene(t)
	a, dir := s.liveAttempt(1, line(1, "stdout", "P", "prompt> "))
	f := follow(t, s.files(), a, Options{Tail: ptr(int64(0)), Headers: true})
	header := "--- nodekeeper: " + a.Title() + " ---\n"
	f.shows(header)
	s.add(dir+"/log.0", line(2, "stderr", "F", "early"))
	f.shows(header + "early\n")
	s.add(dir+"/log.0", line(3, "stdout", "P", "again> "))
	f.shows(header + "early\nagain> ")
	s.add(dir+"/log.0", line(4, "stderr", "F", "error"))
	f.shows(header + "early\nagain> \nerror\n")
	f.cancel()
	if err := f.ends(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestFollowOfAnEndedAttemptEnds(t *testing.T) {
	s := newScene(t)
	e := s.record(1, line(1, "stdout", "F", "one"))
	f := follow(t, s.files(), ended(&e), Options{})
	if err := f.ends(); err != nil || f.text() != "one\n" {
		t.Errorf("got %q, error %v", f.text(), err)
	}
}

// An attempt that was selected as live has become a record since.
func TestAnAttemptThatEndedSinceIsReadFromItsRecord(t *testing.T) {
	s := newScene(t)
	a, dir := s.liveAttempt(1, "")
	s.record(1, line(1, "stdout", "F", "one"))
	if err := os.RemoveAll(filepath.Join(s.root, dir)); err != nil {
		t.Fatal(err)
	}
	if got := write(t, s.files(), []Attempt{a}, Options{Headers: true}); !strings.Contains(got, "record 20261130T120030Z") || !strings.HasSuffix(got, "\none\n") {
		t.Errorf("got %q", got)
	}
}

func TestFollowOfTheKubeletsFiles(t *testing.T) {
	s := newScene(t)
	const dir = "kube-system_etcd-node1_uid/etcd"
	s.put(dir+"/0.log", []byte(line(1, "stdout", "F", "one")))
	attempts, err := PodLogAttempts(s.root, "kube-system", "etcd-node1", "etcd")
	if err != nil {
		t.Fatal(err)
	}
	f := follow(t, s.files(), attempts[0], Options{})
	f.shows("one\n")
	if err := os.Rename(filepath.Join(s.root, dir, "0.log"), filepath.Join(s.root, dir, "0.log.20261130-120000")); err != nil {
		t.Fatal(err)
	}
	s.add(dir+"/0.log.20261130-120000", line(2, "stdout", "F", "two"))
	f.shows("one\ntwo\n")
	s.put(dir+"/0.log", []byte(line(3, "stdout", "F", "three")))
	f.shows("one\ntwo\nthree\n")
	s.add(dir+"/0.log", line(4, "stdout", "F", "four"))
	s.put(dir+"/1.log", nil)
	if err := f.ends(); err != nil || f.text() != "one\ntwo\nthree\nfour\n" {
		t.Errorf("got %q, error %v", f.text(), err)
	}
}
