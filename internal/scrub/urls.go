package scrub

import "strings"

// scheme returns where the scheme starts whose "://" stands at i: letters, digits and signs, several of them for JDBC.
func (t *text) scheme(i int) int {
	from := t.behind(schemeStart, inScheme, i)
	for from < i && !isUpper(t.s[from]) && !isLower(t.s[from]) {
		from++
	}
	return from
}

var inScheme = chars("A-Za-z0-9_+.:-")

// connectionURL hides the rest of a URL up to white space or a quotation mark.
func connectionURL(t *text, i int) {
	end := i
	switch {
	case t.has(i, "://"):
		end += 3
	case t.at(i-1) == ':':
		end += len("thin:")
	default:
		return
	}
	from := t.scheme(i)
	if t.has(i, "://") && from < i && t.url < i { // for the rules that leave URLs alone
		t.url = t.ahead(urlRun, inURL, i)
	}
	private := false
	for part := range strings.SplitSeq(strings.ToLower(t.s[max(from, i-64):i]), ":") {
		part, _, _ = strings.Cut(part, "+") // postgresql+psycopg2
		private = private || privateSchemes[part]
	}
	if private {
		to := t.ahead(urlRun, inURL, end)
		t.hide(end, end+len(strings.TrimRight(t.s[end:to], ".,;:!?)]}'")))
	}
}

// userInfo keeps ssh://git@host, where a user alone says nothing.
func userInfo(t *text, i int) {
	from := i + len("://")
	to := t.ahead(authorityEnd, authority, from)
	at := strings.LastIndexByte(t.s[from:to], '@')
	if t.scheme(i) == i || at <= 0 {
		return
	}
	if at >= 16 || strings.Trim(t.s[from:from+at], "abcdefghijklmnopqrstuvwxyz-_") != "" {
		t.hide(from, from+at)
	}
}

var (
	authority = chars("^ \t\n\r\f\v/?#\"<>")
	inSecret  = chars("^ \t\n\r\f\v@\"'")
	inDSN     = chars("^ \t\n\r\f\v\"")
	userChars = chars("^ \t\n\r\f\v:\"'=@/(),;")
)

// user returns where the first user:password starts in s[from:to], which has no white space; user is what a name is of.
func (t *text) user(from, to int, user *charset) int {
	for i := from; i < to; i++ {
		if t.s[i] == ':' && i > from && user[t.s[i-1]] {
			j := i
			for j > from && user[t.s[j-1]] {
				j--
			}
			t.work += i - from
			return j
		}
	}
	t.work += to - from
	return -1
}

// hostCredentials needs the port, and a password that starts neither a path nor a quotation.
func hostCredentials(t *text, i int) {
	host := t.skip(dotted, i+1)
	to := t.skip(digits, host+1)
	if host == i+1 || t.at(host) != ':' || to == host+1 {
		return
	}
	from := t.behind(secretStart, inSecret, i)
	if from = t.user(from, i, plainUser); from >= 0 && from < i {
		if c := t.at(from + strings.IndexByte(t.s[from:i], ':') + 1); c != '/' && c != '@' {
			t.hide(from, to)
		}
	}
}

var plainUser = chars("^ \t\n\r\f\v:@/\"'=(,")

func mysqlDSN(t *text, i int) {
	open := t.skip(alnum, i+1)
	if t.at(open) != '(' {
		return
	}
	from := t.behind(dsnStart, inDSN, i)
	if u := t.user(from, i, userChars); u >= 0 {
		from = u
	} else if from = i; t.in(userChars, i-1) {
		from = t.behind(userStart, userChars, i)
	}
	if from == i {
		return
	}
	to := t.skip(inAddress, open+1)
	if t.at(to) == ')' {
		to++
	}
	if t.at(to) == '/' {
		to = t.skip(inName, to+1)
	}
	t.hide(from, to)
}

var (
	inAddress = chars("^ \t\n\r\f\v)")
	inName    = chars("^ \t\n\r\f\v\"'`),;")
)

// connectionString hides a list of key=value; with at least two members.
func connectionString(t *text, i int) {
	if t.fold(i, "endpointsprotocol=") && t.fold(i-len("default"), "default") {
		i -= len("default")
	}
	if !t.starts(i) {
		return
	}
	to, pairs, last := i, 0, i
	for {
		j := t.skip(space, to)
		key := t.ahead(pairEnd, pairName, j)
		if key == j || t.at(key) != '=' || !isLetter(t.at(j)) {
			break
		}
		end := t.ahead(pairValueEnd, pairValue, key+1)
		if t.at(end) != ';' {
			if pairs > 0 {
				to = t.skip(lastValue, key+1)
			}
			last = max(end, to)
			break
		}
		to = end + 1
		pairs++
	}
	if pairs > 0 {
		t.hide(i, to)
	}
	t.decided(last)
}

func isLetter(c byte) bool { return isUpper(c) || isLower(c) }

var (
	pairName  = chars("A-Za-z0-9_ ")
	pairValue = chars("^;\n\"")
	lastValue = chars("^ \t\n\r\f\v;\"')")
	dsnNames  = set("host hostaddr port user password dbname database sslmode sslrootcert sslcert sslkey connect_timeout application_name search_path timezone options")
)

// keywordDSN keeps what may be any line of a log.
func keywordDSN(t *text, i int) {
	if !t.starts(i) {
		return
	}
	to, pairs, private := i, 0, 0
	for j := i; ; {
		key := t.skip(word, j)
		name := strings.ToLower(t.s[j:min(key, j+32)])
		if t.at(key) != '=' || !dsnNames[name] {
			break
		}
		switch name {
		case "dbname", "database", "sslmode":
			private |= 4
		case "host":
			private |= 1
		case "password":
			private |= 2
		}
		pairs++
		if to = key + 1; t.at(to) == '\'' {
			to = min(len(t.s), t.quoted(to+1, '\'', true)+1)
		} else {
			to = t.skip(dsnValue, to)
			for to > key+1 && (t.s[to-1] == ',' || t.s[to-1] == ';') {
				to--
			}
		}
		if j = t.skip(space, to); j == to {
			break
		}
	}
	if pairs > 1 && private >= 3 {
		t.hide(i, to)
	}
	t.decided(to)
}

var dsnValue = chars("^ \t\n\r\f\v'\"`")

// webhooks are the addresses whose path is a password.
var webhooks = on("hooks.slack.com/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/", ".webhook.office.com/", "outlook.office.com/webhook/",
	"hooks.zapier.com/hooks/catch/", "hook.eu1.make.com/", "hook.us1.make.com/", "hooks.chime.aws/incomingwebhooks/", "open.feishu.cn/open-apis/bot/",
	"open.larksuite.com/open-apis/bot/", "oapi.dingtalk.com/robot/send?", "qyapi.weixin.qq.com/cgi-bin/webhook/send?", "chat.googleapis.com/v1/spaces/",
	"events.pagerduty.com/integration/", "webhooks.mongodb-realm.com/", "hooks.airtable.com/", "api.telegram.org/bot", "webhook.site/", "hc-ping.com/", "ntfy.sh/", "maker.ifttt.com/trigger/")

// webhook hides what follows the host: the first segment may already be what nobody else knows.
func webhook(t *text, i int) {
	from := i
	for _, w := range webhooks {
		if t.fold(i, w) {
			if from = i + len(w); strings.Count(w, "/") == 1 || w[0] != '.' && !strings.HasSuffix(w, "/") && !strings.HasSuffix(w, "?") {
				break
			}
		}
	}
	if t.fold(i, "api.telegram.org/bot") && !t.in(digits, from) {
		return
	}
	t.hide(from, t.urlEnd(from))
}

// urlEnd goes up to white space, without the punctuation of the sentence.
func (t *text) urlEnd(i int) int {
	end := t.ahead(urlRun, inURL, i)
	return i + len(strings.TrimRight(t.s[i:end], ".,:;!?)]}'"))
}
