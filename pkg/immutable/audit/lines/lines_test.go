package lines

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func compressed(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(t testing.TB, r io.Reader) (Counts, []string) {
	t.Helper()
	var c Counts
	var got []string
	if err := c.Each(r, func(line []byte) { got = append(got, string(line)) }); err != nil {
		t.Fatal(err)
	}
	return c, got
}

func TestLinesAreReadWhole(t *testing.T) {
	long := strings.Repeat("x", 3*chunk)
	text := "one\n\ntwo\r\n" + long + "\nlast\n"
	want := []string{"one", "", "two", long, "last"}
	for name, r := range map[string]io.Reader{
		"plain":         strings.NewReader(text),
		"in bits":       iotest.HalfReader(strings.NewReader(text)),
		"compressed":    bytes.NewReader(compressed(t, text)),
		"in two pieces": io.MultiReader(bytes.NewReader(compressed(t, text[:chunk])), bytes.NewReader(compressed(t, text[chunk:]))),
	} {
		c, got := read(t, r)
		if d := cmp.Diff(want, got); d != "" || c != (Counts{Lines: 5}) {
			t.Errorf("%s: %+v %s", name, c, d)
		}
	}
}

func TestALogThatEndsInTheMiddleIsCountedUpToThere(t *testing.T) {
	if c, got := read(t, strings.NewReader("one\ntw")); len(got) != 2 || c.Torn != 1 {
		t.Errorf("%+v %q", c, got)
	}
	whole := compressed(t, strings.Repeat("line of a log\n", 100_000))
	c, got := read(t, bytes.NewReader(whole[:len(whole)/2]))
	if c.Torn != 1 || len(got) < 1000 {
		t.Errorf("%+v, %d lines", c, len(got))
	}
	damaged := bytes.Clone(whole)
	for i := len(damaged) / 2; i < len(damaged)/2+20; i++ {
		damaged[i] ^= 0xff
	}
	if c, _ := read(t, bytes.NewReader(damaged)); c.Torn != 1 {
		t.Errorf("%+v", c)
	}
	if c, _ := read(t, bytes.NewReader(whole[:5])); c.Torn != 1 {
		t.Errorf("%+v", c)
	}
}

// filler is a line that never ends, up to n bytes.
type filler struct{ n int }

func (f *filler) Read(p []byte) (int, error) {
	if f.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), f.n)
	clear(p[:n]) // no byte of them ends a line
	f.n -= n
	return n, nil
}

func TestALineThatNeverEndsTakesNoMemory(t *testing.T) {
	var c Counts
	var got []string
	in := io.MultiReader(&filler{20 * Longest}, strings.NewReader("\nnext\n"))
	before := allocated()
	if err := c.Each(in, func(line []byte) { got = append(got, string(line)) }); err != nil {
		t.Fatal(err)
	}
	if c.TooLong != 1 || c.Lines != 2 || len(got) != 1 || got[0] != "next" {
		t.Errorf("%+v %q", c, got)
	}
	if n := allocated() - before; n > 8*Longest {
		t.Errorf("%d bytes were allocated for one of %d", n, 20*Longest)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestAFailureToReadIsToldWithItsFile(t *testing.T) {
	broken := errors.New("broken")
	var c Counts
	if err := c.Each(io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)), func([]byte) {}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
	dir := t.TempDir()
	there, gone := filepath.Join(dir, "there"), filepath.Join(dir, "gone")
	if err := os.WriteFile(there, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	err := Files([]string{there, "-", gone}, strings.NewReader("y"), func(r io.Reader) error { _, err := all.ReadFrom(r); return err })
	if !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), gone) != 1 || all.String() != "xy" {
		t.Errorf("%v %q", err, all.String())
	}
}
