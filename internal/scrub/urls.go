package scrub

import "strings"

// privateSchemes are the ones of databases, queues and directories.
var privateSchemes = set(`postgres postgresql mysql mysqlx mariadb mongodb redis rediss valkey valkeys amqp amqps jdbc sqlserver mssql oracle
	clickhouse cockroachdb cassandra neo4j bolt nats kafka ldap ldaps smtp smtps memcached couchbase snowflake`)

var (
	inScheme  = chars("A-Za-z0-9_+.-")
	authority = chars("^ \t\n\r\f\v/?#\"<>")
)

// scheme returns the scheme whose colon stands at i, and where it begins.
func (t *text) scheme(i int) (string, int) {
	from := t.back(inScheme, i)
	for from < i && !isLetter(t.s[from]) {
		from++
	}
	return strings.ToLower(t.s[max(from, i-32):i]), from
}

// credentialsURL keeps ssh://git@host, where a user alone says nothing, and the host of a public service.
func credentialsURL(t *text, i int) {
	if t.row == 1 {
		t.hide(i+len("jdbc:"), t.urlEnd(i))
		return
	}
	scheme, begin := t.scheme(i)
	if begin == i {
		return
	}
	if t.url < i {
		t.url = t.skip(inURL, i)
	}
	from := i + len("://")
	scheme, _, _ = strings.Cut(scheme, "+") // postgresql+psycopg2
	if privateSchemes[scheme] {
		t.hide(from, t.urlEnd(from))
		return
	}
	to := t.skip(authority, from)
	at := t.back(noAt, to) - 1
	if at <= from {
		return
	}
	if user := t.s[from:at]; len(user) >= 16 || strings.Trim(user, lowers+"-_") != "" {
		t.hide(from, at)
	}
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
	semicolons = `\b(?P<not>(?i:host|hostaddr)=` + bareValue + ` )(?P<hide>(?:` + pairKey + `[^;\n"]*;[\s\v]*)+(?:` + pairKey + `[^\s\v;"')]*)?)`
	spacedPair = pairKey + `(?:'[^'\n]*'?|` + bareValue + `)`
	telling    = `(?i:password|dbname|database|sslmode)=`
	spaces     = `\b(?P<is>(?P<once>(?:(?P<not>` + telling + `)` + spacedPair + `[\s\v]+)+)` + telling + `)(?P<hide>` + spacedPair + `(?:[\s\v]+` + spacedPair + `)+)`
)

var (
	noAt     = chars("^@")
	inSecret = chars("^ \t\n\r\f\v@\"'")
	inDSN    = chars("^ \t\n\r\f\v\"")
)

// webhook hides the rest of the URL behind the next slash. A rest of small letters is documentation.
func webhook(t *text, i int) {
	from := t.skip(noSlash, i+1) + 1
	if t.row >= 2 {
		from = i + len(rules[t.rule].on[t.row])
	}
	if to := t.urlEnd(from); i < t.url && from < to && from <= t.url && strings.Trim(t.some(from, 256)[:min(256, to-from)], lowers+"-_/.#") != "" {
		t.hide(from, to)
	}
}

var noSlash = chars("^/ \t\n\r\"'")
