package explain

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// words says what a schema takes, as in "expected an integer from 1 to 10"; "" when it
// says nothing that fits into a phrase.
func (n *node) words() string {
	if n == nil {
		return ""
	}
	if !n.phrased {
		n.phrased = true // a reference that depends on the way to it may come back here
		n.phrase = line(n.say(), maxPhrase)
	}
	return n.phrase
}

func (n *node) say() string {
	if n.Bool != nil {
		return ""
	}
	if values := n.literals(); values != nil {
		return alternatives(values)
	}
	if types := n.types(); len(types) > 0 {
		texts := make([]string, len(types))
		for i, t := range types {
			texts[i] = n.typed(t, len(types) == 1)
		}
		return join(texts, "or")
	}
	var anyOf, oneOf []*node
	for _, sub := range n.same {
		switch sub.keywordIn(n) {
		case "$ref", "allOf":
			if text := sub.words(); text != "" {
				return text
			}
		case "anyOf":
			anyOf = append(anyOf, sub)
		case "oneOf":
			oneOf = append(oneOf, sub)
		}
	}
	if text := choice(anyOf); text != "" {
		return text
	}
	return choice(oneOf)
}

// choice lists the forms of which one is asked for.
func choice(forms []*node) string {
	var values []any
	var texts []string
	null := false
	for _, n := range forms {
		switch n = n.leaf(); {
		case n.literals() != nil:
			values = append(values, n.literals()...)
		case slices.Equal(n.types(), []string{"null"}):
			null = true
		case len(texts) > maxBranches:
		default:
			text := n.words()
			switch text {
			case "":
				return ""
			case oneBoolean:
				text = "a boolean"
			}
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	if len(texts) > maxBranches {
		texts = append(texts[:maxBranches], "another form")
	}
	if len(values) > 0 {
		texts = append([]string{alternatives(values)}, texts...)
	}
	if null {
		texts = append(texts, "null")
	}
	return line(join(texts, "or"), maxPhrase)
}

// literals returns the values that a schema names.
func (n *node) literals() []any {
	switch {
	case n.Const != nil:
		return []any{*n.Const}
	case n.Enum != nil:
		return n.Enum.Values
	default:
		return nil
	}
}

func alternatives(values []any) string {
	texts := make([]string, min(len(values), maxListed+2)) // no more are listed
	for i := range texts {
		texts[i] = literal(values[i])
	}
	if more := len(values) - len(texts); more > 0 {
		return strings.Join(texts[:maxListed], ", ") + " or " + itoa(len(values)-maxListed) + " others"
	}
	return listed(texts, "or")
}

func literal(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case json.Number:
		return number(rat(v))
	}
	raw, err := encode(v)
	if err != nil {
		return "a value"
	}
	return line(string(raw), maxName)
}

func rat(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok || !computable(string(n)) {
		return new(big.Rat)
	}
	return r
}

var kinds = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

// types returns the types that a schema names, or those that its keywords are for.
func (n *node) types() (types []string) {
	if n.Types != nil {
		have := n.Types.ToStrings()
		for _, t := range kinds {
			if slices.Contains(have, t) && (t != "integer" || !slices.Contains(have, "number")) {
				types = append(types, t)
			}
		}
		return types
	}
	switch {
	case n.Format != nil || n.MinLength != nil || n.MaxLength != nil || n.Pattern != nil:
		return kinds[:1]
	case n.Minimum != nil || n.Maximum != nil || n.ExclusiveMinimum != nil || n.ExclusiveMaximum != nil || n.MultipleOf != nil:
		return kinds[2:3]
	case n.MinItems != nil || n.MaxItems != nil || n.unique || n.Items2020 != nil || n.Items != nil || n.PrefixItems != nil || n.Contains != nil:
		return kinds[4:5]
	case n.Properties != nil || n.MinProperties != nil || n.MaxProperties != nil || n.PatternProperties != nil || n.AdditionalProperties != nil || n.PropertyNames != nil:
		return kinds[5:6]
	default:
		return nil
	}
}

// isType reports whether a value is of a type of JSON Schema.
func isType(v any, t string) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case json.Number:
		return t == "number" || t == "integer" && (!strings.ContainsAny(string(v), ".eE") || rat(v).IsInt())
	case []any:
		return t == "array"
	default:
		return t == "object"
	}
}

// oneBoolean is what is said of a boolean that stands alone.
const oneBoolean = "true or false"

func (n *node) typed(t string, alone bool) string {
	switch t {
	case "string":
		return n.text()
	case "integer":
		return "an integer" + n.limits()
	case "number":
		return "a number" + n.limits()
	case "boolean":
		if alone {
			return oneBoolean
		}
		return "a boolean"
	case "array":
		return n.list()
	case "object":
		return n.object()
	default:
		return "null"
	}
}

func (n *node) text() string {
	words := "a string" + counts(n.MinLength, n.MaxLength, "character")
	switch {
	case n.Format != nil && formats[n.Format.Name].words != "":
		words = formats[n.Format.Name].words + counts(n.MinLength, n.MaxLength, "character")
	case n.MinLength != nil && *n.MinLength == 1 && n.MaxLength == nil:
		words = "a non-empty string"
	}
	if n.Pattern != nil {
		words += " that matches the pattern " + line(n.Pattern.String(), maxAdvice)
	}
	return words
}

func (n *node) limits() (text string) {
	low, high, above, below := n.Minimum, n.Maximum, n.ExclusiveMinimum, n.ExclusiveMaximum
	if low != nil && above != nil { // the stricter one counts
		if above.Cmp(low) < 0 {
			above = nil
		} else {
			low = nil
		}
	}
	if high != nil && below != nil {
		if below.Cmp(high) > 0 {
			below = nil
		} else {
			high = nil
		}
	}
	var parts []string
	for _, limit := range []struct {
		words string
		at    *big.Rat
	}{{"greater than ", above}, {"of at least ", low}, {"less than ", below}, {"of at most ", high}} {
		if limit.at == nil {
			continue
		}
		if parts != nil {
			limit.words = strings.TrimPrefix(limit.words, "of ")
		}
		parts = append(parts, limit.words+number(limit.at))
	}
	if parts != nil {
		text = " " + join(parts, "and")
	}
	if low != nil && high != nil {
		text = " from " + number(low) + " to " + number(high)
	}
	if n.MultipleOf != nil {
		text += " that is a multiple of " + number(n.MultipleOf)
	}
	return text
}

// number writes a number as a person does: 1.5, 1e21, 1e-7.
func number(r *big.Rat) string {
	if r.IsInt() && r.Num().IsInt64() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if places, finite := r.FloatPrec(); finite && places <= 20 && !strings.Contains(text, "e") {
		return r.FloatString(places)
	}
	return exponents.Replace(text)
}

var exponents = strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e-")

func (n *node) list() string {
	item := "item"
	items := n.Items2020
	if items == nil {
		items = asSchema(n.Items)
	}
	prefix := slices.Concat(n.PrefixItems, asSchemas(n.Items))
	if items != nil && len(prefix) == 0 {
		if leaf := n.child("items").leaf(); leaf.Types != nil && leaf.literals() == nil && len(leaf.types()) == 1 {
			item = strings.Replace(leaf.types()[0], "array", "list", 1)
		}
	}
	most := n.MaxItems
	if closed := items != nil && items.Bool != nil && !*items.Bool || n.AdditionalItems == false; closed && most == nil {
		k := len(prefix)
		most = &k
	}
	if most != nil && *most == 0 {
		return "an empty list"
	}
	switch text := counts(n.MinItems, most, item); {
	case text != "":
		return "a list" + text
	case item != "item" && item != "null":
		return "a list of " + item + "s"
	default:
		return "a list"
	}
}

func (n *node) object() string {
	if n.MinProperties != nil || n.MaxProperties != nil {
		return "an object with" + strings.TrimPrefix(counts(n.MinProperties, n.MaxProperties, "property"), " of")
	}
	if names := required([]*node{n}); len(names) > 0 && len(names) <= 4 {
		return "an object with " + join(allQuoted(names), "and")
	}
	return "an object"
}

// A form of text has words for it, which end in an example, and a sample.
type form struct{ words, sample string }

var formats = map[string]form{
	"date":                  {"a date such as 2026-01-31", "2026-01-31"},
	"time":                  {"a time with its zone, such as 13:45:00Z", "13:45:00Z"},
	"date-time":             {"a date and time with its zone, such as 2026-01-31T13:45:00Z", "2026-01-31T13:45:00Z"},
	"duration":              {"a duration in ISO 8601 such as P3D or PT1H30M", "P3D"},
	"period":                {"a period in ISO 8601 such as 2026-01-31T00:00:00Z/P3D", "2026-01-31T00:00:00Z/P3D"},
	"email":                 {"an email address such as ann@example.com", "someone@example.com"},
	"idn-email":             {"an email address such as ann@example.com", "someone@example.com"},
	"hostname":              {"a host name such as example.com", "example.com"},
	"idn-hostname":          {"a host name such as example.com", "example.com"},
	"ipv4":                  {"an IPv4 address such as 192.0.2.1", "192.0.2.1"},
	"ipv6":                  {"an IPv6 address such as 2001:db8::1", "2001:db8::1"},
	"uri":                   {"an absolute URI such as https://example.com", "https://example.com"},
	"iri":                   {"an absolute URI such as https://example.com", "https://example.com"},
	"uri-reference":         {"a URI or a part of one that leads there", "https://example.com"},
	"iri-reference":         {"a URI or a part of one that leads there", "https://example.com"},
	"uri-template":          {"a URI template", "https://example.com"},
	"uuid":                  {"a UUID such as 123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"},
	"json-pointer":          {"a JSON Pointer such as /items/0", "/items/0"},
	"relative-json-pointer": {"a relative JSON Pointer such as 1/items", "1/items"},
	"regex":                 {"a regular expression", "^a"},
	"semver":                {"a version such as 1.2.3", "1.2.3"},
}
