package explain

import (
	"cmp"
	"strings"

	"github.com/mcpchain/mcpchain/internal/near"
)

// hint says what to do about a value.
func (r *renderer) hint(f *finding, p path, got received) string {
	v := &r.doc.values[f.at]
	types := f.n.types
	if f.choice != nil {
		types = f.choice.types()
	}
	switch f.rule {
	case "enum", "const", "anyOf", "oneOf":
		if text := r.hintAllowed(f, v, got); text != "" {
			return text
		}
	case "uniqueItems":
		return "Send each item once."
	case "minProperties":
		return knownNames(f.names, nil)
	case "minItems", "maxItems", "maxProperties", "items", "additionalItems", "unevaluatedItems", "not",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return ""
	}
	if text := r.hintType(f, p, v, types, got); text != "" {
		return text
	}
	if f.rule == "enum" || f.rule == "const" {
		return ""
	}
	n := f.n
	if f.top != nil {
		n = f.top
	}
	return r.advice(n, f.rule == "pattern" || f.rule == "format" || f.n.pattern != nil || f.choice != nil)
}

// types returns all types that a form of the choice takes.
func (c *choice) types() (types kind) {
	for _, n := range c.branches {
		leaf := n.leaf()
		if leaf.types == 0 {
			types |= leaf.implied()
		}
		types |= leaf.types
	}
	return types
}

// hintAllowed looks for the allowed value that was meant.
func (r *renderer) hintAllowed(f *finding, v *value, got received) string {
	var values []literal
	switch {
	case f.choice != nil:
		for _, n := range f.choice.branches {
			if leaf := n.leaf(); leaf.constant != nil {
				values = append(values, *leaf.constant)
			} else {
				values = append(values, leaf.enum...)
			}
		}
	case f.n.constant != nil:
		values = []literal{*f.n.constant}
	default:
		values = f.n.enum
	}
	var texts []string
	for _, l := range values {
		w := &l.doc.values[0]
		switch {
		case w.kind == kindString && v.kind == kindString:
			texts = append(texts, w.text)
		case w.kind == kindString && v.text != "" && w.text == v.text && got.text != "":
			return "Send it in quotes: " + l.raw + "."
		case v.kind == kindString && l.raw == v.text && got.text != "":
			return "Send " + l.raw + " without quotes."
		}
	}
	if v.kind != kindString || got.text == "" || len(texts) < 2 {
		return ""
	}
	if matches := near.Matches(v.text, texts); len(matches) > 0 {
		return "Did you mean " + quoted(schemaName(matches[0])) + "?"
	}
	return ""
}

// hintType says how a value of the wrong type is sent as one of the right type.
func (r *renderer) hintType(f *finding, p path, v *value, types kind, got received) string {
	if v.kind&types != 0 {
		return ""
	}
	switch v.kind {
	case kindString:
		return cmp.Or(hintText(v.text, types, got), f.n.hintList(types, v.kind))
	case kindNumber:
		inQuotes := `"` + v.text + `"`
		if types&(kindString|kindInteger|kindNumber) == kindString && got.text != "" && f.n.accepts(newLiteral(inQuotes)) {
			return "Send it in quotes: " + inQuotes + "."
		}
	case kindNull:
		if f.owner != nil && len(p.segments) > 0 && !f.owner.requires(v.name) && f.owner.props[v.name] != nil {
			return "Leave it out instead of sending null."
		}
		return ""
	default:
	}
	return f.n.hintList(types, v.kind)
}

// hintText says how to send what was sent as a string. That a number is out of
// range as well is told by what is expected: without this one would send the next
// one in quotes again.
func hintText(text string, types kind, got received) string {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return ""
	}
	plain := kind(0)
	switch c := trimmed[0]; {
	case c == '{' && types&kindObject != 0:
		if inner, broken := parse(trimmed); broken == nil && inner.values[0].kind == kindObject {
			return "Send the object itself, not a string."
		}
	case c == '[' && types&kindArray != 0:
		if inner, broken := parse(trimmed); broken == nil && inner.values[0].kind == kindArray {
			return "Send the list itself, not a string."
		}
	case len(trimmed) <= maxName:
		if inner, broken := parse(strings.ToLower(trimmed)); broken == nil {
			plain = inner.values[0].kind
			trimmed = strings.ToLower(trimmed)
		}
	}
	number := plain == kindNumber && (types&kindNumber != 0 || types&kindInteger != 0 && isInteger(trimmed))
	switch {
	case !number && plain&types&(kindBoolean|kindNull) == 0:
		return ""
	case got.text == "":
		return "Send it without quotes."
	default:
		return "Send " + trimmed + " without quotes."
	}
}

// hintList says that one item was sent where a list of them belongs.
func (n *node) hintList(types, got kind) string {
	if types&^kindNull != kindArray || n.items == nil {
		return ""
	}
	item := n.items.leaf().types
	if got == kindNumber {
		got |= kindInteger
	}
	if item != 0 && item&got == 0 || n.items.always < 0 {
		return ""
	}
	return "Send a list, even for one item."
}

// fallback tells of the default of a property that may be left out.
func (f *finding) fallback(name string) string {
	if f.owner == nil || f.top == nil || f.owner.props[name] == nil || f.owner.requires(name) {
		return ""
	}
	l := f.top.told().fallback
	if l == nil || l.raw == "null" || len(l.raw) > maxName || !f.top.accepts(*l) {
		return ""
	}
	return "If left out, it is " + l.words() + "."
}

// advice repeats what the schema says of a value: an example of it, its
// description, or its default.
func (r *renderer) advice(n *node, describe bool) string {
	notes := n.told()
	var texts []string
	for _, l := range notes.examples {
		if w := l.words(); len(l.raw) <= maxName && n.accepts(l) {
			texts = append(texts, "For example: "+w+".")
			break
		}
	}
	if text := strings.TrimSpace(line(notes.description, maxAdvice)); describe && text != "" {
		texts = append(texts, "Its description: "+ended(text))
	}
	return strings.Join(texts, " ")
}

// accepts reports whether a literal of the schema is valid by it.
func (n *node) accepts(l literal) bool {
	w := walk{schema: &Schema{root: n}, doc: l.doc, opts: &Options{AssertFormats: true}, quiet: true, budget: baseSteps}
	return w.visit(n, 0, nil) && w.steps <= w.budget
}
