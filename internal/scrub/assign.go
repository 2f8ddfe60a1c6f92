package scrub

import "strings"

// assigned is the span of the rule for assignments: s[from:to] is a name with its separator, in one of many notations,
// and what is hidden is the value after it, if the name is a secret's and the value is not an ordinary word.
func assigned(s string, from, to int) (int, int) {
	lead := s[from:to]
	name := strings.TrimRight(lead, " \t:=>\"'`]\\")
	if n := len(name) - len("%3A"); n > 0 && name[n] == '%' { // a separator in a URL
		name = name[:n]
	}
	sep := lead[len(name):]
	name = strings.TrimLeft(name, "-<")
	inQuery := from > 0 && (s[from-1] == '?' || s[from-1] == '&') && sep == "="
	if !SecretName(name) && !(inQuery && queryNames[strings.ToLower(name)]) {
		return 0, 0
	}
	if strings.HasPrefix(sep, ":") && fileTypes[name[strings.LastIndexByte(name, '.')+1:]] { // auth.go:12: undefined
		return 0, 0
	}
	if sep == ": " && weakNames[strings.ToLower(name)] { // "auth: not yet configured" is a sentence, {"auth": ...} is not
		return 0, 0
	}
	before := strings.ToLower(s[max(0, from-len("unexpected ")):from])
	if before == "unexpected " || strings.HasSuffix(before, "illegal ") { // a parser's token
		return 0, 0
	}
	if strings.HasSuffix(sep, "=") && strings.HasPrefix(s[to:], "{") { // PWD={...} of ODBC; after a colon it is an object, with names of its own
		return to, min(len(s), to+onLine(s[to:], "}")+1)
	}
	from, to = value(s, to)
	if from == to || harmless(s[from:to], strings.HasSuffix(sep, "=")) {
		return 0, 0
	}
	if header := strings.ToLower(name); s[from] != '[' && strings.Contains(sep, ":") &&
		(strings.HasSuffix(header, "authorization") || strings.HasSuffix(header, "cookie")) {
		to = headerValue(s, from, to)
	}
	return from, to
}

// exported hides the value of a variable whatever its name.
func exported(s string, _, to int) (int, int) { return value(s, to) }

// value returns where the value is that starts at i: quoted, in brackets, or bare. The quotes stay.
func value(s string, i int) (from, to int) {
	rest := s[i:]
	if len(rest) > 1 && strings.IndexByte("bru", rest[0]) >= 0 && (rest[1] == '"' || rest[1] == '\'') { // b'...' of Python
		i, rest = i+1, rest[1:]
	}
	switch {
	case rest == "" || strings.IndexByte("\r\n,;&{", rest[0]) >= 0:
		return i, i
	case strings.HasPrefix(rest, `\"`): // JSON inside a JSON string
		return i + 2, i + 2 + onLine(rest[2:], `\"`)
	case strings.IndexByte("\"'`", rest[0]) >= 0:
		return i + 1, quoted(s, i+1, rest[0], true)
	case rest[0] == '[':
		return i, max(bare(s, i), min(len(s), i+onLine(rest, "]")+1))
	case rest[0] == '(':
		return i, max(bare(s, i), min(len(s), i+onLine(rest, ")")+1))
	}
	return i, bare(s, i)
}

// quoted returns where ends what has been quoted from i on; without an end it goes on to the end of the line, or the text.
func quoted(s string, i int, quote byte, inLine bool) int {
	for ; i < len(s) && s[i] != quote && !(inLine && s[i] == '\n'); i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return min(i, len(s))
}

// bare returns where a value without quotes ends. A comma, an ampersand or a bracket may be part of a password, so it
// ends one only where the text around the value goes on: before white space, at the end, or before the next name.
func bare(s string, i int) int {
	start := i
	for ; i < len(s) && s[i] > ' '; i++ {
		if strings.IndexByte(delimiters, s[i]) < 0 {
			continue
		}
		j := i
		for j < len(s) && j < i+16 && strings.IndexByte(delimiters, s[j]) >= 0 {
			j++
		}
		k := j
		for k < len(s) && k < j+48 && isNamed(s[k]) {
			k++
		}
		if j == len(s) || s[j] <= ' ' || k > j && k < len(s) && strings.IndexByte(`:="'\[`, s[k]) >= 0 || s[i] == '<' && s[j] == '/' {
			break
		}
	}
	for i > start && strings.IndexByte(".,;:?", s[i-1]) >= 0 { // the sentence's, not the secret's
		i--
	}
	return i
}

const delimiters = "\"'`,;&|)}]><\\"

// headerValue goes on behind the first word of a header: to the token after its scheme, and over all parameters.
func headerValue(s string, from, to int) int {
	scheme := !strings.Contains(s[from:to], "=")
	for to+1 < len(s) {
		next := to + 1
		switch {
		case s[to] == ' ' && scheme:
		case s[to+1] == ' ' && (s[to] == ',' || s[to] == ';'):
			next++
		default:
			return to
		}
		end := bare(s, next)
		if end == next {
			return to
		}
		if to, scheme = end, false; strings.HasPrefix(s[to:], `"`) && s[to-1] == '=' { // a parameter in quotes
			to = min(len(s), quoted(s, to+1, '"', true)+1)
		}
	}
	return to
}

// harmless reports that a value says something about a secret, or only where it comes from. After an equals sign stands
// a value, after a colon perhaps a sentence.
func harmless(v string, assigned bool) bool {
	word := strings.ToLower(v[:min(len(v), 24)])
	if i := strings.IndexAny(word, " :,"); i >= 0 {
		word = word[:i]
	}
	word = strings.TrimRight(word, ".!;")
	if noWords[word] || !assigned && (plainWords[word] || strings.HasPrefix(word, "strconv.")) {
		return true
	}
	for _, article := range []string{"The ", "A ", "An ", "Your "} { // the description in a schema
		if !assigned && strings.HasPrefix(v, article) {
			return true
		}
	}
	if len(v) <= 2 && strings.Trim(v, ")(}{][><,;'*.-") == "" {
		return true
	}
	const upper, lower = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
	switch v[0] {
	case '<': // <nil>, <your token>
		return len(v) < 40 && (strings.Trim(v, "<>_ -"+upper) == "" || strings.Trim(v, "<>_ -"+lower) == "")
	case '$', '%': // ${TOKEN}, %TOKEN%
		return len(v) < 40 && strings.Trim(v, "${}%_"+upper) == ""
	}
	return false
}

// onLine returns the position of end in the first line of s, or else the length of
// that line.
func onLine(s, end string) int {
	s, _, _ = strings.Cut(s, "\n")
	if i := strings.Index(s, end); i >= 0 {
		return i
	}
	return len(s)
}
