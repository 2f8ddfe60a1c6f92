package scrub

import (
	"slices"
	"strings"
)

var (
	// noWords stand for the lack of a value.
	noWords = set("nil null none undefined true false empty blank unset")
	// plainWords begin a statement about a secret: "token: invalid", "get secret: dial tcp ...",
	// {"password": "must have 8 characters"}. A password that is one of them is not hidden.
	plainWords = set(`is are was were be been must should shall can cannot can't could would will may might has have had needs need requires expects takes accepts reads not no none nil null
		undefined true false empty blank unset omit include same-origin missing required optional invalid valid expired revoked unknown unexpected expected wrong incorrect malformed
		unsupported unauthorized unauthenticated forbidden denied rejected refused failed failure error too to and or of for from in on at as by with without if when unable please
		ensure see check got received context dial open read write lookup eof signature permission connection connect timeout deadline json http https x509 tls net sql pq rpc parse
		parsing decode decoding validate exec string str int integer number bool boolean object array list file flag option argument parameter value field bytes any type default set
		provided given found length format example e.g only already exists does did do hidden masked omitted enabled disabled yes ok the a an this that these those it its your you we
		they he she there here both all each get put post head delete patch edit use create update admin manage view`)
	// proseWords begin a sentence about a password, which goes on. A password that is one of them and has words behind it is
	// not hidden.
	proseWords = set(`access account address after algorithm algorithms application arguments asn1 attempt attempts auth authentication authorization backend bad base64 before body bounds buffer bug
		busy but cache call calls certificate change character characters checksum client code command config configuration constraint content contents cost count couldn't crypto data
		database date decrypt decryption destination device directory document duplicate either element encoding encryption end endpoint entry environment every exit external fatal few
		fetch fields files first function generic handler hash hashed header headers helper host id illegal implementation inappropriate index input inputs insecure installation
		internal ioctl item key keyring keys large last ldap letter limit line lines local login long lookups lower many max maximum memory message method min minimum more name names
		namespaces negative neither network never new nonce note nothing now old one operation options other out output page password passwords path pattern peer policy previous
		private problem process prompt protocol public quota rate reason record remote request requested reset response rest result role root rule rules salt same schema scope server
		service session setting several short size some source stale state status still storage stored strength syntax system table target template terminal text then time token two
		unix upper usage user username users values version vault very via wait warning what where which while who whole why wire words writing unbound unchanged through into over
		under until about since based manager protection store dialog box form`)
)

// ordinary reports whether s[from:to], which was given for a secret, says something about it, or only where it comes
// from. After an equals sign stands a value, after a colon perhaps a sentence, and in a list what looks like a secret.
func (t *text) ordinary(k kind, name, sep string, start, from, to int) bool {
	const most = 256 // many names may have their values end at the same place, and no word is longer
	v, colon := t.s[from:min(to, from+most)], sep[0] == ':'
	if harmless(v, !colon && sep != " ") && (len(v) == to-from || !placeholder(v)) || k != code && !colon && isNumber(k, strings.TrimRight(v, ")]};,")) {
		return true
	}
	quoted, nameQuoted := t.in(quotes, from-1), t.in(quotes, start-1)
	switch {
	case sep == "|", sep == ": " && weakNames[name] && !nameQuoted && !(name == "pass" && (quoted || t.alone(start, to))): // "auth: not yet configured" is a sentence, {"auth": ...} is not
		return !k.looks(v) && (k == session || !password.looks(v))
	case k == session:
		return !k.looks(v)
	case sep == "(":
		function := name[strings.LastIndexByte(name, '.')+1:]
		return isFile(v) || !k.looks(v) && (k != password && kindOfName(function) == noSecret || slices.ContainsFunc(lookUps, func(verb string) bool { return strings.HasPrefix(function, verb) }))
	case quoted && strings.ContainsAny(v, "_-"+uppers) && sameName(v, t.s[start:start+len(name)]), // apiKey = "API_KEY"
		quoted && k != password && strings.Contains(t.s[start:from], "==") && !k.looks(v) && !password.looks(v),
		sep == ":" && t.at(start-1) == ':' && strings.Contains(t.s[max(0, start-64):start], "arn:") && !generated(v): // arn:aws:secretsmanager:eu-west-1:1234:secret:prod/db
		return true
	case v[0] == '(' && strings.IndexByte(v, ' ') > 0: // (known after apply)
		return strings.Trim(v, "() -"+lowers) == ""
	case sep == " ":
		return proseWords[v] || metavariables[v] || t.at(start-1) == '-' && (v[0] == '-' || t.in(blank, from-2) || t.has(to, "  ") || t.has(start-4, ", --")) && !k.looks(v) && !password.looks(v) // of a help
	case isPath(v), strings.HasSuffix(name, "auth") && schemes[strings.ToLower(v)], strings.IndexByte(name, '.') > 0 && sep == ":" && len(v) <= 5 && digits(v): // a host and its port
		return true
	case !colon, k.looks(v), k == password && password.looks(v):
		return false
	}
	low := strings.ToLower(v[:min(len(v), 64)])
	letter := isLetter(v[0]) && strings.Trim(low, lowers+"'.-_/()") == ""
	prose := t.goesOn(to)
	switch {
	case strings.HasSuffix(name, "authorization") && schemes[low]:
		end := t.skip(solid, t.skip(blank, to))
		return end == to || placeholder(strings.TrimRight(t.s[t.skip(blank, to):end], "\"'`.,;)"))
	case quoted:
		return prose && !nameQuoted && t.namesObject(k, name, v, to) || isFile(v)
	case t.at(to) == ':' && (to+1 == len(t.s) || t.in(space, to+1)): // the error that is wrapped
		return letter || k != password && numberedWord(v)
	case len(v) <= 3 && digits(v) && k != code, isFile(v), isURL(v), strings.IndexByte(v, '(') > 0 && letter:
		return true
	case !letter:
		return prose && k != password && numberedWord(v)
	case prose:
		return k != password || proseWords[low] || suffixed(low, "ed able ible ing ly tion ment")
	default:
		return sep != ":" && suffixed(low, "ed able ible")
	}
}

// namesObject reports whether a quoted v, which ends at to, is the name of a secret that a sentence goes on about.
func (t *text) namesObject(k kind, name, v string, to int) bool {
	object := strings.HasPrefix(name, "secret") || strings.HasPrefix(name, "cred") // which may have a name
	return t.at(to+1) == ' ' && k != password && object && !password.looks(v)
}

// alone reports whether nothing else stands in the lines of s[from:to], as in a file of settings.
func (t *text) alone(from, to int) bool {
	line := t.back(blank, from)
	return (line == 0 || t.s[line-1] == '\n') && (to == len(t.s) || t.s[to] == '\n')
}

// schemes are those of the header Authorization.
var schemes = set("basic bearer token digest negotiate ntlm apikey key bot splunk geniekey sharedkey ssws hmac signature hawk oauth mac dpop aws4-hmac-sha256")

// numberedWord reports the name of an algorithm, and the number of an error: x509, ES256, IDX10223.
func numberedWord(v string) bool {
	run, rest := cutRun(v)
	stem := strings.TrimRight(run, "0123456789")
	return rest == "" && run == v && (algorithms[strings.ToLower(stem)] || len(stem) >= 2 && strings.Trim(stem, uppers) == "")
}

// goesOn reports whether a sentence goes on behind a word that ends at i: with a word, and with no other name and its value.
func (t *text) goesOn(i int) bool {
	if t.in(quotes, i) {
		i++
	}
	for t.at(i) == ',' || t.at(i) == ';' || t.at(i) == ')' {
		i++
	}
	next := t.skip(blank, i)
	if next == i || !t.in(alnum, next) && !t.in(quotes, next) && t.at(next) != '(' && t.at(next) != '<' {
		return false
	}
	end := t.skip(named, next)
	return t.at(end) != ':' && t.at(end) != '=' || t.at(end) == ':' && t.in(space, end+1)
}

var (
	// lookUps begin the name of a function that is given the name of something, not a secret.
	lookUps       = []string{"get", "revok", "delete", "list", "find", "look", "load", "read", "parse", "fetch", "check", "has", "ssl_ctx_use", "new", "create"}
	metavariables = set("TOKEN PASSWORD SECRET KEY STRING TEXT VALUE FILE PATH NAME PASS URL")
)

func suffixed(word, suffixes string) bool {
	for suffix := range strings.FieldsSeq(suffixes) {
		if len(word) > len(suffix)+2 && strings.HasSuffix(word, suffix) {
			return true
		}
	}
	return false
}

// isNumber reports a number that is not a secret: one of few digits, or a constant.
func isNumber(k kind, v string) bool {
	return strings.HasPrefix(v, "0x") && len(v) <= len("0xffff") || k != password && len(v) <= 3 && digits(v)
}

// isFile reports the name of a file.
func isFile(v string) bool {
	dot := strings.LastIndexByte(v, '.')
	return dot > 0 && len(v) <= 64 && (fileTypes[v[dot+1:]] || keyFiles[v[dot+1:]]) && strings.Trim(strings.ToLower(v), lowers+"0123456789_./~-") == ""
}

var (
	// fileTypes end what is a file rather than a name, when a colon follows.
	fileTypes = set("go py js ts jsx tsx mjs java kt rs rb c h cpp cs php sh sql txt md html css json yaml yml toml ini conf cfg env xml csv log pem crt pdf")
	// keyFiles end what is a file rather than a secret.
	keyFiles = set("key cer der p12 pfx jks keystore pub lock dat bin db sock service pickle properties tf")
)

// isURL reports a URL, in which a credential has rules of its own.
func isURL(v string) bool {
	scheme, _, found := strings.Cut(v, "://")
	return found && strings.Trim(strings.ToLower(scheme), lowers+"+") == ""
}

// isPath reports a path: it is below a well-known root, or has words between slashes.
func isPath(v string) bool {
	v = strings.ReplaceAll(v, "}/", "/") // src/{a => b}/c.go
	slashes := strings.Count(v, "/")
	first, _, _ := strings.Cut(strings.TrimPrefix(v, "/"), "/")
	return slashes > 0 && !generated(v) && !strings.Contains(v, "//") && (slashes > 1 || v[0] == '.' || v[0] == '~' || isFile(v)) &&
		(v[0] == '/' && rootNames[first] || worded(pathSigns.Replace(v)))
}

var pathSigns = strings.NewReplacer("*", "", "~", "", "0", "", "1", "", "2", "", "3", "", "4", "", "5", "", "6", "", "7", "", "8", "", "9", "")

// harmless reports a value that is none whatever stands around it.
func harmless(v string, assigned bool) bool {
	w := strings.ToLower(v[:min(len(v), 24)])
	if i := strings.IndexAny(w, " :,"); i >= 0 {
		w = w[:i]
	}
	w = strings.Trim(w, "()[]{}.!;")
	return noWords[w] || !assigned && plainWords[w] || len(v) <= 2 && strings.Trim(v, ")(}{][><,;'*./-") == "" || placeholder(v) || strings.HasSuffix(v, "(<nil")
}
