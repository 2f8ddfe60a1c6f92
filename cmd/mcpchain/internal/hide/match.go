package hide

import (
	"slices"
	"strings"
)

// A pattern is one form of a secret.
type pattern struct {
	text  string
	place Place

	// Of base64: padded says that "=" may follow, ends that no letter of base64 may. left and right say that the
	// letter before or after has a part of the secret, run that all letters around it have.
	padded, ends, left, right, run bool
}

// patterns finds all of its patterns in one pass: by the four bytes that they begin with, which most places of a
// text do not have. The few that are shorter have a pass of their own.
type patterns struct {
	begin [1 << 16 / 64]uint64 // a bit for each hash of four bytes
	of    map[uint32][]pattern
	short []pattern
	reach int // bytes that a pattern takes at most, with escapes around it
}

// first is how many bytes of a pattern it is found by.
const first = 4

// cut is whether a text goes on before and after what is looked at.
type cut struct{ before, after bool }

func (p *patterns) none() bool { return p.of == nil && p.short == nil }

func (p *patterns) add(one pattern) {
	const escaped = 8 // bytes for one, as in \\u0026
	p.reach = max(p.reach, escaped*len(one.text))
	if len(one.text) < first {
		if one.text != "" && !slices.Contains(p.short, one) {
			p.short = append(p.short, one)
		}
		return
	}
	key := keyOf(one.text)
	if slices.Contains(p.of[key], one) {
		return
	}
	if p.of == nil {
		p.of = map[uint32][]pattern{}
	}
	bit := hash(key)
	p.begin[bit/64] |= 1 << (bit % 64)
	p.of[key] = append(p.of[key], one)
}

// keyOf returns the first bytes of a text.
func keyOf(text string) uint32 {
	return uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
}

func hash(key uint32) uint32 { return key * 0x9e3779b1 >> 16 }

// match returns where the patterns stand in a text. Some may overlap.
func (p *patterns) match(text string, at cut) (found []span) {
	for i := 0; i+first <= len(text); i++ {
		key := keyOf(text[i:])
		if bit := hash(key); p.begin[bit/64]&(1<<(bit%64)) == 0 {
			continue
		}
		of := p.of[key]
		for k := range of {
			if strings.HasPrefix(text[i:], of[k].text) {
				found = of[k].found(found, text, i, at)
			}
		}
	}
	for k := range p.short {
		one := &p.short[k]
		for from := 0; ; {
			i := strings.Index(text[from:], one.text)
			if i < 0 {
				break
			}
			found = one.found(found, text, from+i, at)
			from += i + 1
		}
	}
	return found
}

// found adds the place of a pattern that begins at i, if that is one of the secret.
func (p *pattern) found(all []span, text string, i int, at cut) []span {
	s, is := p.at(text, span{i, i + len(p.text)})
	if is && p.bounded() && (at.before && s.from == 0 || at.after && s.to == len(text)) {
		is = false // the next part of the text has what stands beside it
	}
	if !is {
		return all
	}
	return append(all, s)
}

// bounded reports whether it matters what stands beside the pattern.
func (p *pattern) bounded() bool { return p.place != Anywhere || p.ends }

// at reports whether what stands in a place of a text is the secret, and how far that reaches.
func (p *pattern) at(text string, s span) (span, bool) {
	switch p.place {
	case AsWord:
		if !isWord(text, s) {
			return s, false
		}
	case Assigned:
		if !isWord(text, s) || !isAssigned(text, s) {
			return s, false
		}
	case Anywhere:
	}
	if !p.padded {
		return s, true
	}
	before := func() bool { return s.from > 0 && isBase64(text[s.from-1]) }
	after := func() bool { return s.to < len(text) && isBase64(text[s.to]) }
	if p.ends && after() {
		return s, false
	}
	if p.left && before() {
		s.from--
	}
	if p.right && after() {
		s.to++
	}
	for p.run && before() {
		s.from--
	}
	for p.run && after() {
		s.to++
	}
	for range 2 {
		if s.to < len(text) && text[s.to] == '=' {
			s.to++
		}
	}
	return s, true
}

func isBase64(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '+' || c == '/' || c == '-' || c == '_'
}

// isWord reports whether no letter and no digit continues what stands in a place.
func isWord(text string, s span) bool {
	part := func(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c >= 0x80 }
	return (s.from == 0 || !part(text[s.from-1]) || !part(text[s.from])) && (s.to == len(text) || !part(text[s.to]) || !part(text[s.to-1]))
}
