package reader

import (
	"bytes"
	"testing"
)

func TestParse(t *testing.T) {
	const at = "2026-11-30T12:00:00.000000001+00:00"
	for in, want := range map[string]entry{
		at + " stdout F text\n":           {stream: stdout, text: []byte("text\n")},
		at + " stderr P text\n":           {stream: stderr, text: []byte("text"), partial: true},
		at + " stderr P:x text\r\n":       {stream: stderr, text: []byte("text\r"), partial: true},
		at + " stdout F:P a b\n":          {stream: stdout, text: []byte("a b\n")},
		at + " stdout Px a\n":             {stream: stdout, text: []byte("a\n")},
		at + " stdout F \n":               {stream: stdout, text: []byte("\n")},
		at + " stdout  x\n":               {stream: stdout, text: []byte("x\n")},
		at + " stdout F tor":              {stream: stdout, text: []byte("tor")},
		at + " stdout F\n":                {stream: damaged, text: []byte(at + " stdout F\n")},
		at + " stdlog F a\n":              {stream: damaged, text: []byte(at + " stdlog F a\n")},
		"12:00 stdout F a\n":              {stream: damaged, text: []byte("12:00 stdout F a\n")},
		"panic: x\n":                      {stream: damaged, text: []byte("panic: x\n")},
		`{"log":"a\n","stream":"stdout"}`: {stream: damaged, text: []byte(`{"log":"a\n","stream":"stdout"}`)},
		`{"log":"a\n","stream":"stdout","time":"2026-11-30T12:00:00.5Z"}`: {stream: stdout, text: []byte("a\n")},
		`{"log":"a","stream":"stderr","time":"2026-11-30T12:00:00Z"}`:     {stream: stderr, text: []byte("a"), partial: true},
		`{"log":"a","stream":"stdlog","time":"2026-11-30T12:00:00Z"}`:     {stream: damaged, text: []byte(`{"log":"a","stream":"stdlog","time":"2026-11-30T12:00:00Z"}`)},
	} {
		got := parse([]byte(in))
		if got.stream != want.stream || got.partial != want.partial || !bytes.Equal(got.text, want.text) {
			t.Errorf("%q: stream %d, partial %t, text %q", in, got.stream, got.partial, got.text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("2026-11-30T12:00:00.5Z stdout P:x text\n"))
	f.Add([]byte(`{"log":"a\n","stream":"stdout","time":"2026-11-30T12:00:00.5Z"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e := parse(line)
		if e.stream == damaged && !bytes.Equal(e.text, line) {
			t.Errorf("%q: damaged text %q", line, e.text)
		}
		if len(line) > 0 && line[0] != '{' && !bytes.Contains(line, e.text) {
			t.Errorf("%q: text %q", line, e.text)
		}
	})
}
