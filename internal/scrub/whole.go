package scrub

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWhole is the length of a text that is not searched, but hidden: positions in a text have 31 bits.
const maxWhole = 1 << 30

// Whole is [Credentials] for a text of any length, such as the result of a call that succeeded: nothing is cut off. Its
// time is linear, too.
func Whole(s string) string {
	if len(s) > maxWhole {
		return redacted
	}
	for range maxPasses {
		next := hide(s, credentials, nil)
		if next == s {
			return s
		}
		s = next
	}
	return redacted
}

// WholeJSON is [Whole] for the texts and names that a client decodes of a JSON value of any size. What it changes keeps
// its type: a text under a name that says secret is [Redacted], wherever it stands below it, and a number is 0. All other
// bytes stay, and raw itself is returned if nothing changes. It is for valid JSON; see [json.Valid].
func WholeJSON(raw []byte) []byte {
	r := rewriting{s: string(raw)}
	r.value("")
	if r.out == nil {
		return raw
	}
	return append(r.out, r.s[r.done:]...)
}

// CredentialsIn returns where [WholeJSON] hides something in a JSON value: the names and indexes that lead there, at
// most so many places. What stands under a name for which asked reports true is left out, and what stands under the name
// of a secret is one place. It is for valid JSON.
func CredentialsIn(raw []byte, asked func(name string) bool, most int) (places [][]string) {
	r := rewriting{s: string(raw), search: &search{asked: asked, most: most}}
	r.value("")
	return r.search.places
}

// A rewriting is one pass over valid JSON, which copies what it does not change.
type rewriting struct {
	s    string
	at   int
	out  []byte // nil if nothing was changed
	done int    // what of s is in out

	search *search // nil for what changes something
}

// A search is a rewriting that notes the places and changes nothing.
type search struct {
	asked  func(name string) bool
	most   int
	quiet  bool // what is passed now is asked for
	at     []string
	places [][]string
}

func (s *search) note() {
	if !s.quiet && len(s.places) < s.most {
		s.places = append(s.places, slices.Clone(s.at))
	}
}

// below passes what stands under a step.
func (s *search) below(step string, asked, secret bool, pass func()) {
	before, quiet := len(s.places), s.quiet
	s.at, s.quiet = append(s.at, step), quiet || asked
	pass()
	if secret && len(s.places) > before {
		s.places = append(s.places[:before], slices.Clone(s.at))
	}
	s.at, s.quiet = s.at[:len(s.at)-1], quiet
}

// value passes one value. secret is the name that says that what is in it is secret, "" for none.
func (r *rewriting) value(secret string) {
	r.space()
	from := r.at
	switch r.s[from] {
	case '{':
		r.members(secret)
	case '[':
		i := 0
		for more := r.enter(']'); more; more = r.next() {
			if r.search == nil {
				r.value(secret)
			} else {
				r.search.below(strconv.Itoa(i), false, false, func() { r.value(secret) })
			}
			i++
		}
	case '"':
		text := r.text()
		clean := Whole(text)
		if secret != "" && text != "" || clean == text && hiddenInBase64(text) {
			clean = redacted
		}
		if clean != text {
			r.replace(from, clean)
		}
	default:
		for r.at < len(r.s) && strings.IndexByte(",]} \t\r\n", r.s[r.at]) < 0 {
			r.at++
		}
		number := r.s[from:r.at]
		if secret != "" && strings.IndexByte("tfn", number[0]) < 0 && strings.ContainsAny(number, "123456789") && !numbered(secret, number) {
			r.change(from, []byte("0"))
		}
	}
}

// hiddenInBase64 reports whether a text is that of bytes that hold a credential, as encoding/json writes bytes.
func hiddenInBase64(text string) bool {
	const least = 12
	if len(text) < least || len(text)%4 != 0 || strings.IndexByte(text, ' ') >= 0 {
		return false
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	return err == nil && utf8.Valid(raw) && Whole(string(raw)) != string(raw)
}

// members passes an object.
func (r *rewriting) members(secret string) {
	hidden := 0
	for more := r.enter('}'); more; more = r.next() {
		r.space()
		from := r.at
		name := r.text()
		clean := Whole(name)
		if clean != name && r.search == nil {
			if hidden++; hidden > 1 { // so that no name is sent twice
				clean = fmt.Sprintf("%s (%d)", clean, hidden)
			}
			r.replace(from, clean)
		}
		r.space()
		r.at++ // the colon
		r.space()
		as, begins := secret, secret == "" && SecretName(name) && !declares(r.s[r.at:])
		if begins {
			as = name
		}
		if r.search == nil {
			r.value(as)
			continue
		}
		r.search.below(name, r.search.asked(name), begins || clean != name, func() {
			if clean != name {
				r.search.note()
			}
			r.value(as)
		})
	}
}

// declares reports whether an object is the schema of a value: that of a secret is none. It is told by its beginning.
func declares(object string) bool {
	const enough = 512
	if object[0] != '{' {
		return false
	}
	dec := json.NewDecoder(strings.NewReader(object[:min(len(object), enough)]))
	if _, err := dec.Token(); err != nil {
		return false
	}
	for dec.More() {
		var value any
		name, err := dec.Token()
		if err != nil || dec.Decode(&value) != nil {
			return false
		}
		if _, referred := value.(string); name == "$ref" && referred || name == "type" && schemaType(value) {
			return true
		}
	}
	return false
}

// schemaType reports whether a value is what a schema may have as its type.
func schemaType(value any) bool {
	switch v := value.(type) {
	case string:
		return schemaTypes[v]
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(e any) bool { name, _ := e.(string); return !schemaTypes[name] })
	default:
		return false
	}
}

var schemaTypes = set("string number integer boolean object array null")

// enter passes the beginning of a list or an object. It reports whether there is anything in it.
func (r *rewriting) enter(end byte) bool {
	r.at++
	if r.space(); r.s[r.at] == end {
		r.at++
		return false
	}
	return true
}

// next passes what stands behind a value. It reports whether there is another one.
func (r *rewriting) next() bool {
	r.space()
	r.at++
	return r.s[r.at-1] == ','
}

func (r *rewriting) space() {
	for r.at < len(r.s) && strings.IndexByte(" \t\r\n", r.s[r.at]) >= 0 {
		r.at++
	}
}

// text passes a text and returns it decoded.
func (r *rewriting) text() string {
	from, escaped := r.at, false
	for r.at++; r.s[r.at] != '"'; r.at++ {
		if r.s[r.at] == '\\' {
			escaped = true
			r.at++
		}
	}
	r.at++
	if !escaped {
		return r.s[from+1 : r.at-1]
	}
	var decoded string
	if json.Unmarshal([]byte(r.s[from:r.at]), &decoded) != nil {
		return r.s[from+1 : r.at-1] // cannot be: it is valid
	}
	return decoded
}

// replace puts a text in the place of what was passed since from.
func (r *rewriting) replace(from int, text string) {
	if r.search == nil {
		r.change(from, quote(text))
	} else {
		r.search.note()
	}
}

func (r *rewriting) change(from int, with []byte) {
	if r.search != nil {
		r.search.note()
		return
	}
	r.out = append(append(r.out, r.s[r.done:from]...), with...)
	r.done = r.at
}

// quote writes a text as JSON.
func quote(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) //nolint:errchkjson // every text is JSON
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
