package scrub

import "strings"

// rule is one row of the table: find runs where one of the triggers stands, and hides what it finds behind a placeholder.
// All rows look at the same text, and do not depend on each other. Where two find the same, the upper one names it.
type rule struct {
	name string
	on   []string
	find func(t *text, i int)
	hide string
}

var rules []rule

// Each of these has the bits of the rules that hide for one reader. Trusted callers read statements and pointers, but no
// places: paths and addresses belong to the server.
var credentials, strangers, operators, trusted uint64

func init() { //nolint:gochecknoinits // the rules refer to the table through text.hide
	rules = []rule{
		// A private key with its end, and one whose end is cut off. Proc-Type has dashes in it.
		{"private key", on("-----BEGIN"), like(`(?P<value>-----BEGIN` + keyMark + keyBody + `(?:-(?P<not>-)` + keyBody + `)*(?:-----END` + keyMark + `)?)`), redacted},
		// One without its lines of dashes: PKCS 8 and 1, SEC 1, Ed25519, OpenSSH.
		{"body of a private key", on("IBADANBgkqhkiG9w0BAQEFAAS", "IBAAKC", "MHcCAQEEI", "MIGkAgEBBD", "MIHcAgEBBEI", "MIGHAgEAMBMG", "MIG2AgEAMBAG", "MC4CAQAwBQYDK2V", "b3BlbnNzaC1rZXk", "BgkqhkiG9w0BBQ0w"),
			behind(base64s, `(?P<hide>(?:M[CHI]|b3)[A-Za-z0-9+/=]{30,}(?:\\?[rn]?\s*[A-Za-z0-9+/=]{40,})*)`), redacted},
		{"url", on("://"), credentialsURL, redacted},
		{"jdbc", on("jdbc:"), jdbcURL, redacted},
		{"database", on("://", "jdbc:"), wholeURL, redacted},
		{"host of a database", on("://", "jdbc:", "@"), databaseHost, address},
		// user:password@host:6379 and user:password@tcp(host:3306)/name have no scheme.
		{"credentials of a host", on("@"), userAtHost, redacted},
		{"database of a host", on("@"), ahead(compile(`@[\w.-]+[(:]`), wholeHost), redacted},
		{"driver's credentials", on("@"), ahead(compile(`@[\w.-]+\(`), behind(inDSN, withNet)), redacted},
		// Lists of key=value that lead to a database: of ADO, ODBC and Azure, and of libpq.
		// The host of a longer name in small letters is any program's: vhost=/ type=topic; retrying.
		{"database in a list", on("server=", "data source=", "source=", "Host=", "driver=", "endpoint=", "protocol=", "accountname="), behind(alnum, semicolons), redacted},
		{"database in words", on("host="), like(ofHost), redacted},
		// The path of a webhook is its password.
		{"webhook", on("hooks.", "webhook", "/hook/", "pagerduty.com/integration/", "ifttt.com/trigger/"), webhook, redacted},
		// A token, whose second part is empty with a shared key. A cursor may begin like one, but has no dot. In base64 a
		// token, or a private key, but no certificate.
		{"jwt", on("eyJ", "LS0tLS1CRUdJTi", "ZXlK"), like(`(?:(?P<path>eyJ[\w-]{6,}\.[\w.-]{7,})|(?P<hide>(?:LS0tLS1CRUdJTi(?P<not>BD|BQV)[\w+/=-]*|ZXlK[\w+/=-]{20,}|eyJhdXRocyI6[\w+/=-]+)))`), redacted},
		// Schemes of HTTP, without the header. "Bearer authentication" stays: a token has more than the letters of one word.
		{"bearer", on("bearer"), like("\\b(?i:bearer)[\\s\\v:=]+[\"'`]?(?P<not>[a-z_]+=\\w)(?P<not>[^\\n][a-z]{0,22}[.,_/=-]*(?P<not>[\\w.~+/=$,-]))(?P<value>[\\w.~+/=$,-]+)"), redacted},
		{"basic", on("basic "), basicAuth, redacted},
		{"key", prefixes(), vendorKey, redacted},
		{"numbered key", on(":A", "|"), behind(decimal, `(?P<hide>\d{5,16}(?::A[\w-]{31,}|\|[\w-]{27,}))`), redacted},
		{"assignment", strings.Fields(nameTriggers), assignment, redacted},
		// A password that is quoted in a sentence or a statement, or has a letter and a digit, as no word of a sentence has.
		{"spoken password", on("password ", "passwort ", "identified "), like(`(?:PASSWORD '(?P<hide>[^'\n]+)'|IDENTIFIED BY (?:PASSWORD )?(?P<not>["'])(?P<word>[^\s\v;,)]+)|\S+\s(?:(?i:with) \S+\s)?(?:(?i:by) )?(?:` +
			"(?i:is|was) [\"'`]?(?P<is>[^\\s\\v\"',;)\\d]*\\d)(?P<is>[^\\s\\v\"',;)A-Za-z]*[A-Za-z])(?P<word>[^\\s\\v\"',;)]+)" +
			`|(?P<hide>"[^\s\v"']+"|'[^\s\v"']+')))`), redacted},
		{"spoken elsewhere", foreignTriggers, foreign, redacted},
		{"user flag", on(" -u", "'-u", "\"-u", "--user", "basic-auth"), like("(?i:[ \"']-u[\"',]* *|--user[ =]+|basic-auth[ =]+)(?P<not>[\"']?[$<])(?:'[^\\s:'\"]+:(?P<hide>[^'\\n]+)'|\"[^\\s:'\"]+:(?P<hide>[^\"\\n]+)\"|[\"'`]?(?:[^\\s\\v:\"']+:(?P<not>//)(?P<hide>[^\\s\\v\"']+)|:(?P<hide>[^\\s\\v\"']+)|(?P<hide>[^\\s\\v:\"']{6,}):(?P<is>[\"'])))"), redacted}, // of curl
		{"flag", toolNames(), toolFlag, redacted},
		{"command", on("AUTH", "PASS ", "LOGIN "), loginCommand, redacted},
		{"command of Redis", on("auth default ", `"auth" "`, "setuser ", "> auth "), like(`(?:> (?i:auth) (?:\S+ (?P<is>\S))?(?P<hide>\S+)|"(?i:auth)" (?:"[^"\n]*" (?P<is>"))?"(?P<hide>[^"\n]+)"` +
			`|(?i:setuser)(?P<once>(?:[ \t]+[^\s\v<>#][^\s\v]*)*)[ \t]+[<>#](?P<hide>[^\s\v]+)|\b(?i:auth) default (?P<hide>[^\s\v"':;,]+)(?P<is>[\n"':;]|\z))`), redacted},
		{"row", on("values (", "values("), insertedRows, redacted},
		// What net/url says of a URL repeats a piece of the password in it.
		{"piece of a URL", on(`invalid url escape "`, `invalid port "`), pieceOfURL, redacted},

		// Code. What a panic was given is as private as where it happened.
		{"panic", on("panic: "), like(`(?P<hide>(?P<once>(?i:panic): [^\n]*)(?:(?P<not>\ngoroutine )\n[^\n]*){0,5}\n)goroutine `), stack},
		{"go stack", on("goroutine "), like(`(?P<hide>(?i:goroutine) \d[^\]\n]*\]:` + goFrames + `)`), stack},
		{"go frames", on(".go:", ".s:"), framesAround, stack},
		{"signal", on("[signal "), like(`(?P<hide>(?i:\[signal )[^\]\n]*\])`), stack},
		{"python stack", on("Traceback (most recent call last):", `File "`), like(
			`(?P<hide>(?:Traceback \(most recent call last\):|` + pythonFrame + `)(?:\n[ \t]*` + pythonFrame + `)*)`), stack},
		{"rust stack", on("stack backtrace:"), like(`(?P<hide>stack backtrace:` + rustFrames + `)`), stack},
		{"php stack", on("#0 "), like(`(?P<hide>(?P<once>#0 (?:[^.\n]+|\.(?P<not>php\())*)\.php\(\d+\): [^\n]*(?:\r?\n#\d+ [^\n]*)*)`), stack},
		{"stack", on("at "), like(`(?P<after>[\s\v])(?P<hide>` + frame + `(?:[\s\v]*` + frame + `)*)`), stack}, // of Java, JavaScript and .NET
		{"sql", on("select ", "select\n", "insert ", "replace ", "merge ", "update ", "delete ", "create ", "alter ", "drop ", "truncate ", "with "), ahead(compileLater(sqlPattern), statement), sql},
		{"select", on("SELECT"), ahead(compile(selectFrom), statement), sql},

		// Places.
		{"drive", on(`:\`, ":/"), drivePath, path},
		{"file url", on("file:/", "unix:/", "sqlite:/", "sqlite3:/", "smb:/", "nfs:/"), like("\\b(?P<url>\\w+:[^\\s\\v\"<>`]*)"), path},
		{"unc path", on(`\\`), behind(backslashes, `(?P<hide>\\{2,}(?:[\w.-]{2,}|\?)\\+[\w$.-]{2,}(?:\\+`+winSegment+`+)*)`), path},
		{"home path", on("~"), like("(?:\\A|(?P<after>[\\s\\v\"'`([{=:,;|>]))(?P<path>~(?P<not>[A-Z\\d])[\\w-]*/" + segments + ")"), path},
		{"path", on("/"), unixPath, path},
		// What a program talked to, also where it is public.
		{"dialled", on(" tcp", " udp"), behind(small, `(?:dial|listen|read|write) (?i:tcp|udp)[46]? (?P<hide>`+peer+`)(?:->(?P<hide>`+peer+`))?: `), address},
		{"looked up", on("lookup "), like(`lookup (?P<hide>` + peer + `)(?: on (?P<hide>` + peer + `))?: (?:no such host|server misbehaving|i/o timeout|Temporary failure)`), address},
		{"not found", on("ENOTFOUND "), like(`ENOTFOUND (?P<path>[\w-]+\.[\w-][\w.-]*(?::\d+)?)`), address},
		{"inner address", on("10.", "127.", "192.168.", "172.", "169.254.", "100.", "localhost:", "0.0.0.0:", "::1", "fe80:", "fc", "fd"), behind(opening, innerAddress), address},
		{"inner host", on(".internal", ".local", ".svc", ".corp", ".lan", ".intranet", ".home.arpa"), behind(inRoute, innerName), address},
		{"pointer", on("0x"), like(`\b(?P<hide>0x[0-9a-f]{9,16})\b`), address},
	}
	classes()
	for i := range rules {
		listen(i, rules[i].on)
		switch rules[i].hide {
		case redacted:
			strangers |= 1 << i
			if strings.HasPrefix(rules[i].name, "database") {
				continue // readers of errors may read which database it is
			}
			credentials |= 1 << i
			fallthrough
		case stack:
			operators |= 1 << i
			fallthrough
		case path, address:
			if rules[i].name != "pointer" {
				trusted |= 1 << i
			}
		}
	}
}

func on(triggers ...string) []string { return triggers }

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
