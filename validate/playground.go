package validate

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
)

// fieldError is what one error of go-playground/validator v10 has. The package is
// not imported: whoever does not use it need not build it.
type fieldError interface {
	Tag() string
	Param() string
	Field() string
	Namespace() string
	Value() any
	Kind() reflect.Kind
}

// maxFields bounds the field errors that are looked at.
const maxFields = 1000

// fieldChecks returns the checks of a ValidationErrors, which is a slice, or of a
// single field error.
func fieldChecks(err error) []check {
	if one, ok := err.(fieldError); ok {
		return []check{fieldCheck(one)}
	}
	list := reflect.ValueOf(err)
	if list.Kind() != reflect.Slice {
		return nil
	}
	var found []check
	for i := range min(list.Len(), maxFields) {
		one, ok := reflect.TypeAssert[fieldError](list.Index(i))
		if !ok {
			return nil
		}
		found = append(found, fieldCheck(one))
	}
	return found
}

func fieldCheck(e fieldError) check {
	return func(p *places, marked bool) (fault.Violation, bool) {
		names := namespace(e.Namespace())
		at, value, present, ok := p.resolve(names)
		switch {
		case ok && (!present || sameValue(value, e.Value())):
		case !marked:
			return fault.Violation{}, false
		case ok:
			value, present = nil, false
		default:
			if at, value, present = names, nil, false; len(at) == 0 {
				at = path{e.Field()}
			}
		}
		rule, expected := fieldWords(e)
		if !present && rule == "required" {
			return violation(at, nil, rule, ""), true
		}
		v := violation(at, value, rule, expected)
		if !present {
			v.Message = "Argument '" + v.Field + "' is not valid."
			if expected != "" {
				v.Message = "Argument '" + v.Field + "' expected " + expected + "."
			}
		}
		return v, true
	}
}

// sameValue reports whether a checked value may be the one in the arguments: a
// handler may have trimmed it, and may have made of it what cannot be compared.
func sameValue(arg, checked any) bool {
	v := reflect.ValueOf(checked)
	switch arg := arg.(type) {
	case string:
		return v.Kind() != reflect.String || strings.EqualFold(strings.TrimSpace(arg), strings.TrimSpace(v.String()))
	case bool:
		return v.Kind() != reflect.Bool || arg == v.Bool()
	case json.Number:
		number, err := arg.Float64()
		switch {
		case err != nil:
			return true
		case v.CanInt():
			return number == float64(v.Int())
		case v.CanUint():
			return number == float64(v.Uint())
		case v.CanFloat():
			return number == v.Float() || float32(number) == float32(v.Float())
		}
	}
	return true
}

// namespace reads the path in an error: "Order.Items[1].SKU", without the name of
// the struct that was checked.
func namespace(text string) path {
	_, text, found := strings.Cut(text, ".")
	if !found {
		return nil
	}
	var p path
	for part := range strings.SplitSeq(text, ".") {
		name, rest, _ := strings.Cut(part, "[")
		if name != "" {
			p = append(p, name)
		}
		for rest != "" {
			var key string
			key, rest, _ = strings.Cut(rest, "]")
			if i, err := strconv.Atoi(key); err == nil {
				p = append(p, i)
			} else {
				p = append(p, key)
			}
			rest = strings.TrimPrefix(rest, "[")
		}
	}
	return p
}

// fieldWords says in words for a caller what a tag wants, "" for one that is not
// known, such as a rule of the program's own.
func fieldWords(e fieldError) (rule, expected string) {
	tag, param := e.Tag(), e.Param()
	if strings.HasPrefix(tag, "required") {
		return "required", "a value"
	}
	if words, ok := tagWords[tag]; ok {
		return tag, words
	}
	switch tag {
	case "oneof", "oneofci":
		return tag, "one of " + quotedList(param)
	case "min", "gte":
		return tag, size(e, param, param+" or greater", "at least "+param)
	case "max", "lte":
		return tag, size(e, param, param+" or less", "at most "+param)
	case "gt":
		return tag, size(e, param, "greater than "+param, "more than "+param)
	case "lt":
		return tag, size(e, param, "less than "+param, "fewer than "+param)
	case "len":
		return tag, size(e, param, "exactly "+param, "exactly "+param)
	case "eq":
		return tag, "'" + param + "'"
	case "ne":
		return tag, "a value other than '" + param + "'"
	case "contains":
		return tag, "a text that contains '" + param + "'"
	case "excludes":
		return tag, "a text without '" + param + "'"
	case "startswith":
		return tag, "a text that starts with '" + param + "'"
	case "endswith":
		return tag, "a text that ends with '" + param + "'"
	case "datetime":
		return tag, timeWords(param)
	default:
		return tag, ""
	}
}

// size says what is limited: a number itself, a text's characters, a list's items.
func size(e fieldError, param, number, count string) string {
	one := param == "1"
	switch e.Kind() {
	case reflect.String:
		return plural("a text of "+count+" character", one)
	case reflect.Slice, reflect.Array:
		return plural("a list of "+count+" item", one)
	case reflect.Map:
		return plural("an object of "+count+" member", one)
	default:
		return "a number that is " + number
	}
}

func plural(words string, one bool) string {
	if one {
		return words
	}
	return words + "s"
}

// quotedList writes the values of a tag like oneof=red green 'light blue'.
func quotedList(param string) string {
	var values []string
	for i, part := range strings.Split(param, "'") {
		if i%2 == 1 {
			values = append(values, part)
			continue
		}
		values = append(values, strings.Fields(part)...)
	}
	return "'" + strings.Join(values, "', '") + "'"
}

var tagWords = map[string]string{
	"email":        "an email address",
	"url":          "a URL such as 'https://example.com/a'",
	"http_url":     "a URL such as 'https://example.com/a'",
	"uri":          "a URI such as 'https://example.com/a'",
	"uuid":         "a UUID",
	"uuid3":        "a UUID of version 3",
	"uuid4":        "a UUID of version 4",
	"uuid5":        "a UUID of version 5",
	"ulid":         "a ULID",
	"ip":           "an IP address",
	"ipv4":         "an IPv4 address",
	"ipv6":         "an IPv6 address",
	"cidr":         "a range of IP addresses such as '192.0.2.0/24'",
	"hostname":     "a host name",
	"fqdn":         "a full domain name",
	"alpha":        "a text of letters only",
	"alphanum":     "a text of letters and digits only",
	"alphaunicode": "a text of letters only",
	"numeric":      "a number",
	"number":       "a text of digits only",
	"boolean":      "true or false",
	"hexadecimal":  "a hexadecimal number",
	"hexcolor":     "a colour such as '#ff8800'",
	"json":         "valid JSON",
	"base64":       "text in base64",
	"lowercase":    "a text in lower case",
	"uppercase":    "a text in upper case",
	"ascii":        "a text of ASCII characters only",
	"e164":         "a telephone number such as '+14155550100'",
	"latitude":     "a latitude from -90 to 90",
	"longitude":    "a longitude from -180 to 180",
	"timezone":     "a time zone such as 'Europe/Paris'",
	"semver":       "a version such as '1.2.3'",
	"unique":       "a list without repetitions",
	"iso4217":      "a currency code such as 'EUR'",
	"country_code": "a country code such as 'FR'",
}
