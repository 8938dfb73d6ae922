package timeline

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func verdict(minute int, container, state string) Line {
	return Line{Time: noon.Add(time.Duration(minute) * time.Minute), Kind: Verdict, Namespace: "kube-system", Pod: "etcd-n1", Container: container, State: state}
}

func started(minute int) Line {
	return Line{Time: noon.Add(time.Duration(minute) * time.Minute), Kind: Started, BootID: "boot-1", UpSeconds: 30, Version: "v1"}
}

func read(t *testing.T, dir string, since time.Time) History {
	t.Helper()
	h, err := Read(dir, since)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func add(t *testing.T, f *File, lines ...Line) {
	t.Helper()
	if err := f.Append(lines...); err != nil {
		t.Fatal(err)
	}
}

func TestLinesComeBackInOrder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	f := New(dir)
	want := []Line{started(0), verdict(1, "etcd", "healthy"),
		{Time: noon.Add(2 * time.Minute), Kind: Proxy, Counts: &Counts{Streams: 12, Watches: 2, Lists: 1 << 40}},
		// The clock was set back: the order is that of the lines.
		verdict(-9, "etcd", "in-backoff"), {Time: noon, Kind: Alive}, {Time: noon, Kind: Ended}}
	add(t, f, want[:3]...)
	add(t, f, want[3:]...)
	if diff := cmp.Diff(History{Lines: want}, read(t, dir, time.Time{})); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(dir, Name)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestSinceGivesWhatHeldWhenTheTimeBegan(t *testing.T) {
	dir := t.TempDir()
	add(t, New(dir), started(0), verdict(1, "etcd", "starting"), verdict(2, "etcd", "healthy"), verdict(3, "old", "healthy"),
		verdict(4, "old", Gone), Line{Time: noon.Add(5 * time.Minute), Kind: Proxy, Counts: &Counts{}}, verdict(11, "etcd", "forgotten"))
	want := []Line{started(0), verdict(2, "etcd", "healthy"), verdict(11, "etcd", "forgotten")}
	if diff := cmp.Diff(want, read(t, dir, noon.Add(10*time.Minute)).Lines); diff != "" {
		t.Error(diff)
	}
}

func TestTheFilesAreBoundedAndEachSaysWhatHolds(t *testing.T) {
	dir := t.TempDir()
	f := New(dir)
	f.limit = 2000
	add(t, f, started(0), verdict(0, "quiet", "healthy"), verdict(0, "gone", "healthy"), verdict(1, "gone", Gone))
	for i := range 200 {
		add(t, f, verdict(2+i, "busy", fmt.Sprint("state-", i)))
		for _, name := range []string{Name, Rotated} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Size() > f.limit+500 {
				t.Fatalf("%s has %d bytes", name, info.Size())
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, Name))
	if err != nil {
		t.Fatal(err)
	}
	h := Decode(data, noon.Add(24*time.Hour))
	want := []Line{started(0), verdict(0, "quiet", "healthy"), verdict(201, "busy", "state-199")}
	if diff := cmp.Diff(History{Lines: want}, h); diff != "" {
		t.Errorf("the newer file alone: %s", diff)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Each byte is six when it is encoded.
func TestALineOfNothingButEscapesCostsNoOther(t *testing.T) {
	for _, text := range []string{strings.Repeat("<", 400), strings.Repeat("\x00", 1<<20), strings.Repeat("\xff", 999), strings.Repeat("\u2028", 999)} {
		dir := t.TempDir()
		f := New(dir)
		worst := Line{Time: noon, Kind: Verdict, Namespace: text, Pod: text, Container: text, State: text, Detail: text, Revision: text}
		add(t, f, started(0), worst, verdict(1, "etcd", "healthy"))
		add(t, f, verdict(2, "etcd", "forgotten"))
		h := read(t, dir, time.Time{})
		if len(h.Lines) != 4 || h.Skipped != 0 {
			t.Errorf("%d lines, %d skipped", len(h.Lines), h.Skipped)
		}
	}
}

func TestATornLineCostsItselfAlone(t *testing.T) {
	dir := t.TempDir()
	f := New(dir)
	add(t, f, started(0), verdict(1, "etcd", "healthy"))
	path := filepath.Join(dir, Name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	if h := read(t, dir, time.Time{}); len(h.Lines) != 1 || h.Skipped != 1 {
		t.Errorf("torn: %+v", h)
	}
	add(t, f, verdict(2, "etcd", "forgotten"))
	if h := read(t, dir, time.Time{}); len(h.Lines) != 2 || h.Skipped != 1 || h.Lines[1].State != "forgotten" {
		t.Errorf("written on: %+v", h)
	}
}

func TestWhatMakesNoSenseIsSkippedAndCounted(t *testing.T) {
	good, err := encode(verdict(1, "etcd", "healthy"))
	if err != nil {
		t.Fatal(err)
	}
	bad := []string{
		"", "\x00\x00\x00", "[]", "{}", `{"time":"2026-03-01T12:00:00Z","kind":"verdict"}`,
		`{"time":"2026-03-01T12:00:00Z","kind":"verdict","pod":"p"}`, `{"time":"0001-01-01T00:00:00Z","kind":"alive"}`,
		`{"time":"2026-03-01T12:00:00Z","kind":"proxy"}`, `{"time":"2026-03-01T12:00:00Z","kind":"proxy","proxy":{"streams":-1}}`,
		`{"time":"2026-03-01T12:00:00Z","kind":"of tomorrow"}`, `{"time":"2026-03-01T12:00:00Z","kind":"started","upSeconds":-1}`,
		strings.Repeat("x", 1<<20), `{"time":"2026-03-01T12:00:00Z","kind":"alive","detail":"` + strings.Repeat("y", maxLine) + `"}`,
	}
	h := Decode([]byte(strings.Join(bad, "\n")+"\n"+string(good)), time.Time{})
	// An empty line is what a torn one before it leaves.
	if len(h.Lines) != 1 || h.Skipped != len(bad)-1 {
		t.Errorf("%d lines, %d skipped of %d", len(h.Lines), h.Skipped, len(bad))
	}
}

func TestTextsAreBounded(t *testing.T) {
	l := verdict(1, strings.Repeat("é", 500), strings.Repeat("\x01", 300))
	l.Detail = strings.Repeat("\xff", 4000)
	data, err := encode(l)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decode(bytes.TrimSuffix(data, []byte("\n")))
	if err != nil || len(back.Container) > maxName+3 || !utf8.ValidString(back.Container) || !utf8.ValidString(back.Detail) {
		t.Errorf("%v: %q", err, back.Container)
	}
}

// A file that cannot be written costs lines; the state that holds is told again
// as soon as it can.
func TestAfterAFailureWhatHoldsIsWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	f := New(dir)
	add(t, f, started(0), verdict(1, "etcd", "healthy"))
	path := filepath.Join(dir, Name)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Append(verdict(2, "etcd", "forgotten")); err == nil {
		t.Fatal("wrote to a FIFO")
	}
	if _, err := Read(dir, noon); err == nil {
		t.Error("read a FIFO")
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	add(t, f, Line{Time: noon.Add(5 * time.Minute), Kind: Alive})
	lines := read(t, dir, time.Time{}).Lines
	if last := lines[len(lines)-2]; last.State != "forgotten" || lines[len(lines)-1].Kind != Alive {
		t.Errorf("%+v", lines)
	}
}

func TestAFullDiskIsToldOnceAndHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var said bytes.Buffer
		blocked := filepath.Join(dir, "file")
		if err := os.WriteFile(blocked, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		w := NewWriter(New(filepath.Join(blocked, "log")), slog.New(slog.NewTextHandler(&said, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); w.Run(ctx) }()
		for i := range 3 {
			if !w.Add(verdict(i, "etcd", "healthy")) {
				t.Error("not taken")
			}
			synctest.Wait()
		}
		if got := strings.Count(said.String(), "\n"); got != 1 || !strings.Contains(said.String(), "the timeline loses lines") {
			t.Errorf("said %q", said.String())
		}
		if err := os.Remove(blocked); err != nil {
			t.Fatal(err)
		}
		w.Add(Line{Time: noon, Kind: Ended})
		cancel()
		<-ended
		if lines := read(t, filepath.Join(blocked, "log"), time.Time{}).Lines; len(lines) != 2 || lines[0].State != "healthy" {
			t.Errorf("after all: %+v", lines)
		}
	})
}

func TestNobodyWaitsForADiskThatHangs(t *testing.T) {
	w := NewWriter(New(t.TempDir()), slog.New(slog.DiscardHandler))
	taken := 0
	for range 2 * maxPending {
		if w.Add(verdict(1, "etcd", "healthy")) {
			taken++
		}
	}
	if taken != maxPending {
		t.Errorf("%d lines wait", taken)
	}
}

// Whatever the file holds, what is read of it is lines that can be written.
func FuzzDecode(f *testing.F) {
	line, err := encode(verdict(1, "etcd", "healthy"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add(line[:len(line)/2])
	f.Add(append(bytes.Clone(line), "\n\x00{}\n"...))
	f.Add([]byte(`{"time":"2026-03-01T12:00:00+14:00","kind":"proxy","proxy":{"streams":1}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := Decode(data, noon)
		if n := bytes.Count(data, []byte("\n")) + 1; len(h.Lines)+h.Skipped > n {
			t.Errorf("%d lines and %d skipped of %d", len(h.Lines), h.Skipped, n)
		}
		for _, l := range h.Lines {
			if _, err := encode(l); err != nil && !strings.Contains(err.Error(), "a line of") {
				t.Errorf("%+v: %v", l, err)
			}
		}
	})
}
