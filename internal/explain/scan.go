package explain

import (
	"strings"
	"unicode/utf8"
)

// number reads a number and leaves it as it is written.
func (p *parser) number() (string, *syntaxError) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	whole := p.pos
	if !p.digits() {
		return "", p.fail("a digit is missing in a number")
	}
	if p.text[whole] == '0' && p.pos > whole+1 {
		p.pos = whole
		return "", p.fail("a number does not begin with 0")
	}
	if p.peek() == '.' {
		if p.pos++; !p.digits() {
			return "", p.fail("a digit is missing in a number")
		}
	}
	if p.peek()|0x20 == 'e' {
		if p.pos++; p.peek() == '+' || p.peek() == '-' {
			p.pos++
		}
		if !p.digits() {
			return "", p.fail("a digit is missing in a number")
		}
	}
	if isWord(p.peek()) || p.peek() == '.' {
		return "", p.fail("a number is followed by something that does not belong to it")
	}
	return p.text[start:p.pos], nil
}

func (p *parser) digits() bool {
	start := p.pos
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.pos++
	}
	return p.pos > start
}

// str reads a string. A broken one is noted for the value at.
func (p *parser) str(at int32) (string, *syntaxError) {
	p.pos++
	start := p.pos
	for i := start; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			return p.sound(p.text[start:i], at), nil
		case c == '\\':
			return p.escaped(start, i, at)
		case c < ' ':
			p.pos = i
			return "", p.control()
		}
	}
	p.pos = len(p.text)
	return "", p.fail("the text ends in the middle of a string: a double quote is missing")
}

func (p *parser) control() *syntaxError {
	if c := p.peek(); c == '\n' || c == '\r' {
		return p.fail(`a line break in a string is written \n`)
	}
	return p.fail(`a control character in a string is written as an escape, such as \t or \u0001`)
}

// sound returns text without broken UTF-8.
func (p *parser) sound(text string, at int32) string {
	if utf8.ValidString(text) {
		return text
	}
	p.note(at, ruleUTF8)
	return strings.ToValidUTF8(text, "\ufffd")
}

// unknown says what is wrong where no value begins.
func (p *parser) unknown() string {
	switch {
	case p.pos >= len(p.text):
		return "the text ends where a value should come"
	case p.literal("True"), p.literal("False"):
		return "true and false must be in lower case"
	case p.literal("None"), p.literal("nil"), p.literal("undefined"), p.literal("NULL"), p.literal("Null"):
		return "an absent value is written null"
	case p.literal("NaN"), p.literal("Infinity"), p.literal("inf"):
		return "NaN and Infinity are not JSON values"
	}
	switch c := p.peek(); {
	case c == '\'' || c == '`':
		return "strings must be in double quotes"
	case c == ',' || c == '}' || c == ']':
		return "a value is missing"
	case c == '/' || c == '#':
		return "comments are not allowed"
	case c == '+' || c == '.':
		return "a number begins with a digit or a minus"
	case isWord(c):
		return "strings must be in double quotes"
	default:
		return "no value begins with this character"
	}
}

// literal skips a word if it comes next, whole.
func (p *parser) literal(word string) bool {
	rest := p.text[p.pos:]
	if !strings.HasPrefix(rest, word) || len(rest) > len(word) && isWord(rest[len(word)]) {
		return false
	}
	p.pos += len(word)
	return true
}

func isWord(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_'
}
