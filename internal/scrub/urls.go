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

var (
	noAt      = chars("^@")
	inSecret  = chars("^ \t\n\r\f\v@\"'")
	inDSN     = chars("^ \t\n\r\f\v\"")
	noColon   = chars("^:")
	userChars = chars("^ \t\n\r\f\v:\"'=@/(),;[{")
	inAddress = chars("^ \t\n\r\f\v)")
	inName    = chars("^ \t\n\r\f\v\"'`),;")
)

// hostCredentials needs a port or go-sql-driver's tcp(...), and a password that starts neither a path nor a quotation.
// The port tells it from cc:bob@example.com.
func hostCredentials(t *text, i int) {
	host := t.skip(dotted, i+1)
	to := t.skip(digits, host+1)
	from := t.back(inSecret, i)
	switch {
	case host == i+1:
		return
	case t.at(host) == '(':
		from = t.back(inDSN, i)
		if to = t.skip(inAddress, host+1); t.at(to) == ')' {
			to++
		}
		if t.at(to) == '/' {
			to = t.skip(inName, to+1)
		}
	case t.at(host) != ':' || to == host+1:
		return
	}
	for colon := t.skip(noColon, from); colon < i; colon = t.skip(noColon, colon+1) {
		if user, c := max(from, t.back(userChars, colon)), t.at(colon+1); user < colon && c != '/' && c != '@' {
			t.hide(user, to)
			return
		}
	}
}

var (
	pairName  = chars("A-Za-z0-9_ ")
	pairValue = chars("^;\n\"")
	lastValue = chars("^ \t\n\r\f\v;\"')")
	dsnValue  = chars("^ \t\n\r\f\v;'\"`")
	hosts     = set("host hostaddr")
	inside    = set("password dbname database sslmode")
)

// connectionString hides a list of key=value; of at least two members, and one of key=value with blanks between them
// that has a host and more: any line of a log has the like of it.
func connectionString(t *text, i int) {
	if from := t.back(pairName, i); i > from && t.at(i) != 'h' { // Data Source=, DefaultEndpointsProtocol=
		for i > from && t.in(alnum, i-1) {
			i--
		}
		if t.fold(i-len("data "), "data source") {
			i -= len("data ")
		}
	}
	if !t.starts(i) {
		return
	}
	semicolons, spaces, host, more, to := 0, 0, false, false, i
	for j := i; ; j = t.skip(space, to) {
		key := t.skip(pairName, j)
		if key == j || t.at(key) != '=' || !isLetter(t.at(j)) {
			break
		}
		name := strings.ToLower(strings.TrimSpace(t.s[j:min(key, j+32)]))
		host, more = host || hosts[name], more || inside[name]
		if end := t.skip(pairValue, key+1); t.at(end) == ';' && spaces == 0 && (semicolons > 0 || !hosts[name] || t.at(t.skip(dsnValue, key+1)) != ' ') {
			semicolons++
			to = end + 1
			continue
		}
		if semicolons > 0 {
			to = t.skip(lastValue, key+1)
			break
		}
		spaces++
		if to = key + 1; t.at(to) == '\'' {
			to = min(len(t.s), t.quoted(to+1, '\'', true)+1)
		} else {
			to = t.skip(dsnValue, to)
		}
		if !t.in(space, to) {
			break
		}
	}
	if semicolons > 0 || spaces > 1 && host && more {
		t.hide(i, to)
	}
	t.decided(to)
}

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
