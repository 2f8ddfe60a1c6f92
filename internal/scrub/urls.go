package scrub

import "strings"

// In the URL of a database, a queue or a directory everything is private; in another one what stands before the last @ of
// the authority, but for a user of a few small letters alone, as in ssh://git@host.
const (
	private = `(?i:postgresql|postgres|mysqlx?|mariadb|mongodb|rediss?|valkeys?|amqps?|jdbc|sqlserver|mssql|oracle|clickhouse|cockroachdb` +
		`|cassandra|neo4j|bolt|nats|kafka|ldaps?|smtps?|memcached|couchbase|snowflake)(?:\+[\w+.-]*)?`
	inUser  = `[^\s\v/?#"<>@]`
	withKey = `[\d_+.-]*(?:` + private + `://(?P<url>` + inURLs + `+)|[\w+.-]+://(?P<not>[a-z_-]{1,15}@(?P<not>` + inUser + `*@))(?P<hide>(?:` +
		inUser + `+|@(?P<is>` + inUser + `*@))+)@)`
	inURLs = "[^\\s\v\"<>`]"
)

var keyInURL = behind(chars(`\w+.-`), withKey)

func credentialsURL(t *text, i int) {
	if t.url < i && t.in(dotted, i-1) {
		t.url = t.skip(inURL, i)
	}
	keyInURL(t, i)
}

// urlEnd goes up to white space, without the punctuation of the sentence.
func (t *text) urlEnd(i int) int {
	return t.trim(i, t.skip(inURL, i), ".,:;!?)]}'")
}

// host:port or go-sql-driver's tcp(...) behind a user and a password, which starts neither a path nor a quotation. The
// port tells it from cc:bob@example.com.
const (
	userChar = `[^\s\v:"'=@/(),;[{]`
	noUser   = `(?:(?P<not>` + userChar + `+:(?P<not>[/@]))(?:` + userChar + `+|`
	user     = `(?P<hide>` + userChar + `+:`
	withPort = noUser + `[^\s\v@]))*` + user + `[^\s\v@"']*@[\w.-]+:\d+)`
	withNet  = noUser + `[^\s\v"]))*` + user + `(?:[^\s\v"@]+|@(?P<not>[\w.-]+\())*@[\w.-]+\([^\s\v)]*\)?(?:/[^\s\v"'` + "`" + `),;]*)?)`
)

// A connection string is a list of key=value; or one of key=value with blanks between them that has a host and more: any
// line of a log has the like of it.
const (
	pairKey    = `[A-Za-z][\w ]*=`
	bareValue  = "[^\\s\\v;'\"`]*"
	lastPair   = `[\s\v]*` + pairKey + `[^\s\v;"')]*`
	semicolons = `\b(?P<not>(?i:host)=` + bareValue + ` )(?P<hide>` + pairKey + `[^;\n"]*;(?:[\s\v]*` + pairKey + `[^;\n"]*;)*(?:` + lastPair + `)?)`
	spacedPair = pairKey + `(?:'(?:[^'\\\n]+|\\[^\n])*'?|` + bareValue + `)`
	telling    = `(?i:password|dbname|database|sslmode)=`
	spaces     = `\b(?P<is>(?P<once>(?:(?P<not>` + telling + `)` + spacedPair + `[\s\v]+)+)` + telling + `)(?P<hide>` + spacedPair + `(?:[\s\v]+` + spacedPair + `)+)`
	ofHost     = `(?:` + semicolons + `|` + spaces + `)`
)

var (
	inSecret = chars("^ \t\n\r\f\v@\"'")
	inDSN    = chars("^ \t\n\r\f\v\"")
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
	if sign <= 0 || end == i+1 {
		return
	}
	user, pw, host := t.s[from:from+sign], t.s[from+sign+1:i], strings.TrimRight(t.s[i+1:end], ".")
	labels := strings.Count(host, ".")
	if addressees[strings.ToLower(user)] || strings.Contains(pw, "/") || len(pw) < 4 || strings.HasPrefix(host, "sha256") {
		return
	}
	if t.s[from+sign] == '/' {
		if !chosen(pw) || t.in(inUserInfo, from-1) || host == "latest" || isDigit(host[0]) || host[0] == 'v' && len(host) > 1 && isDigit(host[1]) {
			return
		}
	} else if labels == 0 && t.at(end) != '/' && t.at(end) != ':' || labels < 2 && !chosen(pw) && !(t.at(end) == '/' && t.in(alnum, end+1)) || isDigit(host[0]) && labels != 3 {
		return
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
	if t.has(end, "' with args beginning with:") {
		end = t.skip(notQuote, end+1)
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
	notQuote   = chars("^'\\n")
	mechanisms = set("PLAIN LOGIN XOAUTH2 OAUTHBEARER CRAM-MD5 NTLM")
)
