package hide

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

// How far around a word its place is looked for.
const (
	maxName = 64
	maxURL  = 512
)

// isAssigned reports whether the place of a word says that it is a secret.
func isAssigned(text string, s span) bool { return behindName(text[:s.from]) || inURL(text, s) }

// behindName reports whether a text ends with the name of a secret and a separator, as in password=, "password": ",
// --password and <password>.
func behindName(text string) bool {
	const apart = "\"'`\\ \t"
	text = text[max(0, len(text)-2*maxName):]
	rest := strings.TrimRight(text, apart)
	for _, scheme := range []string{"bearer", "basic", "token"} { // Authorization: Bearer
		at := len(rest) - len(scheme)
		if at <= 0 || !strings.EqualFold(rest[at:], scheme) {
			continue
		}
		if before := strings.TrimRight(rest[:at], apart); strings.HasSuffix(before, ":") || strings.HasSuffix(before, "=") {
			rest = before
		}
	}
	before := strings.TrimRight(rest, "=:>")
	name := lastName(strings.TrimRight(before, apart))
	flag := strings.HasPrefix(name, "-") && len(rest) < len(text)
	return (flag || len(before) < len(rest)) && scrub.SecretName(strings.TrimLeft(name, "-"))
}

// lastName returns the name that a text ends with.
func lastName(text string) string {
	start := len(text)
	for start > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '.' {
			break
		}
		start -= size
	}
	return text[max(start, len(text)-maxName):]
}

// inURL reports whether a word stands before the "@" of a URL.
func inURL(text string, s span) bool {
	const ends = "/?#\"'`<> \t\r\n\\"
	after := text[s.to:min(len(text), s.to+maxURL)]
	at := strings.IndexByte(after, '@')
	if at < 0 || strings.ContainsAny(after[:at], ends) {
		return false
	}
	before := text[max(0, s.from-maxURL):s.from]
	return strings.HasSuffix(before[:1+strings.LastIndexAny(before, ends)], "://")
}
