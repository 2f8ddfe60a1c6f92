package explain

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escaped reads on in a string that began at start and has an escape at i.
func (p *parser) escaped(start, i int, at int32) (string, *syntaxError) {
	var b strings.Builder
	b.WriteString(p.text[start:i])
	for i < len(p.text) {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			return p.sound(b.String(), at), nil
		case c < ' ':
			p.pos = i
			return "", p.control()
		case c != '\\':
			end := i + 1
			for end < len(p.text) && p.text[end] != '"' && p.text[end] != '\\' && p.text[end] >= ' ' {
				end++
			}
			b.WriteString(p.text[i:end])
			i = end
		default:
			r, n := unescape(p.text[i:])
			if n == 0 {
				p.pos = i
				return "", p.fail(`a backslash in a string is written \\`)
			}
			b.WriteRune(r)
			i += n
		}
	}
	p.pos = len(p.text)
	return "", p.fail("the text ends in the middle of a string: a double quote is missing")
}

// unescape reads one escape, or a surrogate pair of two, and its length; 0 when
// it is none. Half a pair reads as U+FFFD, as other readers of JSON have it.
func unescape(s string) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	if s[1] != 'u' {
		i := strings.IndexByte(`"\/bfnrt`, s[1])
		if i < 0 {
			return 0, 0
		}
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	r, ok := hex4(s)
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	if low, ok := hex4(s[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 reads an escape of four hexadecimal digits, such as \u00e9.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[2:6]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
