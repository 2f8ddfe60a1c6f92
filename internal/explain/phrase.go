package explain

import (
	"strings"
)

// expected says what a schema takes, as in "expected an integer from 1 to 10".
// It is never empty.
func (n *node) expected() string {
	if text := n.phrase(maxLook); text != "" {
		return line(text, maxPhrase)
	}
	return "another value"
}

// phrase is expected, or "" when the schema says nothing that fits into a phrase.
func (n *node) phrase(depth int) string {
	if n != nil && n.said != nil && depth == maxLook {
		return *n.said
	}
	return n.say(depth)
}

// say makes the phrase.
func (n *node) say(depth int) string {
	switch {
	case n == nil || depth == 0 || n.always != 0:
		return ""
	case n.constant != nil:
		return n.constant.words()
	case len(n.enum) > 2:
		return "one of " + alternatives(n.enum)
	case n.enum != nil:
		return alternatives(n.enum)
	}
	types := n.types
	if types == 0 {
		types = n.implied()
	}
	if types != 0 {
		return n.typed(types, depth)
	}
	if text := n.ref.phrase(depth - 1); text != "" {
		return text
	}
	for _, sub := range n.allOf {
		if text := sub.phrase(depth - 1); text != "" {
			return text
		}
	}
	if text := n.anyOf.phrase(depth); text != "" {
		return text
	}
	return n.oneOf.phrase(depth)
}

// implied returns the type that the keywords of a schema without one are for.
func (n *node) implied() kind {
	switch {
	case n.format != nil || n.minLength > 0 || n.maxLength >= 0 || n.pattern != nil:
		return kindString
	case n.minimum != nil || n.maximum != nil || n.above != nil || n.below != nil || n.multiple != nil:
		return kindNumber
	case n.minItems > 0 || n.maxItems >= 0 || n.unique || n.items != nil || n.prefix != nil || n.contains != nil:
		return kindArray
	case n.props != nil || n.minProps > 0 || n.maxProps >= 0 || n.patterns != nil || n.names != nil || n.additional != nil:
		return kindObject
	default:
		return 0
	}
}

// oneBoolean is what is said of a boolean that stands alone.
const oneBoolean = "true or false"

// kinds is the order in which several types are named.
var kinds = []kind{kindString, kindInteger, kindNumber, kindBoolean, kindArray, kindObject, kindNull}

func (n *node) typed(types kind, depth int) string {
	if types&kindNumber != 0 {
		types &^= kindInteger
	}
	var texts []string
	for _, k := range kinds {
		if types&k == 0 {
			continue
		}
		switch k {
		case kindString:
			texts = append(texts, n.textPhrase())
		case kindInteger:
			texts = append(texts, "an integer"+n.numberPhrase())
		case kindNumber:
			texts = append(texts, "a number"+n.numberPhrase())
		case kindBoolean:
			if types == kindBoolean {
				return oneBoolean
			}
			texts = append(texts, "a boolean")
		case kindArray:
			texts = append(texts, n.listPhrase(depth))
		case kindObject:
			texts = append(texts, n.objectPhrase())
		default:
			texts = append(texts, "null")
		}
	}
	return join(texts, "or")
}

func (n *node) textPhrase() string {
	text := "a string"
	switch {
	case n.format != nil:
		text = n.format.words + counts(n.minLength, n.maxLength, "character")
	case n.minLength == 1 && n.maxLength < 0:
		text = "a non-empty string"
	default:
		text += counts(n.minLength, n.maxLength, "character")
	}
	if n.pattern != nil {
		text += " that matches the pattern " + line(n.patternText, maxAdvice)
	}
	return text
}

func (n *node) numberPhrase() string {
	text := ""
	lower, upper := n.minimum, n.maximum
	above, below := n.above, n.below
	if lower != nil && above != nil && above.decimal.compare(lower.decimal) < 0 {
		above = nil
	}
	if upper != nil && below != nil && below.decimal.compare(upper.decimal) > 0 {
		below = nil
	}
	switch {
	case above == nil && below == nil && lower != nil && upper != nil:
		text = " from " + lower.decimal.String() + " to " + upper.decimal.String()
	case above != nil:
		text = " greater than " + above.decimal.String()
	case lower != nil:
		text = " of at least " + lower.decimal.String()
	}
	switch {
	case text != "" && strings.HasPrefix(text, " from"):
	case below != nil:
		text += and(text) + " less than " + below.decimal.String()
	case upper != nil && text != "":
		text += " and at most " + upper.decimal.String()
	case upper != nil:
		text = " of at most " + upper.decimal.String()
	}
	if n.multiple != nil {
		text += " that is a multiple of " + n.multipleText
	}
	return text
}

func and(text string) string {
	if text == "" {
		return ""
	}
	return " and"
}

func (n *node) listPhrase(depth int) string {
	thing := "item"
	if n.items != nil && n.prefix == nil {
		thing = n.items.thing(depth - 1)
	}
	most := n.maxItems
	if n.items != nil && n.items.always < 0 && (most < 0 || most > len(n.prefix)) {
		most = len(n.prefix)
	}
	if most == 0 {
		return "an empty list"
	}
	text := counts(n.minItems, most, thing)
	if text == "" && thing != "item" {
		text = " of " + thing + "s"
	}
	return "a list" + text
}

// thing names what a list has many of, in the singular.
func (n *node) thing(depth int) string {
	switch {
	case n == nil || depth <= 0 || n.enum != nil || n.constant != nil:
		return "item"
	case n.types == 0 && n.ref != nil:
		return n.ref.thing(depth - 1)
	}
	switch n.types {
	case kindString:
		return "string"
	case kindInteger:
		return "integer"
	case kindNumber:
		return "number"
	case kindBoolean:
		return "boolean"
	case kindArray:
		return "list"
	case kindObject:
		return "object"
	default:
		return "item"
	}
}

func (n *node) objectPhrase() string {
	if n.minProps > 0 || n.maxProps >= 0 {
		text := counts(n.minProps, n.maxProps, "property")
		return "an object with" + strings.TrimPrefix(text, " of")
	}
	const few = 4
	if len(n.required) == 0 || len(n.required) > few {
		return "an object"
	}
	names := make([]string, len(n.required))
	for i, name := range n.required {
		names[i] = quoted(schemaName(name))
	}
	return "an object with " + join(names, "and")
}
