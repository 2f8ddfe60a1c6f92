package explain

import (
	"errors"
	"regexp/syntax"
)

// A pattern is a regular expression of a schema. Its prog is nil when regexp cannot read it.
//
// The programs are those of regexp, and run here, because only so their work is counted: how long a
// match takes depends on what is sent, up to a thousand times the length of the text.
type pattern struct {
	text     string
	prog     *syntax.Prog
	anchored bool // it matches at the begin of a text or not at all
}

// maxPatterns bounds the patterns of one schema, in instructions of their programs. What is in a{1000}
// counts a thousand times.
const maxPatterns = 200_000

// pattern reads a regular expression.
func (c *compiler) pattern(text string) (*pattern, error) {
	p := &pattern{text: text}
	c.patterns += 16 + 4*len(text)
	if c.patterns < maxPatterns {
		re, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return p, nil //nolint:nilerr // is not checked
		}
		if c.patterns += instructions(re); c.patterns < maxPatterns {
			if p.prog, err = syntax.Compile(re.Simplify()); err == nil {
				p.anchored = p.prog.StartCond()&syntax.EmptyBeginText != 0
			}
			return p, err
		}
	}
	return nil, errors.New("the patterns of the schema are too large")
}

// instructions returns about how many instructions the program of an expression will have.
func instructions(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return n
}

// stepsOfUnit is how many steps of a machine one unit of work is for.
const stepsOfUnit = 16

// A machine runs programs. Its lists are kept for the next run.
type machine struct {
	open    []uint32 // the instructions to enter
	waiting []uint32 // those that wait for the next character
	entered []int    // when each instruction was last entered
	now     int
	steps   int // for which no work was spent
}

// enter follows the open instructions to those that wait for a character. It reports whether one of them
// ends the match.
func (m *machine) enter(prog *syntax.Prog, here syntax.EmptyOp) bool {
	m.now++
	m.waiting = m.waiting[:0]
	for len(m.open) > 0 {
		pc := last(m.open)
		m.open = m.open[:len(m.open)-1]
		m.steps++
		if m.entered[pc] == m.now {
			continue
		}
		m.entered[pc] = m.now
		switch inst := &prog.Inst[pc]; inst.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstFail:
		case syntax.InstAlt, syntax.InstAltMatch:
			m.open = append(m.open, inst.Arg, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^here == 0 { //nolint:gosec // one of its own flags
				m.open = append(m.open, inst.Out)
			}
		case syntax.InstCapture, syntax.InstNop:
			m.open = append(m.open, inst.Out)
		default:
			m.waiting = append(m.waiting, pc)
		}
	}
	return false
}

// matches reports whether a pattern matches somewhere in a text.
func (w *walk) matches(p *pattern, text string) bool {
	if p.prog == nil {
		return true
	}
	m, before, start := &w.machine, rune(-1), uint32(p.prog.Start) //nolint:gosec // is an index
	if more := len(p.prog.Inst) - len(m.entered); more > 0 {
		w.spend(more / 64)
		m.entered = append(m.entered, make([]int, more)...)
	}
	m.open = append(m.open[:0], start)
	for _, r := range text {
		if m.enter(p.prog, syntax.EmptyOpContext(before, r)) {
			return true
		}
		for _, pc := range m.waiting {
			if inst := &p.prog.Inst[pc]; inst.MatchRune(r) {
				m.open = append(m.open, inst.Out)
			}
		}
		m.steps += len(m.waiting)
		w.spend(m.steps / stepsOfUnit)
		m.steps %= stepsOfUnit
		if !p.anchored {
			m.open = append(m.open, start)
		} else if len(m.open) == 0 {
			return false
		}
		before = r
	}
	return m.enter(p.prog, syntax.EmptyOpContext(before, -1))
}
