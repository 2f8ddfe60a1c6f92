package validate

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/words"
)

// fieldError is what one error of go-playground/validator v10 has. The package is not
// imported: whoever does not use it need not build it.
type fieldError interface {
	Tag() string
	Param() string
	Field() string
	Namespace() string
	Value() any
	Kind() reflect.Kind
}

// fieldErrors returns the errors of a ValidationErrors, which is a slice, or a single one.
func fieldErrors(err error) []fieldError {
	if one, ok := err.(fieldError); ok {
		return []fieldError{one}
	}
	list := reflect.ValueOf(err)
	if list.Kind() != reflect.Slice {
		return nil
	}
	var found []fieldError
	for i := range min(list.Len(), maxFields) {
		one, ok := reflect.TypeAssert[fieldError](list.Index(i))
		if !ok {
			return nil
		}
		found = append(found, one)
	}
	return found
}

// field makes a violation of a field error. It is known if the arguments or the schema have
// its name.
func (c *checks) field(e fieldError) (one fault.Violation, known bool) {
	at, known := c.resolve(namespace(e.Namespace()))
	if len(at) == 0 {
		at = []string{e.Field()}
	}
	rule, expected := c.words(e, at)
	one = c.violation(at, rule, expected)
	if received, ok := one.Received.(string); ok && (rule == "oneof" || rule == "oneofci") {
		if meant := near.Meant(received, alternatives(e.Param())); meant != "" {
			one.Suggestion = "Did you mean " + words.Quote(meant, maxMeant) + "?"
		}
	}
	return one, known
}

// maxMeant is how many characters of a value are shown.
const maxMeant = 64

// namespace reads the path in an error, "Order.Items[1].SKU", without the name of the
// struct that was checked.
func namespace(text string) (names []string) {
	_, text, _ = strings.Cut(text, ".")
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".[]", r) })
}

// resolve returns the place for names of a Go struct, compared with the members of the
// arguments and with the properties of the schema. It is known if all of them are found.
func (c *checks) resolve(names []string) (at []string, known bool) {
	value := c.args
	known = len(names) > 0
	for _, name := range names {
		if list, ok := value.([]any); ok {
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(list) {
				at, value = append(at, name), list[i]
				continue
			}
		}
		object, _ := value.(map[string]any)
		actual := name
		_, has := object[name]
		if !has && len(object) <= maxMembers {
			actual, has = sameName(name, maps.Keys(object))
		}
		if !has {
			actual, has = sameName(name, slices.Values(c.schema.Known(at)))
		}
		if !has {
			actual, known = name, false
		}
		at, value = append(at, actual), object[actual]
	}
	return at, known
}

// sameName finds the name that is the given one but for case and what separates words: UserID
// is user_id.
func sameName(name string, of iter.Seq[string]) (found string, ok bool) {
	folded := folder.Replace(strings.ToLower(name))
	for have := range of {
		if (!ok || have < found) && folder.Replace(strings.ToLower(have)) == folded {
			found, ok = have, true
		}
	}
	return found, ok
}

var folder = strings.NewReplacer("_", "", "-", "", " ", "")

// words says in words for a caller what a tag wants, "" for one that is not known, such as
// a rule of the program's own.
func (c *checks) words(e fieldError, at []string) (rule, expected string) {
	tag, param := e.Tag(), e.Param()
	if strings.HasPrefix(tag, "required") {
		return "required", "a value"
	}
	if text, ok := tagWords[tag]; ok {
		return tag, strings.ReplaceAll(text, "PARAM", param)
	}
	if text, ok := otherField[tag]; ok && param != "" {
		other := at
		if len(at) > 0 {
			other, _ = c.resolve(append(slices.Clip(at[:len(at)-1]), param))
		}
		name, _ := explain.Place(c.args, other)
		return tag, "must be " + text + " '" + name + "'"
	}
	if limit, ok := comparisons[tag]; ok {
		return tag, size(e, param, limit)
	}
	switch tag {
	case "oneof", "oneofci":
		return tag, words.Listed(alternatives(param), func(value string) string { return "'" + value + "'" }, "or")
	case "datetime":
		return tag, timeWords(param)
	default:
		return tag, ""
	}
}

// otherField are the rules that compare a field with another one.
var otherField = map[string]string{
	"gtfield": "greater than", "gtefield": "at least", "ltfield": "less than", "ltefield": "at most",
	"eqfield": "the same as", "nefield": "different from",
}

// comparisons are the rules that limit a number, or how many there are of something.
var comparisons = map[string][2]string{
	"min": {"of at least ", "at least "}, "gte": {"of at least ", "at least "},
	"max": {"of at most ", "at most "}, "lte": {"of at most ", "at most "},
	"gt": {"greater than ", "more than "}, "lt": {"less than ", "fewer than "}, "len": {"that is ", "exactly "},
}

func size(e fieldError, param string, limit [2]string) string {
	text := "a number " + limit[0] + param
	switch e.Kind() {
	case reflect.String:
		text = "a string of " + limit[1] + param + " character"
	case reflect.Slice, reflect.Array:
		text = "a list of " + limit[1] + param + " item"
	case reflect.Map:
		text = "an object with " + limit[1] + param + " propert"
		if param == "1" {
			return text + "y"
		}
		return text + "ies"
	default:
		return text
	}
	if param != "1" {
		text += "s"
	}
	return text
}

// alternatives returns the values of a tag like oneof=red green 'light blue'.
func alternatives(param string) (values []string) {
	for i, part := range strings.Split(param, "'") {
		if i%2 == 1 {
			values = append(values, part)
			continue
		}
		values = append(values, strings.Fields(part)...)
	}
	return values
}

// tagWords are what the other rules want, with PARAM for what stands behind the tag.
var tagWords = map[string]string{
	"eq":         "'PARAM'",
	"ne":         "a value other than 'PARAM'",
	"contains":   "a string that contains 'PARAM'",
	"excludes":   "a string without 'PARAM'",
	"startswith": "a string that starts with 'PARAM'",
	"endswith":   "a string that ends with 'PARAM'",
	"email":      "an email address",
	"url":        "a URL such as 'https://example.com/a'",
	"http_url":   "a URL such as 'https://example.com/a'",
	"uri":        "a URI such as 'https://example.com/a'",
	"uuid":       "a UUID",
	"uuid4":      "a UUID of version 4",
	"ip":         "an IP address",
	"ipv4":       "an IPv4 address",
	"ipv6":       "an IPv6 address",
	"cidr":       "a range of IP addresses such as '192.0.2.0/24'",
	"hostname":   "a host name",
	"alpha":      "a string of letters only",
	"alphanum":   "a string of letters and digits only",
	"numeric":    "a number",
	"number":     "a string of digits only",
	"boolean":    "true or false",
	"hexcolor":   "a colour such as '#ff8800'",
	"json":       "valid JSON",
	"base64":     "a string in base64",
	"lowercase":  "a string in lower case",
	"uppercase":  "a string in upper case",
	"ascii":      "a string of ASCII characters only",
	"e164":       "a telephone number such as '+14155550100'",
	"timezone":   "a time zone such as 'Europe/Paris'",
	"semver":     "a version such as '1.2.3'",
	"unique":     "a list without repetitions",
}
