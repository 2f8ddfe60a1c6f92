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

	delimiter = chars("\"'`,;&|)}\\]><\\\\")
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

// betweens are what may stand between the name of a secret and its value: behind the name, its quote and blanks.
var betweens = []struct {
	sep  string
	like pattern
}{
	{"=", compile(`[:?+|>]{0,2}=` + lastSign + `[ \t]*`)}, // also := and ||=
	{"", compile(`:(?P<is>//)`)},                          // a scheme
	{"=", compile(`:[ \t]*(?i:str)\w*[ \t]*=[ \t]*`)},     // password: str = "..."
	{": ", compile(`:` + lastSign + `[ \t]+`)},
	{":", compile(`:` + lastSign)},
	{"=", compile("(?P<after>[\\w.$-])\\([ \\t]*(?P<not>\"\"|''|``)(?P<is>[\"'`])")}, // setPassword("...")
	{">", compile(`</key>\s*<string>`)},                                              // a property list
	{"=", compile("(?P<after>[ \\t])(?i:to )(?P<is>[\"'`])")},
	{"=", compile(`(?P<after>[ \t])(?i:for )[^=\n]{0,120}=[ \t]*`)}, // SET PASSWORD FOR 'u'@'h' = '...'
}

const lastSign = `[=:?+|>]{0,2}(?P<not>[=:?+|>])`

var (
	nameEnd  = compile("(?:\\\\*[\"'`]\\]?|\\])?[ \\t]*(?:(?P<after>[\"'`\\] \\t])(?i:string)[ \\t]*(?P<is>=))?") // var token string = "..."
	tagEnd   = compile(`(?: (?:[^/<>\n]+|/(?P<not>>))*)?>`)                                                       // <password type="x">
	nextText = compile(",\\s*(?P<is>[\"'`])")                                                                     // header.Set("X-Api-Key", "...")
	// nextMember is a member "value" next to one whose value is a secret's name: {"name":"TOKEN","value":"..."}.
	nextMember = compile("[^vV}<>\\]]*(?:(?P<not>\\b(?i:value))[vV][^vV}<>\\]]*){0,3}\\b(?i:value)[\"'`]?[ \\t]*[:=][ \\t]*")
	element    = compile(`(?:<!\[CDATA\[)?(?P<is>[\s\v]*[^\s\v<\]])(?P<hide>[^<\]]*)`)
	yamlBlock  = compile(`[|>][+-]?\n(?P<is>[ \t])[\s\v]*(?P<hide>[^\n]+(?:\n[ \t][^\n]*)*)`)
)

// separator returns where the value is that belongs to the name s[from:end], and what stands between.
func (t *text) separator(from, end int, name string) (value int, sep string) {
	before, farther := t.at(from-1), t.at(from-2)
	if before == '<' || t.at(end) == '>' {
		if value = tagEnd(t, end); value >= 0 && before == '<' {
			return value, ">"
		} else if t.at(end) == '>' {
			return 0, ""
		}
	}
	i := nameEnd(t, end)
	for _, n := range betweens {
		if value = n.like(t, i); value >= 0 {
			return value, n.sep
		}
	}
	quote := t.in(quotes, t.skip(backslashes, end))
	if i > end && t.in(blank, i-1) && (flag(t, from) && !quote || blankNames[name] && name != "password" ||
		name == "password" && strings.Contains(strings.ToLower(t.some(from-48, 48)), "login ")) { // .netrc
		return i, " "
	}
	if quote && (farther == '(' || farther == '{') {
		if value = nextText(t, i); value >= 0 {
			return value, "="
		}
	}
	if c := t.at(i); quote && (c == ',' || i > end+1) || c == '\n' || c == '\r' {
		if value = nextMember(t, i); value >= 0 && value < i+170 {
			return value, "="
		}
	}
	return 0, ""
}

func flag(t *text, from int) bool { return t.has(from-2, "--") }

// A value stands in quotes, which stay, in brackets, or bare. \" is JSON inside a JSON string, b'...' of Python, and
// {...} of ODBC. A header goes on behind its first word: to the token after the scheme, and over all parameters.
var (
	secretValue = compile(anyValue)
	scheme      = compile(` ` + parameter)
	parameters  = compile(`(?:[,;] ` + parameter + `)*`)
)

var (
	anyValue = `(?:` + inAnyQuotes + `|(?P<not>[\r\n,;&])(?P<hide>(?:` + inBrackets + `)?(?P<bare>)?))`
	// A shell reads on to the next blank: quotes, commas and ampersands may be part of a URL or of JSON.
	exported = `(?:` + inAnyQuotes + `|(?P<hide>` + inBrackets + `)?(?P<url>[^\s\v]*))`

	inAnyQuotes = `(?:[bruf@](?P<is>["']))?(?:\\"(?P<hide>(?:[^\\\n]+|\\(?P<not>"))*)|` +
		inQuotes(`"""`, "") + "|" + inQuotes("'''", "") + "|" + inQuotes(`"`, `\n`) + "|" + inQuotes("'", `\n`) + "|" + inQuotes("`", `\n`) + `)`
)

const inBrackets = `(?:\[(?:[^\]]*\]|[^\]\n]*)|\((?:[^)]*\)|[^)\n]*)|\{(?:(?:[^"}\n]+|"(?P<not>:))*[}\n]|[^"}\n]*))`

const parameter = `(?P<bare>)(?:(?P<after>=)"[^"\n]*"?)?`

func inQuotes(quote, end string) string {
	return quote + `(?P<hide>(?:[^\\` + quote[:1] + end + `]+|\\[^\x00]?)*)`
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
		t.hides(element, i)
		return
	case colon && (t.at(i) == '{' || t.hides(yamlBlock, i)): // an object has names of its own
		return
	}
	if t.marks = t.marks[:0]; secretValue(t, i) < 0 {
		return
	}
	from, to := t.marks[0].from, t.marks[0].to
	if from == to || harmless(s[from:to], sep == "=") || numbered(name, s[from:to]) {
		return
	}
	if colon && s[from] != '[' && (strings.HasSuffix(name, "authorization") || strings.HasSuffix(name, "cookie")) {
		if end := scheme(t, to); end >= 0 && strings.IndexByte(s[from:to], '=') < 0 {
			to = end
		}
		to = parameters(t, to)
	}
	t.hide(from, to)
	t.done[t.rule] = from // "password= api_key: hunter2": what stands there may be another name
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
