package scrub

import (
	"regexp/syntax"
	"strings"
)

// A pattern says what a rule hides, in the syntax of package regexp, but is read without a way back: a repetition takes
// what it can and gives nothing of it back, and of alternatives the first that fits is taken for good. So nothing is
// looked at again, and long runs are remembered by [text]. A group with a name means more:
//
//	hide        what it stands for is hidden; path, url and word are the same without the end of a sentence,
//	            and in a value another one may begin
//	is, not     looks ahead: something fits there, or does not
//	after       looks back: one of these characters stands in front
//	once        if the rest does not fit, the rule is not asked again before the end of this
//	selects     a FROM stands there that belongs to a SELECT
//	segments    the rest of a path
type pattern struct {
	op       syntax.Op
	name     string // of a group, or what stands there
	fold     bool   // in any case
	set      *charset
	run      bool // of the set, of any length
	min, max int  // max is -1 for any number
	sub      []*pattern
}

// cuts says what is no part of what a group hides at its end.
var cuts = map[string]string{"hide": "", "value": "", "path": ".!", "url": ".,:;!?)]}'", "word": ".?!"}

// like returns what hides what a pattern says, which begins at the trigger.
func like(expr string) func(t *text, i int) {
	p := compile(expr)
	return func(t *text, i int) { t.hides(p, i) }
}

// behind is like for a pattern that begins where the run of set does that the trigger stands behind.
func behind(set *charset, expr string) func(t *text, i int) {
	p := compile(expr)
	return func(t *text, i int) {
		if from := t.back(set, i); t.tried[t.rule] != from+1 {
			t.tried[t.rule] = from + 1 // the next trigger in the same run would find the same
			t.hides(p, from)
		}
	}
}

// ahead finds only where a pattern begins at the trigger.
func ahead(expr string, find func(t *text, i int)) func(t *text, i int) {
	p := compile(expr)
	return func(t *text, i int) {
		if t.match(p, i) >= 0 {
			find(t, i)
		}
	}
}

func compile(expr string) *pattern {
	re, err := syntax.Parse(expr, syntax.ClassNL|syntax.PerlX)
	if err != nil {
		panic("scrub: " + err.Error())
	}
	return compiled(re)
}

func compiled(re *syntax.Regexp) *pattern {
	p := &pattern{op: re.Op, name: re.Name, fold: re.Flags&syntax.FoldCase != 0, min: re.Min, max: re.Max}
	for _, sub := range re.Sub {
		p.sub = append(p.sub, compiled(sub))
	}
	switch re.Op {
	case syntax.OpLiteral:
		if p.name = string(re.Rune); p.fold {
			p.name = strings.ToLower(p.name)
		}
	case syntax.OpCharClass:
		var has [256]bool
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= min(re.Rune[i+1], 127); c++ {
				has[c] = true
			}
		}
		for c := 128; c < len(has); c++ {
			has[c] = re.Rune[len(re.Rune)-1] > 0xffff // all others, or none of them
		}
		p.set = setOf(has)
	case syntax.OpStar:
		p.op, p.max = syntax.OpRepeat, -1
	case syntax.OpPlus:
		p.op, p.min, p.max = syntax.OpRepeat, 1, -1
	case syntax.OpQuest:
		p.op, p.max = syntax.OpRepeat, 1
	case syntax.OpRepeat, syntax.OpConcat, syntax.OpAlternate, syntax.OpCapture, syntax.OpEmptyMatch, syntax.OpBeginLine,
		syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary:
	default:
		panic("scrub: no pattern has " + re.String())
	}
	if p.op == syntax.OpRepeat && p.max < 0 {
		p.set = p.sub[0].set
		p.run = p.set != nil
	}
	return p
}

// hides reports whether a pattern fits at i, and marks what it hides.
func (t *text) hides(p *pattern, i int) bool {
	t.marks, t.once = t.marks[:0], 0
	if t.match(p, i) < 0 {
		t.decided(t.once)
		return false
	}
	done := t.done[t.rule]
	for _, m := range t.marks {
		if t.hide(m.from, t.trim(m.from, m.to, cuts[m.how])); m.how == "value" {
			t.done[t.rule] = max(done, m.from)
		}
	}
	return true
}

// match returns where ends what fits p at i, -1 for nothing.
func (t *text) match(p *pattern, i int) int {
	if p.run {
		end := t.skip(p.set, i)
		return only(end, end-i >= p.min)
	}
	t.work++
	switch p.op {
	case syntax.OpLiteral:
		if !p.fold && t.has(i, p.name) || p.fold && t.fold(i, p.name) {
			return i + len(p.name)
		}
		return -1
	case syntax.OpCharClass:
		if t.in(p.set, i) {
			return i + 1
		}
		return -1
	case syntax.OpConcat:
		for _, sub := range p.sub {
			if i = t.match(sub, i); i < 0 {
				return -1
			}
		}
		return i
	case syntax.OpAlternate:
		marks := len(t.marks)
		for _, sub := range p.sub {
			if end := t.match(sub, i); end >= 0 {
				return end
			}
			t.marks = t.marks[:marks]
		}
		return -1
	case syntax.OpRepeat:
		return t.repeat(p, i)
	case syntax.OpCapture:
		return t.group(p, i)
	case syntax.OpBeginLine:
		return only(i, i == 0 || t.s[i-1] == '\n')
	case syntax.OpBeginText:
		return only(i, i == 0)
	case syntax.OpEndText:
		return only(i, i == len(t.s))
	case syntax.OpWordBoundary:
		return only(i, t.in(word, i-1) != t.in(word, i))
	default: // an empty match
		return i
	}
}

func only(i int, ok bool) int {
	if !ok {
		return -1
	}
	return i
}

func (t *text) repeat(p *pattern, i int) int {
	for n := 0; n != p.max; n++ {
		marks := len(t.marks)
		end := t.match(p.sub[0], i)
		if end <= i {
			t.marks = t.marks[:marks]
			return only(i, n >= p.min || end == i)
		}
		i = end
	}
	return i
}

func (t *text) group(p *pattern, i int) int {
	switch p.name {
	case "is":
		return only(i, t.match(p.sub[0], i) >= 0)
	case "not":
		return only(i, t.match(p.sub[0], i) < 0)
	case "after":
		return only(i, i > 0 && t.match(p.sub[0], i-1) == i)
	case "selects":
		return only(i, t.selects(i))
	case "segments":
		return t.path(i)
	}
	end := t.match(p.sub[0], i)
	if p.name == "once" {
		t.once = end
	} else if p.name != "" && end >= 0 {
		t.marks = append(t.marks, mark{span{i, end}, p.name})
	}
	return end
}
