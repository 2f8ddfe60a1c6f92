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

// hide runs those of the given rules whose triggers are in s. All look at the same text, so that none takes away a part of what another
// would have known its own by; where they overlap, everything is hidden behind the placeholder of the one that starts first.
func hide(s string, of uint64) string {
	var all []found
	awake := triggers.scan(s) & of
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
			if from < 0 || to <= done { // a group that took no part, or all within the last one
				continue
			}
			if r.span != nil {
				from, to = r.span(s, from, to)
			}
			to = whole(s, from, to)
			if from < to && !slices.Contains(placeholders, s[from:to]) {
				all = append(all, found{from, to, r.hide})
				done = max(done, to)
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
