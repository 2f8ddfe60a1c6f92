package explain

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	maxPhrase   = 400 // runes of what is expected
	maxAdvice   = 240 // runes of a description that is repeated
	maxListed   = 20  // names, or examples, that are looked at
	maxBranches = 5   // forms that are listed
)

// words says what a schema takes, as in "expected an integer from 1 to 10"; "" when it
// says nothing that fits into a phrase. Compile makes it of all.
func (n *node) words() string {
	if n == nil {
		return ""
	}
	if n.phrase == nil {
		text := words.Cut(n.say(), maxPhrase)
		n.phrase = &text
	}
	return *n.phrase
}

func (n *node) say() string {
	if n.always != nil {
		return ""
	}
	if n.values != nil {
		return words.Listed(n.values, literal, "or")
	}
	if types := n.kinds(); len(types) > 0 {
		texts := make([]string, len(types))
		for i, t := range types {
			texts[i] = n.typed(t, len(types) == 1)
		}
		return words.List(texts, "or")
	}
	forms := map[string][]*node{}
	for _, p := range n.parts {
		if p.keyword == "$ref" || p.keyword == "allOf" { // for the same value: others may lead back here
			if text := p.words(); text != "" {
				return text
			}
		}
		forms[p.keyword] = append(forms[p.keyword], p.node)
	}
	if text := choice(forms["anyOf"]); text != "" {
		return text
	}
	return choice(forms["oneOf"])
}

// choice lists the forms of which one is asked for.
func choice(forms []*node) string {
	var values []any
	var texts []string
	null := false
	for _, n := range forms {
		switch n = n.leaf(); {
		case n.values != nil:
			values = append(values, n.values...)
		case slices.Equal(n.kinds(), []string{"null"}):
			null = true
		case len(texts) > maxBranches:
		case n.words() == "":
			return ""
		default:
			text := strings.Replace(n.words(), oneBoolean, "a boolean", 1)
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	if len(texts) > maxBranches {
		texts = append(texts[:maxBranches], "another form")
	}
	if len(values) > 0 {
		texts = append([]string{words.Listed(values, literal, "or")}, texts...)
	}
	if null {
		texts = append(texts, "null")
	}
	return words.Cut(words.List(texts, "or"), maxPhrase)
}

func quoted(text string) string { return words.Quote(text, maxName) }

func plain(text string) string { return text }

func literal(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case float64:
		return number(v)
	}
	raw, err := encode(v)
	if err != nil {
		return "a value"
	}
	return words.Cut(string(raw), maxName)
}

// number writes a number as a person does: 1.5, 1e21, 1e-7.
func number(f float64) string {
	if isInteger(f) && math.Abs(f) < 1<<63 {
		return strconv.FormatInt(int64(f), 10)
	}
	return exponents.Replace(strconv.FormatFloat(f, 'g', -1, 64))
}

var exponents = strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e-")

// kinds returns the names of the types that a schema names, or of those that its keywords are for.
func (n *node) kinds() (names []string) {
	for i, name := range kinds {
		if n.types&(1<<i) != 0 && (name != "integer" || n.types&aNumber == 0) {
			names = append(names, name)
		}
	}
	switch {
	case n.types != 0:
		return names
	case n.Format != "" || n.MinLength != nil || n.MaxLength != nil || n.pattern != nil:
		return []string{"string"}
	case n.Minimum != nil || n.Maximum != nil || n.ExclusiveMinimum != nil || n.ExclusiveMaximum != nil || n.MultipleOf != nil:
		return []string{"number"}
	case n.MinItems != nil || n.MaxItems != nil || n.UniqueItems || n.items != nil || n.prefix != nil || n.Contains != nil:
		return []string{"array"}
	case n.members != nil || n.Required != nil || n.MinProperties != nil || n.MaxProperties != nil || n.patterns != nil || n.additional != nil:
		return []string{"object"}
	default:
		return nil
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

// counts writes " of 2 to 5 items", "" without limits.
func counts(least, most *int, noun, nouns string) string {
	low := least != nil && *least > 0
	switch {
	case low && most != nil && *least == *most:
		return " of exactly " + words.Plural(*least, noun, nouns)
	case low && most != nil:
		return " of " + strconv.Itoa(*least) + " to " + words.Plural(*most, noun, nouns)
	case low:
		return " of at least " + words.Plural(*least, noun, nouns)
	case most != nil:
		return " of at most " + words.Plural(*most, noun, nouns)
	default:
		return ""
	}
}

func (n *node) text() string {
	text := "a string"
	if n.Format != "" {
		text = cmp.Or(formats[n.Format], "a string in the format "+quoted(n.Format))
	}
	if text += counts(n.MinLength, n.MaxLength, "character", "characters"); text == "a string of at least 1 character" {
		text = "a non-empty string"
	}
	if n.pattern != nil {
		text += " that matches the pattern " + words.Cut(n.pattern.String(), maxAdvice)
	}
	return text
}

func (n *node) limits() string {
	const least, most = "of at least ", "of at most "
	low, high := limit(1, n.Minimum, n.ExclusiveMinimum, least, "greater than "), limit(-1, n.Maximum, n.ExclusiveMaximum, most, "less than ")
	text := low + high
	switch from, closed := strings.CutPrefix(low, least); {
	case low == "" || high == "":
	case closed && strings.HasPrefix(high, most):
		text = "from " + from + " to " + strings.TrimPrefix(high, most)
	default:
		text = low + " and " + strings.TrimPrefix(high, "of ")
	}
	if n.MultipleOf != nil {
		text += " that is a multiple of " + number(*n.MultipleOf)
	}
	if text == "" {
		return ""
	}
	return " " + strings.TrimSpace(text)
}

// limit words the stricter of two limits, at the lower end with sign 1, at the upper one with -1.
func limit(sign float64, closed, open *float64, at, beyond string) string {
	switch {
	case open != nil && (closed == nil || sign**open >= sign**closed):
		return beyond + number(*open)
	case closed != nil:
		return at + number(*closed)
	default:
		return ""
	}
}

func (n *node) list() string {
	item := "item"
	items := n.items
	if items != nil && n.prefix == nil {
		if leaf := items.leaf(); leaf.types != 0 && leaf.values == nil && len(leaf.kinds()) == 1 {
			item = strings.Replace(leaf.kinds()[0], "array", "list", 1)
		}
	}
	most := n.MaxItems
	if items != nil && items.always != nil && !*items.always && most == nil {
		length := len(n.prefix)
		most = &length
	}
	text := counts(n.MinItems, most, item, item+"s")
	switch {
	case most != nil && *most == 0:
		return "an empty list"
	case text == "" && item != "item" && item != "null":
		text = " of " + item + "s"
	}
	return "a list" + text
}

func (n *node) object() string {
	if n.MinProperties != nil || n.MaxProperties != nil {
		return "an object with" + strings.TrimPrefix(counts(n.MinProperties, n.MaxProperties, "property", "properties"), " of")
	}
	if names := required([]*node{n}); len(names) > 0 && len(names) <= 4 {
		return "an object with " + words.Listed(names, quoted, "and")
	}
	return "an object"
}

// formats are what a text of each format is, "" for what the name of the format says.
var formats = map[string]string{
	"date":      "a date such as 2026-01-31",
	"time":      "a time with its zone, such as 13:45:00Z",
	"date-time": "a date and time with its zone, such as 2026-01-31T13:45:00Z",
	"duration":  "a duration in ISO 8601 such as P3D or PT1H30M",
	"email":     "an email address such as ann@example.com",
	"hostname":  "a host name such as example.com",
	"ipv4":      "an IPv4 address such as 192.0.2.1",
	"ipv6":      "an IPv6 address such as 2001:db8::1",
	"uri":       "an absolute URI such as https://example.com",
	"uuid":      "a UUID such as 123e4567-e89b-12d3-a456-426614174000",
	"password":  "a string", // which says all that there is to say
	"regex":     "a regular expression",

	"iri": "", "uri-reference": "", "iri-reference": "", "uri-template": "", "json-pointer": "", "relative-json-pointer": "",
	"idn-email": "", "idn-hostname": "", "period": "", "semver": "",
}
