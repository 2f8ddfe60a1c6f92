package scrub

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// These are the second looks of rules whose expression alone would hide too much or too little.

// bearer hides the token behind the word and keeps "Bearer authentication": a token has more than the letters of one word.
func bearer(s string, _, from int) (int, int) {
	to := from
	for to < len(s) && (isNamed(s[to]) || strings.IndexByte("~+/=", s[to]) >= 0) {
		to++
	}
	word := strings.TrimRight(s[from:to], ".-_/=")
	if len(word) < 2 || len(word) < 24 && strings.Trim(word[1:], "abcdefghijklmnopqrstuvwxyz") == "" {
		return 0, 0
	}
	return from, to
}

// basicAuth keeps "Basic English1": the credentials of the scheme decode to text with a colon.
func basicAuth(s string, from, to int) (int, int) {
	word := strings.TrimRight(s[from:to], "=")
	raw, _ := base64.RawStdEncoding.DecodeString(word[:len(word)/4*4])
	if bytes.IndexByte(raw, ':') >= 0 || len(word) < to-from || len(word) >= 24 {
		return from, to
	}
	return 0, 0
}

// userInfo keeps ssh://git@host, where a user alone says nothing.
func userInfo(s string, from, to int) (int, int) {
	if to-from < 16 && strings.Trim(s[from:to], "abcdefghijklmnopqrstuvwxyz-_") == "" {
		return 0, 0
	}
	return from, to
}

// connectionURL hides the rest of a URL, s[from:to] being its beginning, up to white space or a quotation mark.
func connectionURL(s string, from, to int) (int, int) {
	scheme, _, _ := strings.Cut(strings.ToLower(s[from:to]), ":")
	scheme, _, _ = strings.Cut(scheme, "+") // postgresql+psycopg2
	if !privateSchemes[scheme] {
		return 0, 0
	}
	end := to
	for end < len(s) && s[end] > ' ' && strings.IndexByte("\"<>`", s[end]) < 0 {
		end++
	}
	return to, to + len(strings.TrimRight(s[to:end], ".,;:!?)]}'"))
}

// notRoute keeps what stands in a URL's place: /v1/items, /api/users, /users/42, and the JSON pointers of a schema's
// violations, /items/0/name.
func notRoute(s string, from, to int) (int, int) {
	if rest := s[to:]; len(rest) > 1 && (rest[0] == '{' || rest[0] == ':' && isLower(rest[1])) { // /orders/{id}, /orders/:id
		return 0, 0
	}
	first := true
	for seg := range strings.SplitSeq(s[from+1:to], "/") {
		if first && (routeRoots[seg] || len(seg) > 1 && seg[0] == 'v' && number(seg[1:])) || !first && number(seg) {
			return 0, 0
		}
		first = false
	}
	return from, to
}

// number reports a number as an index or an ID has it: no year, and no leading zero as in the names of files.
func number(s string) bool {
	return s == "0" || len(s) > 0 && len(s) <= 3 && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}

// driveOnly keeps "C:/" followed by another slash, which is a scheme.
func driveOnly(s string, from, to int) (int, int) {
	if strings.HasPrefix(s[from+2:], "//") {
		return 0, 0
	}
	return from, to
}

// beforeLast leaves the bracket that has been matched for the stack that follows.
func beforeLast(s string, from, to int) (int, int) {
	return from, strings.LastIndex(s[from:to], "goroutine ") + from
}

// afterSpace leaves the white space before a frame.
func afterSpace(s string, from, to int) (int, int) {
	return from + strings.Index(s[from:to], "at "), to
}

// keywordDSN keeps what may be any line of a log.
func keywordDSN(s string, from, to int) (int, int) {
	m := strings.ToLower(s[from:to])
	if containsAny(m, []string{"dbname=", "database=", "sslmode="}) || strings.Contains(m, "host=") && strings.Contains(m, "password=") {
		return from, to
	}
	return 0, 0
}
