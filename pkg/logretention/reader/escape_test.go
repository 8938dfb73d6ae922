package reader

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func escaped(t interface{ Fatal(...any) }, parts ...string) string {
	var b strings.Builder
	w := Escape(&b)
	for _, p := range parts {
		if n, err := w.Write([]byte(p)); err != nil || n != len(p) {
			t.Fatal(n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain\tte xt\n":        "plain\tte xt\n",
		"naïve 日本 😀":            "naïve 日本 😀",
		"\x1b[2J":               `\x1b[2J`,
		"a\r\nb":                `a\r` + "\nb",
		"\x00\x07\x7f":          `\x00\x07\x7f`,
		"\u009b31m":             `\u009b31m`,
		"\x9b31m":               `\x9b31m`,
		"a\u202eb\u2066c\u200f": `a\u202eb\u2066c\u200f`,
		"\u2028\ufeff":          `\u2028\ufeff`,
		"\xff\xe6\x97":          `\xff\xe6\x97`,
		"\ufffd":                "\ufffd",
	} {
		if got := escaped(t, in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestEscapeDoesNotDependOnWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.SampledFrom([]byte("ab\n\x1b\xe6\x97\xa5\xc2\x9b\xf0\x9f\x98\x80\xe2\x80\xae"))).Draw(t, "in"))
		cut := rapid.IntRange(0, len(in)).Draw(t, "cut")
		got := escaped(t, in[:cut], in[cut:])
		if whole := escaped(t, in); got != whole {
			t.Fatalf("%q cut at %d: %q, want %q", in, cut, got, whole)
		}
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\u009b\u202e") {
			t.Fatalf("%q: %q", in, got)
		}
	})
}
