package reader

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

func (s *scene) capture(dir string, segments ...string) {
	s.t.Helper()
	c := record.Capture{APIVersion: record.APIVersion, Kind: record.KindCapture}
	for _, name := range segments {
		c.Segments = append(c.Segments, record.Segment{Name: name})
	}
	s.putJSON(dir+"/"+record.CaptureFile, c)
}

func (s *scene) removeAll(name string) {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.root, name)); err != nil {
		s.t.Fatal(err)
	}
}

func TestAPolledSegmentIsFoundAgainCompressed(t *testing.T) {
	s := newScene(t)
	one, two, three := line(1, "stdout", "F", "one"), line(2, "stdout", "F", "two"), line(3, "stderr", "F", "three")
	a, dir := s.liveAttempt(1, one)
	f := follow(t, remote{s.files()}, a, Options{Poll: time.Millisecond})
	f.shows("one\n")
	// It is compressed where it is, after a rotation.
	s.put(dir+"/log.0.gz", []byte(one+two))
	s.put(dir+"/log.1", []byte(three[:30]))
	s.removeAll(dir + "/log.0")
	s.capture(dir, "log.0.gz", "log.1")
	f.shows("one\ntwo\n")
	// The record has it compressed, and is not in the index yet.
	e := s.record(1, "gz:"+one+two, "gz:"+three+line(4, "stderr", "F", "four"))
	s.removeAll(dir)
	s.putJSON(record.IndexFile, record.Index{APIVersion: record.APIVersion, Kind: record.KindIndex, Records: []record.Entry{e}})
	if err := f.ends(); err != nil {
		t.Error(err)
	}
	f.shows("one\ntwo\nthree\nfour\n")
}

func TestAPolledCaptureThatIsGoneWithoutARecordEnds(t *testing.T) {
	t.Parallel() // it waits for the record
	s := newScene(t)
	a, dir := s.liveAttempt(1, line(1, "stdout", "F", "one"))
	f := follow(t, remote{s.files()}, a, Options{Poll: recordWait / 8, Headers: true, Tail: ptr(int64(1))})
	f.shows("--- nodekeeper: " + a.Title() + " ---\none\n")
	s.removeAll(dir)
	if err := f.ends(); err != nil || !strings.HasSuffix(f.text(), "one\n--- nodekeeper: the capture of "+a.Identity()+" is gone, and there is no record of it ---\n") {
		t.Errorf("got %q, error %v", f.text(), err)
	}
}

// A segment that is damaged is no outage.
func TestDamageOfAPolledSegmentIsMarked(t *testing.T) {
	s := newScene(t)
	a, dir := s.liveAttempt(1, "")
	s.put(dir+"/log.1", []byte(line(2, "stdout", "F", "two")))
	s.capture(dir, "log.0.gz", "log.1")
	s.removeAll(dir + "/log.0")
	s.put(dir+"/log.0", []byte("rubbish"))
	if err := os.Rename(filepath.Join(s.root, dir, "log.0"), filepath.Join(s.root, dir, "log.0.gz")); err != nil {
		t.Fatal(err)
	}
	var said []string
	f := follow(t, remote{s.files()}, a, Options{Poll: time.Millisecond, Notice: func(text string) { said = append(said, text) }})
	want := "--- nodekeeper: cannot be read from here on: log.0.gz of kube-system/etcd-node1/etcd#1: unexpected EOF ---\ntwo\n"
	f.shows(want)
	f.cancel()
	if err := f.ends(); err == nil || len(said) > 0 {
		t.Errorf("error %v, said %q", err, said)
	}
}

// failing are files that give one error, or none and a body that breaks off.
type failing struct {
	err   error
	tries int
}

func (f *failing) Open(context.Context, string) (io.ReadCloser, error) {
	f.tries++
	if f.err != nil {
		return nil, f.err
	}
	return io.NopCloser(io.MultiReader(strings.NewReader("0123456789"[:f.tries]), readError{})), nil
}

type readError struct{}

func (readError) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func patientWith(files Files, said *[]string, pauses *int) *patient {
	return &patient{Files: files, period: time.Minute, say: func(text string) { *said = append(*said, text) },
		pause: func() error { *pauses++; return nil }}
}

func TestAnOutageThatLastsTooLongIsAnError(t *testing.T) {
	files := &failing{err: errors.New("no route to host")}
	var said []string
	var pauses int
	p := patientWith(files, &said, &pauses)
	for range 2 {
		if _, err := p.Open(t.Context(), "a"); err == nil || err.Error() != "given up after 15m0s: no route to host" {
			t.Errorf("error %v", err)
		}
	}
	if want := []string{"waiting, up to 15m0s: no route to host"}; !slices.Equal(said, want) || pauses != 15 {
		t.Errorf("said %q, %d pauses", said, pauses)
	}
}

func TestAMissingFileIsNoOutage(t *testing.T) {
	var said []string
	var pauses int
	p := patientWith(&failing{err: fs.ErrNotExist}, &said, &pauses)
	if _, err := p.OpenFrom(t.Context(), "a", 3); !errors.Is(err, fs.ErrNotExist) || pauses > 0 || len(said) > 0 {
		t.Errorf("error %v, said %q", err, said)
	}
}

// Each answer breaks off one byte later than the one before.
func TestAnAnswerThatBreaksOffIsGoneOnWith(t *testing.T) {
	var said []string
	var pauses int
	p := patientWith(&failing{}, &said, &pauses)
	f, err := p.OpenFrom(t.Context(), "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]byte, 10)
	if _, err := io.ReadFull(f, got); err != nil || string(got) != "0123456789" {
		t.Errorf("%q, error %v", got, err)
	}
}
