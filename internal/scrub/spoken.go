package scrub

import "strings"

// spoken hides what looks like a secret where a sentence names one: behind the name, or behind a word such as "is" or "to"
// that follows it. "password hunter2 is wrong", "the token (3f...) was revoked", "changed from ... to ...".
func (t *text) spoken(k kind, name string, i int) {
	const words, more = 6, 3
	if strings.IndexByte(" \t(,[<", t.at(i)) < 0 || name == "pass" || name == "auth" || name == "bearer" { // which are verbs, and more
		return
	}
	for n, expected := 0, true; n < words; n++ {
		begin := t.skip(blank, i)
		from := t.skip(openers, begin)
		end := t.skip(inWord, from)
		to := t.trim(from, end, ".,:;!?")
		if at := t.secretIn(k, name, from, to); expected && at >= 0 {
			t.hide(at, to)
			t.done[t.rule] = at
			n = words - more
		} else if expected && to == from+1 && isDigit(t.s[from]) { // "secret 5 ..." of a router
			i = end
			continue
		} else if from == end || !t.isWord(from, to) {
			return
		}
		last := t.at(end - 1)
		expected = connectors[strings.ToLower(t.some(from, min(to-from, 12)))] || end > to && last == ':' || t.at(begin) == '(' && (last == ',' || t.at(end) == ',')
		if i = t.skip(closers, end); end > to && (last == '.' || last == ';') {
			return
		}
	}
}

// secretIn returns where a secret begins in the word s[from:to] of a sentence, -1 for nowhere.
func (t *text) secretIn(k kind, name string, from, to int) int {
	v := t.s[from:to]
	pair := k == password || strings.Contains(name, "cred") // which may have a user beside it
	quoted := t.in(quotes, from-1) && t.at(from-1) == t.at(to)
	switch {
	case k.looks(v), pair && password.looks(v),
		quoted && k == password && len(v) > 2 && !harmless(v, false) && kindOfName(v) == noSecret:
		return from
	}
	if slash := strings.IndexByte(v, '/'); pair && slash > 0 && password.looks(v[slash+1:]) {
		return from + slash + 1
	}
	return -1
}

// connectors are words behind which the secret may stand.
var connectors = set("is was to from as of be are been value with got want received but and or now provided named equals lautet")

var (
	inWord  = chars("^ \\t\\n\\r\\f\\v\"'`<>(){}\\[\\]|")
	openers = chars("\"'`(<\\[{|:=")
	closers = chars("\"'`)>\\]},")
	letters = chars("A-Za-z")
)

// isWord reports whether s[from:to] is a word of a sentence.
func (t *text) isWord(from, to int) bool {
	if to-from > 24 {
		return false
	}
	for _, c := range []byte(t.s[from:to]) {
		if !isLetter(c) && c != '\'' && c != '-' && c < 0x80 {
			return false
		}
	}
	return true
}

// namedBehind hides what stands before the name of a secret that is said to be one: "3f... is not a valid token", `invalid
// value "..." for flag -token`, "with ... as password".
func (t *text) namedBehind(k kind, from int) {
	const most = 32
	i := from
	for from-i < 3 && (t.at(i-1) == '-' || t.in(quotes, i-1)) {
		i--
	}
	if t.at(i-1) != ' ' {
		return
	}
	last, given := t.back(letters, i-1), false
	switch w := strings.ToLower(t.s[max(last, i-16) : i-1]); {
	case places[w] && t.has(last-len(" for "), " for "):
		i, given = last-len(" for "), w != "key"
	case w == "as":
		i = max(0, last-1)
	case adjectives[w]:
		begin := max(0, last-most)
		before := t.some(begin, last-begin)
		at := max(strings.LastIndex(before, " is "), strings.LastIndex(before, " was "), strings.LastIndex(before, " as "))
		if i = begin + at; at < 0 {
			return
		}
	default:
		return
	}
	quoted := t.in(quotes, i-1)
	if quoted {
		i--
	}
	start := t.back(inWord, i)
	if v := t.s[start:i]; k.looks(v) || quoted && given && v != "" && !harmless(v, false) {
		done := t.done[t.rule]
		t.done[t.rule] = 0 // it stands before what has been decided
		t.hide(start, i)
		t.decided(done)
	}
}

var (
	// places are what a value is given for.
	places = set("flag key option argument parameter field header column variable env setting property")
	// adjectives stand before the name of a secret that something is, or is not.
	adjectives = set("a an the valid strong known good registered my your our")
)
