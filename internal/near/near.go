// Package near finds the names that were probably meant by a misspelled one.
package near

import (
	"cmp"
	"slices"
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

// Matches returns the names of pool that are close to want, the closest first, at
// most MaxMatches, each once. Where names are equally close, the one that begins
// like want for longer is first, and then the order of the pool holds. Case is
// ignored, and '-', '_', '.' and ' ' are the same. It returns nil when nothing is
// close, and never want itself.
//
// Close means: as many edits (insert, delete, replace, swap two neighbours) as a
// third of the shorter name's length, at least one for names of three or more
// characters; or one name beginning with, or ending in, all of the other when
// that has at least four characters. Names that differ in digits only are never close:
// the invoice of another number is another invoice, and no misspelled one.
//
// The work is bounded: only the first 4096 names are looked at, and names longer
// than 64 characters are passed over.
func Matches(want string, pool []string) []string {
	var a [maxRunes]rune
	n, ok := fold(want, &a)
	if !ok || n == 0 {
		return nil
	}
	var few [16]match // on the stack
	found := few[:0]
	for _, name := range pool[:min(len(pool), maxPool)] {
		if name == want {
			continue
		}
		if m, ok := compare(a[:n], name); ok {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.prefix, a.prefix))
	})
	if len(found) == 0 {
		return nil
	}
	names := make([]string, 0, MaxMatches)
	for _, m := range found {
		if len(names) < MaxMatches && !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	return names
}

// compare measures name against the folded a, and reports whether it is close.
func compare(a []rune, name string) (match, bool) {
	var buf [maxRunes]rune
	n, ok := fold(name, &buf)
	if !ok || n == 0 {
		return match{}, false
	}
	b := buf[:n]
	shorter, longer := a, b
	if len(a) > len(b) {
		shorter, longer = b, a
	}
	m := match{name: name, prefix: commonPrefix(a, b)}
	limit := len(shorter) / 3
	m.distance = limit + 1
	if len(longer)-len(shorter) <= limit {
		m.distance = distance(shorter, longer, limit)
	}
	if m.distance > limit {
		const contained = 4
		if len(shorter) < contained || m.prefix < len(shorter) && !slices.Equal(longer[len(longer)-len(shorter):], shorter) {
			return m, false
		}
		// Behind every name that differs by edits only.
		m.distance = maxRunes + len(longer) - len(shorter)
	}
	var x, y [maxRunes]rune
	return m, slices.Equal(a, b) || !slices.Equal(withoutDigits(append(x[:0], a...)), withoutDigits(append(y[:0], b...)))
}

func withoutDigits(a []rune) []rune { return slices.DeleteFunc(a, unicode.IsDigit) }

// fold writes the comparable form of s into buf and reports its length, or
// false when s is too long.
func fold(s string, buf *[maxRunes]rune) (int, bool) {
	if len(s) > maxRunes*utf8.UTFMax {
		return 0, false
	}
	n := 0
	for _, r := range s {
		if n == maxRunes {
			return 0, false
		}
		switch {
		case r == '-' || r == '.' || r == ' ':
			r = '_'
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case r >= utf8.RuneSelf:
			r = unicode.ToLower(r)
		}
		buf[n] = r
		n++
	}
	return n, true
}

// distance is the optimal string alignment distance of a and b, where a is not
// the longer one. It stops early and returns limit+1 once the distance is sure
// to be above limit.
func distance(a, b []rune, limit int) int {
	var rows [3][maxRunes + 1]uint8
	before, above, row := &rows[0], &rows[1], &rows[2]
	for j := range len(a) + 1 {
		above[j] = uint8(j)
	}
	for i := 1; i <= len(b); i++ {
		row[0] = uint8(i)
		least := row[0]
		for j := 1; j <= len(a); j++ {
			var cost uint8
			if a[j-1] != b[i-1] {
				cost = 1
			}
			d := min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[j-1] == b[i-2] && a[j-2] == b[i-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if int(least) > limit {
			return limit + 1
		}
		before, above, row = above, row, before
	}
	return int(above[len(a)])
}

func commonPrefix(a, b []rune) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
