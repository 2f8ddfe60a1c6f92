package scrub

import "strings"

// secretTriggers are the parts of names that SecretName goes by, as they stand in a text.
var secretTriggers = on("pass", "pwd", "pswd", "kennwort", "secret", "token", "cred", "auth", "bearer", "jwt", "cookie", "dsn",
	"key", "pin=", "pin:", `pin"`, "pin'", "pin_", "pin ", "pin>", `pin\`, "pinc", "pinn", "pins", "pin]", "ssn", "cvv", "cvc", "otp", "card_n", "cardn", "social", "connectionstr", "connection_s", "connection-s",
	"conn_str", "connstr", "database_u", "databaseu", "db_u", "dbu", "dburl", "postgres_u", "mysql_u", "redis_u", "mongo", "amqp_u", "broker_u", "jdbc_u", "mnemonic", "seed_phrase", "seedphrase", "recovery_code", "recoverycode", "backup_code", "backupcode", "access_code", "accesscode", "webhook_u", "webhooku",
	"?sig", "&sig", "signature=", "?code=", "&code=", "?sid=", "&sid=", "session")

// assignment looks at a name and hides the value behind it, if the name is a secret's and the value is not an ordinary word.
func assignment(t *text, i int) {
	if t.at(i) == '?' || t.at(i) == '&' {
		i++
	}
	from, end := t.behind(nameStart, named, i), t.ahead(nameEnd, named, i)
	t.decided(end)
	name := t.s[max(from, end-128):end]
	if n := strings.TrimLeft(name, "-"); n != name && len(name) == end-from {
		from += len(name) - len(n)
		name = n
	}
	inQuery := (t.at(from-1) == '?' || t.at(from-1) == '&') && t.at(end) == '='
	spaced := t.spacedName(from, name)
	if !spaced && !secretName(name) && !(inQuery && queryNames[strings.ToLower(name)]) {
		return
	}
	if spaced && t.fold(end, " provided") {
		end += len(" provided")
	}
	value, sep := t.separator(from, end, name)
	if sep == "" {
		return
	}
	t.value(name, sep, from, value)
}

// spacedName reports whether the name is the second word of a secret's, such as the key of "API key".
func (t *text) spacedName(from int, name string) bool {
	switch strings.ToLower(name) {
	case "key", "token", "secret", "keys", "tokens":
	default:
		return false
	}
	if t.at(from-1) != ' ' {
		return false
	}
	before := t.s[max(0, from-12) : from-1]
	return keyWords[strings.ToLower(before[strings.LastIndexAny(before, " \n\t\"'(,:")+1:])]
}

var keyWords = set("api access secret private client account signing encryption master auth session shared service license ssh app bot")

// separator returns where the value is that belongs to the name s[from:end], and what stands between: = and : in their
// variants, and what other notations have in their place.
func (t *text) separator(from, end int, name string) (value int, sep string) {
	i := end
	for t.at(i) == '\\' {
		i++
	}
	quote := t.in(quotes, i)
	if quote || i == end && t.at(i) == ']' {
		i++
	} else {
		i = end
	}
	if quote && t.at(i) == ']' {
		i++
	}
	i = t.skip(blank, i)
	if i > end && t.fold(i, "string") { // var token string = "..."
		if j := t.skip(blank, i+len("string")); t.at(j) == '=' {
			i = j
		}
	}
	switch c := t.at(i); {
	case c == '=' || c == ':':
		j := i
		for j < i+3 && (t.at(j) == '=' || t.at(j) == ':') {
			j++
		}
		if t.at(j) == '>' && j == i+1 && c == '=' {
			j++
		}
		if t.has(j, "//") && c == ':' {
			return 0, "" // a scheme
		}
		sep = ":"
		if strings.HasSuffix(t.s[i:j], "=") {
			sep = "="
		}
		value = t.skip(blank, j)
		if c == ':' && value > j && sep == ":" {
			sep = ": "
		}
		if t.fold(value, "str") { // password: str = "..."
			if j := t.skip(blank, t.skip(word, value)); t.at(j) == '=' {
				return t.skip(blank, j+1), "="
			}
		}
		return value, sep
	case (c == '?' || c == '+' || c == '|' && t.at(i+1) == '|') && (t.at(i+1) == '=' || t.at(i+2) == '=') && i > end: // ?= += ||=
		return t.skip(blank, i+2+strings.IndexByte(t.s[i+1:i+3], '=')), "="
	case c == '(' && i == end: // setPassword("...")
		if j := t.skip(space, i+1); t.in(quotes, j) && t.at(j+1) != t.at(j) {
			return j, "="
		}
	case c == ',' && quote && strings.IndexByte("({", t.at(from-2)) >= 0: // header.Set("X-Api-Key", "...")
		if j := t.skip(space, i+1); t.in(quotes, j) {
			return j, "="
		}
	case c == '>' || c == ' ' || c == '/':
	}
	if xml := t.at(from-1) == '<' || t.at(from-1) == ':' && strings.LastIndexByte(t.s[max(0, from-24):from], '<') > strings.LastIndexByte(t.s[max(0, from-24):from], ' '); xml && end == i || xml && t.at(end) == ' ' { // <password type="x">...
		if j := end + strings.IndexAny(t.s[end:min(len(t.s), end+200)]+"<", "<>\n"); t.at(j) == '>' && t.at(j-1) != '/' {
			return j + 1, ">"
		}
		return 0, ""
	}
	if t.has(end, "</key>") { // a property list
		if j := t.skip(space, end+len("</key>")); t.has(j, "<string>") {
			return j + len("<string>"), ">"
		}
		return 0, ""
	}
	lowerName := strings.ToLower(name)
	switch {
	case t.has(from-2, "--") && i > end && !quote, lowerName == "requirepass", lowerName == "masterauth":
		if i > end {
			return i, " "
		}
	case lowerName == "password" && t.fold(i, "for ") && i > end: // SET PASSWORD FOR 'u'@'h' = '...'
		line := t.s[i:min(len(t.s), i+120)]
		if j := strings.IndexByte(line, '='); j > 0 && strings.IndexByte(line[:j], '\n') < 0 {
			return t.skip(blank, i+j+1), "="
		}
	case t.fold(i, "to ") && i > end && t.in(quotes, i+3):
		return i + 3, "="
	case lowerName == "password" && i > end && strings.Contains(strings.ToLower(t.s[max(0, from-48):from]), "login "): // .netrc
		return i, " "
	}
	if c := t.at(i); quote && (c == ',' || i > end+1) || c == '\n' || c == '\r' { // {"name":"TOKEN","value":"..."}
		return t.valueMember(i)
	}
	return 0, ""
}

// valueMember looks for a member "value" next to a member whose value is a secret's name.
func (t *text) valueMember(i int) (value int, sep string) {
	rest := t.s[i:min(len(t.s), i+160)]
	t.work += len(rest) / 4
	if n := strings.IndexAny(rest, "}<>]"); n >= 0 {
		rest = rest[:n]
	}
	if n := strings.Index(rest, "\n\n"); n >= 0 {
		rest = rest[:n]
	}
	n := strings.Index(strings.ToLower(rest), "value")
	if n < 0 || n > 0 && word[rest[n-1]] {
		return 0, ""
	}
	j := i + n + len("value")
	if t.in(quotes, j) {
		j++
	}
	j = t.skip(blank, j)
	if c := t.at(j); c != ':' && c != '=' {
		return 0, ""
	}
	return t.skip(blank, j+1), "="
}

// value hides the value that starts at i, unless it says something about the secret rather than being it.
func (t *text) value(name, sep string, start, i int) {
	s := t.s
	if strings.HasPrefix(sep, ":") && fileTypes[name[strings.LastIndexByte(name, '.')+1:]] { // auth.go:12: undefined
		return
	}
	if sep == ": " && weakNames[strings.ToLower(name)] && !t.in(quotes, start-1) { // "auth: not yet configured" is a sentence, {"auth": ...} is not
		return
	}
	before := strings.ToLower(s[max(0, start-len("unexpected ")):start])
	if before == "unexpected " || strings.HasSuffix(before, "illegal ") { // a parser's token
		return
	}
	if sep == ">" {
		if t.has(i, "<![CDATA[") {
			i += len("<![CDATA[")
		}
		end := i + strings.IndexAny(s[i:min(len(s), i+4096)]+"<", "<]")
		t.work += end - i
		if i < end && strings.TrimSpace(s[i:end]) != "" {
			t.hide(i, end)
		}
		return
	}
	if sep == "=" && t.at(i) == '{' { // PWD={...} of ODBC; after a colon it is an object, with names of its own
		if end := t.until(i, '}'); end < len(s) && !strings.Contains(s[i:end], `":`) {
			t.hide(i, end+1)
		}
		return
	}
	if (t.at(i) == '|' || t.at(i) == '>') && strings.HasPrefix(sep, ":") {
		if from, to := t.block(i); from < to {
			t.hide(from, to)
			return
		}
	}
	from, to := t.valueAt(i)
	if from == to {
		return
	}
	if harmless(s[from:to], sep == "=") || numbered(name, s[from:to]) {
		return
	}
	if header := strings.ToLower(name); s[from] != '[' && strings.HasPrefix(sep, ":") &&
		(strings.HasSuffix(header, "authorization") || strings.HasSuffix(header, "cookie")) {
		to = t.headerValue(from, to)
	}
	t.hide(from, to)
	if from == i {
		t.done[t.rule] = i // "password= api_key: hunter2": what stands there may be another name
	}
}

// block returns a block of YAML: the lines behind the sign at i that are indented.
func (t *text) block(i int) (from, to int) {
	i++
	if t.at(i) == '-' || t.at(i) == '+' {
		i++
	}
	if t.at(i) != '\n' {
		return 0, 0
	}
	from = t.skip(space, i)
	to = from
	for indent := from - i - 1; indent > 0 && to < len(t.s); {
		to = t.skip(inLine, to)
		if next := t.skip(blank, to+1); to >= len(t.s) || next-to-1 < indent {
			break
		}
		to++
	}
	return from, to
}

// until returns where c is on the line of i, or the end of that line.
func (t *text) until(i int, c byte) int {
	end := t.ahead(lineEnd, inLine, i)
	if n := strings.IndexByte(t.s[i:end], c); n >= 0 {
		t.work += n
		return i + n
	}
	t.work += (end - i) / 8
	return end
}

// exported hides the value of a variable whatever its name.
func exported(t *text, i int) {
	j := i + len("export ")
	end := t.skip(capitals, j)
	if !t.starts(i) || end == j || !isUpper(t.at(j)) || t.at(end) != '=' {
		return
	}
	from, to := t.valueAt(end + 1)
	t.hide(from, to)
}

// environment hides three assignments to upper-case names in a row, with values in one word or to the end of a line.
func environment(t *text, i int) {
	from := t.behind(envStart, capitals, i)
	if i-from < 2 || !isUpper(t.at(from)) || !t.starts(from) {
		return
	}
	first, to, pairs := from, i, 0
	for {
		name := t.skip(capitals, from)
		if name-from < 2 || !isUpper(t.at(from)) || t.at(name) != '=' {
			break
		}
		pairs++
		to = t.skip(solid, name)
		next := t.skip(space, to)
		if n := t.skip(capitals, next); (t.at(n) != '=' || n-next < 2) && (from == 0 || t.s[from-1] == '\n') && to < len(t.s) {
			line := t.ahead(lineEnd, inLine, to)
			if n := t.skip(capitals, line+1); n-line > 2 && t.at(n) == '=' {
				to, next = line, line+1
			}
		}
		if next == to {
			break
		}
		from = next
	}
	if pairs >= 3 {
		t.hide(first, to)
	}
	t.decided(to)
}

// valueAt returns where the value is that starts at i: quoted, in brackets, or bare. The quotes stay.
func (t *text) valueAt(i int) (from, to int) {
	for strings.IndexByte("bruf@", t.at(i)) >= 0 && (t.at(i+1) == '"' || t.at(i+1) == '\'') { // b'...' of Python
		i++
	}
	switch c := t.at(i); {
	case c == 0 && i >= len(t.s), strings.IndexByte("\r\n,;&{", c) >= 0:
		return i, i
	case t.has(i, `\"`): // JSON inside a JSON string
		return i + 2, t.escapedQuote(i + 2)
	case t.has(i, `"""`), t.has(i, `'''`):
		return i + 3, t.quoted(i+3, c, false)
	case t.in(quotes, i):
		return i + 1, t.quoted(i+1, c, true)
	case c == '[':
		return i, max(t.bare(i), min(len(t.s), t.until(i, ']')+1))
	case c == '(':
		return i, max(t.bare(i), min(len(t.s), t.until(i, ')')+1))
	}
	return i, t.bare(i)
}

func (t *text) escapedQuote(i int) int {
	end := t.ahead(lineEnd, inLine, i)
	if n := strings.Index(t.s[i:end], `\"`); n >= 0 {
		t.work += n
		return i + n
	}
	t.work += (end - i) / 8
	return end
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
	if m := &t.memo[bareEnd]; m.from <= i && i < m.to {
		i = m.to
	} else {
		for ; i < len(s) && s[i] > ' '; i++ {
			if !delimiter[s[i]] {
				continue
			}
			j := i
			for j < len(s) && j < i+16 && delimiter[s[j]] {
				j++
			}
			k := j
			for k < len(s) && k < j+48 && named[s[k]] {
				k++
			}
			if j == len(s) || s[j] <= ' ' || k > j && k < len(s) && strings.IndexByte(`:="'\[`, s[k]) >= 0 || s[i] == '<' && s[j] == '/' {
				break
			}
		}
		t.work += i - start
		m.from, m.to = start, i
	}
	for i > start && strings.IndexByte(".,;:?", s[i-1]) >= 0 { // the sentence's, not the secret's
		i--
	}
	return i
}

var delimiter = chars("\"'`,;&|)}]><\\")

// headerValue goes on behind the first word of a header: to the token after its scheme, and over all parameters.
func (t *text) headerValue(from, to int) int {
	s := t.s
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

// spokenPassword hides what a sentence or a statement gives as a password.
func spokenPassword(t *text, i int) {
	j := i + strings.IndexByte(t.s[i:], ' ')
	switch {
	case t.fold(i, "identified with "):
		if j = t.skip(solid, i+len("identified with ")); !t.fold(j, " by ") {
			return
		}
		j += len(" by ")
	case t.fold(i, "identified by "):
		j = i + len("identified by ")
	default:
		if j++; t.fold(j, "is ") || t.fold(j, "was ") {
			j += 1 + strings.IndexByte(t.s[j:], ' ')
			if t.in(quotes, j) {
				j++
			}
			to := t.skip(spokenEnd, j)
			for to > j && strings.IndexByte(".?!", t.s[to-1]) >= 0 {
				to--
			}
			if v := strings.ToLower(t.s[j:min(to, j+256)]); strings.IndexAny(v, "0123456789") >= 0 && strings.IndexAny(v, "abcdefghijklmnopqrstuvwxyz") >= 0 {
				t.hide(j, to)
			}
			return
		}
	}
	if c := t.at(j); c == '"' || c == '\'' {
		to := t.skip(solid, j+1)
		if n := strings.IndexByte(t.s[j+1:to], c); n > 0 {
			t.hide(j, j+1+n+1)
		}
	}
}

var spokenEnd = chars("^ \t\n\r\f\v\"',;)")

// userFlag hides the password of curl -u user:password.
func userFlag(t *text, i int) {
	j := i + len(" -u ")
	if t.fold(i, "--user") {
		if j = i + len("--user"); t.at(j) != ' ' && t.at(j) != '=' {
			return
		}
		j++
	}
	if t.at(j) == '"' || t.at(j) == '\'' {
		j++
	}
	colon := t.skip(userName, j)
	if colon == j || t.at(colon) != ':' {
		return
	}
	t.hide(colon+1, t.skip(inSecretWord, colon+1))
}

var (
	userName     = chars("^ \t\n\r\f\v:\"'")
	inSecretWord = chars("^ \t\n\r\f\v\"'")
)
