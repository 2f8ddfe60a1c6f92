package conduct

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// maxRounds is how many times over a text is unescaped.
const maxRounds = 5

// Find returns in which form a text has a secret, and the text around it, "" if it has
// none.
func Find(text, secret string) (how, around string) {
	for round := range maxRounds {
		for _, f := range formsOf(secret) {
			in := text
			if f.fold {
				in = strings.ToLower(in)
			}
			if i := strings.Index(in, f.text); i >= 0 {
				if how = f.how; round > 0 {
					how = " escaped" + how
				}
				if len(in) == len(text) { // not for the few letters whose other case is longer
					in = text
				}
				const margin = 60
				from, to := max(0, i-margin), min(len(in), i+len(f.text)+margin)
				return how, strconv.Quote(strings.ToValidUTF8(in[from:to], "?"))
			}
		}
		unescaped := Unescape(text)
		if unescaped == text {
			break
		}
		text = unescaped
	}
	return "", ""
}

// A form is one way to write a secret.
type form struct {
	text string
	how  string // "" as it is
	fold bool   // the text is in lower case, and any case matches
}

func formsOf(secret string) []form {
	forms := []form{
		{text: strings.ToLower(secret), fold: true},
		{text: hex.EncodeToString([]byte(secret)), how: " in hexadecimal", fold: true},
	}
	if len(secret) < 6 { // the middle of its base64 is too short to mean anything
		return forms
	}
	for offset := range 3 {
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			padded := append(bytes.Repeat([]byte{0}, offset), secret...)
			text := alphabet.EncodeToString(padded[:len(padded)/3*3])
			forms = append(forms, form{text: text[(offset*8+5)/6:], how: " in base64"})
		}
	}
	return forms
}

var (
	escapes  = regexp.MustCompile(`(\\u[0-9a-fA-F]{4})+|\\["\\/bfnrt]`)
	percents = regexp.MustCompile(`(%[0-9a-fA-F]{2})+`)
)

// Unescape undoes one round of the escapes of JSON, URLs and HTML, wherever there are any.
func Unescape(text string) string {
	if strings.Contains(text, `\`) {
		text = escapes.ReplaceAllStringFunc(text, func(e string) string {
			var plain string
			if json.Unmarshal([]byte(`"`+e+`"`), &plain) != nil {
				return e // never: the pattern has escapes of JSON only
			}
			return plain
		})
	}
	if strings.Contains(text, "%") {
		text = percents.ReplaceAllStringFunc(text, func(e string) string {
			plain, err := url.PathUnescape(e)
			if err != nil {
				return e // never: the pattern has bytes only
			}
			return plain
		})
	}
	return html.UnescapeString(text)
}
