package scrub

import "strings"

var (
	// weakNames need more than a colon and a blank to be taken for a name.
	weakNames = set("auth pass pin otp jwt bearer")
	// blankNames have their value behind a blank, in the files of some programs and in statements.
	blankNames = set("password requirepass masterauth")
	// lastWords are second words of a secret's name, such as the key of "API key"; firstWords are what stands before them.
	lastWords  = set("key token secret keys tokens")
	firstWords = set("api access secret private client account signing encryption master auth session shared service license ssh app bot")
	// fileTypes end what is a file rather than a name, when a colon follows.
	fileTypes = set("go py js ts jsx tsx mjs java kt rs rb c h cpp cs php sh sql txt md html css json yaml yml toml ini conf cfg env xml csv log pem crt pdf")
	// noWords are no value at all.
	noWords = set("nil null none undefined true false empty blank unset")
	// plainWords begin what is said about a secret rather than being one: "token: invalid", "get secret: dial tcp ...",
	// {"password": "must have 8 characters"}. A password that is one of them is not hidden.
	plainWords = set(`is are was were be been must should shall can cannot can't could would will may might has have had needs need
		not no none nil null undefined true false empty blank unset missing required optional invalid valid expired revoked
		unknown unexpected expected wrong incorrect malformed unsupported unauthorized unauthenticated forbidden denied rejected
		refused failed failure error too to and or of for from in on at as by with without if when
		unable please see check got received context dial open read write lookup eof unexpected signature permission connection
		connect timeout deadline json http https x509 tls net sql pq rpc parse parsing decode decoding validate exec string
		str int integer number bool boolean object array list file flag option argument parameter value field bytes any type
		default set provided given found length format example e.g only already exists does did do hidden masked omitted enabled disabled yes ok`)

	operators = chars("=:?+|>")
	delimiter = chars("\"'`,;&|)}]><\\")
)

// assignment looks at a name and hides the value behind it, if the name is a secret's and the value is not an ordinary word.
func assignment(t *text, i int) {
	end := t.skip(named, i)
	t.decided(end)
	from := t.back(named, i)
	name := t.s[max(from, end-128):end]
	if n := strings.TrimLeft(name, "-"); len(name) == end-from {
		from += len(name) - len(n)
		name = n
	}
	low := strings.ToLower(name)
	spaced := lastWords[low] && t.at(from-1) == ' ' && firstWords[strings.ToLower(t.s[t.back(word, from-1):from-1])]
	if prose := t.at(end) == ' ' && t.in(alnum, end+1) && t.at(from-1) != '<' && !flag(t, from) && !blankNames[low]; prose &&
		!t.fold(end, " string") && !t.fold(end, " to ") && !(spaced && t.fold(end, " provided")) {
		return
	}
	query := (t.at(from-1) == '?' || t.at(from-1) == '&') && t.at(end) == '=' && queryNames[low]
	if !spaced && !query && !secretName(name) {
		return
	}
	if spaced && t.fold(end, " provided") {
		end += len(" provided")
	}
	if value, sep := t.separator(from, end, low); sep != "" {
		t.value(low, sep, from, value)
	}
}

// separator returns where the value is that belongs to the name s[from:end], and what stands between, in one of the many
// notations: an equals sign, a colon with or without a blank, the end of a tag, or a blank.
func (t *text) separator(from, end int, name string) (value int, sep string) { //nolint:gocognit // a case for each notation
	i := end
	for t.at(i) == '\\' {
		i++
	}
	quote := t.in(quotes, i)
	if i++; !quote && (i != end+1 || t.at(end) != ']') {
		i = end
	}
	if quote && t.at(i) == ']' {
		i++
	}
	near := i
	i = t.skip(blank, i)
	if t.fold(i, "string") && i > end && t.at(t.skip(blank, i+6)) == '=' { // var token string = "..."
		i = t.skip(blank, i+6)
	}
	if t.at(end) == '>' || t.at(end) == ' ' && t.at(from-1) == '<' {
		if j := t.skip(inTag, end); t.at(from-1) == '<' && t.at(j) == '>' && t.at(j-1) != '/' { // <password type="x">...
			return j + 1, ">"
		}
		return 0, ""
	}
	if j := t.skip(operators, i); j > i && j-i <= 3 {
		op := t.s[i:j]
		switch value = t.skip(blank, j); {
		case op == ":" && t.has(j, "//"): // a scheme
			return 0, ""
		case op == ":" && t.fold(value, "str") && t.at(t.skip(blank, t.skip(word, value))) == '=': // password: str = "..."
			return t.skip(blank, t.skip(blank, t.skip(word, value))+1), "="
		case strings.IndexByte(op, '=') >= 0:
			return value, "="
		case op[0] == ':' && value > j:
			return value, ": "
		case op[0] == ':':
			return value, ":"
		}
	}
	switch c := t.at(i); {
	case c == '(' && i == end: // setPassword("...")
		if j := t.skip(blank, i+1); t.in(quotes, j) && t.at(j+1) != t.at(j) {
			return j, "="
		}
	case c == ',' && quote && strings.IndexByte("({", t.at(from-2)) >= 0: // header.Set("X-Api-Key", "...")
		if j := t.skip(space, i+1); t.in(quotes, j) {
			return j, "="
		}
	case t.has(end, "</key>"): // a property list
		if j := t.skip(space, end+len("</key>")); t.has(j, "<string>") {
			return j + len("<string>"), ">"
		}
	case i == near:
	case flag(t, from) && !quote, blankNames[name] && name != "password", name == "password" && strings.Contains(strings.ToLower(t.some(from-48, 48)), "login "): // .netrc
		return i, " "
	case name == "password" && t.fold(i, "for "): // SET PASSWORD FOR 'u'@'h' = '...'
		if j := t.skip(noEquals, i); j < i+120 && t.at(j) == '=' {
			return t.skip(blank, j+1), "="
		}
	case t.fold(i, "to ") && t.in(quotes, i+3):
		return i + 3, "="
	}
	if c := t.at(i); quote && (c == ',' || i > end+1) || c == '\n' || c == '\r' {
		return t.valueMember(i)
	}
	return 0, ""
}

func flag(t *text, from int) bool { return t.has(from-2, "--") }

var (
	noV      = chars("^vV}<>]")
	inTag    = chars("^<>\n")
	noBrace  = chars("^}\n")
	noSquare = chars("^]\n")
	noRound  = chars("^)\n")
	noEquals = chars("^=\n")
)

// valueMember looks for a member "value" next to one whose value is a secret's name: {"name":"TOKEN","value":"..."}.
func (t *text) valueMember(i int) (value int, sep string) {
	j := t.skip(noV, i)
	for n := 0; n < 3 && t.fold(j, "v") && (t.in(word, j-1) || !t.fold(j, "value")); n++ {
		j = t.skip(noV, j+1)
	}
	if !t.fold(j, "value") || j >= i+160 {
		return 0, ""
	}
	j += len("value")
	if t.in(quotes, j) {
		j++
	}
	if j = t.skip(blank, j); t.at(j) != ':' && t.at(j) != '=' {
		return 0, ""
	}
	return t.skip(blank, j+1), "="
}

// value hides the value that starts at i, unless it says something about the secret rather than being it.
func (t *text) value(name, sep string, start, i int) {
	s := t.s
	colon := sep[0] == ':'
	switch before := strings.ToLower(s[max(0, start-len("unexpected ")):start]); {
	case colon && fileTypes[name[strings.LastIndexByte(name, '.')+1:]], // auth.go:12: undefined
		sep == ": " && weakNames[name] && !t.in(quotes, start-1),                      // "auth: not yet configured" is a sentence, {"auth": ...} is not
		strings.HasSuffix(before, "expected "), strings.HasSuffix(before, "illegal "): // a parser's token
		return
	case sep == ">":
		if t.has(i, "<![CDATA[") {
			i += len("<![CDATA[")
		}
		if end := t.skip(inElement, i); t.skip(space, i) < end {
			t.hide(i, end)
		}
		return
	case sep == "=" && t.at(i) == '{': // PWD={...} of ODBC; after a colon it is an object, with names of its own
		if end := t.skip(noBrace, i); end < len(s) && !strings.Contains(s[i:min(end, i+256)], `":`) {
			t.hide(i, end+1)
		}
		return
	case colon && (t.at(i) == '|' || t.at(i) == '>'):
		if from, to := t.block(i); from < to {
			t.hide(from, to)
			return
		}
	}
	from, to := t.valueAt(i)
	if from == to || harmless(s[from:to], sep == "=") || numbered(name, s[from:to]) {
		return
	}
	if colon && s[from] != '[' && (strings.HasSuffix(name, "authorization") || strings.HasSuffix(name, "cookie")) {
		to = t.headerValue(from, to)
	}
	t.hide(from, to)
	t.done[t.rule] = from // "password= api_key: hunter2": what stands there may be another name
}

var inElement = chars("^<]")

// block returns a block of YAML: the lines behind the sign at i that are indented.
func (t *text) block(i int) (from, to int) {
	if i++; t.at(i) == '-' || t.at(i) == '+' {
		i++
	}
	if t.at(i) != '\n' || !t.in(blank, i+1) {
		return 0, 0
	}
	from = t.skip(space, i)
	to = t.line(from)
	for t.in(blank, to+1) {
		to = t.line(to + 1)
	}
	return from, to
}

// valueAt returns where the value is that starts at i: quoted, in brackets, or bare. The quotes stay.
func (t *text) valueAt(i int) (from, to int) {
	for strings.IndexByte("bruf@", t.at(i)) >= 0 && (t.at(i+1) == '"' || t.at(i+1) == '\'') { // b'...' of Python
		i++
	}
	switch c := t.at(i); {
	case i >= len(t.s), strings.IndexByte("\r\n,;&{", c) >= 0:
		return i, i
	case t.has(i, `\"`): // JSON inside a JSON string
		end := t.line(i)
		if n := strings.Index(t.s[i+2:end], `\"`); n >= 0 {
			end = i + 2 + n
		}
		t.work += (end - i) / 4
		return i + 2, end
	case t.has(i, `"""`), t.has(i, `'''`):
		return i + 3, t.quoted(i+3, c, false)
	case t.in(quotes, i):
		return i + 1, t.quoted(i+1, c, true)
	case c == '[':
		return i, max(t.bare(i), min(len(t.s), t.skip(noSquare, i)+1))
	case c == '(':
		return i, max(t.bare(i), min(len(t.s), t.skip(noRound, i)+1))
	}
	return i, t.bare(i)
}

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
// ends one only where the text around the value goes on: before white space, at the end, or before the next name.
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
			if j == len(s) || s[j] <= ' ' || k > j && k < len(s) && strings.IndexByte(`:="'\[`, s[k]) >= 0 || s[i] == '<' && s[j] == '/' {
				break
			}
		}
		t.work += i - start
		t.lastBare = span{start, i}
	}
	return t.trim(start, i, ".,;:?") // the sentence's, not the secret's
}

// headerValue goes on behind the first word of a header: to the token after its scheme, and over all parameters.
func (t *text) headerValue(from, to int) int {
	s := t.s
	scheme := strings.IndexByte(s[from:to], '=') < 0
	for to+1 < len(s) {
		next := to + 1
		switch {
		case s[to] == ' ' && scheme:
		case s[to+1] == ' ' && (s[to] == ',' || s[to] == ';'):
			next++
		default:
			return to
		}
		end := t.bare(next)
		if end == next {
			return to
		}
		if to, scheme = end, false; strings.HasPrefix(s[to:], `"`) && s[to-1] == '=' { // a parameter in quotes
			to = min(len(s), t.quoted(to+1, '"', true)+1)
		}
	}
	return to
}

// numbered reports a count under the plural of a secret's name: 512 tokens are no secret.
func numbered(name, value string) bool {
	return len(value) <= 9 && strings.HasSuffix(strings.ToLower(name), "tokens") && strings.Trim(value, "0123456789._") == ""
}

// harmless reports that a value says something about a secret, or only where it comes from. After an equals sign stands
// a value, after a colon perhaps a sentence.
func harmless(v string, assigned bool) bool {
	w := strings.ToLower(v[:min(len(v), 24)])
	if i := strings.IndexAny(w, " :,"); i >= 0 {
		w = w[:i]
	}
	w = strings.TrimRight(w, ".!;")
	if noWords[w] || !assigned && (plainWords[w] || strings.HasPrefix(w, "strconv.")) {
		return true
	}
	for _, article := range []string{"The ", "A ", "An ", "Your "} { // the description in a schema
		if !assigned && strings.HasPrefix(v, article) {
			return true
		}
	}
	switch {
	case len(v) <= 2 && strings.Trim(v, ")(}{][><,;'*.-") == "":
		return true
	case v[0] == '<': // <nil>, <your token>
		return len(v) < 40 && (strings.Trim(v, "<>_ -"+uppers) == "" || strings.Trim(v, "<>_ -"+lowers) == "")
	case v[0] == '$' || v[0] == '%': // ${TOKEN}, %TOKEN%
		return len(v) < 40 && strings.Trim(v, "${}%_"+uppers) == ""
	}
	return false
}

// exported hides the value of a variable whatever its name.
func exported(t *text, i int) {
	j := i + len("export ")
	if end := t.skip(capitals, j); t.starts(i) && end > j && isUpper(t.at(j)) && t.at(end) == '=' {
		t.hide(t.valueAt(end + 1))
	}
}
