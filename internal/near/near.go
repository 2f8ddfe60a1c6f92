// Package near finds the names that were probably meant by a misspelled one.
package near

import (
	"cmp"
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
	maxPool = 1024
	// maxRanked is how many of the closest names are looked at for one that means the opposite.
	maxRanked = 32
)

type match struct {
	name     string
	distance int
	prefix   int
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
// Names that differ in digits only are never close: an invoice of another number is another invoice. Opposites
// are never close, either: see [Opposite].
//
// The work is bounded: only the first 1024 names are looked at, and names longer
// than 64 characters are passed over.
func Matches(want string, pools ...[]string) []string {
	a, ok := read(want)
	if !ok {
		return nil
	}
	var found []match
	left := maxPool
	for _, pool := range pools {
		pool = pool[:min(len(pool), left)]
		left -= len(pool)
		for _, other := range pool {
			if m, ok := a.compare(other); ok && other != want {
				found = append(found, m)
			}
		}
	}
	slices.SortStableFunc(found, func(x, y match) int {
		return cmp.Or(cmp.Compare(x.distance, y.distance), cmp.Compare(y.prefix, x.prefix))
	})
	var names []string
	ranked, last := 0, ""
	for _, m := range found {
		if ranked == maxRanked || len(names) == MaxMatches {
			break
		}
		if m.name == last || slices.Contains(names, m.name) {
			continue
		}
		if ranked, last = ranked+1, m.name; !Opposite(want, m.name) {
			names = append(names, m.name)
		}
	}
	return names
}

// Nearest returns the n names of the pool with the fewest edits from want, in that order, or all
// names if there are fewer. It has no limit for the number of edits. Names that are equally near
// keep the order of the pool, and names that are not compared come last. The work is bounded as in
// Matches.
func Nearest(want string, pool []string, n int) []string {
	a, compared := read(want)
	found := make([]match, 0, min(len(pool), maxPool))
	for _, other := range pool[:cap(found)] {
		m := match{name: other, distance: maxRunes + 1}
		if b, ok := read(other); ok && compared {
			m.distance = a.distance(b)
		}
		found = append(found, m)
	}
	slices.SortStableFunc(found, func(x, y match) int { return cmp.Compare(x.distance, y.distance) })
	names := make([]string, min(n, len(found)))
	for i := range names {
		names[i] = found[i].name
	}
	return names
}

// Spelled returns the only name of the pool that equals want except for the case of letters, "" if
// there is none or more than one. 3M and 3m, months and minutes, are two names. If there is none, it also
// ignores '-', '_' and ' ' and compares words: inProgress is in_progress. The work is bounded as in Matches.
func Spelled(want string, pool []string) string {
	want, pool = strings.TrimSpace(want), pool[:min(len(pool), maxPool)]
	for _, form := range []func(string) string{strings.ToLower, snake} {
		if len(want) > maxRunes*utf8.UTFMax || !utf8.ValidString(want) {
			break
		}
		var same []string
		for _, other := range pool {
			if len(other) <= maxRunes*utf8.UTFMax && form(other) == form(want) && monthly(other) == monthly(want) && !slices.Contains(same, other) {
				same = append(same, other)
			}
		}
		switch len(same) {
		case 0:
		case 1:
			return same[0]
		default:
			return ""
		}
	}
	return ""
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

// Words splits a name such as createdAt or created-at, in small letters. It looks at the first 64 bytes.
func Words(name string) []string {
	return strings.FieldsFunc(snake(name[:min(len(name), maxRunes)]), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// snake writes a name in small letters, with '_' between its words.
func snake(name string) string {
	var b strings.Builder
	small := false
	for _, r := range name {
		lower := unicode.ToLower(r)
		if r == '-' || r == ' ' {
			lower = '_'
		} else if small && lower != r {
			b.WriteByte('_')
		}
		small = lower == r && unicode.IsLetter(r)
		b.WriteRune(lower)
	}
	return b.String()
}

// compare measures another name, and reports whether it is close.
func (a name) compare(other string) (match, bool) {
	b, ok := read(other)
	if !ok {
		return match{}, false
	}
	shorter, longer := a.runes, b.runes
	if len(shorter) > len(longer) {
		shorter, longer = longer, shorter
	}
	m := match{name: other, prefix: commonPrefix(shorter, longer), distance: a.distance(b)}
	const contained = 4
	switch {
	case m.distance <= a.edits(b, m.prefix):
	case len(shorter) >= contained && (m.prefix == len(shorter) || slices.Equal(longer[len(longer)-len(shorter):], shorter)):
		m.distance = maxRunes + len(longer) - len(shorter) // after every name that differs by edits only
	default:
		return m, false
	}
	return m, slices.Equal(shorter, longer) || !slices.Equal(withoutDigits(shorter), withoutDigits(longer))
}

// edits returns how many edits are allowed between two names that have a beginning in common.
func (a name) edits(b name, prefix int) int {
	shorter, differ := min(len(a.runes), len(b.runes)), a.differ(b, prefix)
	switch {
	case differ == 0: // one name has words that the other lacks
		return shorter / 3
	case differ == 2 && shorter > 2:
		return 1
	default:
		return differ / 3
	}
}

// differ returns how many characters of the shorter of two names, which have a beginning in common, are not
// in words that both have at the same end.
func (a name) differ(b name, prefix int) int {
	shorter := min(len(a.runes), len(b.runes))
	suffix := 0
	for suffix < shorter-prefix && a.runes[len(a.runes)-1-suffix] == b.runes[len(b.runes)-1-suffix] {
		suffix++
	}
	for prefix > 0 && !a.edge(prefix) && !b.edge(prefix) {
		prefix--
	}
	for suffix > 0 && !a.edge(len(a.runes)-suffix) && !b.edge(len(b.runes)-suffix) {
		suffix--
	}
	return shorter - prefix - suffix
}

// A name is a name in its comparable form.
type name struct {
	runes []rune
	words uint64 // a bit for each character in front of which a word begins or ends
}

// edge reports whether a word begins or ends in front of the ith character.
func (a name) edge(i int) bool { return i == len(a.runes) || a.words&(1<<i) != 0 }

func isWord(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// read returns the comparable form of s, and reports false if s is empty or too long to be compared.
func read(s string) (a name, ok bool) {
	if s == "" || len(s) > maxRunes*utf8.UTFMax || utf8.RuneCountInString(s) > maxRunes {
		return a, false
	}
	a.runes = make([]rune, 0, len(s))
	before, small := '_', false
	for _, r := range s {
		lower := folded(r)
		if !isWord(lower) || !isWord(before) || small && lower != r || unicode.IsDigit(before) != unicode.IsDigit(lower) {
			a.words |= 1 << len(a.runes)
		}
		before, small = lower, lower == r
		a.runes = append(a.runes, lower)
	}
	return a, true
}

// folded returns the form in which a character is compared.
func folded(r rune) rune {
	switch {
	case r == '-' || r == '.' || r == ' ':
		return '_'
	case 'a' <= r && r <= 'z':
		return r
	default:
		return unicode.ToLower(r)
	}
}

func withoutDigits(s []rune) []rune { return slices.DeleteFunc(slices.Clone(s), unicode.IsDigit) }

// distance is the optimal string alignment distance of two names, of which b may have a word in the place of a
// shorter one.
func (a name) distance(b name) int {
	var rows [3][2 * maxRunes]int // of the table of distances, in which each column is for a beginning of b
	before, row, next := rows[0][:], rows[1][:], rows[2][:]
	for j := range len(b.runes) + 1 {
		row[j] = j
	}
	for i, r := range a.runes {
		next[0] = i + 1
		for j, other := range b.runes {
			next[j+1] = min(row[j+1]+1, next[j]+1, row[j])
			if r != other {
				next[j+1] = min(row[j+1], next[j], row[j]) + 1
			}
			if i > 0 && j > 0 && r == b.runes[j-1] && a.runes[i-1] == other {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b.runes)]
}

func commonPrefix(a, b []rune) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
