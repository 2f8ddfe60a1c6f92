package explain

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxWork bounds what one report costs, in units of about a tenth of a microsecond: to apply
	// one schema to one value is one. Where a recursive schema has a choice the work doubles with
	// every level of the arguments.
	maxWork = 200_000
	// maxTold bounds the work of noting and wording what is wrong.
	maxTold = 12_000
	// maxWalked bounds how many schemas are applied inside of each other.
	maxWalked = 20_000
)

// A walk applies a schema to a value. It serves one call. First it finds out whether the value is
// valid, and stops at what is not; with a report it finds all that is wrong.
type walk struct {
	work    int // that is left
	depth   int
	careful bool        // what others may refuse is wrong: formats that are remarks, as in draft 2020-12, and multiples but for rounding
	around  []*resource // the resources that were entered, the outermost first
	names   []string    // of the objects that are walked through, one behind the other
	key     []byte
	machine machine

	report *report // nil while nothing is noted
	at     []step
	when   []string
	found  []finding
}

// spend takes units off the work. Where nothing is left, the walk ends with a panic.
func (w *walk) spend(units int) {
	if w.work -= units; w.work < 0 {
		panic(errWork)
	}
}

// end makes an error of the panic of a walk.
func (w *walk) end(err *error) {
	if p := recover(); p == any(errWork) {
		*err = errWork
	} else if p != nil {
		panic(p)
	}
}

// run applies a schema. The error says that there was not enough work for it.
func (w *walk) run(n *node, v any) (valid bool, err error) {
	defer w.end(&err)
	return w.valid(n, v, nil), nil
}

// maxExample is the work for one example of a schema.
const maxExample = 1000

// takes reports whether an example of a schema is valid by n.
func (n *node) takes(v any) bool {
	w := walk{work: maxExample, careful: true}
	ok, err := w.run(n, v)
	return ok && err == nil
}

// named reports whether a pattern matches a name. The error says that this takes too long to find out.
func (w *walk) named(p *pattern, name string) (ok bool, err error) {
	defer w.end(&err)
	return w.matches(p, name), nil
}

// notes reports whether all that is wrong is looked for: there is a report, and room in it.
func (w *walk) notes() bool { return w.report != nil && w.report.left >= 0 }

// wrong notes a finding about the value that the walk is at, or about what is in it. It returns false.
func (w *walk) wrong(f finding, inside ...string) bool {
	if w.notes() && !w.report.spend(1+len(w.at)/16+w.bytes()/256) {
		w.found = append(w.found, w.placed(f, inside...))
	}
	return false
}

// bytes returns how long the names on the way to the value are.
func (w *walk) bytes() (n int) {
	for _, s := range w.at {
		n += len(s.name)
	}
	return n
}

// placed adds to a finding where it is, and when it is one.
func (w *walk) placed(f finding, inside ...string) finding {
	w.spend(2 + len(w.at)/4)
	f.at = make([]string, len(w.at), len(w.at)+len(inside))
	for i, s := range w.at {
		f.at[i] = s.text()
	}
	f.at = append(f.at, inside...)
	f.when = w.conditions(f.when, f.n)
	return f
}

// conditions adds those of n to others, as many as a sentence has room for.
func (w *walk) conditions(own []string, n *node) []string {
	when := append(own, w.when...) //nolint:gocritic // own is the finding's
	for _, text := range n.when {
		if len(w.when) < maxListed && !slices.Contains(w.when, text) {
			when = append(when, text)
		}
	}
	return when
}

// quiet does as same does, and notes nothing.
func (w *walk) quiet(n *node, v any, out *seen) bool {
	noted := w.report
	w.report = nil
	ok := w.same(n, v, out)
	w.report = noted
	return ok
}

// same applies a schema to the value that another one is applied to. What it has looked at counts
// if the value is valid by it.
func (w *walk) same(n *node, v any, out *seen) bool {
	if out == nil {
		return w.valid(n, v, nil)
	}
	var own seen
	ok := w.valid(n, v, &own)
	if ok {
		w.spend(len(own.names) + len(own.items))
		out.add(&own)
	}
	return ok
}

// inside applies a schema to a value in the one that the walk is at.
func (w *walk) inside(n *node, v any, to step) bool {
	if w.report == nil {
		return w.valid(n, v, nil)
	}
	w.at = append(w.at, to)
	ok := w.valid(n, v, nil)
	w.at = w.at[:len(w.at)-1]
	return ok
}

// valid reports whether a value is valid by a schema. What is looked at in it is added to out, unless
// that is nil.
func (w *walk) valid(n *node, v any, out *seen) (ok bool) {
	w.spend(1)
	if number, ok := v.(json.Number); ok {
		if i := strings.IndexAny(string(number), "eE"); i >= 0 && len(strings.TrimLeft(string(number[i+1:]), "+-0")) > 2 {
			w.spend(12) // to compute with so many digits
		}
	}
	switch {
	case n.always != nil:
		return *n.always || w.never(n)
	case n.shape != noShape:
		return w.draft(n, v)
	}
	if w.depth++; w.depth > maxWalked {
		panic(errWork)
	}
	entered := len(w.around) == 0 || w.around[len(w.around)-1] != n.resource
	if entered {
		w.around = append(w.around, n.resource)
	}
	own := out
	switch v.(type) {
	case map[string]any:
		if n.unseen != nil {
			own = &seen{}
		}
	case []any:
		if n.unseenItems != nil {
			own = &seen{}
		}
	}
	if ok = w.whole(n, v); ok {
		ok = w.each(n, v, own)
		if own != out && (ok || w.notes()) {
			ok = w.rest(n, v, own) && ok
		}
		if own != out && out != nil {
			out.all = true
		}
	}
	w.depth--
	if entered {
		w.around = w.around[:len(w.around)-1]
	}
	return ok
}

// never notes that a value is there where none may be. A reference may have led here, too.
func (w *walk) never(n *node) bool {
	f := finding{rule: "false", n: n, rest: strings.HasPrefix(n.as.keyword, "unevaluated")}
	if len(w.at) == 0 {
		return w.wrong(f)
	}
	here := last(w.at)
	switch isItem := here.index >= 0; n.as.keyword {
	case "unevaluatedProperties", "additionalProperties":
		if !isItem {
			f.rule, f.n = "additionalProperties", n.up
		}
	case "items", "unevaluatedItems":
		if isItem { // it is about the list
			w.at = w.at[:len(w.at)-1]
			w.wrong(finding{rule: "items", n: n.up, rest: f.rest, count: here.index})
			w.at = append(w.at, here)
			return false
		}
	}
	return w.wrong(f)
}

// whole checks what speaks for itself: a value of another type is told nothing else of.
func (w *walk) whole(n *node, v any) bool {
	return w.must(n.types == 0 || n.types.has(v), n, "type") &&
		w.must(n.constant == nil || w.among(n.constant, v), n, "const") &&
		w.must(n.enum == nil || w.among(n.enum, v), n, "enum") &&
		w.must(n.format == nil || !w.careful && n.draft >= 2019 || w.formatted(n.format, v), n, "format")
}

func (w *walk) among(l *literals, v any) bool {
	w.key = appendKey(w.key[:0], v)
	w.spend(len(w.key) / 32)
	return l.keys[string(w.key)]
}

func (w *walk) formatted(f *format, v any) bool {
	text, ok := v.(string)
	w.spend(len(text) / 8)
	return !ok || f.valid == nil || f.valid(text)
}

// each checks all else, until something is wrong, or all of it if that is noted.
func (w *walk) each(n *node, v any, out *seen) bool {
	ok := true
	for _, r := range n.references {
		if ok = w.refer(n, r, v, out) && ok; !ok && !w.notes() {
			return false
		}
	}
	switch v := v.(type) {
	case map[string]any:
		ok = w.object(n, v, out) && ok
	case []any:
		ok = w.list(n, v, out) && ok
	case string:
		ok = w.text(n, v) && ok
	case json.Number:
		ok = w.number(n, v) && ok
	}
	if !ok && !w.notes() {
		return false
	}
	return w.combined(n, v, out) && ok
}

// outermost returns what a dynamic or recursive reference leads to.
func (w *walk) outermost(r *leading) *node {
	w.spend(len(w.around) / 16)
	for _, around := range w.around {
		switch found := around.dynamic[r.anchor]; {
		case r.recursive && around.recursive:
			return around.root
		case !r.recursive && found != nil:
			return found
		}
	}
	return r.to
}

// refer follows a reference.
func (w *walk) refer(n *node, r *leading, v any, out *seen) bool {
	to := r.to
	if r.anchor != "" || r.recursive {
		to = w.outermost(r)
	}
	when := w.when
	if w.report != nil && n.when != nil {
		w.when = w.conditions(nil, n)
	}
	ok := w.same(to, v, out)
	w.when = when
	return ok
}

// must notes what a value breaks, unless it is right. It returns ok.
func (w *walk) must(ok bool, n *node, rule string) bool {
	return ok || w.wrong(finding{rule: rule, n: n})
}

// within checks that there are not too few of something, nor too many.
func (w *walk) within(count int, least, most *int, n *node, low, high string) bool {
	ok := w.must(least == nil || count >= *least, n, low)
	return w.must(most == nil || count <= *most, n, high) && ok
}

func (w *walk) text(n *node, v string) bool {
	ok := true
	if n.minLength != nil || n.maxLength != nil {
		w.spend(len(v) / 64)
		ok = w.within(utf8.RuneCountInString(v), n.minLength, n.maxLength, n, "minLength", "maxLength")
	}
	if n.pattern != nil && (ok || w.notes()) {
		ok = w.must(w.matches(n.pattern, v), n, "pattern") && ok
	}
	return ok
}

func (w *walk) number(n *node, v json.Number) bool {
	if n.minimum == nil && n.maximum == nil && n.above == nil && n.below == nil && n.multipleOf == nil {
		return true
	}
	w.spend(len(v) / 4)
	ok := w.must(n.minimum == nil || compare(v, n.minimum) >= 0, n, "minimum")
	ok = w.must(n.maximum == nil || compare(v, n.maximum) <= 0, n, "maximum") && ok
	ok = w.must(n.above == nil || compare(v, n.above) > 0, n, "exclusiveMinimum") && ok
	ok = w.must(n.below == nil || compare(v, n.below) < 0, n, "exclusiveMaximum") && ok
	return w.must(n.multipleOf == nil || divisible(v, n.multipleOf) && (!w.careful || dividesRounded(v, n.multipleOf)), n, "multipleOf") && ok
}

// combined checks the schemas that a value has to be valid by, or by one of them, or by none.
func (w *walk) combined(n *node, v any, out *seen) bool {
	ok := true
	for _, all := range n.allOf {
		if ok = w.same(all, v, out) && ok; !ok && !w.notes() {
			return false
		}
	}
	ok = w.choice(n, n.anyOf, v, out) && ok
	ok = (ok || w.notes()) && w.choice(n, n.oneOf, v, out) && ok
	if n.not != nil && (ok || w.notes()) && w.quiet(n.not, v, out) {
		ok = w.wrong(finding{rule: "not", n: n})
	}
	if n.test == nil || !ok && !w.notes() {
		return ok
	}
	then := n.otherwise
	if w.quiet(n.test, v, out) {
		then = n.then
	}
	if then != nil {
		ok = w.same(then, v, out) && ok
	}
	return ok
}

// choice checks the forms of which a value has to have one.
func (w *walk) choice(n *node, f *fork, v any, out *seen) bool {
	if f == nil {
		return true
	}
	begin, left, more := len(w.found), 0, false // what there is without the forms
	if w.report != nil {
		left, more = w.report.left, w.report.More
	}
	var each [][]finding
	fits := -1
	for i, form := range f.forms {
		from := len(w.found)
		if fits >= 0 && f.only {
			if w.quiet(form, v, nil) {
				w.drop(begin, left, more)
				return w.wrong(finding{rule: f.rule, n: n, forms: f.forms, both: []int{fits, i}})
			}
			continue
		}
		if w.same(form, v, out) {
			if fits = max(fits, i); !f.only && out == nil {
				break
			}
		}
		each = append(each, slices.Clip(w.found[from:]))
	}
	switch {
	case fits >= 0:
		w.drop(begin, left, more)
		return true
	case w.report == nil:
		return false
	case !w.notes(): // what is wrong with each form is not known
		w.found = append(w.found[:begin], w.placed(finding{rule: f.rule, n: n, forms: f.forms, expected: f.expected}))
		return false
	}
	nearest := w.report.nearest(each, w.placed(finding{rule: f.rule, n: n, forms: f.forms, expected: f.expected}), f, v)
	w.found = append(w.found[:begin], nearest...)
	return false
}

// drop forgets what was noted of forms that a value need not have.
func (w *walk) drop(begin, left int, more bool) {
	if w.report != nil {
		w.found = w.found[:begin]
		w.report.left, w.report.More = left, more
	}
}

// draft checks that a value is a schema, or a part of one, as a draft has it.
func (w *walk) draft(n *node, v any) bool {
	s := surveyor{visit: func(schema map[string]any, _ []string, draft int) (int, error) {
		w.spend(10 + 10*len(schema))
		return draft, nil
	}}
	most := 4 * w.work
	w.spend(10 + (most-room(v, most))/4) // names and choices must differ
	wrong := (*misshape)(nil)
	if !errors.As(s.check(n.shape, v, n.draft), &wrong) {
		return true
	}
	return w.wrong(finding{rule: "type", n: n, expected: wrong.want}, wrong.at...)
}
