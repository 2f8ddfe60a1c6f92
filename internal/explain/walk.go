package explain

import (
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
)

const (
	// maxWork bounds what one report costs, in units of about a tenth of a microsecond: to apply
	// one schema to one value is one. Where a recursive schema has a choice the work doubles with
	// every level of the arguments.
	maxWork = 200_000
	// maxTold bounds the work for notes and sentences.
	maxTold = 12_000
	// maxWalked bounds how many schemas are applied inside of each other.
	maxWalked = 20_000
	// maxExample is the work for one example of a schema.
	maxExample = 1000
	// stepsOfUnit is how many steps of a pattern one unit of work is for.
	stepsOfUnit = 64
	// bytesOfUnit is how many bytes of the validator's errors one unit of work is for. Each schema around a mistake
	// writes the whole error anew.
	bytesOfUnit = 1024
)

// A walk applies a schema to a value, finds what is wrong by the keywords that it knows, and counts the work. The
// validator cannot be stopped. So the walk looks at all that the validator may look at, and its count bounds the
// work of both. It serves one call.
type walk struct {
	work   int // that is left
	depth  int
	unsure bool // there was a keyword that only the validator knows
	key    []byte

	report *report // nil while nothing is noted
	at     []string
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
	return w.valid(n, v), nil
}

// takes reports whether an example of a schema is certainly valid by n.
func (n *node) takes(v any) bool {
	w := walk{work: maxExample}
	ok, err := w.run(n, v)
	return ok && err == nil && !w.unsure
}

// named reports whether a pattern matches a name. The error says that this takes too long to find out.
func (w *walk) named(p *pattern, name string) (ok bool, err error) {
	defer w.end(&err)
	return w.matches(p, name), nil
}

// matches reports whether a pattern matches somewhere in a text.
func (w *walk) matches(p *pattern, text string) bool {
	w.spend(p.instructions * len(text) / stepsOfUnit)
	return p.MatchString(text)
}

// wrong notes a finding about the value that the walk is at, or about what is in it. It returns false.
func (w *walk) wrong(f finding, inside ...string) bool {
	if w.report != nil && w.report.left >= 0 && !w.report.spend(1+len(w.at)/16+w.bytes()/256) {
		w.found = append(w.found, w.placed(f, inside...))
	}
	return false
}

// bytes returns how long the names on the way to the value are.
func (w *walk) bytes() (n int) {
	for _, name := range w.at {
		n += len(name)
	}
	return n
}

// placed adds to a finding where it is, and when it is one.
func (w *walk) placed(f finding, inside ...string) finding {
	w.spend(2 + len(w.at)/4)
	f.at = slices.Concat(w.at, inside)
	f.when = f.n.when
	return f
}

// quiet does as valid does, and notes nothing.
func (w *walk) quiet(n *node, v any) bool {
	noted := w.report
	w.report = nil
	ok := w.valid(n, v)
	w.report = noted
	return ok
}

// inside applies a schema to a value in the one that the walk is at.
func (w *walk) inside(n *node, v any, step string) bool {
	if w.report == nil {
		return w.valid(n, v)
	}
	w.at = append(w.at, step)
	ok := w.valid(n, v)
	w.at = w.at[:len(w.at)-1]
	return ok
}

// valid reports whether a value is valid by a schema, as far as the walk knows.
func (w *walk) valid(n *node, v any) bool {
	w.depth++
	w.spend(1 + w.depth*len(n.pointer)/bytesOfUnit)
	if w.depth > maxWalked {
		panic(errWork)
	}
	ok := n.always == nil || *n.always || w.never(n)
	if n.always == nil {
		ok = w.here(n, v)
	}
	w.depth--
	return ok
}

// here applies a schema that says something.
func (w *walk) here(n *node, v any) bool {
	if !w.whole(n, v) {
		if n.ref != nil {
			w.quiet(n.ref, v) // to which the validator looks first
		}
		return false
	}
	ok := n.ref == nil || w.valid(n.ref, v)
	switch v := v.(type) {
	case map[string]any:
		ok = w.object(n, v) && ok
	case []any:
		ok = w.list(n, v) && ok
	case string:
		ok = w.text(n, v) && ok
	case json.Number, float64:
		ok = w.number(n, float(v)) && ok
	}
	w.uncertain(n, v)
	return w.combined(n, v) && ok
}

// never notes that a value is there where none may be. A reference may have led here, too.
func (w *walk) never(n *node) bool {
	f := finding{rule: "false", n: n}
	if len(w.at) == 0 {
		return w.wrong(f)
	}
	here := last(w.at)
	switch i := index(here); {
	case n.as.keyword == "additionalProperties":
		f.rule, f.n = "additionalProperties", n.up
	case i >= 0 && (n.as.keyword == "items" || n.as.keyword == "additionalItems"): // it is about the list
		w.at = w.at[:len(w.at)-1]
		w.wrong(finding{rule: "items", n: n.up, count: i})
		w.at = append(w.at, here)
		return false
	}
	return w.wrong(f)
}

// whole checks the type and the named values. If one of them is wrong, no other keyword is mentioned.
func (w *walk) whole(n *node, v any) bool {
	named := "enum"
	if n.Const != nil {
		named = "const"
	}
	ok := w.must(n.types == 0 || n.types.has(v), n, "type") && w.must(n.keys == nil || w.among(n, v), n, named)
	if !ok {
		w.quotes(n.quoted + sizeOf(v))
	}
	return ok
}

func (w *walk) among(n *node, v any) bool {
	w.key = appendKey(w.key[:0], v)
	w.spend(len(w.key)/32 + len(n.values)/2)
	return n.keys[string(w.key)]
}

// must notes what a value breaks, unless it is right. It returns ok.
func (w *walk) must(ok bool, n *node, rule string) bool {
	return ok || w.wrong(finding{rule: rule, n: n})
}

// quotes counts the validator's work to write so many bytes into an error, and again at each schema around it.
func (w *walk) quotes(bytes int) { w.spend(bytes/16 + bytes*w.depth/bytesOfUnit) }

// within checks that there are not too few of something, nor too many.
func (w *walk) within(count int, least, most *int, n *node, low, high string) bool {
	ok := w.must(least == nil || count >= *least, n, low)
	return w.must(most == nil || count <= *most, n, high) && ok
}

func (w *walk) text(n *node, v string) bool {
	w.quotes(len(v))
	ok := w.within(utf8.RuneCountInString(v), n.MinLength, n.MaxLength, n, "minLength", "maxLength")
	return w.must(n.pattern == nil || w.matches(n.pattern, v), n, "pattern") && ok
}

func (w *walk) number(n *node, v float64) bool {
	ok := w.must(n.Minimum == nil || v >= *n.Minimum, n, "minimum")
	ok = w.must(n.Maximum == nil || v <= *n.Maximum, n, "maximum") && ok
	ok = w.must(n.ExclusiveMinimum == nil || v > *n.ExclusiveMinimum, n, "exclusiveMinimum") && ok
	ok = w.must(n.ExclusiveMaximum == nil || v < *n.ExclusiveMaximum, n, "exclusiveMaximum") && ok
	return w.must(n.MultipleOf == nil || multiple(v, *n.MultipleOf), n, "multipleOf") && ok
}

// multiple reports what the validator does, which computes with float64: for it 0.3 is no multiple of 0.1.
func multiple(v, of float64) bool {
	_, rest := math.Modf(v / of)
	return rest == 0
}

// missing checks that an object has names.
func (w *walk) missing(n *node, v map[string]any, names []string) bool {
	ok := true
	w.spend(len(names) / 16)
	for _, name := range names {
		if _, sent := v[name]; !sent {
			ok = w.wrong(finding{rule: "required", n: n}, name)
		}
	}
	return ok
}

func (w *walk) object(n *node, v map[string]any) bool {
	w.spend((n.weight + len(v)) / 4)
	ok := w.within(len(v), n.MinProperties, n.MaxProperties, n, "minProperties", "maxProperties")
	ok = w.missing(n, v, n.Required) && ok
	if n.members == nil && n.patterns == nil && n.additional == nil {
		return ok
	}
	for _, name := range w.inOrder(v) {
		ok = w.member(n, name, v[name]) && ok
	}
	return ok
}

// inOrder returns the names of an object by the alphabet: what a walk costs, and so what is refused
// for it, is the same each time.
func (w *walk) inOrder(v map[string]any) []string {
	w.spend(len(v) * bits.Len(uint(len(v))) / 8)
	return sortedNames(v)
}

// member checks one name of an object, and what it stands for.
func (w *walk) member(n *node, name string, v any) bool {
	known, ok := false, true
	if of := n.members[name]; of != nil {
		known, ok = true, w.inside(of, v, name)
	}
	for _, p := range n.patterns {
		if w.spend(1); w.matches(p.pattern, name) {
			known, ok = true, w.inside(p.node, v, name) && ok
		}
	}
	if more := n.additional; more != nil && !known {
		ok = w.inside(more, v, name) && ok
	}
	return ok
}

func (w *walk) list(n *node, v []any) bool {
	ok := w.within(len(v), n.MinItems, n.MaxItems, n, "minItems", "maxItems")
	if n.UniqueItems {
		ok = w.unique(n, v) && ok
	}
	first := min(len(n.prefix), len(v))
	for i, of := range n.prefix[:first] {
		ok = w.inside(of, v[i], strconv.Itoa(i)) && ok
	}
	if n.items != nil {
		for i := first; i < len(v); i++ {
			ok = w.inside(n.items, v[i], strconv.Itoa(i)) && ok
		}
	}
	return ok
}

// unique checks that no item is there twice.
func (w *walk) unique(n *node, v []any) bool {
	known := make(map[string]int, len(v))
	for i, item := range v {
		w.key = appendKey(w.key[:0], item)
		w.spend(1 + len(w.key)/16)
		if first, twice := known[string(w.key)]; twice {
			return w.wrong(finding{rule: "uniqueItems", n: n, expected: "a list without repeated items", both: []int{first, i}})
		}
		known[string(w.key)] = i
	}
	return true
}

// uncertain counts the work for the keywords that only the validator knows.
func (w *walk) uncertain(n *node, v any) {
	w.unsure = w.unsure || n.rare || n.rest != nil
	for _, p := range n.rest {
		object, _ := v.(map[string]any)
		list, _ := v.([]any)
		if !p.inside {
			w.quiet(p.node, v)
			continue
		}
		w.quotes(sizeOf(v))
		for _, name := range w.inOrder(object) {
			if w.quiet(p.node, object[name]); p.keyword == "propertyNames" {
				w.quiet(p.node, name)
			}
		}
		for _, item := range list {
			w.quiet(p.node, item)
		}
	}
}

// combined checks the schemas that a value has to be valid by, or by one of them.
func (w *walk) combined(n *node, v any) bool {
	ok := true
	for _, all := range n.allOf {
		ok = w.valid(all, v) && ok
	}
	ok = w.choice(n, n.anyOf, v) && ok
	ok = w.choice(n, n.oneOf, v) && ok
	if n.test == nil {
		return ok
	}
	before := w.unsure
	w.unsure = false
	then, other := n.then, n.otherwise
	if !w.quiet(n.test, v) {
		then, other = other, then
	}
	applies := !w.unsure
	w.unsure = w.unsure || before
	if other != nil {
		w.quiet(other, v)
	}
	switch {
	case then == nil:
		return ok
	case applies:
		return w.valid(then, v) && ok
	default:
		w.quiet(then, v)
		return ok
	}
}

// choice checks the forms of which a value has to have one.
func (w *walk) choice(n *node, f *fork, v any) bool {
	if f == nil {
		return true
	}
	begin, left, more := len(w.found), 0, false // what there is without the forms
	if w.report != nil {
		left, more = w.report.left, w.report.More
	}
	var each [][]finding
	var fit []int
	for i, form := range f.forms {
		from := len(w.found)
		if w.valid(form, v) {
			fit = append(fit, i)
		}
		each = append(each, slices.Clip(w.found[from:]))
	}
	if w.report == nil {
		return len(fit) == 1 || !f.only && fit != nil
	}
	all := finding{rule: f.rule, n: n, forms: f.forms, expected: f.expected}
	switch {
	case fit != nil: // what was noted of the other forms is not wrong
		w.found = w.found[:begin]
		w.report.left, w.report.More = left, more
		return !f.only || len(fit) == 1 || w.wrong(finding{rule: f.rule, n: n, forms: f.forms, both: fit[:2]})
	case w.report.left < 0: // what is wrong with each form is not known
		w.found = append(w.found[:begin], w.placed(all))
	default:
		nearest := w.report.nearest(each, w.placed(all), f, v)
		w.found = append(w.found[:begin], nearest...)
	}
	return false
}
