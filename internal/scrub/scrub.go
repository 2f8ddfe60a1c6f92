// Package scrub takes out of a text, or of any value, what must not leave the process: credentials, keys and tokens,
// connection strings, file system paths, addresses of the inner network, SQL and stack traces.
//
//	scrub.Text("open /etc/app/key.pem: permission denied")   // open [path]: permission denied
//	scrub.SecretName("apiKey")                               // true
//
// What is hidden leaves one of a few placeholders behind, so that the sentence around it still reads:
// [redacted], [path], [address], [sql], [stack], and [cut] where an oversized text ends.
//
// There are two levels. [Credentials] is for a text that somebody worded for the caller, or that the caller sent:
// paths, addresses and SQL stand there on purpose. [Text] is for a text that nobody worded.
//
// It is a second net and not a proof. It knows shapes, not meanings: a password without a name beside it, a name of a
// customer or an unknown vendor's key passes. The first net is not to put private text into public places at all.
// It errs towards hiding where a shape is plain (a key's prefix, /etc), and towards leaving where ordinary prose looks
// alike (/users, "select a file from the list"), because its texts are read by a model that has to act on them.
//
// How it works: one pass over the bytes finds the triggers of the rules (rules.go), and each rule looks from its trigger
// as far as it has to; most of them are a pattern (pattern.go). What they find, [Text] replaces. Every byte that a rule looks at is counted, and what the rules may count is
// bounded by the length of the text, so the time is linear by construction. A text that needs more was built for that,
// and is hidden whole. What a client decodes is looked at too: the text without up to three layers of the escapes of
// JSON, URLs and HTML.
package scrub

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxLen bounds what is looked at and what is returned. An error that fills 64 KiB is not read to its end.
	maxLen = 64 << 10
	// margin is what is looked at beyond the cut, and dropped.
	margin = 4 << 10
	// maxPasses bounds the search for a text that no rule changes. Two are usual: one hides, one finds nothing.
	maxPasses = 6
	// maxLayers is how many layers of escapes are taken off.
	maxLayers = 3
)

const (
	redacted = "[redacted]"
	path     = "[path]"
	address  = "[address]"
	sql      = "[sql]"
	stack    = "[stack]"
	cutMark  = "[cut]"
)

var placeholders = []string{redacted, path, address, sql, stack, cutMark}

// Redacted stands in the place of a credential.
const Redacted = redacted

// Text returns s with everything replaced that should not leave the process. It returns s itself when there is nothing
// to hide, is idempotent, and may be called concurrently. Valid UTF-8 stays valid, and broken bytes stay where they are.
//
// A text longer than 64 KiB is cut: its beginning is kept, about 60 KiB of it, and [cut] stands for the rest. It is looked
// at for some way beyond the cut, so that a secret that lies across it is seen whole, and none is left in half.
func Text(s string) string { return fixed(s, everything, nil) }

// Credentials is Text for what was worded for the caller: it hides credentials, keys, tokens and connection strings,
// and leaves everything else.
func Credentials(s string) string { return fixed(s, credentials, nil) }

// TextBut is Text for a caller who sent what shown reports: such a path, address or statement is shown back. A credential
// is hidden whoever sent it. shown is called with what would be hidden; see [Sent].
func TextBut(s string, shown func(fragment string) bool) string { return fixed(s, everything, shown) }

const everything = ^uint64(0)

func fixed(s string, of uint64, shown func(string) bool) string {
	// Running until nothing changes is what makes the result idempotent: hiding one thing may complete the shape of another.
	for range maxPasses {
		next := pass(s, of, shown)
		if next == s {
			return s
		}
		s = next
	}
	return redacted // built to defeat the rules; nobody will miss it
}

// pass hides what it finds in s, and cuts it when it is too long. What the end of the look may have left in half is dropped.
func pass(s string, of uint64, shown func(string) bool) string {
	if len(s) <= maxLen {
		return hide(s, of, shown)
	}
	t := hide(s[:min(len(s), maxLen+margin)], of, shown)
	if len(s) > maxLen+margin {
		t = shorten(t, len(t)-margin)
	}
	return shorten(t, maxLen-margin) + " " + cutMark // leaves room to grow in the next pass
}

// holds reports whether the rules find something in s.
func holds(s string, of uint64) bool {
	t := looks.Get().(*text) //nolint:forcetypeassert // nothing else is in the pool
	defer looks.Put(t)
	return !t.find(s, of, 1) || len(t.all) > 0
}

// hide replaces what the rules find in s.
func hide(s string, of uint64, shown func(string) bool) string {
	t := looks.Get().(*text) //nolint:forcetypeassert // as above
	defer looks.Put(t)
	if !t.find(s, of, len(s)) {
		return redacted
	}
	if shown != nil {
		t.all = slices.DeleteFunc(t.all, func(f found) bool { return rules[f.rule].hide != redacted && shown(s[f.from:f.to]) })
	}
	if len(t.all) == 0 {
		return s
	}
	var out strings.Builder
	done := 0
	for _, f := range merge(t.all) {
		out.WriteString(s[done:f.from])
		out.WriteString(rules[f.rule].hide)
		done = f.to
	}
	out.WriteString(s[done:])
	return out.String()
}

// find looks at s as it stands and as a client decodes it, until it found so much. It returns false if that is too much
// work.
func (t *text) find(s string, of uint64, enough int) bool {
	t.all = t.all[:0]
	v := view{s: s}
	for layer, more := 0, true; more && layer <= maxLayers && len(t.all) < enough; layer++ {
		if !t.look(v, of, enough) {
			return false
		}
		v, more = v.decoded()
	}
	return true
}

// view is a text without some of its escapes. at has where each of its bytes stands in the original, and where that
// ends; nil means that it is the original.
type view struct {
	s  string
	at []int32
}

// decoded returns v without one more layer of escapes, and false if there is none.
func (v view) decoded() (view, bool) {
	i := escape(v.s, 0)
	if i == len(v.s) {
		return v, false
	}
	b, at := make([]byte, 0, len(v.s)), make([]int32, 0, len(v.s)+1)
	for done := 0; ; i = escape(v.s, done) {
		b = append(b, v.s[done:i]...)
		for ; done < i; done++ {
			at = append(at, v.origin(done))
		}
		if at = append(at, v.origin(i)); i == len(v.s) {
			return view{string(b), at}, true
		}
		c, n := unescape(v.s[i:])
		for b = utf8.AppendRune(b, c); len(at) < len(b); {
			at = append(at, v.origin(i))
		}
		done = i + n
	}
}

// escape returns where the next escape stands from i on, or the end.
func escape(s string, i int) int {
	for ; i < len(s); i++ {
		if c := s[i]; c == '\\' || c == '%' || c == '&' {
			if _, n := unescape(s[i:]); n > 0 {
				break
			}
		}
	}
	return i
}

func (v view) origin(i int) int32 {
	if v.at == nil {
		return int32(i) //nolint:gosec // a text has at most 1 GiB
	}
	return v.at[i]
}

// unescape reads an escape of JSON and of most languages' strings, of a URL or of HTML.
func unescape(s string) (c rune, n int) {
	switch {
	case s[0] == '&':
		for i := 0; i < len(entities); i += 2 {
			if strings.HasPrefix(s, entities[i]) {
				return rune(entities[i+1][0]), len(entities[i])
			}
		}
	case s[0] == '%':
		if c, n = hexadecimal(s, 1, 2); c != '\n' && (c < ' ' || c > '~') {
			return 0, 0
		}
		return c, n
	case len(s) < 2:
	case s[1] == '/' || s[1] == '"' || s[1] == '\\' || s[1] == '\'':
		return rune(s[1]), 2
	case s[1] == 'n' || s[1] == 'r':
		return '\n', 2
	case s[1] == 't':
		return '\t', 2
	case s[1] == 'u':
		return hexadecimal(s, 2, 4)
	case s[1] == 'x':
		return hexadecimal(s, 2, 2)
	}
	return 0, 0
}

var entities = []string{"&quot;", `"`, "&amp;", "&", "&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&apos;", "'"}

func hexadecimal(s string, from, n int) (rune, int) {
	if len(s) < from+n {
		return 0, 0
	}
	c := rune(0)
	for _, d := range []byte(s[from : from+n]) {
		if !anyHex.has[d] {
			return 0, 0
		}
		if c = c<<4 | rune(d&15); d > '9' {
			c += 9
		}
	}
	return c, from + n
}

// shorten returns at most n bytes of s, and cuts neither a rune nor a placeholder in two.
func shorten(s string, n int) string {
	n = max(n, 0)
	if n >= len(s) {
		return s
	}
	for i := 0; i < utf8.UTFMax && n > 0 && !utf8.RuneStart(s[n]); i++ {
		n--
	}
	if i := strings.LastIndexByte(s[:n], '['); i >= 0 && n-i < len(redacted) {
		n = i
	}
	return s[:n]
}

const (
	maxSent     = 256
	maxSentLen  = 64 << 10
	maxAskedFor = 64
)

// Sent returns a function for [TextBut]: it reports what is part of a text that the caller sent. It looks at the first
// 256 of them, 64 KiB in all, and answers the first 64 questions; what comes after stays hidden. It is made for one text
// and not safe for concurrent use.
func Sent(values ...string) func(fragment string) bool {
	sent, asked := strings.Join(values[:min(len(values), maxSent)], "\n"), 0
	sent = sent[:min(len(sent), maxSentLen)]
	return func(fragment string) bool {
		asked++
		return asked <= maxAskedFor && strings.Contains(sent, fragment)
	}
}
