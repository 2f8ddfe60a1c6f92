package scrub

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// text is one look at a string. Rules move over it with the methods below and nothing else; these count every byte that
// they look at. What the rules may look at in all is bounded by the length of the string, so the time is linear whatever
// the string and whatever the rules.
type text struct {
	s          string
	rule       int // the one that runs
	work, most int
	done       [maxRules]int // by rule: what lies before it has been decided
	memo       [memos]struct{ from, to int }
	url        int // the end of the last URL or route
	all        []found
}

// found is what a rule wants to be hidden: s[from:to].
type found struct{ from, to, rule int }

const (
	maxRules = 64
	// perByte is how often the rules may look at a byte of a text on average. Real texts need less than three.
	perByte = 24
	atLeast = 1 << 12
)

// The memos, one for each question. A run of characters that many matches ask for is measured once.
const (
	nameStart = iota
	nameEnd
	bareEnd
	bearerEnd
	lineStart
	lineEnd
	envStart
	atlasStart
	botStart
	azureStart
	schemeStart
	authorityEnd
	secretStart
	dsnStart
	userStart
	pairEnd
	pairValueEnd
	urlRun
	hostStart
	statementMost
	fromWord
	memos
)

type charset [256]bool

// chars makes a set of bytes from a list in which a-z is a range and ^ at the beginning negates.
func chars(list string) *charset {
	var set charset
	list, not := strings.CutPrefix(list, "^")
	for i := 0; i < len(list); i++ {
		to := list[i]
		if i+2 < len(list) && list[i+1] == '-' {
			to = list[i+2]
		}
		for c := int(list[i]); c <= int(to); c++ {
			set[c] = true
		}
		if to != list[i] {
			i += 2
		}
	}
	if not {
		for i := range set {
			set[i] = !set[i]
		}
	}
	return &set
}

var (
	space    = chars(" \t\n\r\f\v")
	blank    = chars(" \t")
	solid    = chars("^ \t\n\r\f\v")
	inLine   = chars("^\n")
	digits   = chars("0-9")
	hexDigit = chars("0-9a-f")
	anyHex   = chars("0-9a-fA-F")
	alnum    = chars("A-Za-z0-9")
	word     = chars("A-Za-z0-9_")
	dashed   = chars("A-Za-z0-9_-")
	dotted   = chars("A-Za-z0-9_.-")
	named    = chars("A-Za-z0-9_.$-")
	base64s  = chars("A-Za-z0-9+/=")
	tokens   = chars("A-Za-z0-9_.~+/=-")
	capitals = chars("A-Z0-9_")
	inURL    = chars("^ \t\n\r\f\v\"<>`")
)

// skip returns where the run of set that starts at i ends.
func (t *text) skip(set *charset, i int) int {
	j := i
	for j < len(t.s) && set[t.s[j]] {
		j++
	}
	t.work += j - i + 1
	return j
}

// ahead is skip with a memory: all that lies in the last run has its end.
func (t *text) ahead(memo int, set *charset, i int) int {
	m := &t.memo[memo]
	if i < m.from || i >= m.to {
		m.from, m.to = i, t.skip(set, i)
	}
	return m.to
}

// behind returns where the run of set that ends at i starts.
func (t *text) behind(memo int, set *charset, i int) int {
	m := &t.memo[memo]
	j := i
	for j > 0 && set[t.s[j-1]] {
		if m.from < j && j <= m.to {
			j = m.from
			break
		}
		j--
		t.work++
	}
	t.work++
	m.from, m.to = j, i
	return j
}

// at returns the byte at i, and 0 outside of the text.
func (t *text) at(i int) byte {
	if 0 <= i && i < len(t.s) {
		return t.s[i]
	}
	return 0
}

func (t *text) in(set *charset, i int) bool { return 0 <= i && i < len(t.s) && set[t.s[i]] }

// starts reports whether a word can begin at i: none goes on there.
func (t *text) starts(i int) bool { return !t.in(word, i-1) }

func (t *text) has(i int, prefix string) bool {
	return 0 <= i && i <= len(t.s) && strings.HasPrefix(t.s[i:], prefix)
}

// fold is has without regard to case; prefix is in lower case.
func (t *text) fold(i int, prefix string) bool {
	return 0 <= i && i <= len(t.s) && hasPrefixFold(t.s[i:], prefix)
}

// hide marks what the running rule has found.
func (t *text) hide(from, to int) {
	to = whole(t.s, from, to)
	if from < to && to > t.done[t.rule] && !slices.Contains(placeholders, t.s[from:to]) {
		t.all = append(t.all, found{from, to, t.rule})
	}
	t.decided(to)
}

// decided says that the running rule need not be asked again before i.
func (t *text) decided(i int) { t.done[t.rule] = max(t.done[t.rule], i) }

// whole moves the end behind the bracket of a placeholder that was taken for the end of a parenthesis.
func whole(s string, from, to int) int {
	if from < to && to < len(s) && s[to] == ']' {
		for _, p := range placeholders {
			if strings.HasSuffix(s[from:to+1], p) {
				return to + 1
			}
		}
	}
	return to
}

// look runs the rules over s and returns what they found, and false if that was more work than any real text makes.
func (t *text) look(s string, of uint64) bool {
	clear(t.done[:])
	clear(t.memo[:])
	t.s, t.work, t.most, t.url, t.all = s, 0, perByte*len(s)+atLeast, 0, t.all[:0]
	prev := byte('\n')
	for i := range len(s) {
		c := lower[s[i]]
		if p := triggers.pair[int(prev)<<7|int(c)]; p != 0 && triggers.tails[p-1].goes(s, i+1) {
			t.wake(triggers.tails[p-1].tails, i-1, of)
		}
		if p := triggers.single[c]; p != nil {
			t.wake(p, i, of)
		}
		if t.work > t.most {
			return false
		}
		prev = c
	}
	return true
}

func (t *text) wake(tails []tail, i int, of uint64) {
	for _, tail := range tails {
		if of>>tail.id&1 != 0 && i >= t.done[tail.id] && tail.at(t.s, i) {
			t.rule = tail.id
			rules[tail.id].find(t, i)
		}
	}
}

var looks = sync.Pool{New: func() any { return new(text) }}

// merge sorts what was found and joins what overlaps, behind the placeholder of the one that starts first.
func merge(all []found) []found {
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.rule, b.rule))
	})
	out := all[:0]
	for _, f := range all {
		if n := len(out) - 1; n >= 0 && (f.from < out[n].to || f.from == out[n].to && rules[f.rule].hide == rules[out[n].rule].hide) {
			out[n].to = max(out[n].to, f.to)
			continue
		}
		out = append(out, f)
	}
	return out
}

// matcher finds in one pass which words stand in a text. Comparing pairs of bytes first is what keeps it at about a
// nanosecond a byte; it is the price of every text, so it matters more than the price of a hit.
type matcher struct {
	single [128][]tail
	pair   [128 * 128]uint16 // by two bytes in lower case: 1 + index into tails
	tails  []tails
}

// tails are the words that begin with the same two letters. next has which third letters they have, a bit each.
type tails struct {
	next  [2]uint64
	tails []tail
}

// goes reports whether one of the words may go on with what stands at i.
func (t *tails) goes(s string, i int) bool {
	c := byte(0)
	if i < len(s) {
		c = lower[s[i]]
	}
	return t.next[c>>6]>>(c&63)&1 != 0
}

// tail is a word, to be compared where its first two bytes have been seen.
type tail struct {
	text  string
	exact bool
	id    int
}

// lower folds ASCII letters; the bytes of other characters take part in no trigger and become 0.
var lower = func() (t [256]byte) {
	for i := range 128 {
		t[i] = strings.ToLower(string(rune(i)))[0]
	}
	return t
}()

// add adds a word. One with a capital is looked for as it stands, one without in upper and lower case.
func (m *matcher) add(id int, on string) {
	t := tail{on, on != strings.ToLower(on), id}
	if len(on) == 1 {
		m.single[on[0]] = append(m.single[on[0]], t)
		return
	}
	p := &m.pair[int(lower[on[0]])<<7|int(lower[on[1]])]
	if *p == 0 {
		m.tails = append(m.tails, tails{})
		*p = uint16(len(m.tails)) //nolint:gosec // as many as there are pairs in the rules
	}
	list := &m.tails[*p-1]
	list.tails = append(list.tails, t)
	if len(on) == 2 {
		list.next = [2]uint64{^uint64(0), ^uint64(0)}
	} else {
		c := lower[on[2]]
		list.next[c>>6] |= 1 << (c & 63)
	}
}

// any reports whether one of the words stands in s. A text starts as if after a line break.
func (m *matcher) any(s string) bool {
	prev := byte('\n')
	for i := range len(s) {
		c := lower[s[i]]
		if m.single[c] != nil {
			return true
		}
		if p := m.pair[int(prev)<<7|int(c)]; p != 0 && m.tails[p-1].goes(s, i+1) {
			for _, tail := range m.tails[p-1].tails {
				if tail.at(s, i-1) {
					return true
				}
			}
		}
		prev = c
	}
	return false
}

// at reports whether the word, whose first two letters have been seen at i, stands there.
func (t *tail) at(s string, i int) bool {
	if i < 0 {
		return !t.exact && hasPrefixFold(s[i+2:], t.text[2:])
	}
	if t.exact {
		return strings.HasPrefix(s[i:], t.text)
	}
	return hasPrefixFold(s[i:], t.text)
}

func hasPrefixFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower[s[i]] != prefix[i] {
			return false
		}
	}
	return true
}
