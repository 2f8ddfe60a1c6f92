package scrub

import (
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"
)

// A pattern returns where ends what fits it at i, -1 for nothing. It is written in the syntax of package regexp, but is
// read without a way back: a repetition takes what it can and gives nothing of it back, and of alternatives the first that
// fits is taken for good. So nothing is looked at again, and long runs are remembered by [text]. A group with a name means
// more:
//
//	hide        what it stands for is hidden; path, url and word are the same without the end of a sentence;
//	            in a value, which is no placeholder, another one may begin
//	is, not     looks ahead: something fits there, or does not
//	after       looks back: one of these characters stands in front
//	login       a user and a password, which is no placeholder
//	bare        a value without quotes
//	once        if the rest does not fit, the rule is not asked again before the end of this
//
// Package regexp is linear, too, but slower by two orders of magnitude, and without looking ahead its expressions change
// a third of the ordinary texts of the corpus.
type pattern func(t *text, i int) (end int)

// cuts has the signs that a group does not hide at its end.
var cuts = map[string]string{"hide": "", "value": "", "path": ".!", "url": ".,:;!?)]}'\\", "word": ".?!"}

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
func ahead(p pattern, find func(t *text, i int)) func(t *text, i int) {
	return func(t *text, i int) {
		if t.once = 0; p(t, i) >= 0 {
			find(t, i)
		} else {
			t.decided(t.once)
		}
	}
}

// hides reports whether a pattern fits at i, and marks what it hides.
func (t *text) hides(p pattern, i int) bool {
	t.marks, t.once = t.marks[:0], 0
	if p(t, i) < 0 {
		t.decided(t.once)
		return false
	}
	done := t.done[t.rule]
	for _, m := range t.marks {
		if v := t.s[m.from:m.to]; m.how == "value" && placeholder(v) || m.how == "login" && masked(v) {
			continue
		}
		if t.hide(m.from, t.trim(m.from, m.to, cuts[m.how])); m.how == "value" {
			t.done[t.rule] = max(done, m.from)
		}
	}
	return true
}

func parse(expr string) *syntax.Regexp {
	re, err := syntax.Parse(expr, syntax.ClassNL|syntax.PerlX)
	if err != nil {
		panic("scrub: " + err.Error())
	}
	return re
}

// compile returns the pattern of an expression. The expression is read when the pattern is needed first: hardly a
// program meets a private key, a traceback and SQL, and to read all of them takes longer than the rest of its start.
func compile(expr string) pattern { return compileLater(func() string { return expr }) }

func compileLater(expr func() string) pattern {
	read := sync.OnceValue(func() pattern {
		setsMu.Lock()
		defer setsMu.Unlock()
		return compiled(parse(expr()))
	})
	patterns = append(patterns, read)
	return func(t *text, i int) int { return read()(t, i) }
}

// patterns has all that are compiled when they are needed, for a test that needs all.
var patterns []func() pattern

func compiled(re *syntax.Regexp) pattern {
	subs := make([]pattern, len(re.Sub))
	for i, sub := range re.Sub {
		subs[i] = compiled(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		has, literal := (*text).has, string(re.Rune)
		if re.Flags&syntax.FoldCase != 0 {
			has, literal = (*text).fold, strings.ToLower(literal)
		}
		return func(t *text, i int) int {
			t.work++
			return only(i+len(literal), has(t, i, literal))
		}
	case syntax.OpCharClass:
		set := setOf(re.Rune)
		return func(t *text, i int) int {
			t.work++
			return only(i+1, t.in(set, i))
		}
	case syntax.OpConcat:
		return func(t *text, i int) int {
			for _, sub := range subs {
				if i = sub(t, i); i < 0 {
					break
				}
			}
			return i
		}
	case syntax.OpAlternate:
		return func(t *text, i int) int {
			marks := len(t.marks)
			for _, sub := range subs {
				if end := sub(t, i); end >= 0 {
					return end
				}
				t.marks = t.marks[:marks]
			}
			return -1
		}
	case syntax.OpStar:
		return repeated(re.Sub[0], subs[0], 0, -1)
	case syntax.OpPlus:
		return repeated(re.Sub[0], subs[0], 1, -1)
	case syntax.OpQuest:
		return repeated(re.Sub[0], subs[0], 0, 1)
	case syntax.OpRepeat:
		return repeated(re.Sub[0], subs[0], re.Min, re.Max)
	case syntax.OpCapture:
		return group(re.Name, subs[0])
	case syntax.OpEmptyMatch:
		return func(_ *text, i int) int { return i }
	case syntax.OpBeginLine:
		return func(t *text, i int) int { return only(i, i == 0 || t.s[i-1] == '\n') }
	case syntax.OpBeginText:
		return func(_ *text, i int) int { return only(i, i == 0) }
	case syntax.OpEndText:
		return func(t *text, i int) int { return only(i, i == len(t.s)) }
	case syntax.OpWordBoundary:
		return func(t *text, i int) int { return only(i, t.in(word, i-1) != t.in(word, i)) }
	default:
		panic("scrub: no pattern has what syntax.Op " + strconv.Itoa(int(re.Op)) + " stands for")
	}
}

func only(i int, ok bool) int {
	if !ok {
		return -1
	}
	return i
}

// repeated takes sub at least and at most so many times; a most of -1 is any number.
func repeated(re *syntax.Regexp, sub pattern, least, most int) pattern {
	if re.Op == syntax.OpCharClass && most < 0 {
		set := setOf(re.Rune)
		return func(t *text, i int) int {
			end := t.skip(set, i)
			return only(end, end-i >= least)
		}
	}
	return func(t *text, i int) int {
		for n := 0; n != most; n++ {
			marks := len(t.marks)
			end := sub(t, i)
			if end <= i {
				t.marks = t.marks[:marks]
				return only(i, n >= least || end == i)
			}
			i = end
		}
		return i
	}
}

func group(name string, sub pattern) pattern {
	switch name {
	case "is":
		return func(t *text, i int) int { return only(i, sub(t, i) >= 0) }
	case "not":
		return func(t *text, i int) int { return only(i, sub(t, i) < 0) }
	case "after":
		return func(t *text, i int) int { return only(i, i > 0 && sub(t, i-1) == i) }
	case "once":
		return func(t *text, i int) int {
			end := sub(t, i)
			t.once = max(t.once, end)
			return end
		}
	case "bare":
		return func(t *text, i int) int {
			end := t.bare(i)
			return only(end, end > i)
		}
	default:
		return func(t *text, i int) int {
			end := sub(t, i)
			if end >= 0 {
				t.marks = append(t.marks, mark{span{i, end}, name})
			}
			return end
		}
	}
}
