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
// How it works: one pass over the bytes finds which rules have a trigger in the text ([rules] is the table, a row each);
// most texts have none and are done. The expressions of the others run in the order of the table. RE2 has no backtracking,
// so that hostile text costs no more than ordinary text of its length, and the length is bounded.
package scrub

import (
	"strings"
	"unicode/utf8"
)

const (
	// maxLen bounds what is looked at and what is returned. An error that fills 64 KiB is not read to its end.
	maxLen = 64 << 10
	// margin is looked at beyond the cut, so that a secret that lies across the cut is still seen whole.
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
// A text longer than 64 KiB is cut: its beginning is kept, scrubbed, and [cut] stands for the rest. The beginning ends
// a margin before the last byte that was looked at, so no secret of up to 2 KiB is left there in half.
func Text(s string) string {
	// Running until nothing changes is what makes the result idempotent: hiding one thing may complete the shape of another.
	for range maxPasses {
		next := pass(s)
		if next == s {
			return s
		}
		s = next
	}
	return redacted // built to defeat the rules; nobody will miss it
}

func pass(s string) string {
	if len(s) <= maxLen {
		return hide(s)
	}
	seen := s[:min(len(s), maxLen+margin)]
	t := hide(seen)
	if len(seen) < len(s) && !strings.HasSuffix(t, "]") { // what ends in a placeholder has been recognised to its end
		t = shorten(t, len(t)-margin)
	}
	return shorten(t, maxLen-margin) + " " + cutMark // short enough to grow a little in the next pass
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
