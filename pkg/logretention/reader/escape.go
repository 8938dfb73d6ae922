package reader

import (
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape gives a writer that makes text harmless for a terminal: control
// characters except newline and tab, C1 controls, characters that change the
// direction of text, and what is not UTF-8 are written as Go would quote them.
// Text is passed on with each Write, except for a character that is cut in two;
// the next Write completes it, and Close, if the writer's Close is called,
// escapes what is left of it.
func Escape(w io.Writer) io.WriteCloser { return &escaper{w: w} }

type escaper struct {
	w    io.Writer
	rest []byte // the beginning of a character
	out  []byte
}

func (e *escaper) Write(p []byte) (int, error) {
	in := p
	if len(e.rest) > 0 {
		in = append(e.rest, p...)
	}
	e.out = e.out[:0]
	plain := 0 // in[plain:i] needs no change
	i := 0
	for i < len(in) {
		c := in[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		if !utf8.FullRune(in[i:]) {
			break
		}
		r, size := utf8.DecodeRune(in[i:])
		if !(r == utf8.RuneError && size == 1) && !unsafe(r) {
			i += size
			continue
		}
		e.out = append(e.out, in[plain:i]...)
		e.out = appendEscaped(e.out, in[i:i+size], r)
		i += size
		plain = i
	}
	e.out = append(e.out, in[plain:i]...)
	e.rest = append([]byte(nil), in[i:]...)
	if _, err := e.w.Write(e.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close does not close the writer below.
func (e *escaper) Close() error {
	out := appendEscaped(nil, e.rest, utf8.RuneError)
	e.rest = nil
	if len(out) == 0 {
		return nil
	}
	_, err := e.w.Write(out)
	return err
}

// unsafe characters are C1 controls, bidirectional overrides and isolates, line
// separators and the like: whatever shows nothing, or changes how other text is
// shown.
func unsafe(r rune) bool {
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Bidi_Control, r) ||
		(unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u200c')
}

func appendEscaped(dst, raw []byte, r rune) []byte {
	switch {
	case r == '\r':
		return append(dst, `\r`...)
	case r == utf8.RuneError, r < utf8.RuneSelf:
		for _, c := range raw {
			dst = append(dst, `\x`...)
			dst = append(dst, hex(c)...)
		}
		return dst
	}
	quoted := strconv.QuoteRuneToASCII(r)
	return append(dst, strings.Trim(quoted, "'")...)
}

func hex(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}

// oneLine keeps text from elsewhere on our own lines.
func oneLine(s string) string {
	var b strings.Builder
	e := &escaper{w: &b}
	_, _ = e.Write([]byte(strings.ReplaceAll(s, "\n", `\n`)))
	_ = e.Close()
	return b.String()
}
