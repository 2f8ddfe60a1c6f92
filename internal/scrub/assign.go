package scrub

import "strings"

var (
	// weakNames need more than a colon and a blank to be taken for a name. Ordinary words of other languages are not known.
	weakNames = set("auth pass pin otp jwt bearer senha contrasena mdp kata_sandi motdepasse mot_de_passe")
	// blankNames have their value behind a blank, in the files of some programs and in statements.
	blankNames = set("password requirepass masterauth rootpw bindpw")
	// lastWords are second words of a secret's name, such as the key of "API key"; firstWords are what stands before them.
	lastWords  = set("key token secret keys tokens")
	firstWords = set(`unseal api access secret private client account signing encryption decryption master auth session shared service license ssh app bot
		aes hmac jwt subscription function deploy webhook sha256 sha512 aes128 aes256`)
	// codeWords stand before the code that a person types, and phraseWords before a phrase.
	codeWords   = set("verification security recovery backup confirmation activation authentication invite invitation access login reset")
	phraseWords = set("seed recovery mnemonic pass")

	delimiter = chars("\"'`,;&|)}\\]><\\\\")
	inQuote   = chars("^\"'`\\n\\\\")
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
	k, first := t.kindOf(name, from, end)
	if k == noSecret {
		return
	}
	t.namedBehind(k, first)
	if first < from && t.fold(end, " provided") {
		end += len(" provided")
	}
	if t.element(k, name, from, end) {
		return
	}
	low := strings.ToLower(name)
	if value, sep := t.separator(k, from, end, low); value > 0 && sep != "" {
		t.value(k, low, sep, from, value)
	} else {
		t.spoken(k, low, end)
	}
}

// parsed reports whether the name at i is what a parser has read: an unexpected token.
func (t *text) parsed(i int) bool {
	before := strings.ToLower(t.s[max(0, i-len("unexpected ")):i])
	return strings.HasSuffix(before, "expected ") || strings.HasSuffix(before, "illegal ")
}

// kindOf returns what s[from:end] is the name of: alone, as the second word of a name, or in a URL; and where the name
// begins.
func (t *text) kindOf(name string, from, end int) (_ kind, first int) {
	k := kindOfName(name)
	if k > session {
		return k, from
	}
	if t.at(end) == '=' && (strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_PAT")) { // of the environment
		return session, from
	}
	low := strings.ToLower(name)
	switch t.at(from - 1) {
	case ' ':
		first = t.back(word, from-1)
		switch before := strings.ToLower(t.s[first : from-1]); {
		case lastWords[low] && firstWords[before]:
			return secret, first
		case low == "code" && codeWords[before]:
			return code, first
		case low == "phrase" && phraseWords[before]:
			return phrase, first
		}
	case '?', '&':
		if t.at(end) == '=' && queryNames[low] {
			return secret, from
		}
	}
	return k, from
}

// betweens are what may stand between the name of a secret and its value: behind the name, its quote and blanks.
var betweens = []struct {
	sep  string
	like pattern
}{
	{"=", compile(`[:?+|>.!~]{0,3}=` + lastSign + `[ \t]*`)}, // also := and ||=
	{"", compile(`:(?P<is>//)`)},                             // a scheme
	{"=", compile(`:[ \t]*(?:(?i:str)\w*[ \t]*=[ \t]*|[A-Z]\w*(?:\[(?:[\w., |\[]+|\](?P<is>[\],]))*\])?[ \t]+=[ \t]+)`)}, // password: str = "..."
	{": ", compile(`:` + lastSign + `[ \t]+`)},
	{":", compile(`:(?P<not>:)` + lastSign)},
	{": ", compile(`：[ \t]*`)},
	{": ", compile(`->[ \t]+`)},
	{": ", compile(`→[ \t]*`)},
	{"|", compile(`\|[ \t]+`)}, // a table
	{"(", compile("(?P<after>[\\w.$-])\\([ \\t]*(?P<not>\"\"|''|``)(?P<is>[bru]?[\"'`]|[A-Z]\\w*\\([\"'])")}, // setPassword("...")
	{">", compile(`</key>\s*<string>`)}, // a property list
	{"to", compile("(?P<after>[ \\t])(?i:to )(?P<is>[\"'`])")},
	{"=", compile(`(?P<after>[ \t])(?i:for )[^=\n]{0,120}=[ \t]*(?P<is>["']|(?i:password))`)}, // SET PASSWORD FOR 'u'@'h' = '...'
	{"=", compile(`(?:::[\w ]+)?(?:,[\w ,:()]*)?\)+[ \t]*=(?P<is>\()`)},                       // Key (token)=(...) of Postgres
	{"=", compile(`\r?\n\d+\) (?P<is>")`)},                                                    // of redis-cli
	{"=", compile(`(?i:dup key: \{ )[\w.]*: *(?P<is>")`)},                                     // of MongoDB
}

const lastSign = `[=:?+|>]{0,2}(?P<not>[=:?+|>])`

var (
	nameEnd      = compile("(?: \\d(?P<is>:))?(?:\\\\*[\"'`]\\]?|\\])?[ \\t]*(?:(?P<after>[\"'`\\] \\t])(?i:string)[ \\t]*(?P<is>=))?") // var token string = "..."
	nextArgument = compile("(?:\\\\*[\"'`][ \\t]+(?P<is>\\\\*[\"'`][^-\"'`])|,[ \\t]+(?P<is>[^\\s\\v,\\]\"'-][^\\s\\v,\\]]*[,\\]]))")   // ["--token" "..."], [--token, ...]
	// The help of a flag has its value, if it has one: -password string, "(default ...)".
	defaultOfFlag = compile(`[ \t]+[a-z]+(?:[ \t]+[^\n(]*|\n[^\n(]*)\(default (?P<is>")`)
	partOfForm    = compile(`"[ \t]*(?:;[^\n]*)?(?:\r?\n[\w-]+: [^\n]*)*\r?\n(?:\r?\n)+`)
	nextText      = compile("(?:\\\\*[\"'`])?,\\s*(?P<is>\\\\*[bru]?[\"'`])") // header.Set("X-Api-Key", "..."), ["--token", "..."]
)

// separator returns where the value is that belongs to the name s[from:end], and what stands between.
func (t *text) separator(k kind, from, end int, name string) (value int, sep string) {
	i := nameEnd(t, end)
	for _, n := range betweens {
		if value = n.like(t, i); value >= 0 {
			return value, n.sep
		}
	}
	quote, isFlag := t.in(quotes, t.skip(backslashes, end)), t.has(from-2, "--") || t.at(from-1) == '-' && (from == 1 || t.in(space, from-2) || t.in(quotes, from-2))
	if isFlag {
		for _, given := range []pattern{nextArgument, defaultOfFlag} {
			if value = given(t, end); value >= 0 {
				return value, "="
			}
		}
	}
	if i > end && t.in(blank, i-1) && (isFlag && !quote && t.at(i) != '(' && strings.IndexByte(name, '$') < 0 || blankNames[name] && name != "password" || name == "password" && t.behindLogin(from)) {
		return i, " "
	}
	if t.has(from-len(`name="`), `name="`) {
		if value = partOfForm(t, end); value >= 0 {
			return value, "\n"
		}
	}
	if quote || t.at(i) == ',' {
		if value = nextText(t, end); value >= 0 {
			opened := quote && t.at(from-1) != '`' && (t.at(from-2) == '(' || t.at(from-2) == '{' || isFlag)
			from := t.skip(backslashes, value) + 1
			if v := t.s[from:t.skip(inQuote, from)]; k.looks(v) || opened && kindOfName(v) == noSecret {
				return value, "="
			}
		}
	}
	if t.at(i) == '{' && isUpper(t.s[from]) { // Token { value: "..." }
		return t.member(i + 1)
	}
	if c := t.at(i); quote && (c == ',' || i > end+1) || c == '\n' || t.at(from-1) == '<' {
		if value, sep = t.member(i); value > 0 {
			return value, sep
		}
	}
	return 0, ""
}

// behindLogin reports whether the two words before i are a login and a user, as in a .netrc.
func (t *text) behindLogin(i int) bool {
	user := t.back(solid, t.back(space, i))
	login := t.back(space, user)
	return t.fold(login-len("login"), "login") && t.at(user) != '-'
}
