package scrub

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// text is one look at a string. Rules move over it with the methods below, which count every byte that they look at and
// remember the long runs that they measured. What the rules may look at in all is bounded by the length of the string,
// so the time is linear whatever the string and whatever the rules.
type text struct {
	state
	marks      []mark       // what the pattern that is read hides
	all        []found      // what is hidden, in the original
	looks      uint32       // how many looks there were
	fore, rear [maxSets]run // by set of characters: the last long run that was measured
}

// state is what a new look forgets.
type state struct {
	view
	rule, row int // the rule that runs, and which of its triggers it was
	work      int
	of        uint64        // the rules that are asked
	done      [maxRules]int // by rule: what lies before it has been decided
	tried     [maxRules]int // by rule: one more than where its pattern was tried last
	lastBare  span          // the last value without quotes
	brackets  span          // the last brackets that were passed
	members   memberAt      // the last member that was looked for
	scheme    span          // where the last "://" stands, and behind it if that is the URL of a database
	url       int           // the end of the last URL or route
	broken    int           // the end of the last URL that was searched for a password with signs in it
	once      int           // the end of what a pattern reads once
}

// run is what was measured in a look.
type run struct {
	from, to int32
	look     uint32
}

type span struct{ from, to int }

// mark is what a group of a pattern hides, and the name of the group.
type mark struct {
	span
	how string
}

// found is what a rule wants to be hidden: s[from:to].
type found struct{ from, to, rule int }

const (
	maxRules = 56
	maxSets  = 200
	// perByte is how often the rules may look at a byte of a text on average. Real texts need less than three.
	perByte = 24
	atLeast = 1 << 12
	longRun = 16
)

type charset struct {
	has [256]bool
	id  int
}

var (
	sets   = make(map[[256]bool]*charset)
	setsMu sync.Mutex // held while a pattern is compiled; before the first call of the package nobody needs it
)

// setOf returns the one set of these ranges of characters.
func setOf(ranges []rune) *charset {
	var has [256]bool
	for i := 0; i < len(ranges); i += 2 {
		for c := ranges[i]; c <= min(ranges[i+1], 127); c++ {
			has[c] = true
		}
	}
	for c := 128; c < len(has); c++ {
		has[c] = ranges[len(ranges)-1] > 0xffff // all others, or none of them
	}
	set, known := sets[has]
	if !known {
		set = &charset{has, len(sets)}
		if sets[has] = set; len(sets) > maxSets {
			panic("scrub: maxSets is too small")
		}
	}
	return set
}

const quoteMarks = "\"'`"

// chars returns a set as a pattern has it between brackets.
func chars(class string) *charset {
	ranges := parse("[" + class + "]*").Sub[0].Rune // of a list, even "^\n" is a class
	if len(ranges) == 1 {
		ranges = append(ranges, ranges[0])
	}
	return setOf(ranges)
}

var (
	space    = chars(" \t\n\r\f\v")
	blank    = chars(" \t")
	solid    = chars("^ \t\n\r\f\v")
	inLine   = chars("^\n")
	noDigit  = chars("^0-9")
	anyHex   = chars("0-9a-fA-F")
	alnum    = chars("A-Za-z0-9")
	word     = chars("A-Za-z0-9_")
	dashed   = chars("A-Za-z0-9_-")
	dotted   = chars("A-Za-z0-9_.-")
	named    = chars("A-Za-z0-9_.$-")
	base64s  = chars("A-Za-z0-9+/=")
	decimal  = chars("0-9")
	tokens   = chars("A-Za-z0-9_.~+/=$,-")
	capitals = chars("A-Z0-9_")
	quotes   = chars(quoteMarks)
	inURL    = chars("^ \t\n\r\f\v\"<>`")
)

// skip returns where the run of set that starts at i ends.
func (t *text) skip(set *charset, i int) int {
	m := &t.fore[set.id]
	if m.look == t.looks && int(m.from) <= i && i < int(m.to) {
		return int(m.to)
	}
	j := i
	for j < len(t.s) && set.has[t.s[j]] {
		j++
	}
	if t.work += j - i + 1; j-i > longRun {
		*m = run{int32(i), int32(j), t.looks} //nolint:gosec // a text has at most 1 GiB
	}
	return j
}

// back returns where the run of set that ends at i starts.
func (t *text) back(set *charset, i int) int {
	m := &t.rear[set.id]
	j := i
	for j > 0 && set.has[t.s[j-1]] {
		if m.look == t.looks && int(m.from) < j && j <= int(m.to) {
			j = int(m.from)
			break
		}
		j--
		t.work++
	}
	if t.work++; i-j > longRun {
		*m = run{int32(j), int32(i), t.looks} //nolint:gosec // as above
	}
	return j
}

// at returns the byte at i, and 0 outside of the text.
func (t *text) at(i int) byte {
	if 0 <= i && i < len(t.s) {
		return t.s[i]
	}
	return 0
}

// in reports whether the byte at i is of the set.
func (t *text) in(set *charset, i int) bool { return 0 <= i && i < len(t.s) && set.has[t.s[i]] }

// starts reports whether a word can begin at i: none goes on there.
func (t *text) starts(i int) bool { return !t.in(word, i-1) }

// has reports whether prefix stands at i.
func (t *text) has(i int, prefix string) bool {
	return 0 <= i && i <= len(t.s) && strings.HasPrefix(t.s[i:], prefix)
}

// fold is has without regard to case; prefix is in lower case.
func (t *text) fold(i int, prefix string) bool {
	return 0 <= i && i+len(prefix) <= len(t.s) && strings.EqualFold(t.s[i:i+len(prefix)], prefix)
}

// some returns at most n bytes from i on.
func (t *text) some(i, n int) string {
	i = min(max(i, 0), len(t.s))
	s := t.s[i:min(len(t.s), i+n)]
	t.work += len(s) / 8
	return s
}

// hide marks what the running rule has found.
func (t *text) hide(from, to int) {
	if to < len(t.s) && from < to && t.s[to] == ']' { // of a placeholder, and not the end of a parenthesis
		for _, p := range placeholders {
			if strings.HasSuffix(t.s[from:to+1], p) {
				to++
				break
			}
		}
	}
	if from < to && to > t.done[t.rule] && !slices.Contains(placeholders, t.s[from:to]) {
		t.all = append(t.all, found{int(t.origin(from)), int(t.origin(to)), t.rule})
	}
	t.decided(to)
}

// decided says that the running rule need not be asked again before i.
func (t *text) decided(i int) { t.done[t.rule] = max(t.done[t.rule], i) }

// look runs the rules over a view, and adds what they found, until that is enough. It returns false if it was more work
// than any real text makes.
func (t *text) look(v view, of uint64, enough int) bool {
	s := v.s
	t.state = state{view: v, of: of}
	if t.looks++; t.looks == 0 { // once in four milliards
		clear(t.fore[:])
		clear(t.rear[:])
	}
	most, h := perByte*len(s)+atLeast, 0
	for i := range len(s) {
		c := class[s[i]]
		h = (h<<5 | int(c&31)) & (1<<15 - 1)
		n := grams[h]
		if n == 0 && c&alone == 0 {
			continue
		}
		t.wake(wakes[n], i-2, of)
		if c&alone != 0 {
			t.wake(wakes[solo[s[i]]], i, of)
		}
		if t.work > most {
			return false
		}
		if len(t.all) >= enough {
			break
		}
	}
	return true
}

func (t *text) wake(list []trigger, i int, of uint64) {
	for k := range list {
		g := &list[k]
		if of>>g.rule&1 == 0 || i < t.done[g.rule] || !g.exact && !t.fold(i, g.text) || g.exact && !t.has(i, g.text) {
			continue
		}
		t.rule, t.row = g.rule, g.row
		rules[g.rule].find(t, i)
	}
}

var looks = sync.Pool{New: func() any { return new(text) }}

// trigger is a string that wakes a rule. One with a capital is looked for as it stands, one without in any case.
type trigger struct {
	text      string
	exact     bool
	rule, row int
}

// The triggers are found by their first three bytes, of which five bits each are compared at first. That is all that
// most of a text costs. A trigger of one byte marks its class as alone.
var (
	class [256]byte
	grams [1 << 15]uint16
	solo  [256]uint16
	wakes = [][]trigger{nil}
	lower [256]byte
)

const alone = 0x80

func listen(rule int, on []string) {
	add := func(list *uint16, g trigger) {
		if *list == 0 {
			*list = uint16(len(wakes)) //nolint:gosec // a few hundred
			wakes = append(wakes, nil)
		}
		wakes[*list] = append(wakes[*list], g)
	}
	for row, s := range on {
		g := trigger{s, s != strings.ToLower(s), rule, row}
		switch len(s) {
		case 1:
			add(&solo[s[0]], g)
			class[s[0]] |= alone
		case 2:
			for c := range 32 {
				add(&grams[int(class[s[0]]&31)<<10|int(class[s[1]]&31)<<5|c], g)
			}
		default:
			add(&grams[int(class[s[0]]&31)<<10|int(class[s[1]]&31)<<5|int(class[s[2]]&31)], g)
		}
	}
}

func classes() {
	for c := 128; c < len(lower); c++ {
		lower[c], class[c] = byte(c), byte(c)&31
	}
	for c := range 128 {
		lower[c] = strings.ToLower(string(rune(c)))[0]
		switch b := lower[c]; {
		case 'a' <= b && b <= 'z':
			class[c] = b - 'a' + 1
		case '0' <= b && b <= '9':
			class[c] = 27
		case b == '_' || b == '-':
			class[c] = 28
		case b == '.' || b == ':' || b == '/':
			class[c] = 29
		case b <= ' ':
			class[c] = 30
		default:
			class[c] = 31
		}
	}
}

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
