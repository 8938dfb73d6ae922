package reader

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

func TestWriteJoinsAndCrosses(t *testing.T) {
	s := newScene(t)
	e := s.record(1,
		"gz:"+line(1, "stdout", "F", "one")+line(2, "stdout", "P", "tw"),
		line(3, "stdout", "F", "o")+line(4, "stderr", "P", "err")+line(5, "stdout", "F", "three"),
		line(6, "stderr", "F", "or"))
	const whole = "one\ntwo\nerror\nthree\n"
	const stamped = "2026-11-30T12:00:00.001000000Z one\n2026-11-30T12:00:00.002000000Z two\n2026-11-30T12:00:00.004000000Z error\n2026-11-30T12:00:00.005000000Z three\n"
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"all":       {Options{}, whole},
		"stamps":    {Options{Timestamps: true}, stamped},
		"tail 0":    {Options{Tail: ptr(int64(0))}, ""},
		"tail 1":    {Options{Tail: ptr(int64(1))}, "error\n"},
		"tail 2":    {Options{Tail: ptr(int64(2))}, "error\nthree\n"},
		"tail 3":    {Options{Tail: ptr(int64(3))}, "two\nerror\nthree\n"},
		"tail 4":    {Options{Tail: ptr(int64(4))}, whole},
		"tail 5":    {Options{Tail: ptr(int64(5))}, whole},
		"stdout":    {Options{Stream: "stdout", Tail: ptr(int64(2))}, "two\nthree\n"},
		"stderr":    {Options{Stream: "stderr", Prefix: true}, "[kube-system/etcd-node1/etcd#1] error\n"},
		"limit":     {Options{LimitBytes: ptr(int64(6))}, "one\ntw"},
		"since":     {Options{SinceTime: noon.Add(3e6)}, "error\nthree\n"},
		"until":     {Options{Until: noon.Add(4e6)}, "one\ntwo\nerror\n"},
		"raw limit": {Options{Raw: true, LimitBytes: ptr(int64(10))}, "2026-11-30"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := write(t, s.files(), []Attempt{ended(&e)}, c.o); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestHeadersAndGapsAreMarked(t *testing.T) {
	s := newScene(t)
	one := s.record(1, line(1, "stdout", "P", "begun"), line(2, "stdout", "F", "rest"))
	one.Gaps = []record.Gap{{Before: 1, Bytes: 12345, Reason: "the kubelet was\nfaster"}, {Before: 2, Bytes: -1}}
	two := s.record(2)
	const want = "--- nodekeeper: kube-system/etcd-node1/etcd attempt 1, record 20261130T120030Z-1a2b3c4d-1: crash, exit code 1, started 2026-11-30T12:00:30Z, finished 2026-11-30T12:01:00Z ---\n" +
		"begun\n" +
		`--- nodekeeper: 12345 bytes missing here: the kubelet was\nfaster ---` + "\n" +
		"rest\n" +
		"--- nodekeeper: an unknown number of bytes missing here: reason unknown ---\n" +
		"--- nodekeeper: kube-system/etcd-node1/etcd attempt 2, record 20261130T120130Z-1a2b3c4d-2: crash, exit code 1, started 2026-11-30T12:01:30Z, finished 2026-11-30T12:02:00Z ---\n"
	attempts := []Attempt{ended(&one), ended(&two)}
	if got := write(t, s.files(), attempts, Options{Headers: true}); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := write(t, s.files(), attempts, Options{}); got != "begun\nrest\n" {
		t.Errorf("without headers: %q", got)
	}
	if got := write(t, s.files(), attempts, Options{Headers: true, Tail: ptr(int64(1))}); !strings.HasPrefix(got, "--- nodekeeper: 12345") {
		t.Errorf("tail: %q", got)
	}
}

func TestDamageIsShownForWhatItIs(t *testing.T) {
	good := line(1, "stdout", "F", "good")
	for name, c := range map[string]struct{ in, want string }{
		"NUL block":       {strings.Repeat("\x00", 100_000) + good, "--- nodekeeper: 100000 NUL bytes here ---\ngood\n"},
		"NUL at the end":  {good + "\x00\x00", "good\n--- nodekeeper: 2 NUL bytes here ---\n"},
		"NUL in a line":   {line(1, "stdout", "F", "a\x00b"), "a\x00b\n"},
		"torn first line": {"tail of a line\n" + good, "--- nodekeeper: not a log record: tail of a line\ngood\n"},
		"torn last line":  {good + good[:len(good)-3], "good\ngo"},
		"torn last head":  {good + "2026-11-3", "good\n--- nodekeeper: not a log record: 2026-11-3\n"},
		"between parts":   {line(1, "stdout", "P", "a") + "x\n" + line(1, "stdout", "F", "b"), "a\n--- nodekeeper: not a log record: x\nb\n"},
		"empty lines":     {"\n\n" + good + "\n", "good\n"},
		"CRLF":            {line(1, "stdout", "F", "a\r"), "a\r\n"},
		"docker":          {`{"log":"a","stream":"stdout","time":"2026-11-30T12:00:00Z"}` + "\n" + `{"log":"b\n","stream":"stdout","time":"2026-11-30T12:00:00Z"}` + "\n", "ab\n"},
		"docker, long":    {`{"log":"` + strings.Repeat("a", 200_000) + `\n","stream":"stdout","time":"2026-11-30T12:00:00Z"}` + "\n", strings.Repeat("a", 200_000) + "\n"},
		"one long line":   {line(1, "stdout", "F", strings.Repeat("a", 300_000)) + good, strings.Repeat("a", 300_000) + "\ngood\n"},
		"one long part":   {line(1, "stdout", "P", strings.Repeat("a", 300_000)) + good, strings.Repeat("a", 300_000) + "good\n"},
		"long damage":     {strings.Repeat("x", 200_000) + "\n" + good, "--- nodekeeper: not a log record: " + strings.Repeat("x", 200_000) + "\ngood\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			e := s.record(1, c.in)
			for _, o := range []Options{{}, {Tail: ptr(int64(99))}} {
				for _, files := range []Files{s.files(), remote{s.files()}} {
					if got := write(t, files, []Attempt{ended(&e)}, o); got != c.want {
						t.Errorf("got %q", got[:min(len(got), 300)])
					}
				}
			}
		})
	}
}

// While one line is not finished, the other stream waits: but not for ever.
func TestAnEndlessLineDoesNotHoldTheOtherStream(t *testing.T) {
	s := newScene(t)
	var log strings.Builder
	log.WriteString(line(1, "stdout", "P", "endless"))
	text := strings.Repeat("e", 8000)
	for range maxHeld/len(text) + 2 {
		log.WriteString(line(2, "stderr", "F", text))
	}
	log.WriteString(line(3, "stdout", "F", "end"))
	e := s.record(1, log.String())
	got := write(t, s.files(), []Attempt{ended(&e)}, Options{})
	if !strings.HasPrefix(got, "endless\n--- nodekeeper: the line above is not finished; it goes on below ---\ne") || !strings.HasSuffix(got, "e\nend\n") {
		t.Errorf("%q ... %q", got[:100], got[len(got)-100:])
	}
}

func TestASegmentMayHaveBeenCompressedMeanwhile(t *testing.T) {
	s := newScene(t)
	e := s.record(1, "gz:"+line(1, "stdout", "F", "one"), line(2, "stdout", "F", "two"))
	e.Segments[0].Name, e.Segments[1].Name = "log.0", "log.1.gz"
	if got := write(t, s.files(), []Attempt{ended(&e)}, Options{}); got != "one\ntwo\n" {
		t.Errorf("got %q", got)
	}
}

func TestWhatCannotBeReadIsMarkedAndAnError(t *testing.T) {
	s := newScene(t)
	e := s.record(1, line(1, "stdout", "F", "one"), "gz:"+strings.Repeat(line(2, "stdout", "F", "two"), 9), line(3, "stdout", "F", "three"))
	dir := filepath.Join(s.root, e.Path)
	if err := errors.Join(os.Remove(filepath.Join(dir, "log.0")), os.Truncate(filepath.Join(dir, "log.1.gz"), 50)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := Write(t.Context(), &out, s.files(), []Attempt{ended(&e)}, Options{})
	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	got := out.String()
	if !strings.HasPrefix(got, "--- nodekeeper: cannot be read from here on: log.0 of kube-system/etcd-node1/etcd#1: ") || !strings.Contains(got, "cannot be read from here on: log.1.gz of ") || !strings.HasSuffix(got, "---\nthree\n") {
		t.Errorf("got %q", got)
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	s := newScene(t)
	minus := ptr(int64(-1))
	for _, o := range []Options{
		{Since: 1, SinceTime: noon}, {Since: -1}, {Tail: minus}, {LimitBytes: minus}, {LimitBytes: ptr(int64(0))}, {Stream: "stdlog"},
		{Raw: true, Tail: ptr(int64(1))}, {Raw: true, Timestamps: true},
	} {
		if err := Write(t.Context(), io.Discard, s.files(), nil, o); err == nil {
			t.Errorf("%+v", o)
		}
	}
}

func TestSinceIsByTheClock(t *testing.T) {
	s := newScene(t)
	e := s.record(1, line(1, "stdout", "F", "one")+line(2000, "stdout", "F", "two"))
	now := func() time.Time { return noon.Add(time.Minute) }
	if got := write(t, s.files(), []Attempt{ended(&e)}, Options{Since: 59 * time.Second, Now: now}); got != "two\n" {
		t.Errorf("got %q", got)
	}
}

func TestWriteEndsWithItsContextAndItsWriter(t *testing.T) {
	s := newScene(t)
	e := s.record(1, line(1, "stdout", "F", "one"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Write(ctx, io.Discard, s.files(), []Attempt{ended(&e)}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	r, w := io.Pipe()
	r.Close()
	if err := Write(t.Context(), w, s.files(), []Attempt{ended(&e)}, Options{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}

func TestTailIsWholeLines(t *testing.T) {
	s := newScene(t)
	e := s.record(1, "gz:"+line(1, "stdout", "F", "one"), line(2, "stdout", "F", "two")+line(3, "stderr", "F", "three"))
	for most, want := range map[int]string{1: "\n", 3: "ee\n", 6: "three\n", 7: "three\n", 9: "three\n", 10: "two\nthree\n", 13: "two\nthree\n", 14: "one\ntwo\nthree\n", 99: "one\ntwo\nthree\n"} {
		if got, err := Tail(t.Context(), s.files(), ended(&e), most); err != nil || string(got) != want {
			t.Errorf("%d bytes: %q, error %v", most, got, err)
		}
	}
	if _, err := Tail(t.Context(), s.files(), ended(&e), 0); err == nil {
		t.Error("no bytes")
	}
}

// counted counts what is read.
type counted struct {
	Files
	n *int64
}

func (c counted) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	file, err := c.Files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return countedFile{file.(seekable), c.n}, nil
}

type countedFile struct {
	seekable
	n *int64
}

func (f countedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.seekable.ReadAt(p, at)
	*f.n += int64(n)
	return n, err
}

// A tail reads no more than it has to, not even where the last line of a stream
// is the only one that it has.
func TestATailReadsLittle(t *testing.T) {
	s := newScene(t)
	noise := strings.Repeat(line(1, "stderr", "F", strings.Repeat("noise ", 20)), 80_000)
	e := s.record(1, noise, noise+line(2, "stdout", "F", "last"))
	var n int64
	got := write(t, counted{s.files(), &n}, []Attempt{ended(&e)}, Options{Tail: ptr(int64(1))})
	if got != "last\n" || n > 2*maxApart {
		t.Errorf("got %q, after reading %d bytes of %d", got, n, 2*len(noise))
	}
}
