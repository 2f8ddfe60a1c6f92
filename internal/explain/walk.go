package explain

import (
	"encoding/json"
	"errors"
	"iter"
	"math/bits"
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

// A seen is what schemas have looked at in one value, for unevaluatedProperties and unevaluatedItems.
type seen struct {
	all   bool
	names map[string]bool
	first int // so many items
	items map[int]bool
}

func (s *seen) name(name string) {
	if s.names == nil {
		s.names = map[string]bool{}
	}
	s.names[name] = true
}

func (s *seen) item(i int) {
	if s.items == nil {
		s.items = map[int]bool{}
	}
	s.items[i] = true
}

// add adds what another schema has looked at.
func (s *seen) add(other *seen) {
	s.all, s.first = s.all || other.all, max(s.first, other.first)
	for name := range other.names {
		s.name(name)
	}
	for i := range other.items {
		s.item(i)
	}
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

// conditions adds those of n to others.
func (w *walk) conditions(own []string, n *node) []string {
	when := append(own, w.when...) //nolint:gocritic // own is the finding's
	for _, text := range n.when {
		if !slices.Contains(w.when, text) {
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
	if number, ok := v.(json.Number); ok && strings.ContainsAny(string(number), "eE") {
		w.spend(12) // to compute with it may take long
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

// missing checks that an object has names.
func (w *walk) missing(n *node, v map[string]any, rule string, names []string, when ...string) bool {
	ok := true
	w.spend(len(names) / 16)
	for _, name := range names {
		if _, sent := v[name]; !sent {
			ok = w.wrong(finding{rule: rule, n: n, when: when}, name)
			if !w.notes() {
				break
			}
		}
	}
	return ok
}

func (w *walk) object(n *node, v map[string]any, out *seen) bool {
	ok := w.within(len(v), n.minProperties, n.maxProperties, n, "minProperties", "maxProperties")
	ok = w.missing(n, v, "required", n.required) && ok
	w.spend(len(n.dependencies) / 8)
	for _, d := range n.dependencies {
		if _, sent := v[d.name]; !sent || !ok && !w.notes() {
			continue
		}
		if d.schema != nil {
			ok = w.same(d.schema, v, out) && ok
		} else {
			ok = w.missing(n, v, d.rule, d.required, quoted(d.name)+" is sent") && ok
		}
	}
	if !ok && !w.notes() || n.members == nil && n.patterns == nil && n.additional == nil && n.names == nil {
		return ok
	}
	if n.additional != nil && out != nil {
		out.all = true
	}
	for name, member := range w.inOrder(v) {
		if ok = w.member(n, name, member, out) && ok; !ok && !w.notes() {
			break
		}
	}
	return ok
}

// inOrder yields the members of an object by the alphabet: what a walk costs, and so what is refused
// for it, is the same each time.
func (w *walk) inOrder(v map[string]any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		w.spend(len(v) * bits.Len(uint(len(v))) / 8)
		from := len(w.names)
		for name := range v {
			w.names = append(w.names, name)
		}
		slices.Sort(w.names[from:])
		for i := range len(v) {
			if name := w.names[from+i]; !yield(name, v[name]) {
				break
			}
		}
		w.names = w.names[:from]
	}
}

// member checks one name of an object, and what it stands for.
func (w *walk) member(n *node, name string, v any, out *seen) bool {
	known, ok := false, true
	if of := n.members[name]; of != nil {
		known, ok = true, w.inside(of, v, step{name, -1})
	}
	for _, p := range n.patterns {
		if w.spend(1); w.matches(p.pattern, name) {
			known, ok = true, w.inside(p.node, v, step{name, -1}) && ok
		}
	}
	if more := n.additional; more != nil && !known {
		known, ok = true, w.inside(more, v, step{name, -1}) && ok
	}
	if known && out != nil && n.additional == nil {
		w.spend(1)
		out.name(name)
	}
	if n.names != nil && !w.quiet(n.names, name, nil) {
		ok = w.wrong(finding{rule: "propertyNames", n: n.names}, name)
	}
	return ok
}

func (w *walk) list(n *node, v []any, out *seen) bool {
	ok := w.within(len(v), n.minItems, n.maxItems, n, "minItems", "maxItems")
	if n.unique {
		ok = w.unique(n, v) && ok
	}
	first := min(len(n.prefix), len(v))
	for i, of := range n.prefix[:first] {
		ok = (ok || w.notes()) && w.inside(of, v[i], step{"", i}) && ok
	}
	if n.items != nil {
		for i := first; i < len(v) && (ok || w.notes()); i++ {
			ok = w.inside(n.items, v[i], step{"", i}) && ok
		}
	}
	if out != nil {
		out.first = max(out.first, first)
		out.all = out.all || n.items != nil
	}
	if n.contains != nil && (ok || w.notes()) {
		ok = w.contain(n, v, out) && ok
	}
	return ok
}

// unique checks that no item is there twice.
func (w *walk) unique(n *node, v []any) bool {
	if len(v) < 2 {
		return true
	}
	known := make(map[string]int, len(v))
	for i, item := range v {
		w.key = appendKey(w.key[:0], item)
		w.spend(1 + len(w.key)/16)
		first, twice := known[string(w.key)]
		if !twice {
			known[string(w.key)] = i
			continue
		}
		if !w.notes() {
			return false
		}
		return w.wrong(finding{rule: "uniqueItems", n: n, expected: "a list without repeated items", both: []int{first, i}})
	}
	return true
}

func (w *walk) contain(n *node, v []any, out *seen) bool {
	some, ok := 0, true
	for i, item := range v {
		if w.quiet(n.contains, item, nil) {
			if some++; out != nil && n.draft >= 2020 {
				out.item(i)
			}
		}
	}
	rule, least := "contains", 1
	if n.minContains != nil {
		rule, least = "minContains", *n.minContains
	}
	if some < least {
		ok = w.wrong(n.few(rule, some))
	}
	if n.maxContains != nil && some > *n.maxContains {
		ok = w.wrong(n.few("maxContains", some))
	}
	return ok
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
	case !w.notes():
		w.found = w.found[:begin]
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

// rest applies a schema to what no other one has looked at.
func (w *walk) rest(n *node, v any, by *seen) bool {
	ok := true
	if by.all {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range w.inOrder(v) {
			if !by.names[name] {
				if ok = w.inside(n.unseen, member, step{name, -1}) && ok; !ok && !w.notes() {
					break
				}
			}
		}
	case []any:
		for i := by.first; i < len(v); i++ {
			if !by.items[i] {
				if ok = w.inside(n.unseenItems, v[i], step{"", i}) && ok; !ok && !w.notes() {
					return false
				}
			}
		}
	}
	return ok
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
