package scrub

import "strings"

// In the URL of a database, a queue or a directory everything is private to a stranger. To everybody else only its
// password is, see [database]; in another URL what stands before the last @ of the authority, but for a user of a few
// small letters alone, as in ssh://git@host.
const (
	private = `[\d_+.-]*(?i:postgresql|postgres|mysqlx?|mariadb|mongodb|rediss?|valkeys?|amqps?|jdbc|sqlserver|mssql|oracle|clickhouse|cockroachdb` +
		`|cassandra|neo4j|bolt|nats|kafka|ldaps?|smtps?|memcached|couchbase|snowflake)(?:\+[\w+.-]*)?://`
	plainUser = `[a-z_-]{1,15}`
	inUser    = `[^\s\v/?#"<>@]`
	withKey   = `(?:(?P<not>` + private + `)[\w+.-]+://(?P<not>` + plainUser + `@(?P<not>` + inUser + `*@))(?P<login>(?:` +
		inUser + `+|@(?P<is>` + inUser + `*@))+)@)`
	inURLs   = "[^\\s\\v\"<>`]"
	withJDBC = `(?i:jdbc):(?:(?i:[a-z\d]+):){1,3}//`
)

var (
	keyInURL  = behind(inScheme, withKey)
	isPrivate = compile(private)
	isToken   = compile(`(?i:nats|rediss?|valkeys?)`) // whose URL may have a token or a password in the place of the user
	isJDBC    = compile(withJDBC)
	inScheme  = chars(`\w+.-`)
	hosts     = compile(`(?:` + host + `(?:,` + host + `)*)?(?P<is>[/?#;\\]|[` + cutOfURL + `]*(?:["<>` + "`" + `\s\v]|\z))`)
	givenUser = compile(plainUser + `(?:@|:(?P<not>@|x-oauth-basic@))`)
)

const (
	host     = `(?:\[[\w:.%]+\]|[\w.%-]+)(?::\d{1,5})?`
	cutOfURL = `.,:;!?)\]}'\\`
)

func credentialsURL(t *text, i int) {
	if t.url < i && t.in(dotted, i-1) {
		t.url = t.skip(inURL, i)
	}
	if t.privateURL(i) {
		t.database(i+len("://"), isToken(t, t.back(inScheme, i)) >= 0)
	} else {
		keyInURL(t, i)
		t.brokenUser(i + len("://"))
	}
}

// brokenUser hides the credentials in the authority at from if a sign in the password ends it: https://bob:a/b@host. A port
// has digits, or stands for them.
func (t *text) brokenUser(from int) {
	colon := t.skip(inName, from)
	if t.at(colon) != ':' || from < t.broken {
		return
	}
	port := t.skip(inPortOfURL, colon+1)
	if t.at(port) == '@' { // the password has no such sign
		return
	}
	number := t.some(colon+1, t.trim(colon+1, port, cutOfURL)-colon-1)
	switch end := t.urlEnd(port); {
	case number == "" && (port > colon+1 || strings.IndexByte("/?#", t.at(port)) < 0), digits(number), strings.EqualFold(number, "port"),
		strings.IndexByte("${%<*[", t.at(colon+1)) >= 0:
	default:
		t.work += end - port
		t.broken = end
		if at := strings.LastIndexByte(t.s[port:max(port, end)], '@'); at >= 0 && t.in(hostStart, port+at+1) {
			t.hide(from, port+at)
		} else if port >= end { // else a path or a query ends it, behind a password without an @
			if broken := t.brokenBy(end); broken > 0 {
				t.hide(from, broken)
			}
		}
	}
}

// brokenBy returns where the @ stands of a URL that ends before a blank or a quotation mark at i, if that is part of the
// password in it; else 0.
func (t *text) brokenBy(i int) int {
	const most = 128
	i = t.skip(inURL, i) // over the punctuation of a sentence
	next := t.some(i, most)
	if len(next) < 2 || next[0] == '\n' || next[0] == '\r' || next[0] != ' ' && strings.IndexByte(",:;)}]>|", next[1]) >= 0 {
		return 0
	}
	if end := strings.IndexAny(next[1:], " \t\n\r"); end >= 0 {
		next = next[:end+1]
	}
	at := strings.LastIndexByte(next, '@')
	if at < 2 || !t.in(hostStart, i+at+1) {
		return 0
	}
	return i + at
}

var (
	inName      = chars(`\w%+-`)
	inPortOfURL = chars("^ \t\n\r\f\v/?#\"<>`@")
	hostStart   = chars(`A-Za-z0-9\[`)
)

func jdbcURL(t *text, i int) {
	if from := isJDBC(t, i); from >= 0 {
		t.database(from, false)
	} else {
		t.hide(i+len("jdbc:"), t.urlEnd(i+len("jdbc:")))
	}
}

// pieceOfURL hides what is said to be wrong with a URL that has a password: it may be a piece of that.
func pieceOfURL(t *text, i int) {
	const most = 1 << 10
	before := t.some(i-most, min(i, most))
	_, user, _ := strings.Cut(before[max(0, strings.LastIndex(before, "://")):], "://")
	if user, _, found := strings.Cut(user, "@"); found && strings.IndexByte(user, ':') >= 0 {
		from := i + len(rules[t.rule].on[t.row])
		t.hide(from, t.skip(inQuote, from))
	}
}

// database hides the credentials in a URL whose authority begins at from: the password, a user that is more than a few
// small letters, and from the first secret in its parameters on all of them. A password may hold each of the signs
// that structure a URL, so it goes on to the last @; what has no @ and is not a list of hosts is hidden whole.
func (t *text) database(from int, userIsToken bool) {
	at, of, end := t.hostsIn(from)
	switch {
	case of < 0:
		t.hide(from, end)
		return
	case at > from && masked(t.s[from:at-1]):
	case at > from && (userIsToken && strings.IndexByte(t.s[from:at-1], ':') < 0 || givenUser(t, from) < 0):
		t.hide(from, at-1)
	case at > from:
		if colon := strings.IndexByte(t.s[from:at-1], ':'); colon >= 0 {
			t.hide(from+colon+1, at-1)
		}
	}
	t.decided(end)
}

// hostsIn returns where the hosts of the URL of a database begin and end, whose authority is at from, and where the URL
// ends. end is -1 if no host can be recognised.
func (t *text) hostsIn(from int) (begin, end, last int) {
	last = t.urlEnd(from)
	begin = from + strings.LastIndexByte(t.s[from:last], '@') + 1
	t.work += last - from
	end = hosts(t, begin)
	rest := t.skip(inURL, last)
	if (end < 0 || begin == from && end >= last) && strings.IndexByte(t.s[from:last], ':') >= 0 { // a blank or a quote in a password looks like the end of the URL
		if at := t.brokenBy(last); at > 0 {
			begin = at + 1
			last = t.urlEnd(begin)
			end, rest = hosts(t, begin), t.skip(inURL, last)
		}
	}
	if end < 0 || end > rest || begin == from && (generated(t.s[begin:end]) || t.has(end, "...") || t.has(end, "\u2026") || t.has(end, " "+cutMark)) { // a user and half a password, perhaps
		return begin, -1, last
	}
	return begin, end, last
}

// databaseHost hides where a database is.
func databaseHost(t *text, i int) {
	from := i + len("://")
	if t.row == 2 {
		if t.at(t.skip(dotted, i+1)) == '(' {
			netHost(t, i)
		}
		return
	}
	if t.row == 1 {
		from = isJDBC(t, i)
	} else if !t.privateURL(i) {
		return
	}
	if from >= 0 {
		begin, end, to := t.hostsIn(from)
		if end > begin {
			t.hide(begin, end)
		}
		t.decided(to)
	}
}

// wholeURL hides all of the URL of a database behind its scheme.
func wholeURL(t *text, i int) {
	if from := i + len(rules[t.rule].on[t.row]); t.row == 1 || t.privateURL(i) {
		t.hide(from, t.urlEnd(from))
	}
}

// privateURL reports whether the scheme that ends at i is that of a database.
func (t *text) privateURL(i int) bool {
	if i != t.scheme.from {
		t.scheme = span{i, i}
		if t.in(inScheme, i-1) {
			t.scheme.to = isPrivate(t, t.back(inScheme, i))
		}
	}
	return t.scheme.to == i+len("://")
}

// urlEnd goes up to white space, without the punctuation of the sentence.
func (t *text) urlEnd(i int) int {
	return t.trim(i, t.skip(inURL, i), cuts["url"])
}

// A user and a password before host:port or go-sql-driver's tcp(...), which start neither a path nor a quotation. The
// port tells it from cc:bob@example.com. The host stays, and so does a user of a few small letters.
const (
	userChar = `[^\s\v:"'=@/(),;[{]`
	noUser   = `(?:(?P<not>` + userChar + `+:(?P<not>[/@]))(?:` + userChar + `+|`
	user     = `(?:(?P<is>` + plainUser + `:(?P<not>@|x-oauth-basic@))` + plainUser + `:(?P<hide>`
	noPlain  = `)|(?P<hide>` + userChar + `+:`
	inPort   = `[^\s\v@"']*`
	inNet    = `(?:[^\s\v"@]+|@(?P<not>[\w.-]+\())*`
	withNet  = noUser + `[^\s\v"]))*` + user + inNet + noPlain + inNet + `))@[\w.-]+\(`

	wholePort = noUser + `[^\s\v@]))*(?P<hide>` + userChar + `+:` + inPort + `@[\w.-]+:\d+)`
	hostInNet = noUser + `[^\s\v"]))*` + userChar + `+:` + inNet + `@[\w.-]+\((?P<hide>[^\s\v)]+)`
	wholeNet  = noUser + `[^\s\v"]))*(?P<hide>` + userChar + `+:` + inNet + `@[\w.-]+\([^\s\v)]*\)?(?:/[^\s\v"'` + "`" + `),;]*)?)`
)

// wholeHost hides with a user and a password also what they are for, but in a URL.
func wholeHost(t *text, i int) {
	if t.at(t.skip(dotted, i+1)) == '(' {
		netDSN(t, i)
	} else if from := t.back(inSecret, i); !strings.Contains(t.s[from:i], "://") {
		portDSN(t, i)
	}
}

// A connection string is a list of key=value; or one of key=value with blanks between them that has a host and more: any
// line of a log has the like of it.
const (
	pairKey    = `[A-Za-z][\w ]*=`
	bareValue  = "[^\\s\\v;'\"`]*"
	lastPair   = `[\s\v]*` + pairKey + `[^\s\v;"')]*`
	ofLogin    = `(?i:password|pwd|uid|user ?id|user|database|initial catalog|integrated security|accountkey|sharedaccess\w*)=`
	semicolons = `\b(?P<not>(?i:host)=` + bareValue + ` )(?P<is>(?P<once>(?:(?P<not>` + ofLogin + `)` + pairKey + `[^;\n"]*;[\s\v]*)+)` + ofLogin + `)(?P<hide>` + pairKey + `[^;\n"]*;(?:[\s\v]*` + pairKey + `[^;\n"]*;)*(?:` + lastPair + `)?)`
	spacedPair = pairKey + `(?:'(?:[^'\\\n]+|\\[^\n])*'?|` + bareValue + `)`
	telling    = `(?i:password|dbname|database|sslmode)=`
	spaces     = `\b(?P<is>(?P<once>(?:(?P<not>` + telling + `)` + spacedPair + `[\s\v]+)+)` + telling + `)(?P<hide>` + spacedPair + `(?:[\s\v]+` + spacedPair + `)+)`
	ofHost     = `(?:` + semicolons + `|` + spaces + `)`
)

var (
	inSecret = chars("^ \t\n\r\f\v@\"'")
	inDSN    = chars("^ \t\n\r\f\v\"")
	netHost  = behind(inDSN, hostInNet)
	netDSN   = behind(inDSN, wholeNet)
	portDSN  = behind(inSecret, wholePort)
)

// webhook hides the rest of the URL behind the next slash. A rest of small letters is documentation.
func webhook(t *text, i int) {
	from := t.skip(noSlash, i+1) + 1
	if t.row >= 2 {
		from = i + len(rules[t.rule].on[t.row])
	}
	if t.has(i, "hooks.slack.com/services/") && t.url <= i { // also without a scheme
		t.url = t.skip(inURL, i)
	}
	if to := t.urlEnd(from); i < t.url && from < to && from <= t.url && strings.Trim(t.some(from, 256)[:min(256, to-from)], lowers+"-_/.#") != "" {
		t.hide(from, to)
	}
}

var noSlash = chars("^/ \t\n\r\"'")

// userAtHost hides the password of user:password@host, without a port, and of Oracle's user/password@service. It has to
// look like one, or the host like that of a service: cc:bob@example.com is none.
func userAtHost(t *text, i int) {
	end := t.skip(dotted, i+1)
	from := t.back(inUserInfo, i)
	sign := strings.IndexAny(t.s[from:i], ":/")
	if sign <= 0 {
		return
	}
	user, pw, host := t.s[from:from+sign], t.s[from+sign+1:i], strings.TrimRight(t.s[i+1:end], ".")
	labels := strings.Count(host, ".")
	if host == "" || addressees[strings.ToLower(user)] || strings.Contains(pw, "/") || len(pw) < 4 || strings.HasPrefix(host, "sha256") {
		return
	}
	if t.s[from+sign] == '/' {
		if !chosen(pw) || t.in(inUserInfo, from-1) || host == "latest" || isDigit(host[0]) || host[0] == 'v' && len(host) > 1 && isDigit(host[1]) {
			return
		}
	} else if labels == 0 && t.at(end) != '/' && t.at(end) != ':' || labels < 2 && !chosen(pw) && !(t.at(end) == '/' && t.in(alnum, end+1)) || isDigit(host[0]) && labels != 3 {
		return
	}
	if pw == "x-oauth-basic" { //nolint:gosec // what stands behind a token, and none itself
		sign = -1
	}
	t.hide(from+sign+1, i)
}

var (
	inUserInfo = chars("A-Za-z0-9._%+:!#$&*~^?/-")
	addressees = set("to cc bcc from mailto sip sips xmpp acct email mail sender reply-to replyto contact author maintainer by npm image pkg user username login account owner assignee principal upn")
)

// loginCommand hides the password that is sent with a command of Redis, FTP, IMAP or SMTP: AUTH PLAIN ..., PASS ...,
// LOGIN user .... Redis repeats those that it does not know.
func loginCommand(t *text, i int) {
	const words = 3
	end := t.skip(word, i)
	if args := unknownCommand(t, end); args > 0 {
		end = args
	}
	if !t.starts(i) || t.at(end) != ' ' && t.at(end) != '\'' {
		return
	}
	encoded := false
	for range words {
		from := t.skip(quotes, t.skip(blank, end))
		end = t.skip(inItem, from)
		if v := t.s[from:end]; password.looks(v) || encoded && len(v) >= 8 {
			t.hide(from, end)
			return
		}
		encoded = mechanisms[t.s[from:min(end, from+16)]]
	}
}

var (
	unknownCommand = compile("['`],? with args beginning with:")
	mechanisms     = set("PLAIN LOGIN XOAUTH2 OAUTHBEARER CRAM-MD5 NTLM")
)
