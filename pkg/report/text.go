package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// name is clean text of one line and at most maxName bytes.
func name(text string) string { return clean(text, maxName, false) }

// word is one of the words that the product uses, or what pretends to be one:
// short enough never to be broken.
func word(text string) string {
	const most = 24
	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '+' {
			return r
		}
		return '?'
	}, text[:min(len(text), most)])
	if text == "" {
		return "?"
	}
	return text
}

// line is clean text of one line and at most maxText bytes.
func line(text string) string { return clean(text, maxText, false) }

// tail is clean text of several lines. The end of it is what counts.
func tail(text string) string {
	if n := len(text) - TailBytes; n > 0 {
		text = text[n:]
		// What is left of a cut line, or of a character, tells nothing.
		if _, rest, more := strings.Cut(text, "\n"); more && rest != "" {
			text = rest
		}
	}
	return strings.Trim(clean(text, TailBytes, true), "\n")
}

// clean removes what would show nothing or change how other text is shown:
// terminal sequences, control and format characters, and heaps of combining
// marks. What is no UTF-8 becomes a mark of that.
func clean(text string, limit int, lines bool) string {
	var b strings.Builder
	marks := 0
	for i := 0; i < len(text); {
		if n := sequence(text[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == '\n' && lines:
		case r == '\r' && lines:
			continue
		case r == '\n', r == '\r', r == '\t':
			r = ' '
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
			if marks++; marks > 3 {
				continue
			}
		case invisible(r):
			continue
		}
		if !unicode.Is(unicode.M, r) {
			marks = 0
		}
		if b.Len()+utf8.RuneLen(r) > limit-len("…") {
			b.WriteString("…")
			break
		}
		b.WriteRune(r)
	}
	if !lines {
		return strings.TrimSpace(b.String())
	}
	return b.String()
}

// invisible characters are controls, direction overrides, line separators,
// private and unassigned ones; the joiners that scripts and emoji need are not.
func invisible(r rune) bool {
	if r < unicode.MaxASCII {
		return r < ' '
	}
	return r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp)
}

// sequence is the length of a terminal's control sequence at the beginning of
// text (ECMA-48 CSI, and OSC as xterm ends it); 0 for none.
func sequence(text string) int {
	if len(text) < 2 || text[0] != 0x1b {
		return 0
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text); i++ {
			switch c := text[i]; {
			case c >= 0x40 && c <= 0x7e:
				return i + 1
			case c < 0x20 || c > 0x3f:
				return i
			}
		}
		return len(text)
	case ']':
		for i := 2; i < len(text) && text[i] != '\n'; i++ {
			if text[i] == 0x07 {
				return i + 1
			}
			if text[i] == 0x1b {
				return min(i+2, len(text))
			}
		}
	}
	return 2
}
