package hide

import (
	"html"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A mark says that a part of a text, size bytes behind at, was written as an escape: width bytes behind from.
type mark struct{ at, size, from, width int32 }

// marks lead from a text without escapes to the one that had them. They are in order.
type marks []mark

// before returns the last mark that begins at or before a place, nil if there is none.
func (m marks) before(at int) *mark {
	i := sort.Search(len(m), func(i int) bool { return int(m[i].at) > at })
	if i == 0 {
		return nil
	}
	return &m[i-1]
}

// place returns where a byte of the text stood before, as the end of it if end. The mark is the last one before it.
func (m *mark) place(at int, end bool) int {
	switch {
	case m == nil:
		return at
	case at >= int(m.at+m.size):
		return at + int(m.from+m.width-m.at-m.size)
	case end:
		return int(m.from+m.width) - 1
	default:
		return int(m.from)
	}
}

// source returns where a part of the text stood before. An escape counts as a whole.
func (m marks) source(s span) span {
	last := s.to - 1
	return span{m.before(s.from).place(s.from, false), m.before(last).place(last, true) + 1}
}

// whole returns a part of the text that has the escapes with the whole of those at its ends.
func (m marks) whole(s span) span {
	inside := func(at int) *mark {
		i := sort.Search(len(m), func(i int) bool { return int(m[i].from) >= at })
		if i == 0 || at >= int(m[i-1].from+m[i-1].width) {
			return nil
		}
		return &m[i-1]
	}
	if e := inside(s.from); e != nil {
		s.from = int(e.from)
	}
	if e := inside(s.to); e != nil {
		s.to = int(e.from + e.width)
	}
	return s
}

// unescaped undoes one round of the escapes of JSON, programming languages, shells, URLs and HTML, all at once.
// Without an escape it returns no marks.
func unescaped(text string) (string, marks) {
	if !strings.ContainsAny(text, `\%&'`) {
		return text, nil
	}
	var out []byte
	var all marks
	var buf [2 * utf8.UTFMax]byte
	end := 0
	for i := 0; i < len(text); {
		width := 0
		var plain []byte
		switch text[i] {
		case '\\':
			plain, width = backslash(buf[:0], text[i:])
		case '%':
			plain, width = percent(buf[:0], text[i:])
		case '&':
			plain, width = entity(buf[:0], text[i:])
		case '\'':
			plain, width = quote(buf[:0], text[i:])
		}
		if width == 0 {
			i++
			continue
		}
		if all == nil {
			out = make([]byte, 0, len(text))
		}
		out = append(out, text[end:i]...)
		all = append(all, mark{int32(len(out)), int32(len(plain)), int32(i), int32(width)}) //nolint:gosec // a window is small
		out = append(out, plain...)
		i += width
		end = i
	}
	if all == nil {
		return text, nil
	}
	return string(append(out, text[end:]...)), all
}

const controls = "n\nr\rt\tb\bf\fv\va\a"

// backslash appends what an escape that begins a text says. width is how long that is, zero if it is no escape.
func backslash(out []byte, text string) (plain []byte, width int) {
	if len(text) < 2 {
		return nil, 0
	}
	c := text[1]
	switch {
	case c == 'u' && len(text) > 2 && text[2] == '{':
		if end := strings.IndexByte(text[:min(len(text), 12)], '}'); end > 3 {
			return runeOf(out, text, 3, end, end+1)
		}
		return nil, 0
	case c == 'u':
		return unit(out, text, 2, `\u`)
	case c == 'U' && len(text) >= 10:
		return runeOf(out, text, 2, 10, 10)
	case c == 'x' && len(text) >= 4:
		return byteOf(out, text, 2, 4)
	case '0' <= c && c <= '3' && len(text) >= 4 && isOctal(text[1:4]):
		return append(out, (text[1]-'0')<<6|(text[2]-'0')<<3|(text[3]-'0')), 4
	case isLetter(c) || isDigit(c):
		if at := strings.IndexByte(controls, c); at >= 0 && at%2 == 0 {
			return append(out, controls[at+1]), 2
		}
		return nil, 0
	default: // the first byte of a longer rune, as shells escape it
		return append(out, c), 2
	}
}

func isOctal(text string) bool {
	return strings.Trim(text, "01234567") == ""
}

// unit reads a rune of four hexadecimal digits, or of two such units, each behind a prefix.
func unit(out []byte, text string, at int, prefix string) (plain []byte, width int) {
	r, ok := hexadecimal(text, at, at+4)
	if !ok {
		return nil, 0
	}
	width = at + 4
	if utf16.IsSurrogate(r) && strings.HasPrefix(text[width:], prefix) {
		if low, ok := hexadecimal(text, width+at, width+at+4); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			return utf8.AppendRune(out, utf16.DecodeRune(r, low)), width + at + 4
		}
	}
	return utf8.AppendRune(out, r), width
}

// hexadecimal reads the digits of a text from one place to another.
func hexadecimal(text string, from, to int) (n rune, ok bool) {
	if to > len(text) {
		return 0, false
	}
	for i := from; i < to; i++ {
		digit := strings.IndexByte("0123456789abcdefABCDEF", text[i])
		switch {
		case digit < 0:
			return 0, false
		case digit > 0xf:
			digit -= 6
		}
		n = n<<4 | rune(digit) //nolint:gosec // it is below 16
	}
	return n, true
}

func runeOf(out []byte, text string, from, to, width int) ([]byte, int) {
	n, ok := hexadecimal(text, from, to)
	if !ok || n < 0 || n > utf8.MaxRune {
		return nil, 0
	}
	return utf8.AppendRune(out, n), width
}

func byteOf(out []byte, text string, from, width int) ([]byte, int) {
	n, ok := hexadecimal(text, from, width)
	if !ok {
		return nil, 0
	}
	return append(out, byte(n)), width //nolint:gosec // two digits
}

func percent(out []byte, text string) (plain []byte, width int) {
	switch {
	case len(text) >= 6 && text[1] == 'u':
		return unit(out, text, 2, "%u")
	case len(text) >= 3:
		return byteOf(out, text, 1, 3)
	}
	return nil, 0
}

func entity(out []byte, text string) (plain []byte, width int) {
	const longest = 12
	end := strings.IndexByte(text[:min(len(text), longest)], ';') + 1
	if end < 4 { // &lt;
		return nil, 0
	}
	if is := html.UnescapeString(text[:end]); is != text[:end] {
		return append(out, is...), end
	}
	return nil, 0
}

// quote reads a single quote in a text of single quotes, as shells, SQL and YAML write it.
func quote(out []byte, text string) (plain []byte, width int) {
	for _, written := range []string{`'"'"'`, `'\''`, `''`} {
		if strings.HasPrefix(text, written) {
			return append(out, '\''), len(written)
		}
	}
	return nil, 0
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
