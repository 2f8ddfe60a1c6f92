package explain

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A format is the name of a form of text, the words for it, and its check.
type format struct {
	name  string
	words string
	check func(any) error
}

// formatWords are the words for the formats. What they give as an example is valid.
var formatWords = map[string]string{
	"date":                  "a date such as 2026-01-31",
	"time":                  "a time with its zone, such as 13:45:00Z",
	"date-time":             "a date and time with its zone, such as 2026-01-31T13:45:00Z",
	"duration":              "a duration in ISO 8601 such as P3D or PT1H30M",
	"period":                "a period in ISO 8601 such as 2026-01-31T00:00:00Z/P3D",
	"email":                 "an email address such as ann@example.com",
	"idn-email":             "an email address such as ann@example.com",
	"hostname":              "a host name such as example.com",
	"idn-hostname":          "a host name such as example.com",
	"ipv4":                  "an IPv4 address such as 192.0.2.1",
	"ipv6":                  "an IPv6 address such as 2001:db8::1",
	"uri":                   "an absolute URI such as https://example.com",
	"iri":                   "an absolute URI such as https://example.com",
	"uri-reference":         "a URI or a part of one that leads there",
	"iri-reference":         "a URI or a part of one that leads there",
	"uri-template":          "a URI template",
	"uuid":                  "a UUID such as 123e4567-e89b-12d3-a456-426614174000",
	"json-pointer":          "a JSON Pointer such as /items/0",
	"relative-json-pointer": "a relative JSON Pointer such as 1/items",
	"regex":                 "a regular expression",
	"semver":                "a version such as 1.2.3",
}

// otherFormats are told to the compiler so that it keeps their names.
var otherFormats = func() (all []*jsonschema.Format) {
	for _, name := range []string{"idn-email", "idn-hostname"} {
		all = append(all, &jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	return all
}()

func formatOf(f *jsonschema.Format) *format {
	out := &format{name: f.Name, words: formatWords[f.Name], check: f.Validate}
	if f.Name == "regex" {
		out.check = checkRegex
	}
	if out.words == "" {
		out.words = "a text in the format " + f.Name
	}
	return out
}

// checkRegex lets pass what another engine than ours may understand.
func checkRegex(v any) error {
	text, _ := v.(string)
	_, err := regexp.Compile(fromECMA(text))
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		switch e.Code {
		case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidCharRange, syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
			return nil
		default:
		}
	}
	return err
}

func (f *format) matches(text string) bool { return f.check(text) == nil }
