package scrub

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// rule is one row of the table.
type rule struct {
	name string
	// on are the triggers: the expression runs only when one of them is in the text. One with a capital is looked for as it
	// stands, one without in upper and lower case. A text starts as if after a line break.
	on []string
	// expr finds what to hide: its groups, or the whole match when it has none. An alternative without the group is
	// a way to step over something that only looks alike. Whatever it matches early, it must not keep a longer attempt
	// alive that runs on to the end of the text: that would make many matches cost the square of the length.
	expr *regexp.Regexp
	// span, if there is one, has a second look and moves the borders; an empty range leaves the match as it is.
	span func(s string, from, to int) (int, int)
	// hide is what is put in its place.
	hide string
}

// found is what a rule wants to be hidden: s[from:to].
type found struct {
	from, to int
	hide     string
}

// hide runs the rules whose triggers are in s. All look at the same text, so that none takes away a part of what another
// would have known its own by; where they overlap, everything is hidden behind the placeholder of the one that starts first.
func hide(s string) string {
	var all []found
	awake := triggers.scan(s)
	for i := 0; awake != 0; i, awake = i+1, awake>>1 {
		if awake&1 != 0 {
			all = rules[i].find(all, s)
		}
	}
	if len(all) == 0 {
		return s
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	var out strings.Builder
	done := 0
	for i := 0; i < len(all); {
		f := all[i]
		for i++; i < len(all) && (all[i].from < f.to || all[i].from == f.to && all[i].hide == f.hide); i++ {
			f.to = max(f.to, all[i].to)
		}
		out.WriteString(s[done:f.from])
		out.WriteString(f.hide)
		done = f.to
	}
	out.WriteString(s[done:])
	return out.String()
}

func (r *rule) find(all []found, s string) []found {
	done := 0
	for _, m := range r.expr.FindAllStringSubmatchIndex(s, -1) {
		if len(m) > 2 {
			m = m[2:]
		}
		for ; len(m) > 0; m = m[2:] {
			from, to := m[0], m[1]
			if from < done { // within the last one, or -1: a group that took no part
				continue
			}
			if r.span != nil {
				from, to = r.span(s, from, to)
			}
			to = whole(s, from, to)
			if from < to && !slices.Contains(placeholders, s[from:to]) {
				all = append(all, found{from, to, r.hide})
				done = to
			}
		}
	}
	return all
}

// whole moves the end behind the bracket of a placeholder that an expression took for the end of a parenthesis.
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

// triggerSet finds in one pass which rules have to run. Comparing pairs of bytes first is what keeps it at about
// a nanosecond a byte; it is the price of every text, so it matters more than the price of a hit.
type triggerSet struct {
	single [128]uint64       // by byte: the rules that it wakes
	pair   [128 * 128]uint16 // by two bytes in lower case: 1 + index into tails
	tails  [][]tail
}

// tail is a trigger, to be compared where its first two bytes have been seen.
type tail struct {
	text  string
	exact bool
	bits  uint64
}

var triggers = newTriggerSet(rules)

// lower folds ASCII letters; the bytes of other characters take part in no trigger and become 0.
var lower = func() (t [256]byte) {
	for i := range 128 {
		t[i] = strings.ToLower(string(rune(i)))[0]
	}
	return t
}()

func newTriggerSet(rules []rule) *triggerSet {
	if len(rules) > 64 {
		panic("scrub: a set of triggers has 64 bits")
	}
	t := new(triggerSet)
	for i, r := range rules {
		bit := uint64(1) << i
		for _, on := range r.on {
			if len(on) == 1 {
				t.single[on[0]] |= bit
				continue
			}
			p := &t.pair[int(lower[on[0]])<<7|int(lower[on[1]])]
			if *p == 0 {
				t.tails = append(t.tails, nil)
				*p = uint16(len(t.tails))
			}
			t.tails[*p-1] = append(t.tails[*p-1], tail{on, on != strings.ToLower(on), bit})
		}
	}
	return t
}

func (t *triggerSet) scan(s string) (awake uint64) {
	prev := byte('\n')
	for i := range len(s) {
		c := lower[s[i]]
		awake |= t.single[c]
		if p := t.pair[int(prev)<<7|int(c)]; p != 0 {
			for _, tail := range t.tails[p-1] {
				if awake&tail.bits == 0 && tail.at(s, i) {
					awake |= tail.bits
				}
			}
		}
		prev = c
	}
	return awake
}

// at reports whether the trigger, whose first two letters end at i, stands there.
func (t *tail) at(s string, i int) bool {
	if t.exact {
		return i > 0 && strings.HasPrefix(s[i-1:], t.text)
	}
	return hasPrefixFold(s[i+1:], t.text[2:])
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
