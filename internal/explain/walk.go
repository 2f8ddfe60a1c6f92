package explain

import (
	"unicode/utf8"
)

const (
	// baseSteps and stepsPerValue bound the schemas that are applied to values in
	// one walk. A schema that asks for more multiplies itself.
	baseSteps     = 100_000
	stepsPerValue = 50
	// compared is how many values that are compared, or bytes that are matched,
	// count as a step.
	compared = 64
	// memoSteps is when a walk begins to remember what it has found out.
	memoSteps = 5_000
)

// A walk applies a schema to a value. It collects what is wrong, or, when it is
// quiet, only finds out whether anything is.
type walk struct {
	schema *Schema
	doc    *doc
	opts   *Options

	quiet   bool
	found   []finding
	when    string // the condition that what is looked at depends on, in words
	hidden  map[int32]bool
	top     *node   // the schema that the value which is looked at was come to with
	without []*node // the forms of a choice that are not looked at while another one is
	owner   *node   // the schema of the object that the value is a property of, nil if it is none
	steps   int
	budget  int
	inPlace *frame // the schemas that are being applied to the same value, with cyclic ones only
	scope   []*node
	memo    map[memoKey]bool
	told    map[memoKey][]finding // what was found for a choice: a schema that comes back to it would look again and again
}

type memoKey struct{ node, at int32 }

type frame struct {
	n      *node
	at     int32
	parent *frame
}

func (w *walk) fail(f finding) bool {
	if !w.quiet && len(w.found) < MaxCounted {
		f.when, f.top, f.owner = w.when, w.top, w.owner
		w.found = append(w.found, f)
	}
	return false
}

// spent reports that the budget is used up, or that more need not be found.
func (w *walk) spent() bool {
	w.steps++
	return w.steps > w.budget || len(w.found) >= MaxCounted
}

// silently runs f without collecting.
func (w *walk) silently(f func() bool) bool {
	before := w.quiet
	w.quiet = true
	ok := f()
	w.quiet = before
	return ok
}

// descend applies n to a value inside the one that is looked at.
func (w *walk) descend(n *node, at int32) bool {
	top, owner := w.top, w.owner
	w.top, w.owner = n, nil
	ok := w.visit(n, at, nil)
	w.top, w.owner = top, owner
	return ok
}

// visit applies n to the value at, and reports whether it is valid. Once the
// budget is spent everything is: the caller looks whether it is.
func (w *walk) visit(n *node, at int32, m *marks) bool {
	switch {
	case n.always > 0:
		return true
	case n.always < 0:
		return w.fail(finding{rule: "false", n: n, at: at})
	case w.spent():
		return true
	}
	if n.hidden && w.hidden != nil {
		w.hidden[at] = true
	}
	if !n.cyclic {
		return w.remembered(n, at, m)
	}
	for f := w.inPlace; f != nil && f.at == at; f = f.parent {
		if f.n == n {
			return true // nothing new can come of it
		}
	}
	w.inPlace = &frame{n, at, w.inPlace}
	ok := w.remembered(n, at, m)
	w.inPlace = w.inPlace.parent
	return ok
}

// remembered is apply, and for long walks remembers the outcome. What is inside
// a cycle may depend on the way to it, but a walk that is quiet and marks nothing
// asks for nothing else than what it has been told.
func (w *walk) remembered(n *node, at int32, m *marks) bool {
	if !n.forks || w.steps < memoSteps || !w.quiet || m != nil || w.schema.dynamic || n.cyclic {
		return w.apply(n, at, m)
	}
	key := memoKey{n.id, at}
	if ok, known := w.memo[key]; known {
		return ok
	}
	ok := w.apply(n, at, m)
	if w.memo == nil {
		w.memo = map[memoKey]bool{}
	}
	if w.steps <= w.budget {
		w.memo[key] = ok
	}
	return ok
}

func (w *walk) apply(n *node, at int32, m *marks) bool {
	if w.schema.dynamic {
		w.scope = append(w.scope, n.resource)
		defer func() { w.scope = w.scope[:len(w.scope)-1] }()
	}
	v := w.doc.values[at]
	if !w.basic(n, at, &v) {
		return false
	}
	own := m
	if n.tracks && v.count > 0 {
		own = &marks{make([]bool, v.count)}
	}
	ok := true
	switch v.kind {
	case kindString:
		ok = w.str(n, at, &v)
	case kindNumber:
		ok = w.number(n, at, &v)
	case kindArray:
		ok = w.list(n, at, &v, own)
	case kindObject:
		ok = w.object(n, at, &v, own)
	default:
	}
	if !ok && w.quiet {
		return false
	}
	if ok = w.applied(n, at, own) && ok; !ok && w.quiet {
		return false
	}
	if n.tracks && v.count > 0 {
		ok = w.unevaluated(n, at, &v, own) && ok
		if ok {
			m.add(own)
		}
	}
	return ok
}

// basic checks what holds for values of every kind.
func (w *walk) basic(n *node, at int32, v *value) bool {
	if n.types != 0 && n.types&v.kind == 0 &&
		!(v.kind == kindNumber && n.types&kindInteger != 0 && isInteger(v.text)) {
		return w.fail(finding{rule: "type", n: n, at: at})
	}
	if n.constant != nil && !equal(w.doc, at, n.constant.doc, 0) {
		return w.fail(finding{rule: "const", n: n, at: at})
	}
	if n.enum != nil && !w.oneOf(n.enum, at) {
		return w.fail(finding{rule: "enum", n: n, at: at})
	}
	if n.format != nil && v.kind == kindString && (n.draft < 2019 || w.opts.AssertFormats) && !n.format.matches(v.text) {
		return w.fail(finding{rule: "format", n: n, at: at})
	}
	return true
}

func (w *walk) oneOf(allowed []literal, at int32) bool {
	w.steps += len(allowed) / compared
	for i := range allowed {
		if equal(w.doc, at, allowed[i].doc, 0) {
			return true
		}
	}
	return false
}

func (w *walk) str(n *node, at int32, v *value) bool {
	if n.minLength > 0 || n.maxLength >= 0 {
		length := utf8.RuneCountInString(v.text)
		if length < n.minLength {
			return w.fail(finding{rule: "minLength", n: n, at: at, count: length})
		}
		if n.maxLength >= 0 && length > n.maxLength {
			return w.fail(finding{rule: "maxLength", n: n, at: at, count: length})
		}
	}
	if n.pattern != nil {
		w.steps += len(v.text) / compared
	}
	if n.pattern != nil && !n.pattern.MatchString(v.text) {
		return w.fail(finding{rule: "pattern", n: n, at: at})
	}
	return true
}

// number reports the first limit that is broken: the sentence names all of them.
func (w *walk) number(n *node, at int32, v *value) bool {
	var rule string
	switch {
	case n.minimum != nil && n.minimum.compare(v.text) < 0:
		rule = "minimum"
	case n.maximum != nil && n.maximum.compare(v.text) > 0:
		rule = "maximum"
	case n.above != nil && n.above.compare(v.text) <= 0:
		rule = "exclusiveMinimum"
	case n.below != nil && n.below.compare(v.text) >= 0:
		rule = "exclusiveMaximum"
	case n.multiple != nil && !parseDecimal(v.text).multipleOf(n.multiple):
		rule = "multipleOf"
	default:
		return true
	}
	return w.fail(finding{rule: rule, n: n, at: at})
}
