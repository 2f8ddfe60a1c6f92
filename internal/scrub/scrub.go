// Package scrub takes out of a text what must not leave the process: credentials, keys and tokens, connection strings,
// file system paths, addresses of the inner network, SQL and stack traces.
//
//	scrub.Text("open /etc/app/key.pem: permission denied")   // open [path]: permission denied
//	scrub.SecretName("apiKey")                               // true
//
// What is hidden leaves one of a few placeholders behind, so that the sentence around it still reads:
// [redacted], [path], [address], [sql], [stack], and [cut] where an oversized text ends.
//
// It is a second net and not a proof. It knows shapes, not meanings: a password without a name beside it, a name of a
// customer or an unknown vendor's key passes. The first net is not to put private text into public places at all.
// It errs towards hiding where a shape is plain (a key's prefix, /etc), and towards leaving where ordinary prose looks
// alike (/users, "select a file from the list"), because its texts are read by a model that has to act on them.
//
// How it works: one pass over the bytes finds which rules have a trigger in the text ([rules] is the table, a row each).
// Most texts have none and are done. For the others those rules' expressions run, over the same text, and what any of
// them finds is hidden. RE2 has no backtracking, so that a hostile text costs no more than another one with all the
// triggers, and the length is bounded.
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

// Text returns s with everything replaced that should not leave the process. It returns s itself when there is nothing
// to hide, is idempotent, and may be called concurrently. Valid UTF-8 stays valid, and broken bytes stay where they are.
//
// A text longer than 64 KiB is cut: its beginning is kept, about 60 KiB of it, and [cut] stands for the rest. It is looked
// at for some way beyond the cut, so that a secret that lies across it is seen whole, and none is left in half.
func Text(s string) string { return text(s, ^uint64(0)) }

// Credentials is Text for programs whose business are paths, addresses or queries: it hides credentials, keys, tokens
// and connection strings, and leaves everything else.
func Credentials(s string) string { return text(s, credentialRules) }

// credentialRules are the bits of the rules that hide a credential.
var credentialRules = func() (bits uint64) {
	for i, r := range rules {
		if r.hide == redacted {
			bits |= 1 << i
		}
	}
	return bits
}()

func text(s string, of uint64) string {
	// Running until nothing changes is what makes the result idempotent: hiding one thing may complete the shape of another.
	for range maxPasses {
		next := pass(s, of)
		if next == s {
			return s
		}
		s = next
	}
	return redacted // built to defeat the rules; nobody will miss it
}

// pass hides what it finds in s, and cuts it when it is too long.
func pass(s string, of uint64) string {
	if len(s) <= maxLen {
		return hide(s, of)
	}
	seen := s[:min(len(s), maxLen+margin)]
	t := hide(seen, of)
	if len(seen) < len(s) && !endsHidden(t) {
		t = shorten(t, len(t)-margin)
	}
	return shorten(t, maxLen-margin) + " " + cutMark // leaves room to grow in the next pass
}

// endsHidden reports that what lies across the end of the text that was looked at has been recognised.
func endsHidden(s string) bool {
	return slices.ContainsFunc(placeholders, func(p string) bool { return strings.HasSuffix(s, p) })
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
