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
	return settled(s, credentials, nil, hide)
}

// WholeJSON is [Whole] for the texts and names that a client decodes of a JSON value of any size. What it changes keeps
// its type: a text is [Redacted], and a number is 0. What stands below a name that says secret is hidden as [under] says.
// All other bytes stay, and raw itself is returned if nothing changes. It is for valid JSON; see [json.Valid].
func WholeJSON(raw []byte) []byte { return CleanJSON(raw, Whole) }

// CleanJSON is [WholeJSON] with clean in the place of [Whole].
func CleanJSON(raw []byte, clean func(text string) string) []byte {
	r := rewriting{s: string(raw), clean: clean}
	if r.value(under{}); r.out == nil {
		return raw
	}
	return append(r.out, r.s[r.done:]...)
}

// CredentialsIn returns where [WholeJSON] hides something in a JSON value: the names and indexes that lead there, at
// most so many places. Values under a name for which asked reports true are left out. All below the name of a secret is
// one place. It is for valid JSON.
func CredentialsIn(raw []byte, asked func(name string) bool, most int) (places [][]string) {
	r := rewriting{s: string(raw), asked: asked, most: most}
	r.clean = func(text string) string {
		if !r.quiet && len(r.places) < r.most && holds(text, credentials) {
			return redacted
		}
		return text
	}
	r.value(under{})
	return r.places
}

// A rewriting is one pass over valid JSON, which copies what it does not change. A search changes nothing, and notes the
// places.
type rewriting struct {
	s     string
	at    int
	clean func(text string) string
	out   []byte // nil if nothing was changed
	done  int    // what of s is in out
	ahead int    // how much was decoded before it is passed

	asked  func(name string) bool // nil if it is no search
	quiet  bool                   // what is passed now is asked for
	most   int
	path   []string
	places [][]string
}

func (r *rewriting) note() {
	if !r.quiet && len(r.places) < r.most {
		r.places = append(r.places, slices.Clone(r.path))
	}
}

// value passes one value.
func (r *rewriting) value(u under) {
	from, depth := r.token(), len(r.path)
	switch r.at++; r.s[from] {
	case '{':
		of := ""
		for n := 1; r.s[r.token()] != '}'; n++ {
			of = r.member(u, of, n)
			r.path = r.path[:depth]
		}
		r.at++
	case '[':
		for i := 0; r.s[r.token()] != ']'; i++ {
			if r.asked != nil {
				r.path = append(r.path[:depth], strconv.Itoa(i))
			}
			r.value(u)
			r.path = r.path[:depth]
		}
		r.at++
	case '"':
		text := r.text(from)
		clean, raw := r.clean(text), fromBase64(text)
		if u.hidesText(text) || utf8.ValidString(raw) && r.clean(raw) != raw {
			clean = redacted
		}
		if clean != text {
			r.change(from, quote(clean))
		}
	default:
		for r.at < len(r.s) && strings.IndexByte(",]} \t\r\n", r.s[r.at]) < 0 {
			r.at++
		}
		if u.hidesNumber(r.s[from:r.at]) {
			r.change(from, []byte("0"))
		}
	}
}

// fromBase64 returns what a text encodes in base64, the form in which encoding/json writes bytes, and "" for any
// other text.
func fromBase64(text string) string {
	const least = 12
	if len(text) < least || len(text)%4 != 0 || strings.IndexByte(text, ' ') >= 0 {
		return ""
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(raw)
}

// member passes the n-th member of an object. of is what a member before it named, which member returns as well.
func (r *rewriting) member(u under, of string, n int) string {
	from := r.at
	name := r.text(from)
	clean := r.clean(name)
	if u.hidesName(name) {
		clean = redacted
	}
	places, quiet := len(r.places), r.quiet
	if r.asked != nil {
		r.path = append(r.path, name)
		r.quiet = quiet || r.asked(name)
	}
	if clean != name {
		if n > 1 { // so that no name is sent twice
			clean = fmt.Sprintf("%s (%d)", clean, n)
		}
		r.change(from, quote(clean))
	}
	at := r.token()
	begins := SecretName(name) && (u.name != "" || !r.atSchema())
	if u.name == "" && !begins && r.s[at] == '"' && len(name) <= len("variable") {
		text := r.text(at)
		if r.at = at; of == "" {
			of = namedBy(name, text)
		} else {
			begins = valueOf(name, text)
		}
	}
	r.value(u.in(name, begins))
	if (begins || clean != name) && len(r.places) > places {
		r.places = r.places[:places]
		r.note()
	}
	r.quiet = quiet
	return of
}

// atSchema reports whether a JSON Schema stands at r.at, such as {"type":"string"}: below the name of a secret that is no
// secret. r.at does not move. All calls together read at most mostAhead times the text, so that deeply nested objects
// cannot make this quadratic. After that nothing counts as a schema.
func (r *rewriting) atSchema() bool {
	const mostAhead = 4
	if r.s[r.at] != '{' || r.ahead > mostAhead*len(r.s) {
		return false
	}
	dec := json.NewDecoder(strings.NewReader(r.s[r.at:]))
	var object map[string]any
	err := dec.Decode(&object)
	r.ahead += int(dec.InputOffset())
	return err == nil && declares(object)
}

// declares reports whether an object is the schema of a value. One that has the value, too, is none.
func declares(object map[string]any) bool {
	if _, valued := object["value"]; valued {
		return false
	}
	_, referred := object["$ref"].(string)
	return referred || schemaType(object["type"])
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

// token passes what stands between values, and returns where the next token begins: a value, a name or the end of what is
// around it.
func (r *rewriting) token() int {
	for r.at < len(r.s) && strings.IndexByte(" \t\r\n,:", r.s[r.at]) >= 0 {
		r.at++
	}
	return r.at
}

// text passes the text that begins at from, and returns it decoded.
func (r *rewriting) text(from int) string {
	escaped := false
	for r.at = from + 1; r.s[r.at] != '"'; r.at++ {
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

// change puts something in the place of what was passed since from.
func (r *rewriting) change(from int, with []byte) {
	if r.asked != nil {
		r.note()
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
