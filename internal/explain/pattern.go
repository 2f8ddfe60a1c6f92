package explain

import (
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A pattern is a regular expression of a schema. Its re is nil when regexp
// cannot read it; then it is not checked.
type pattern struct {
	text string
	re   *regexp.Regexp
}

func (p *pattern) String() string { return p.text }

func (p *pattern) MatchString(s string) bool { return p.re == nil || p.re.MatchString(s) }

func regexpEngine(text string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		re, _ = regexp.Compile(fromECMA(text))
	}
	return &pattern{text, re}, nil
}

// fromECMA writes what ECMAScript writes differently the way regexp reads it.
func fromECMA(text string) string {
	return ofECMA.ReplaceAllStringFunc(text, func(s string) string {
		switch {
		case s == `\\`:
			return s // a backslash, and not the beginning of what follows
		case s == `[^]`:
			return `(?s:.)`
		case s[1] == 'u':
			return `\x{` + strings.Trim(s[2:], "{}") + `}`
		default:
			return s[:4] + `}` // the long name of a class: its first letter is the short one
		}
	})
}

var ofECMA = regexp.MustCompile(`\\\\|\[\^\]|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]{1,6}\}|\\[pP]\{(?:Letter|Mark|Number|Punctuation|Symbol)\}`)
