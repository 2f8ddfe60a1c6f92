// Package near finds the names that were probably meant by a misspelled one.
package near

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxMatches is the most names that Matches returns.
	MaxMatches = 5
	// maxRunes bounds the work for one pair: longer names are not compared.
	maxRunes = 64
	// maxPool bounds the work for one search: names after it are not looked at.
	maxPool = 4096
)

type match struct {
	name     string
	distance int
	prefix   int
}

// before reports whether a match ranks before another one that was found earlier.
func (m *match) before(other *match) bool {
	return m.distance < other.distance || m.distance == other.distance && m.prefix > other.prefix
}

// Matches returns the names of the pools that are close to want, the closest first, at
// most MaxMatches, each once. Where names are equally close, the one that begins
// like want for longer is first, and then the order of the pools holds. Case is
// ignored, and '-', '_', '.' and ' ' are the same. It returns nil when nothing is
// close, and never want itself.
//
// Close means one of these:
//
//   - Few edits (insert, delete, replace, swap two neighbours): as many as a third of the
//     shorter name's length, at least one for names of three or more characters. What the
//     names share at both ends in whole words, such as the directory and the extension of
//     two paths, does not count: of two names that differ in one word this word has to be
//     close, and in one of two characters one edit is.
//   - One name begins with, or ends in, all of the other, which has at least four characters.
//
// Names that differ in digits only are never close: the invoice of another number is
// another invoice, and no misspelled one. Opposites are not, either, see [Opposite].
//
// The work is bounded: only the first 4096 names are looked at, and names longer
// than 64 characters are passed over.
func Matches(want string, pools ...[]string) []string {
	var a wanted
	if !a.want(want) {
		return nil
	}
	var found [MaxMatches]match
	n, left := 0, maxPool
	for _, pool := range pools {
		pool = pool[:min(len(pool), left)]
		left -= len(pool)
		for _, other := range pool {
			var last *match // the match that a further one has to beat
			if n == MaxMatches {
				last = &found[MaxMatches-1]
			}
			if a.far(other, last) || other == want {
				continue
			}
			m, ok := a.compare(other, last)
			if !ok || last != nil && !m.before(last) || slices.ContainsFunc(found[:n], func(f match) bool { return f.name == other }) {
				continue
			}
			n = min(n+1, MaxMatches)
			at := n - 1
			for ; at > 0 && m.before(&found[at-1]); at-- {
				found[at] = found[at-1]
			}
			found[at] = m
		}
	}
	if n == 0 {
		return nil
	}
	names := make([]string, n)
	for i := range names {
		names[i] = found[i].name
	}
	return names
}

// Nearest returns the n names of the pool with the fewest edits from want, in that order, or all
// names if there are fewer. It has no limit for the number of edits. Names that are equally near
// keep the order of the pool, and names that are not compared come last. The work is bounded as in
// Matches.
func Nearest(want string, pool []string, n int) []string {
	var a wanted
	compared := a.want(want)
	found := make([]match, 0, n+1)
	for _, other := range pool[:min(len(pool), maxPool)] {
		m, limit := match{name: other, distance: maxRunes + 1}, maxRunes
		if len(found) == n {
			limit = found[n-1].distance - 1
		}
		if b := (name{}); compared && limit >= 0 && b.read(other) {
			m.distance = a.distance(&b, limit)
		}
		at := len(found)
		for at > 0 && m.distance < found[at-1].distance {
			at--
		}
		found = slices.Insert(found, at, m)
		found = found[:min(len(found), n)]
	}
	names := make([]string, len(found))
	for i := range found {
		names[i] = found[i].name
	}
	return names
}

// Spelled returns the only name of the pool that equals want except for the case of letters, "" if
// there is none or more than one. 3M and 3m, months and minutes, are two names. If there is none, it also ignores '-', '_' and ' ' and compares
// words: inProgress is in_progress. The work is bounded as in Matches.
func Spelled(want string, pool []string) (only string) {
	want, pool = strings.TrimSpace(want), pool[:min(len(pool), maxPool)]
	same := func(other string) bool {
		return strings.EqualFold(other, want) && utf8.ValidString(other) && monthly(other) == monthly(want)
	}
	for range 2 {
		found := false
		for _, other := range pool {
			if len(other) > maxRunes*utf8.UTFMax || !same(other) || found && other == only {
				continue
			}
			if found {
				return ""
			}
			only, found = other, true
		}
		if found || len(want) > maxRunes*utf8.UTFMax || !utf8.ValidString(want) {
			return only
		}
		spelled := snake(want)
		same = func(other string) bool { return snake(other) == spelled && monthly(other) == monthly(want) }
	}
	return only
}

// Meant returns the name of the pool that was probably meant: the result of [Spelled], else the
// first of [Matches]. It is "" if there is none, or if the pool has want itself.
func Meant(want string, pool []string) string {
	meant := Spelled(want, pool)
	if matches := Matches(want, pool); meant == "" && matches != nil {
		meant = matches[0]
	}
	if meant == want {
		return ""
	}
	return meant
}

// snake writes a name in small letters, with '_' between its words.
func snake(name string) string {
	var b strings.Builder
	small := false
	for _, r := range name {
		lower := unicode.ToLower(r)
		switch {
		case r == '-' || r == ' ' || r == '_':
			b.WriteByte('_')
			small = false
			continue
		case small && lower != r:
			b.WriteByte('_')
		}
		small = lower == r && unicode.IsLetter(r)
		b.WriteRune(lower)
	}
	return b.String()
}

// compare measures another name, and reports whether it is close. It may report false for a name
// that cannot rank before last, if last is not nil.
func (a *wanted) compare(other string, last *match) (match, bool) {
	var b name
	if !b.read(other) || b.n == 0 {
		return match{}, false
	}
	shorter, longer := &a.name, &b
	if a.n > b.n {
		shorter, longer = longer, shorter
	}
	m := match{name: other, prefix: commonPrefix(a.runes[:a.n], b.runes[:b.n])}
	limit := a.edits(&b, m.prefix)
	if last != nil && last.distance <= limit {
		if limit = last.distance; m.prefix <= last.prefix {
			limit--
		}
	}
	m.distance = limit + 1
	if longer.n-shorter.n <= limit {
		m.distance = a.distance(&b, limit)
	}
	if m.distance > limit {
		const contained = 4
		if shorter.n < contained || m.prefix < shorter.n && !slices.Equal(longer.runes[longer.n-shorter.n:longer.n], shorter.runes[:shorter.n]) {
			return m, false
		}
		// After every name that differs by edits only.
		m.distance = maxRunes + longer.n - shorter.n
	}
	if !slices.Equal(a.runes[:a.n], b.runes[:b.n]) && a.sameButDigits(&b) {
		return m, false
	}
	return m, !Opposite(a.as, other)
}

// differ returns how many characters of the shorter of two names, which have a beginning in common, are not
// in words that both have at the same end.
func (a *name) differ(b *name, prefix int) int {
	shorter := min(a.n, b.n)
	suffix := 0
	for suffix < shorter-prefix && a.runes[a.n-1-suffix] == b.runes[b.n-1-suffix] {
		suffix++
	}
	for prefix > 0 && !a.between(prefix) && !b.between(prefix) {
		prefix--
	}
	for suffix > 0 && !a.between(a.n-suffix) && !b.between(b.n-suffix) {
		suffix--
	}
	return shorter - prefix - suffix
}

// edits returns how many edits are allowed between two names that have a beginning in common.
func (a *name) edits(b *name, prefix int) int {
	shorter, differ := min(a.n, b.n), a.differ(b, prefix)
	switch {
	case differ == 0: // one name has words that the other lacks
		return shorter / 3
	case differ == 2 && shorter > 2:
		return 1
	default:
		return differ / 3
	}
}

// wanted is the name that all others are compared with.
type wanted struct {
	name
	as    string                // how it is written
	ascii bool                  // the name is ASCII
	set   uint64                // its characters of ASCII, as a set
	at    [utf8.RuneSelf]uint64 // the positions of each of them in the name
}

// want reads a name, and reports false if it is compared with no other.
func (a *wanted) want(s string) bool {
	if !a.read(s) || a.n == 0 {
		return false
	}
	a.as = s
	a.index()
	return true
}

// index notes where the characters of the name are.
func (a *wanted) index() {
	a.ascii = true
	for i, r := range a.runes[:a.n] {
		if r >= utf8.RuneSelf {
			a.ascii = false
			continue
		}
		a.at[r] |= 1 << i
		a.set |= letter(byte(r)) //nolint:gosec // below utf8.RuneSelf
	}
}

// places returns the positions of a character in a.
func (a *wanted) places(r rune) (at uint64) {
	switch {
	case r < utf8.RuneSelf:
		return a.at[r]
	case a.ascii:
		return 0
	}
	for i, own := range a.runes[:a.n] {
		if own == r {
			at |= 1 << i
		}
	}
	return at
}

// letter returns the set with one ASCII character.
func letter(c byte) uint64 { return 1 << (c % 64) }

// far reports whether another name is certainly not close, or cannot rank before last. It costs
// less than compare, and knows ASCII names only.
func (a *wanted) far(other string, last *match) bool {
	if !a.ascii || len(other) > maxRunes*utf8.UTFMax {
		return false
	}
	prefix := 0
	for prefix < min(a.n, len(other)) && rune(folded(other[prefix])) == a.runes[prefix] {
		prefix++
	}
	if last != nil && last.distance <= 1 && prefix <= last.prefix && prefix < max(a.n, len(other)) &&
		(prefix == len(other) || prefix == a.n || other[prefix] < utf8.RuneSelf) {
		return true // at least one edit, and no longer common beginning
	}
	letters := uint64(0)
	for i := range len(other) {
		if other[i] >= utf8.RuneSelf {
			return false
		}
		letters |= letter(folded(other[i]))
	}
	missing, more := a.set&^letters, letters&^a.set
	if a.n > len(other) {
		missing, more = more, missing
	}
	// A character that the other name lacks is one edit. If the longer name lacks one of the
	// shorter name, it cannot begin with that name or end in it.
	return missing != 0 && max(bits.OnesCount64(missing), bits.OnesCount64(more)) > min(a.n, len(other))/3
}

// A name is a name in its comparable form.
type name struct {
	runes [maxRunes]rune
	n     int
	words uint64 // a bit for each character that begins a word after a small letter, as in listUsers
}

// between reports whether the boundary of a word is in front of the ith character.
func (a *name) between(i int) bool {
	return i == 0 || i == a.n || a.words&(1<<i) != 0 || !isWord(a.runes[i]) || !isWord(a.runes[i-1])
}

func isWord(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// read writes the comparable form of s, and reports false if s is too long.
func (a *name) read(s string) bool {
	if len(s) > maxRunes*utf8.UTFMax {
		return false
	}
	small := false
	for _, r := range s {
		if a.n == maxRunes {
			return false
		}
		var lower rune
		if r >= utf8.RuneSelf {
			lower = unicode.ToLower(r)
		} else {
			lower = rune(folded(byte(r))) //nolint:gosec // below utf8.RuneSelf
		}
		if small && lower != r && lower != '_' {
			a.words |= 1 << a.n
		}
		small = lower == r && isWord(r)
		a.runes[a.n] = lower
		a.n++
	}
	return true
}

// folded returns the form in which a character of ASCII is compared.
func folded(c byte) byte {
	switch {
	case c == '-' || c == '.' || c == ' ':
		return '_'
	case c >= 'A' && c <= 'Z':
		return c + 'a' - 'A'
	default:
		return c
	}
}

// sameButDigits reports whether two names are the same without their digits.
func (a *name) sameButDigits(b *name) bool {
	i, j := 0, 0
	for {
		for i < a.n && unicode.IsDigit(a.runes[i]) {
			i++
		}
		for j < b.n && unicode.IsDigit(b.runes[j]) {
			j++
		}
		switch {
		case i == a.n || j == b.n:
			return i == a.n && j == b.n
		case a.runes[i] != b.runes[j]:
			return false
		}
		i, j = i+1, j+1
	}
}

// distance is the optimal string alignment distance of a and b: a whole column of the table of
// distances in a few words, as in Heikki Hyyrö, "A Bit-Vector Algorithm for Computing Levenshtein and
// Damerau Edit Distances" (2003). It stops early and returns limit+1 once the distance is sure to be
// above limit.
func (a *wanted) distance(b *name, limit int) int {
	var (
		up, down    = ^uint64(0), uint64(0) // where a row of the column is one above the row before it, or below
		diagonal    uint64                  // where a row is not above the one before it in the column before
		here, there uint64                  // where the character stands in a, and the one before it
		last        = uint64(1) << (a.n - 1)
		d           = a.n
	)
	for i, c := range b.runes[:b.n] {
		there, here = here, a.places(c)
		diagonal = (((here & up) + up) ^ up) | here | down | ((^diagonal&here)<<1)&there
		right, left := down|^(diagonal|up), diagonal&up
		switch {
		case right&last != 0:
			d++
		case left&last != 0:
			d--
		}
		if d-(b.n-1-i) > limit {
			return limit + 1
		}
		right = right<<1 | 1
		up, down = left<<1|^(diagonal|right), right&diagonal
	}
	return min(d, limit+1)
}

func commonPrefix(a, b []rune) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
