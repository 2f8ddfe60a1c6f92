// Package scrub takes out of a text, or of any value, what must not leave the process: credentials, keys and tokens,
// connection strings, file system paths, addresses of the inner network, SQL and stack traces.
//
//	scrub.Text("open /etc/app/key.pem: permission denied")   // open [path]: permission denied
//	scrub.SecretName("apiKey")                               // true
//
// What is hidden leaves one of a few placeholders behind, so that the sentence around it still reads:
// [redacted], [path], [address], [sql], [stack], and [cut] where an oversized text ends.
//
// There are levels. [Credentials] is for a text that was worded for the caller, or that the caller sent:
// paths, addresses and SQL stand there on purpose. [Text] is for any other text. [ForOperator] and [ForTrusted]
// are for the words of an error, for the operator and for a trusted caller.
//
// It is a second net and not a proof. It knows shapes, not meanings: a password without a name beside it, a customer's
// name and an unknown vendor's key pass. The first net is to keep private text out of public places.
// It hides where a shape is plain (a key's prefix, /etc). It leaves what looks like ordinary prose (/users, "select a file
// from the list"), because a model has to act on the text. Code that names a secret is left for the same reason: a call,
// a member, a variable of the same name, a path.
//
// No rule without a find in a public corpus: each rule for credentials has a text in testdata/public.jsonl that leaks
// without it. A rule that no such text needs goes.
//
// How it works: one pass over the bytes finds the triggers of the rules (rules.go). Each rule looks from its trigger as
// far as it has to; most of them are a pattern (pattern.go). [Text] replaces what they find. Every byte that a rule looks
// at is counted, and the count is bounded by the length of the text: the time is linear by construction. A text that needs
// more was built for that, and is hidden whole. The rules also look at the text without its invisible characters, and
// without up to three layers of the escapes of JSON, URLs and HTML.
package scrub

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/words"
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

// Credentials is Text for what was worded for the caller: it hides credentials, keys and tokens, and leaves everything
// else, so also the host in a URL or a connection string of which it hides the password.
func Credentials(s string) string { return fixed(s, credentials, nil) }

// ForAnyone is Credentials for an unknown caller. The URL of a database is hidden behind its scheme, and a connection
// string whole.
func ForAnyone(s string) string { return fixed(s, strangers, nil) }

// TextBut is Text for a caller that sent part of the text. A path, address or statement for which shown reports true is
// shown back. A credential is always hidden. See [Sent].
func TextBut(s string, shown func(fragment string) bool) string { return fixed(s, everything, shown) }

// ForOperator hides what the operator must not read in the words of an error: credentials and stacks.
func ForOperator(s string) string { return fixed(s, operators, nil) }

// ForTrusted hides what a trusted caller must not read in the words of an error: credentials, stacks, paths and
// addresses. What shown reports is shown, as by [TextBut].
func ForTrusted(s string, shown func(fragment string) bool) string { return fixed(s, trusted, shown) }

// Visibly makes a program's own scrubber see what a reader sees. Invisible characters are removed first, if the scrubber
// hides something in the rest.
func Visibly(scrubber func(string) string) func(string) string {
	return func(s string) string {
		if visible := words.Visible(s); visible != s {
			if clean := scrubber(visible); clean != visible {
				return clean
			}
		}
		return scrubber(s)
	}
}

const everything = ^uint64(0)

func fixed(s string, of uint64, shown func(string) bool) string { return settled(s, of, shown, pass) }

// settled runs once until nothing changes, which makes the result idempotent: hiding one thing may complete the shape of another.
func settled(s string, of uint64, shown func(string) bool, once func(string, uint64, func(string) bool) string) string {
	for range maxPasses {
		next := once(s, of, shown)
		if next == s {
			return s
		}
		s = next
	}
	return redacted // it was built to defeat the rules
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

// find looks at s as it stands and as a reader sees it, until it found so much. It returns false if that is too much
// work.
func (t *text) find(s string, of uint64, enough int) bool {
	t.all = t.all[:0]
	v := view{s: s}
	if !t.look(v, of, enough) {
		return false
	}
	v, more := v.without(unseen)
	for layer := 0; len(t.all) < enough; layer++ {
		if more && !t.look(v, of, enough) {
			return false
		}
		if v, more = v.without(unescape); !more || layer == maxLayers {
			break
		}
		v, _ = v.without(unseen)
	}
	return true
}

// view is a text without some of its escapes, or without what is invisible. at has where each of its bytes stands in the
// original, and where that ends; nil means that it is the original.
type view struct {
	s  string
	at []int32
}

// A reader reads one escaped character at the beginning of a text, and returns it with the number of its bytes. 0 bytes
// are not an escape, and a character of -1 is dropped.
type reader struct {
	begins *charset // which bytes can begin it
	read   func(s string) (c rune, n int)
}

// next returns the first index from i on at which r reads something, or len(s) if there is none.
func (r *reader) next(s string, i int) int {
	for ; i < len(s); i++ {
		if r.begins.has[s[i]] {
			if _, n := r.read(s[i:]); n > 0 {
				break
			}
		}
	}
	return i
}

// without returns v with what r reads in the place of what it reads, and false if there is nothing.
func (v view) without(r *reader) (view, bool) {
	i := r.next(v.s, 0)
	if i == len(v.s) {
		return v, false
	}
	b, at := make([]byte, 0, len(v.s)), make([]int32, 0, len(v.s)+1)
	for done := 0; ; i = r.next(v.s, done) {
		b = append(b, v.s[done:i]...)
		for ; done < i; done++ {
			at = append(at, v.origin(done))
		}
		if i == len(v.s) {
			return view{string(b), append(at, v.origin(i))}, true
		}
		c, n := r.read(v.s[i:])
		if c >= 0 {
			b = utf8.AppendRune(b, c)
		}
		for len(at) < len(b) {
			at = append(at, v.origin(i))
		}
		done = i + n
	}
}

func (v view) origin(i int) int32 {
	if v.at == nil {
		return int32(i) //nolint:gosec // a text has at most 1 GiB
	}
	return v.at[i]
}

// unseen reads what is invisible. unescape reads an escape of JSON and of most languages' strings, of a URL or of HTML.
var (
	unseen   = &reader{chars(`\x00-\x08\x0e-\x1b\x1f\x7f-\x{10ffff}`), func(s string) (rune, int) { return -1, words.Unseen(s) }}
	unescape = &reader{chars(`\\%&`), escaped}
)

func escaped(s string) (c rune, n int) {
	switch s[0] {
	case '&':
		for i := 0; i < len(entities); i += 2 {
			if strings.HasPrefix(s, entities[i]) {
				return rune(entities[i+1][0]), len(entities[i])
			}
		}
	case '%':
		if c, n = hexadecimal(s, 1, 2); c == '\n' || ' ' <= c && c <= '~' {
			return c, n
		}
	case '\\':
		return backslashed(s)
	}
	return 0, 0
}

func backslashed(s string) (c rune, n int) {
	switch {
	case len(s) < 2:
	case s[1] == '/' || s[1] == '"' || s[1] == '\\' || s[1] == '\'':
		return rune(s[1]), 2
	case s[1] == 'n' || s[1] == 'r' || s[1] == 'f' || s[1] == 'v':
		return '\n', 2
	case s[1] == 'a' || s[1] == 'b':
		return '\a', 2
	case s[1] == 't':
		return '\t', 2
	case s[1] == 'U':
		return hexadecimal(s, 2, 8)
	case strings.HasPrefix(s[1:], "u{"): // of Rust and JavaScript
		if end := strings.IndexByte(s[:min(len(s), 12)], '}'); end > 3 {
			if c, n = hexadecimal(s, 3, end-3); n > 0 {
				return c, end + 1
			}
		}
	case s[1] == 'u':
		if c, n = hexadecimal(s, 2, 4); utf16.IsSurrogate(c) && strings.HasPrefix(s[n:], `\u`) {
			if low, m := hexadecimal(s[n:], 2, 4); utf16.DecodeRune(c, low) != utf8.RuneError {
				return utf16.DecodeRune(c, low), n + m
			}
		}
		return c, n
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
	c, err := strconv.ParseUint(s[from:from+n], 16, 28)
	if err != nil {
		return 0, 0
	}
	return rune(c), from + n
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
