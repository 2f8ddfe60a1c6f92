package scrub

import "strings"

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
				*p = uint16(len(t.tails)) //nolint:gosec // as many as there are pairs in the rules
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
