package hide

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// secret adds the patterns of a secret: those of its value, of what its escapes stand for, and of its lines.
func (p *patterns) secret(s Secret) {
	values := []string{s.Value, strings.TrimSpace(s.Value)}
	for range maxRounds {
		plain, found := unescaped(values[len(values)-1])
		if found == nil {
			break
		}
		values = append(values, plain)
	}
	for _, value := range values {
		if value == "" {
			continue
		}
		p.value(value, s.Place)
		// An ordinary value has no lines. What looks so is a path of Windows: C:\Users\nora\id_ed25519.
		if s.Place != Assigned && (strings.ContainsAny(value, "\r\n") || strings.HasPrefix(value, "-----")) {
			p.lines(value)
		}
	}
}

// value adds the patterns of one value: it, and its other encodings.
func (p *patterns) value(value string, place Place) {
	p.add(pattern{text: value, place: place})
	if strings.Contains(value, " ") { // a form of a web page
		p.add(pattern{text: strings.ReplaceAll(value, " ", "+"), place: place})
	}
	if latin, ok := latin1(value); ok {
		p.add(pattern{text: latin, place: place})
	}
	if place == Assigned { // its encodings are those of ordinary words
		p.credentials(value)
		return
	}
	p.hexadecimal(value, place)
	if place == AsWord {
		p.credentials(value)
		for _, alphabet := range alphabets {
			p.add(pattern{text: alphabet.EncodeToString([]byte(value)), place: AsWord, padded: true})
		}
		return
	}
	for offset := range 3 {
		for _, alphabet := range alphabets {
			p.add(encoded(alphabet, value, offset))
		}
		if len(value) > wrapped {
			p.wrapped(encoded(base64.RawStdEncoding, value, offset).text)
		}
	}
}

var alphabets = []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding}

// encoded returns the base64 of a value behind so many bytes of something else. What those and what follows have
// a part in is no part of the text: it differs.
func encoded(alphabet *base64.Encoding, value string, offset int) pattern {
	from, to := offset*8, (offset+len(value))*8
	text := alphabet.EncodeToString(append(make([]byte, offset), value...))
	return pattern{text: text[(from+5)/6 : to/6], padded: true, left: from%6 != 0, right: to%6 != 0}
}

// shortest is how many bytes a value has whose encodings stand in no ordinary word.
const shortest = 4

// credentials adds the base64 of "user:value", as a header has it.
func (p *patterns) credentials(value string) {
	if len(value) < shortest {
		return
	}
	for offset := range 3 {
		for _, alphabet := range alphabets {
			one := encoded(alphabet, ":"+value, offset)
			if one.ends = true; one.right { // nothing follows, so that it is known
				one.text += alphabet.EncodeToString(append(make([]byte, offset), ":"+value...))[(offset+1+len(value))*8/6:]
				one.right = false
			}
			p.add(one)
		}
	}
}

// Base64 longer than wrapped may be broken into lines. Then so many letters as part says are recognised by
// themselves.
const (
	wrapped = 48
	part    = 24
)

// wrapped adds parts of a long base64, of which each line of it has one.
func (p *patterns) wrapped(text string) {
	for ; len(text) >= part; text = text[part:] {
		p.add(pattern{text: text[:part], padded: true, run: true})
	}
}

// hexadecimal adds the value as hexadecimal digits, also apart from each other, as of a buffer that is printed.
func (p *patterns) hexadecimal(value string, place Place) {
	digits := hex.EncodeToString([]byte(value))
	for _, between := range []string{"", " ", ":"} {
		var b strings.Builder
		for i := 0; i < len(digits); i += 2 {
			if i > 0 {
				b.WriteString(between)
			}
			b.WriteString(digits[i : i+2])
		}
		p.add(pattern{text: b.String(), place: place})
		p.add(pattern{text: strings.ToUpper(b.String()), place: place})
	}
}

// keys finds what stands between the frames of keys and certificates.
var keys = regexp.MustCompile(`-----BEGIN [^-]+-----([^-]+)-----END`)

// lines adds the lines of a value, as they stand in a log. Those that are as short as a word, or have nothing but
// words, say nothing by themselves.
func (p *patterns) lines(value string) {
	const line, word, end = 24, 16, 8
	for _, key := range keys.FindAllStringSubmatch(value, -1) { // others break it elsewhere, or have spaces in it
		parts := strings.Fields(key[1])
		for _, one := range parts {
			if len(one) >= end && random(one) {
				p.value(one, Anywhere)
			}
		}
		p.wrapped(strings.Join(parts, ""))
	}
	for one := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '\n' || r == '\r' }) {
		one = strings.TrimSpace(one)
		if strings.HasPrefix(one, "-----") { // the frame of a key
			continue
		}
		words := strings.Fields(one)
		if len(words) == 1 && len(one) >= end && random(one) || len(one) >= line {
			p.value(one, Anywhere)
		}
		for _, part := range words {
			if len(words) > 1 && len(part) >= word && random(part) {
				p.value(part, Anywhere)
			}
		}
	}
}

// random reports whether a word has digits, or letters of both cases, beside others.
func random(word string) bool {
	var digits, upper, lower bool
	for _, r := range word {
		digits = digits || unicode.IsDigit(r)
		upper = upper || unicode.IsUpper(r)
		lower = lower || unicode.IsLower(r)
	}
	return digits && (upper || lower) || upper && lower
}

// latin1 returns a text in ISO 8859-1, as old programs and escapes of bytes write it; false if that is the same.
func latin1(text string) (string, bool) {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return "", false
		}
		out = append(out, byte(r)) //nolint:gosec // it is below
	}
	return string(out), utf8.ValidString(text) && len(out) != len(text)
}
