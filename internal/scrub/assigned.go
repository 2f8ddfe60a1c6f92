package scrub

import "strings"

// A value stands in quotes, which stay, in brackets, or bare. \" is JSON inside a JSON string, b'...' of Python, and
// {...} of ODBC. A header goes on behind its first word: to the token after the scheme, and over all parameters.
var (
	secretValue = compile(anyValue)
	scheme      = compile(` ` + parameter)
	parameters  = compile(`(?:[,;] ` + parameter + `)*`)
	yamlBlock   = compile(`[|>][+-]?\n(?P<is>[ \t])[\s\v]*(?P<hide>[^\n]+(?:\n[ \t][^\n]*)*)`)
	yamlItem    = compile(`\r?\n(?:[ \t]+(?:- +)?|- +)["']?`)
	// What stands before a value is a type: of YAML, of PHP's var_dump, or of spew, with its length and its address.
	typed = compile(`(?:!+[a-z]+[ \t]+|(?:\r?\n)?[ \t]*string(?:\([0-9]+\))?[ \t]+(?P<is>["'])|` +
		`\([*\[\]\w.]+\)[ \t]?(?:\(0x[0-9a-f]+\)[ \t]?)?(?:(?:\((?P<is>\())?\(len=\d[^()\n]*\)[ \t])?(?P<is>["'{]))`)
	arrow   = compile("[\"'`][ \\t]*(?:->|!=)[ \\t]*(?P<is>[\"'`])") // the old value of terraform or of a test, before the new one
	tagEnd  = compile(`(?: (?:[^/<>\n]+|/(?P<not>>))*)?>`)           // <password type="x">
	phrases = compile(`(?P<hide>[a-z]+(?:[ ,]+[a-z]+)+)`)
)

var (
	anyValue    = `(?:` + inAnyQuotes + `|(?P<not>[\r\n,;&])(?P<hide>(?:` + inBrackets + `)?(?P<bare>)?))`
	inAnyQuotes = `(?:[bruf@N](?P<is>["']))?(?:\\"(?P<hide>(?:[^\\\n]+|\\(?P<not>"))*)|` +
		inQuotes(`"""`, "") + "|" + inQuotes("'''", "") + "|" + inQuotes(`"`, `\n`) + "|" + inQuotes("'", `\n`) + "|" + inQuotes("`", `\n`) + `)`
)

const inBrackets = `(?:\[(?:[^\]]*\]|[^\]\n]*)|\((?:[^)]*\)|[^)\n]*)|\{(?:(?:[^"}\n]+|"(?P<not>:))*[}\n]|[^"}\n]*))`

const parameter = `(?P<bare>)(?:(?P<after>=)"[^"\n]*"?)?`

func inQuotes(quote, end string) string {
	return quote + `(?P<hide>(?:[^\\` + quote[:1] + end + `]+|\\[^\x00]?)*)`
}

// value hides the value that starts at i, unless it says something about the secret rather than being it.
func (t *text) value(k kind, name, sep string, start, i int) {
	if t.settled(k, name, sep, start, i) {
		return
	}
	s, colon := t.s, sep[0] == ':'
	if after := typed(t, i); after > 0 {
		if list := t.at(i+1) == '['; t.at(after) == '{' { // a dump of bytes, or an object
			if list {
				t.hide(after+1, t.bracketed(after))
			}
			return
		}
		i = after
	} else if sep != "(" && sep != "|" && t.isCode(k, name, start+len(name), i) {
		if after := max(i, codeWord(t, inFront(t, i))); t.at(after-1) != ':' && t.at(t.skip(blank, after)) != '=' {
			t.decided(after) // a name in it is code, too
		}
		return
	}
	from, to := t.wrapped(i)
	wrapped := from < to
	if !wrapped {
		if t.marks = t.marks[:0]; secretValue(t, i) < 0 {
			return
		}
		from, to = t.marks[0].from, t.marks[0].to
	}
	if t.at(start-1) == ';' && sep == "=" && !t.in(quotes, from-1) { // in a list of Microsoft's, a value goes on to the next semicolon
		if end := t.skip(inList, to); t.at(end) == ';' {
			to = end
		}
	}
	if from == to || !wrapped && (numbered(name, s[from:to]) || t.ordinary(k, name, sep, start, from, to)) {
		t.renewed(to)
		return
	}
	if colon && s[from] != '[' && (strings.HasSuffix(name, "authorization") || strings.HasSuffix(name, "cookie")) {
		if end := scheme(t, to); end >= 0 && strings.IndexByte(s[from:to], '=') < 0 && !placeholder(s[to+1:end]) {
			to = end
		}
		to = parameters(t, to)
	}
	if sep == "(" && (strings.Contains(name, "auth") || strings.Contains(name, "cred")) {
		from, to = i, max(to, t.bracketed(i-1)) // a user, and the password
	}
	behind := t.done[t.rule]
	t.hide(from, to)
	t.renewed(to)
	t.done[t.rule] = min(behind, from) // what stands there may be another name, "password= api_key: hunter2", or stand before it
}

// settled reports whether the value that starts at i needs no further look, and hides what it holds: it is
// no value, or one of a form whose end is known.
func (t *text) settled(k kind, name, sep string, start, i int) bool {
	s := t.s
	colon := sep[0] == ':'
	switch {
	case strings.IndexByte(s[max(start, i-4):i], '!') >= 0 && !t.in(quotes, i), // password != confirmed
		t.parsed(start), colon && fileTypes[name[strings.LastIndexByte(name, '.')+1:]], // auth.go:12: undefined
		t.in(quotes, i) && (t.at(start-1) == s[i] || t.at(start-1) == '`') && (s[start+len(name):i] == "=" || s[start+len(name):i] == ": " && t.in(besideQuote, i+1)), // `password=' is unknown, 'Password: '
		sep == "to" && k != password && worded(s[i+1:t.skip(inQuote, i+1)]):                                                                                           // argument "token" to "connect"
		return true
	case t.at(i) == '{' && (colon || t.spaced(start+len(name), i) && strings.IndexByte(" \"'", t.at(i+1)) >= 0): // an object has names of its own
		if value, sep := t.member(i + 1); value > 0 {
			t.value(k, name, sep, start, value)
		}
		return true
	case sep == "\n": // of a form
		t.hide(i, t.trim(i, t.skip(inLine, i), "\r"))
		return true
	case colon && (t.at(i) == '\n' || t.at(i) == '\r'):
		t.below(k, i)
		return true
	case colon && t.hides(yamlBlock, i), k == phrase && t.hides(phrases, i):
		return true
	}
	return false
}

// renewed hides the value that takes the place of the one in quotes that ends at i.
func (t *text) renewed(i int) {
	if next := arrow(t, i); next >= 0 {
		t.hides(secretValue, next)
	}
}

// isCode reports whether at i stands code in which a value is named, rather than the value: a call, an element or a member
// of something, a constant, what a shell puts in, or a variable that is named like a secret. end is that of the name that
// it is given to.
func (t *text) isCode(k kind, name string, end, i int) bool {
	const most = 96
	sign, shell := t.s[end:i], t.at(i+1) == '$' && (t.at(i) == '"' || t.at(i) == '`')
	if shell {
		i++
	}
	from := inFront(t, i)
	after := max(from, codeWord(t, from))
	v, c := t.s[from:t.trim(from, min(after, from+most), ".:?")], t.at(after)
	if shell = t.at(from-1) == '$'; shell && (c == '(' || c == '/' || braced(t, after) >= 0) || t.at(i) == '(' && t.has(t.bracketed(i)+1, " =>") {
		return true
	} else if v == "" || !isLetter(v[0]) && v[0] != '_' || after-from >= most {
		return false
	}
	v = strings.ReplaceAll(strings.ReplaceAll(v, "->", "."), "::", ".")
	if c == '(' || c == '[' {
		closed := t.bracketed(after)
		inside := t.s[after:min(closed, after+most)]
		if arg := strings.IndexAny(inside, quoteMarks); arg > 0 { // what is looked up, perhaps
			arg += after + 1
			of := t.s[arg:min(t.skip(inQuote, arg), arg+most)]
			named := kindOfName(of) != noSecret || k != password && t.in(word, after+1) && t.in(word, after+2) || strings.HasPrefix(v[strings.LastIndexByte(v, '.')+1:], "get")
			return len(of) < 2 || named && v != "byte" && !password.looks(of)
		}
		function := !isUpper(v[0]) && strings.Trim(v, "0123456789") == v || closed == after+1 || strings.ContainsAny(inside, ",=")
		return function && (t.at(closed) == closing[c] && !t.in(typeNext, closed+1) || strings.ContainsAny(v, "._") && !password.looks(v))
	}
	names, closes := kindOfName(v) != noSecret, t.in(ends, t.skip(blank, after))
	switch spaced := t.spaced(end, i); {
	case shell && names, sameName(v, t.s[end-len(name)+strings.LastIndexByte(name, '.')+1:end]), isMember(v):
		return true
	case !isIdentifier(v), k.looks(v), password.looks(v):
		return false
	case strings.HasPrefix(name, "self."), strings.HasPrefix(name, "this."), strings.IndexByte(v, '_') > 0 && strings.Trim(v, "_"+uppers) == "": // RIGHT_BRACE
		return true
	case k == password:
		return names && strings.ContainsAny(v[1:], "._"+uppers) && closes && !(spaced && c != ';' && c != ')')
	case strings.Contains(sign, "=="), spaced && operator(t, after) >= 0, codeStarts[v]:
		return true
	case strings.IndexByte(v, '.') > 0 && !strings.ContainsAny(v, "0123456789"):
		return spaced || closes || sign[0] == ':'
	default:
		return names && closes
	}
}

// spaced reports whether an assignment has a blank on both sides, as code has it.
func (t *text) spaced(end, i int) bool {
	gap := strings.IndexByte(t.s[end:i], ' ')
	return gap >= 0 && t.in(blank, i-1) && strings.IndexByte(t.s[end+gap:i], '=') > 0
}

func isIdentifier(v string) bool {
	return strings.Trim(strings.ToLower(v), lowers+"_.?0123456789") == ""
}

// sameName reports whether a word is the name that it is given to, however the words of it are joined.
func sameName(v, name string) bool {
	var a, b [320]byte
	return strings.EqualFold(v, name) || string(split(a[:0], v)) == string(split(b[:0], name[:min(len(name), 64)]))
}

// isMember reports whether a word is a member of something, as code has it: var.db_password, ctx.session.token.
func isMember(v string) bool {
	of, _, member := strings.Cut(v, ".")
	return member && isIdentifier(v) && (owners[of] || strings.IndexByte(v, '_') > 0 && kindOfName(v) != noSecret)
}

var (
	typeNext    = chars("A-Za-z{")
	ends        = chars(",;)}")
	besideQuote = chars(" \\t\\n,;)\\]")
	codeWord    = compile(`[\w.:?]+(?:->[\w.:?]+)*`)
	inFront     = compile(`(?:await |new |[&*$@!]|\[\]|\[(?P<is>[A-Za-z]\w*[.(]))*`)
	braced      = compile(`\{[\w.]+(?::?-)?\}`) // without another value
	operator    = compile(`[ \t]+(?:[+*?]|&&|\|\||\?\?|[=!]==?)[ \t]`)
	codeStarts  = set("function async lambda void iota")
	owners      = set(`var local module data self this cls config cfg conf settings options opts args params props state ctx context req request res response
		event env environ process os app user form input inputs values secrets vault session client body each github steps needs headers`)
)

// closing has the bracket that closes another one.
var closing = map[byte]byte{'(': ')', '[': ']', '{': '}'}

// wrapped returns what is inside of the brackets that some languages print around a text: Some("..."), []string{"..."},
// sql.NullString{String:"..."}. It returns nothing if there are none.
func (t *text) wrapped(i int) (from, to int) {
	for t.at(i) == '&' || t.at(i) == '*' {
		i++
	}
	open, typed := i, false
	for {
		if end := t.skip(typeChars, open); end > open {
			open, typed = end, true
		} else if end = t.skip(word, open+1); t.at(open) == '[' && t.at(end) == ']' {
			open = end + 1
		} else {
			break
		}
	}
	if c := t.at(open); !typed || c != '(' && c != '{' || !isUpper(t.s[i]) && !strings.ContainsAny(t.s[i:min(open, i+64)], "[.:") {
		return i, i
	}
	first := t.skip(inWrapping, open+1)
	if first > open+64 || !t.in(quotes, t.skip(backslashes, first)) && !t.has(first, redacted) {
		return i, i
	}
	return open + 1, t.bracketed(open)
}

var (
	inList     = chars("^;\"'\\n<>")
	typeChars  = chars("A-Za-z0-9_.:")
	inWrapping = chars("A-Za-z0-9_.:=({ \t\n")
)

// bracketed returns where the bracket at i is closed, at most 4 KiB behind it.
func (t *text) bracketed(i int) int {
	const most = 4 << 10
	if t.brackets.from <= i && i < t.brackets.to {
		return t.brackets.to
	}
	depth, j, limit := 0, i, min(len(t.s), i+most)
	for ; j < limit; j++ {
		switch c := t.s[j]; {
		case c == '\\':
			j++
			continue
		case quotes.has[c]:
			j = t.quoted(j+1, c, true)
			continue
		case c == '(' || c == '{' || c == '[':
			depth++
			continue
		case c != ')' && c != '}' && c != ']':
			continue
		}
		if depth--; depth <= 0 {
			break
		}
	}
	j = min(j, len(t.s))
	t.work += j - i
	t.brackets = span{i, j}
	return j
}

// member returns where the value is of the first member from i on that is named so, such as "value", and what stands in
// front of it: "=" if the name says that it is the value, and "|" if it has to look like a secret.
func (t *text) member(i int) (value int, sep string) {
	const most = 170
	m, end := &t.members, min(len(t.s), i+most)
	if i < m.from || m.to < i { // else nothing more stands before m.to
		*m = memberAt{from: i, to: i}
	}
	for m.value == 0 && !m.ended && m.to < end {
		next := t.skip(word, m.to)
		switch c := t.s[m.to]; {
		case next > m.to && next-m.to <= len("stringvalue"):
			if m.sep = members[strings.ToLower(t.some(m.to, next-m.to))]; m.sep != "" {
				m.value = max(0, memberSign(t, next))
			}
		case c == '}' || c == '>' && m.to > i:
			m.ended = true
		case next == m.to:
			next++
			t.work++
		}
		if m.value == 0 {
			m.to = next
		}
	}
	return m.value, m.sep
}

// memberAt is where the first member stands from a place on: before to there is none.
type memberAt struct {
	from, to, value int
	sep             string
	ended           bool // the object ends there
}

var (
	memberSign = compile("(?:\\\\*[\"'`])?[ \\t]*[:=](?P<not>=)[ \\t]*")
	members    = map[string]string{
		"value": "=", "val": "=", "plain": "=", "plaintext": "=", "stringvalue": "=", "cleartext": "=", "received": "=", "input_value": "=",
		"content": "|", "input": "|", "data": "|", "key": "|", "text": "|", "string": "|", "s": "|", "raw": "|", "default": "|", "secret": "|", "token": "|", "password": "|",
	}
)

// below hides what stands alone in the line below a name, and the items of a list.
func (t *text) below(k kind, i int) {
	for range 16 {
		from := yamlItem(t, i)
		if from < 0 {
			return
		}
		to := t.skip(inItem, from)
		end := to
		if t.in(quotes, end) {
			end++
		}
		if end = t.skip(blank, end); to == from || end < len(t.s) && t.s[end] != '\n' && t.s[end] != '\r' || !k.looks(t.s[from:to]) {
			return
		}
		t.hide(from, to)
		t.done[t.rule] = from
		i = end
	}
}

var inItem = chars("^ \\t\\n\\r\"'")

// element hides the text of an element of XML or HTML that has the name s[from:end], or has it in an attribute. It reports
// whether it is one.
func (t *text) element(k kind, name string, from, end int) bool {
	open := from - 1
	if t.at(open) == ':' { // of a namespace
		open = t.back(word, open) - 1
	}
	var i int
	tag := t.at(open) == '<'
	switch {
	case tag:
		if i = tagEnd(t, end); i < 0 {
			return false
		}
	case t.in(quotes, end) && t.at(t.skip(inTag, end+1)) == '>' && t.at(t.back(inTag, from-1)-1) == '<':
		if i = t.skip(inTag, end+1) + 1; t.at(i-2) == '/' {
			return false
		}
	default:
		return false
	}
	usage := tag && t.at(i) == ' ' || t.at(open-1) == '=' // --password <password> FILE
	i = elementStart(t, i)
	to := t.skip(inElement, i)
	after := elementEnd(t, to)
	if t.has(after, "</") {
		closing := t.s[after+2 : t.skip(inClosing, after+2)]
		if tag && (len(closing) < len(name) || !strings.EqualFold(closing[len(closing)-len(name):], name)) {
			return false
		}
	} else if usage || after < len(t.s) || t.skip(solid, i) < to {
		return false // no element, or one that is cut off
	}
	v := t.s[i:t.trim(i, to, " \t\r\n")]
	if strings.Trim(v, "\"'`.,:;!?()[]{}") == "" || placeholder(v) || k == session && !k.looks(v) {
		return false
	}
	t.hide(i, i+len(v))
	t.done[t.rule] = i
	return true
}

var (
	elementStart = compile(`(?:<value>)?\s*(?:<!\[CDATA\[)?`)
	elementEnd   = compile(`(?:\]\]>)?`)
	inTag        = chars("^<>\\n")
	inElement    = chars("^<\\]")
	inClosing    = chars("A-Za-z0-9_.:-")
)

// quoted returns where ends what has been quoted from i on; without an end it goes on to the end of the line, or the text.
func (t *text) quoted(i int, quote byte, inLine bool) int {
	start := i
	for ; i < len(t.s) && t.s[i] != quote && !(inLine && t.s[i] == '\n'); i++ {
		if t.s[i] == '\\' {
			i++
		}
	}
	t.work += i - start
	return min(i, len(t.s))
}

// bare returns where a value without quotes ends. A comma, an ampersand or a bracket may be part of a password, so it
// ends one only where the text around the value goes on: before white space, at the end, or before the next name. A
// quotation mark ends one also before a sign.
func (t *text) bare(start int) int {
	s, i := t.s, start
	if t.lastBare.from <= i && i < t.lastBare.to {
		i = t.lastBare.to
	} else {
		for ; i < len(s) && s[i] > ' '; i++ {
			if !delimiter.has[s[i]] {
				continue
			}
			j := t.skip(delimiter, i)
			k := t.skip(named, j)
			if j == len(s) || s[j] <= ' ' || k > j && k < len(s) && strings.IndexByte(`:="'\[`, s[k]) >= 0 || s[i] == '<' && s[j] == '/' ||
				t.in(quotes, t.skip(backslashes, i)) && !t.in(alnum, t.skip(backslashes, i)+1) {
				break
			}
		}
		t.work += i - start
		t.lastBare = span{start, i}
	}
	return t.trim(start, i, ".,;:?") // the sentence's, not the secret's
}

// numbered reports a count under the plural of a secret's name: 512 tokens are not a secret.
func numbered(name, value string) bool {
	return len(value) <= 9 && strings.HasSuffix(strings.ToLower(name), "tokens") && strings.Trim(value, "0123456789._") == ""
}
