// Package playground reads the errors of go-playground/validator v10 for package validate, so
// that a handler that checks its input with it need not word anything:
//
//	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
//		Validate: &validate.Options{Violations: playground.Violations},
//	}))
//
// The caller of a tool whose handler returns what Struct returned reads
//
//	Validation Error: Argument 'items[1].sku' expected a string that starts with 'A-', but received 'B-1'.
//
// The validator itself is not imported: its errors are known by their methods.
package playground

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/words"
)

// fieldError is what one error of the validator has.
type fieldError interface {
	Tag() string
	Param() string
	Field() string
	Namespace() string
	Value() any
	Kind() reflect.Kind
}

const (
	maxFields = 1000 // field errors that are read
	maxValue  = 256  // bytes of a value for which a near one is looked for
	maxMeant  = 64   // characters of a value that are shown
)

// Violations says what a ValidationErrors, or a single FieldError of one, says about which fields.
// It returns nil for any other error. It is meant for validate.Options.Violations, which calls it;
// argument returns how the caller names a field. The texts of the errors are not shown: what a tag
// wants is said in words, and a tag of the program's own only says that the value is wrong.
func Violations(err error, argument func(path string) string) []fault.Violation {
	if one, ok := err.(fieldError); ok {
		return []fault.Violation{violation(one, argument)}
	}
	list := reflect.ValueOf(err)
	if list.Kind() != reflect.Slice {
		return nil
	}
	var found []fault.Violation
	for i := range min(list.Len(), maxFields) {
		one, ok := reflect.TypeAssert[fieldError](list.Index(i))
		if !ok {
			return nil
		}
		found = append(found, violation(one, argument))
	}
	return found
}

func violation(e fieldError, argument func(path string) string) fault.Violation {
	// "Order.Items[1].SKU" begins with the name of the struct that was checked.
	_, path, _ := strings.Cut(e.Namespace(), ".")
	if path == "" {
		path = e.Field()
	}
	rule, expected := inWords(e, path, argument)
	one := fault.Violation{Field: path, Rule: rule, Expected: expected}
	if value := reflect.ValueOf(e.Value()); value.Kind() == reflect.String && value.Len() <= maxValue && (rule == "oneof" || rule == "oneofci") {
		if meant := near.Meant(value.String(), alternatives(e.Param())); meant != "" {
			one.Suggestion = "Did you mean " + words.Quote(meant, maxMeant) + "?"
		}
	}
	return one
}

// inWords says in words for a caller what a tag wants, "" for one that is not known, such as
// a rule of the program's own.
func inWords(e fieldError, path string, argument func(path string) string) (rule, expected string) {
	tag, param := e.Tag(), e.Param()
	if strings.HasPrefix(tag, "required") {
		return "required", "a value"
	}
	if text, ok := tagWords[tag]; ok {
		return tag, strings.ReplaceAll(text, "PARAM", param)
	}
	if text, ok := otherField[tag]; ok && param != "" {
		beside := path[:strings.LastIndexByte(path, '.')+1] // the struct that has both
		return tag, "must be " + text + " '" + argument(beside+param) + "'"
	}
	if limit, ok := comparisons[tag]; ok {
		return tag, size(e, param, limit)
	}
	switch tag {
	case "oneof", "oneofci":
		return tag, words.Listed(alternatives(param), func(value string) string { return "'" + value + "'" }, "or")
	case "datetime":
		return tag, words.Time(param)
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
	count, _ := strconv.Atoi(param) // which it is for these kinds
	switch e.Kind() {
	case reflect.String:
		return "a string of " + limit[1] + words.Plural(count, "character")
	case reflect.Slice, reflect.Array:
		return "a list of " + limit[1] + words.Plural(count, "item")
	case reflect.Map:
		return "an object with " + limit[1] + words.Plural(count, "property", "properties")
	default:
		return "a number " + limit[0] + param
	}
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
