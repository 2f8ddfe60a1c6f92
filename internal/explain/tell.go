package explain

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

// report writes findings as violations, as long as there is room.
type report struct {
	Report
	schema *Schema
	opts   Options
	args   any // after rename with the names that were meant
	work   int // that is left for the library
	left   int // and for telling
	trail  [][]*node
	steps  []string // that the trail is for
	size   int
	told   map[string]bool
	fixes  []fix
	unsure bool // something has no correction that is certain
}

// A fix is what a value is to be replaced with.
type fix struct {
	at []string
	to any
}

func (r *report) refuse(rule, expected, sentence string) *Report {
	r.add(Violation{Rule: rule, Expected: expected, Sentence: "The arguments " + sentence})
	if rule == "json" {
		r.Report.Example = r.example()
	}
	return &r.Report
}

func (r *report) refuseNumber(at []string) *Report {
	r.add(Violation{
		Rule: "budget", Field: r.schema.field(r.args, at), Pointer: r.schema.pointer(at),
		Sentence: r.subject(at) + " has a number that is too long to be checked.",
	})
	return &r.Report
}

func (r *report) full() bool {
	return len(r.Violations) >= cmp.Or(max(r.opts.MaxViolations, 0), defaultViolations) || r.size < 0
}

func (r *report) add(v Violation) {
	const around = 4 // "\n- " and a space
	if r.Total++; r.Total == 1 {
		r.size = defaultBytes
		if r.opts.MaxBytes > 0 {
			r.size = max(r.opts.MaxBytes, leastBytes)
		}
		r.size -= headBytes
	}
	if len(v.Sentence)+len(v.Suggestion)+around > r.size {
		v.Suggestion = ""
	}
	if len(v.Sentence)+around > r.size {
		if len(r.Violations) > 0 {
			r.size = -1
			return
		}
		v.Sentence, v.Expected = cut(v.Sentence, r.size-around), cut(v.Expected, r.size)
	}
	r.size -= len(v.Sentence) + len(v.Suggestion) + around
	r.Violations = append(r.Violations, v)
}

// headBytes is what the first and the last line of a report take.
const headBytes = 64

func (r *report) subject(at []string) string {
	if len(at) == 0 {
		return "The arguments"
	}
	return "Argument '" + r.schema.field(r.args, at) + "'"
}

// facets are the rules of which all that one schema has stand in what is expected.
var facets = map[string]bool{
	"minLength": true, "maxLength": true, "pattern": true, "format": true, "multipleOf": true,
	"minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true,
}

// tell writes one finding, unless the same was told already.
func (r *report) tell(f finding) {
	rule := f.rule
	switch {
	case f.missing():
		rule = "required"
	case facets[rule]:
		rule = "facet"
	}
	key := strings.Join(f.at, "\x00") + "\x00" + rule + f.expected + f.sent
	if f.n != nil && rule != "required" {
		key += f.n.words()
	}
	if r.told[key] {
		return
	}
	if r.Total >= MaxCounted {
		r.More = true
		return
	}
	r.told[key] = true
	if r.full() {
		r.Total++
		r.unsure = true
		return
	}
	fixed := len(r.fixes)
	v := Violation{Rule: f.rule, Field: r.schema.field(r.args, f.at), Pointer: r.schema.pointer(f.at)}
	subject, is := r.subject(f.at), " is "
	if len(f.at) == 0 {
		is = " are "
	}
	when := ""
	if len(f.when) > 0 {
		when = line(" when "+strings.Join(f.when, " and "), maxAdvice)
	}
	switch {
	case f.sent != "":
		r.misspelled(f, &v)
	case f.missing():
		r.missing(f, &v, when)
	case f.rule == "additionalProperties":
		v.Sentence = subject + " is unknown" + when + "."
		v.Suggestion = r.suggestName(f)
	case f.rule == "propertyNames":
		v.Expected = cmp.Or(f.expected, "another one")
		v.Sentence = subject + " has a name that is not allowed: a name must be " + v.Expected + "."
	case f.rule == "false":
		v.Sentence = subject + is + "not allowed" + when + "."
	case f.rule == "duplicate":
		v.Sentence, v.Suggestion = subject+" was sent more than once.", "Send each name once."
	case f.rule == "utf8":
		v.Sentence = subject + is + "not valid UTF-8."
	case f.rule == "schema":
		v.Sentence = "The arguments are not valid."
	case f.rule == "not" && r.negated(f, &v, when):
	case f.sets:
		r.sets(f, &v, when)
	case len(f.both) > 1:
		v.Expected = "a value of exactly one of " + itoa(len(f.forms)) + " forms"
		a, b := f.forms[f.both[0]].label(), f.forms[f.both[1]].label()
		fits := "it fits several of them"
		if a != "" && b != "" && a != b {
			fits = "it is both " + a + " and " + b
		}
		v.Sentence = subject + " expected " + v.Expected + when + ", but " + fits + "."
	default:
		r.wrong(f, &v, subject, when)
	}
	r.unsure = r.unsure || f.unsure || f.sent == "" && len(r.fixes) == fixed
	r.add(v)
}

func (r *report) misspelled(f finding, v *Violation) {
	meant := quoted(last(f.at))
	if !f.unknown {
		v.Sentence = r.subject(f.at) + " is required."
		v.Suggestion = "You sent " + quoted(r.schema.shownName(f.sent)) + ": did you mean " + meant + "?"
		return
	}
	v.Field, v.Pointer = f.field, f.pointer
	v.Sentence = "Argument '" + v.Field + "' is unknown"
	if f.absent {
		v.Sentence += ", and " + meant + " is missing"
	}
	v.Sentence += "."
	v.Suggestion = "Did you mean " + meant + "?"
}

func (r *report) missing(f finding, v *Violation, when string) {
	nodes := r.at(f.at)
	if p := f.n.Properties[last(f.at)]; p != nil {
		nodes = append(nodes, r.schema.nodes[p.Location])
	}
	v.Expected = f.expected
	for _, n := range nodes {
		v.Expected = cmp.Or(v.Expected, n.words())
	}
	v.Sentence = r.subject(f.at) + " is required" + when
	if v.Expected != "" {
		v.Sentence += ": expected " + v.Expected
	}
	v.Sentence += "."
	v.Suggestion = advice(nodes, true)
}

func (r *report) negated(f finding, v *Violation, when string) bool {
	not := r.schema.nodes[f.n.Not.Location]
	if !onlyRequire([]*node{not}) {
		v.Expected = not.words()
		if v.Expected == "" {
			v.Sentence = r.subject(f.at) + " is not allowed" + when + "."
		}
		return v.Expected == ""
	}
	names := r.names(f.at, not.Required)
	v.Sentence = "Argument " + names[0] + " is not allowed" + when + "."
	if len(names) > 1 {
		v.Sentence = "Arguments " + listed(names, "and") + " cannot be sent together" + when + "."
		v.Suggestion = "Leave one of them out."
	}
	return true
}

// names writes names of members of the object at a place.
func (r *report) names(at, names []string) []string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = "'" + r.schema.field(r.args, append(slices.Clip(at), name)) + "'"
	}
	return texts
}

// sets is about forms that differ in the names that they require.
func (r *report) sets(f finding, v *Violation, when string) {
	forms := f.forms[:min(len(f.forms), maxListed)]
	texts := make([]string, 0, len(forms))
	word := "or"
	for _, n := range forms {
		if len(n.Required) > 1 {
			word = "or else"
		}
		texts = append(texts, join(r.names(f.at, n.Required), "and"))
	}
	what := join(texts, word)
	v.Expected = "at least one of " + what
	if f.rule == "oneOf" {
		v.Expected = "exactly one of " + what
	}
	if len(texts) == 1 {
		v.Expected, what = what, "Argument "+what
	}
	if len(f.both) < 2 {
		v.Sentence = strings.ToUpper(v.Expected[:1]) + v.Expected[1:] + " is required" + when + "."
		if len(texts) == 1 {
			v.Sentence = what + " is required" + when + "."
		}
		return
	}
	were := "both were"
	if i, j := f.both[0], f.both[1]; len(texts) > 2 && max(i, j) < len(texts) {
		were = texts[i] + " and " + texts[j] + " were"
	}
	v.Sentence = "Only one of " + what + " may be sent" + when + ", but " + were + "."
	v.Suggestion = "Leave one of them out."
}

// label names a form of a choice.
func (n *node) label() string {
	if title := n.leaf().Title; title != "" {
		return quoted(title)
	}
	return n.words()
}

// wrong writes that a value is not what is expected.
func (r *report) wrong(f finding, v *Violation, subject, when string) {
	value := ValueAt(r.args, f.at)
	words, shown := r.received(value, f.at)
	v.Received = shown
	list, _ := value.([]any)
	object, _ := value.(map[string]any)
	switch v.Expected = f.expected; f.rule {
	case "not":
		v.Expected = "anything but " + r.schema.nodes[f.n.Not.Location].words()
	case "minLength", "maxLength":
		if text, ok := value.(string); ok && shown != nil && text != "" && f.count > 0 {
			words += ", which has " + many(f.count, "character")
		}
	case "minItems", "maxItems", "items":
		if len(list) > 0 {
			words = "a list with " + many(len(list), "item")
		}
		if f.rule == "items" {
			if v.Expected = "a list" + counts(f.n.MinItems, &f.count, "item"); f.count == 0 {
				v.Expected = "an empty list"
			}
		}
	case "minProperties", "maxProperties":
		if len(object) > 0 {
			words = "an object with " + many(len(object), "property")
		}
		if names := known(r.at(f.at)); f.rule == "minProperties" {
			v.Suggestion = knownNames(names, nil)
		}
	case "uniqueItems":
		v.Suggestion = "Send each item once."
	}
	if v.Expected == "" && f.forms != nil {
		if v.Expected = choice(f.forms); v.Expected == "" {
			v.Expected = "one of the forms that its description allows"
		}
	}
	v.Expected = cmp.Or(v.Expected, f.n.words(), "another value")
	words = cmp.Or(f.got, words)
	v.Suggestion = cmp.Or(v.Suggestion, r.hint(f, value, shown))
	if v.Suggestion == "" {
		v.Suggestion = r.fallback(f.at)
	}
	verb, but := " expected ", ", but received "
	if len(f.at) == 0 {
		verb, but = " must be ", ", but were "
	}
	v.Sentence = subject + verb + v.Expected + when + but + words + "."
}

// fallback tells of the default of a property that may be left out.
func (r *report) fallback(at []string) string {
	if len(at) == 0 || slices.Contains(required(r.at(at[:len(at)-1])), last(at)) {
		return ""
	}
	for _, n := range r.at(at) {
		if n.fallback != "" && n.inside && n.keyword == "properties" {
			return "If left out, it is " + n.fallback + "."
		}
	}
	return ""
}

// hint says what to do about a value, and notes the correction if it is certain.
func (r *report) hint(f finding, value, shown any) string { //nolint:gocognit // a case for each rule
	forms := f.forms
	if forms == nil {
		forms = []*node{f.n}
		for _, sub := range f.n.same {
			if k := sub.keywordIn(f.n); f.n.Types == nil && (k == "anyOf" || k == "oneOf") {
				forms = append(forms, sub)
			}
		}
	}
	var types []string
	var allowed []any
	for _, form := range forms {
		leaf := form.leaf()
		types = append(types, leaf.types()...)
		values := leaf.literals()
		allowed = append(allowed, values[:min(len(values), maxKnown)]...)
	}
	has := func(t string) bool { return slices.Contains(types, t) }
	send := func(to any) { r.fixes = append(r.fixes, fix{f.at, to}) }
	text, isText := value.(string)
	switch f.rule {
	case "enum", "const", "anyOf", "oneOf":
		if hint := allowedHint(value, shown, allowed, send); hint != "" {
			return hint
		}
	case "minItems", "maxItems", "minProperties", "maxProperties", "items", "not", "uniqueItems", "contains", "minContains", "maxContains",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return ""
	}
	if slices.ContainsFunc(types, func(t string) bool { return isType(value, t) }) {
		if f.rule == "enum" || f.rule == "const" {
			return ""
		}
		return advice(append(r.at(f.at), f.n), f.rule == "pattern" || f.rule == "format" || f.n.Pattern != nil || f.forms != nil)
	}
	switch {
	case isText:
		if hint := textHint(text, shown, has, send); hint != "" {
			return hint
		}
	case value == nil:
		if n := len(f.at) - 1; n >= 0 && len(r.at(f.at)) > 0 {
			_, inObject := ValueAt(r.args, f.at[:n]).(map[string]any)
			parent := r.at(f.at[:n])
			if inObject && slices.Contains(known(parent), f.at[n]) && !slices.Contains(required(parent), f.at[n]) {
				send(left)
				return "Leave it out instead of sending null."
			}
		}
		return ""
	case has("string") && !has("integer") && !has("number") && shown != nil:
		if num, ok := value.(json.Number); ok && slices.ContainsFunc(forms, func(n *node) bool { return n.Validate(num.String()) == nil }) {
			send(num.String())
			return `Send it in quotes: "` + num.String() + `".`
		}
	}
	if !isContainer(value) && has("array") && !slices.ContainsFunc(types, func(t string) bool { return t != "array" && t != "null" }) {
		for _, form := range forms {
			if items := form.leaf().child("items"); items != nil && (items.Bool == nil || *items.Bool) {
				want := items.leaf().types()
				if len(want) == 0 || slices.ContainsFunc(want, func(t string) bool { return isType(value, t) }) {
					send([]any{value})
					return "Send a list, even for one item."
				}
			}
		}
	}
	if f.rule == "enum" || f.rule == "const" {
		return ""
	}
	return advice(append(r.at(f.at), f.n), f.rule == "pattern" || f.rule == "format" || f.n.Pattern != nil || f.forms != nil)
}

// allowedHint looks for the allowed value that was meant.
func allowedHint(value, shown any, allowed []any, send func(any)) string {
	text, isText := value.(string)
	var names []string
	for _, a := range allowed {
		name, ok := a.(string)
		raw, _ := encode(a)
		switch {
		case ok && isText:
			names = append(names, name)
		case ok && shown != nil && literal(value) == name:
			send(name)
			return "Send it in quotes: " + string(raw) + "."
		case isText && shown != nil && string(raw) == text:
			send(a)
			return "Send " + text + " without quotes."
		}
	}
	if len(allowed) == 1 {
		send(allowed[0])
		return ""
	}
	if !isText || shown == nil || shown != value {
		return ""
	}
	matches := near.Matches(text, names)
	if len(matches) == 0 {
		return ""
	}
	if len(matches) == 1 {
		send(matches[0])
	}
	return "Did you mean " + quoted(matches[0]) + "?"
}

// textHint says how to send what was sent as a string.
func textHint(text string, shown any, has func(string) bool, send func(any)) string {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return ""
	}
	if c := trimmed[0]; c == '{' && has("object") || c == '[' && has("array") {
		d, err := read([]byte(trimmed), maxSent)
		switch {
		case err != nil || len(d.notes) > 0:
		case c == '{':
			send(d.value)
			return "Send the object itself, not a string."
		default:
			send(d.value)
			return "Send the list itself, not a string."
		}
	}
	if len(trimmed) > maxName {
		return ""
	}
	d, err := read([]byte(strings.ToLower(trimmed)), maxSent)
	if err != nil || isContainer(d.value) || d.number != nil {
		return ""
	}
	if _, ok := d.value.(string); ok || !slices.ContainsFunc(kinds, func(t string) bool { return has(t) && isType(d.value, t) }) {
		return ""
	}
	if shown == nil || shown != any(text) {
		return "Send it without quotes."
	}
	send(d.value)
	return "Send " + strings.ToLower(trimmed) + " without quotes."
}

// advice repeats an example and the description of what is asked for.
func advice(nodes []*node, describe bool) string {
	example, description := "", ""
	around(nodes, func(n *node) bool {
		if example == "" && n.example != "" {
			example = "For example: " + n.example + "."
		}
		if text := strings.TrimSpace(line(n.Description, maxAdvice)); description == "" && describe && text != "" {
			description = "Its description: " + ended(text)
		}
		return true
	})
	return strings.TrimSpace(example + " " + description)
}

// suggestName says what an unknown name may have been meant for.
func (r *report) suggestName(f finding) string {
	parent := f.at[:len(f.at)-1]
	nodes := append(r.at(parent), f.n)
	names := known(nodes)
	if f.unsure || slices.Contains(names, last(f.at)) { // of the form that is told only
		names = known([]*node{f.n})
	}
	if m := near.Matches(last(f.at), names); len(m) > 0 {
		if object, _ := ValueAt(r.args, parent).(map[string]any); object != nil {
			if _, sent := object[m[0]]; sent {
				return "Leave it out: " + quoted(m[0]) + " is there already."
			}
		}
		return "Did you mean " + join(allQuoted(m[:min(2, len(m))]), "or") + "?"
	}
	key := "names\x00" + strings.Join(parent, "\x00")
	if r.told[key] {
		return ""
	}
	r.told[key] = true
	var patterns []string
	for _, p := range f.n.patterns {
		patterns = append(patterns, "names that match "+line(p.re.String(), maxName))
	}
	if len(names)+len(patterns) == 0 {
		return "Leave it out: no names are accepted here."
	}
	return knownNames(names, patterns)
}

// knownNames lists the names that an object may have.
func knownNames(names, patterns []string) string {
	switch all := append(allQuoted(names), patterns[:min(len(patterns), maxBranches)]...); {
	case len(all) == 0:
		return ""
	case len(all) > 1:
		return "Known here are " + listed(all, "and") + "."
	case len(names) == 0:
		return "Only " + all[0] + " are known here."
	default:
		return "Only " + all[0] + " is known here."
	}
}

// received returns a value of the caller in words, and itself if it may be shown.
func (r *report) received(value any, at []string) (words string, shown any) {
	hidden := r.opts.HideReceived || r.secret(at)
	switch v := value.(type) {
	case nil:
		return "null", nil
	case bool:
		if hidden {
			return "a boolean that is not shown", nil
		}
		return strconv.FormatBool(v), v
	case json.Number:
		switch {
		case len(v) > maxName:
			return "a number of " + itoa(len(v)) + " characters", nil
		case hidden || scrub.Credentials(string(v)) != string(v):
			return "a number that is not shown", nil
		}
		return string(v), v
	case string:
		switch n, trimmed := utf8.RuneCountInString(v), strings.TrimSpace(v); {
		case n == 0:
			return "an empty string", ""
		case n > maxName:
			return "a string of " + itoa(n) + " characters", nil
		case strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "["): // it may hold values that have names
			return "a string", nil
		case hidden:
			return "a string that is not shown", nil
		}
		clean := line(scrub.Credentials(v), maxName)
		return "'" + clean + "'", clean
	case []any:
		if len(v) == 0 {
			return "an empty list", nil
		}
		return "a list", nil
	case map[string]any:
		if len(v) == 0 {
			return "an empty object", nil
		}
	}
	return "an object", nil
}
