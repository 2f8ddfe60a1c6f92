package scrub

import (
	"regexp"
	"slices"
)

// rules is the table: name, triggers, expression, second look, placeholder. All rows look at the same text, so that one
// can be added without a thought for the others; where two find the same, the upper one names it.
var rules = []rule{
	// Whole things that hold secrets.

	// A key that is cut off is as private as a whole one.
	{"private key", on("-----BEGIN ", "-----END "), re(pem), nil, redacted},
	// Everything in the URL of a database or a queue is private, the host as well.
	{"connection url", on("://", "thin:"), re(`[A-Za-z][\w+.-]*(?::[A-Za-z][\w+.-]*)*:(?://|thin:)`), connectionURL, redacted},
	// user:password@tcp(host:3306)/name, of go-sql-driver.
	{"mysql dsn", on("@tcp", "@unix", "@cloudsql"), re(`[^\s:"'=@/(),;]+(?::[^\s"]*)?@(?:tcp|unix|cloudsql)[46]?\([^)\s]*\)?(?:/[^\s"'\x60),;]*)?`), nil, redacted},
	// Server=...;Database=...;Password=... of ADO and ODBC, Endpoint=...;SharedAccessKey=... of Azure.
	{"connection string", on("server=", "data source=", "host=", "driver=", "provider=", "endpoint=", "endpointsprotocol=", "accountname="),
		re(`(?i)\b(?:server|data source|host|driver|provider|endpoint|defaultendpointsprotocol|accountname)=[^;\n"]*;(?:\s*[a-z][\w ]*=[^;\n"]*;)*(?:\s*[a-z][\w ]*=[^;\s"')]*)?`), nil, redacted},
	// host=... user=... password=... of libpq; without a database in it, it may be any log line.
	{"keyword dsn", on("password=", "dbname=", "database=", "sslmode="), re(`(?i)\b(?:` + dsnPair + `\s+)+` + dsnPair), keywordDSN, redacted},
	// https://user:password@host: the host of a public service stays.
	{"url credentials", on("@"), re(`(?i)\b[a-z][a-z0-9+.-]*://([^\s/?#"<>]+)@`), userInfo, redacted},
	// user:password@host:6379, the same without a scheme; the port tells it from cc:bob@example.com.
	{"credentials", on("@"), re(`[^\s:@/"'=(,]+:[^\s@/"'][^\s@"']*@[\w.-]+:\d+`), nil, redacted},
	// The path of a webhook is its password.
	{"webhook", on("hooks.slack.com", "/webhooks/", "webhook.office"), re(`(?i)\b(?:hooks\.slack\.com|discord(?:app)?\.com/api/webhooks|[\w-]+\.webhook\.office\.com)/(` + urlEnd + `)`), nil, redacted},

	// Tokens, known by their beginnings. Nothing is asked of what stands before, as they also stand in the middle of things,
	// nor for the exact length, so that a longer one is not left with its end.

	// Base64 of {" and a dot: a cursor may begin like that as well, but has no dot.
	{"jwt", on("eyJ"), re(`eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)*`), nil, redacted},
	// The schemes of HTTP also stand alone in errors and logs.
	{"bearer", on("bearer"), re(`(?i)\bbearer[\s:=]+`), bearer, redacted},
	{"basic", on("basic "), re(`(?i)\bbasic +([A-Za-z0-9+/_-]{6,}={0,2})`), basicAuth, redacted},
	// The key's ID; the key itself has no shape and is known by its name only.
	{"aws", on("AKIA", "ASIA"), re(`A(?:KIA|SIA)[A-Z0-9]{16,}`), nil, redacted},
	{"google", on("AIza", "ya29.", "GOCSPX-"), re(`AIza[\w-]{30,}|ya29\.[\w-]{16,}|GOCSPX-[\w-]{16,}`), nil, redacted},
	{"github", on("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), re(`gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}`), nil, redacted},
	{"gitlab", on("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-"), re(`gl(?:pat|ptt|dt|rt|cbt)-[\w.-]{16,}`), nil, redacted},
	{"slack", on("xox", "xapp-"), re(`xox[a-z](?:\.xox[a-z])?-[\w-]{8,}|xapp-\d-[\w-]{8,}`), nil, redacted},
	{"stripe", on("_live_", "_test_", "whsec_"), re(`[prs]k_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[\w+/=]{16,}`), nil, redacted},
	// The words behind sk- are OpenAI's, Anthropic's and OpenRouter's; without one it takes a long run, as in no word.
	{"model vendors", on("sk-", "hf_", "gsk_", "xai-", "nvapi-", "r8_", "pplx-", "tvly-", "lsv2_"),
		re(`sk-(?:proj|svcacct|admin|ant|or)-[\w-]{8,}|sk-\w{24,}|hf_[A-Za-z0-9]{20,}|gsk_\w{20,}|xai-\w{20,}|nvapi-[\w-]{20,}|r8_\w{30,}|pplx-\w{20,}|tvly-[\w-]{20,}|lsv2_[a-z]{2}_\w{20,}`), nil, redacted},
	{"registries", on("npm_", "pypi-AgE", "rubygems_", "dckr_"), re(`npm_[A-Za-z0-9]{30,}|pypi-AgE[\w-]{10,}|rubygems_[0-9a-f]{40,}|dckr_[a-z]+_[\w-]{20,}`), nil, redacted},
	{"clouds", on("dop_v1_", "doo_v1_", "dor_v1_", "dapi", "hvs.", "ATATT3", "shpat_", "shpss_", "lin_api_", "AGE-SECRET-KEY-"),
		re(`do[opr]_v1_[0-9a-f]{32,}|dapi[0-9a-f]{32,}|hvs\.[\w-]{20,}|ATATT3[\w=-]{20,}|shp(?:at|ss)_[0-9a-fA-F]{32,}|lin_api_\w{30,}|AGE-SECRET-KEY-1\w+`), nil, redacted},
	// SendGrid, Twilio, Telegram.
	{"messages", on(append(after("SK", "0123456789abcdef"), "SG.", ":AA")...), re(`SG\.[\w-]{16,}\.[\w-]{16,}|SK[0-9a-f]{32,}|\d{8,10}:AA[\w-]{30,}`), nil, redacted},

	// Values with names.
	// The name with its separator, in the notations of JSON, Go, Ruby, YAML, XML, URLs and command lines; the value is not the
	// expression's, so that the name of the next one is not swallowed.
	{"assignment", secretTriggers, re(`[\w.$-]+(?:\\*["'\x60]|\])?[ \t]*(?:=>|:=|%3[AaDd]|={1,3}|:)[ \t]*` +
		`|(?i:\b(?:api|access|secret|private|client|account|signing) (?:key|token|secret)(?: provided)?)[ \t]*[:=][ \t]*|--[\w-]+[ \t]+|<[\w.-]+>`), assigned, redacted},
	// A password that is quoted in a sentence or a statement, or has a letter and a digit, as no word of a sentence has.
	{"spoken password", on("password '", `password "`, "password is ", "password was ", "identified by"),
		re(`(?i)\b(?:(?:password|identified(?: with \S+)? by) ("[^"\s]+"|'[^'\s]+')` +
			`|password (?:is|was) ["']?([^\s"']*[a-z][^\s"']*\d[^\s"',;.)]*|[^\s"']*\d[^\s"']*[a-z][^\s"',;.)]*))`), nil, redacted},
	// curl -u user:password.
	{"user flag", on(" -u ", "--user"), re(`(?:\s-u|--user)[ =]["']?[^\s:"']+:([^\s"']+)`), nil, redacted},
	// What is exported is meant for one program's environment.
	{"export", on("export "), re(`\bexport [A-Z][A-Z0-9_]*=`), exported, redacted},
	// Three assignments to upper-case names in a row are a dump of an environment.
	{"environment", on("="), re(`(?m)(?:[A-Z][A-Z0-9_]+=\S*\s+){2,}[A-Z][A-Z0-9_]+=\S*|(?:^[A-Z][A-Z0-9_]+=.*\n){2,}[A-Z][A-Z0-9_]+=.*`), nil, redacted},

	// Code.
	// What a panic was given is as private as where it happened.
	{"panic", on("panic: "), re(`panic: [^\n]*\n(?:[^\n]+\n){0,3}\n?goroutine \d+[^\n]*\[`), beforeLast, stack},
	{"go stack", on("goroutine ", ".go:", ".s:", "[signal "), re(goStack), nil, stack},
	// The message of the exception follows the frames, and stays.
	{"python stack", on("Traceback (most", `, line `), re(pythonStack), nil, stack},
	// Java, JavaScript and .NET.
	{"stack", on(".java:", ".kt:", ".scala:", ".groovy:", "Native Method", "Unknown Source", ".js:", ".ts:", ".jsx:", ".tsx:", ".mjs:", ".cjs:", ".mts:", ".cts:", ":line "),
		re(`(?:(?:^|\s|\\[nt])at (?:[\w.$<>/@]+\((?:[\w$]+\.(?:java|kt|scala|groovy)(?::\d+)?|Native Method|Unknown Source)\)` +
			`|(?:async )?(?:[\w.$<>\[\] ]+ \()?[^\s():]*(?::[^\s():]+)?\.[cm]?[jt]sx?:\d+:\d+\)?|[\w.<>\x60]+\([^()\n]*\) in [^\n]+:line \d+))+`), afterSpace, stack},
	// Statements tell tables, columns and values.
	{"sql", on("SELECT", "INSERT", "REPLACE", "MERGE", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "TRUNCATE", "WITH"), re(spaced(upperSQL)), statement, sql},
	{"any sql", on("select", "into", " set", "\nset", "delete", " table", " if exists"), re(spaced(anySQL)), statement, sql},

	// Places.
	// URLs of files and shares.
	{"file url", on("file:/", "unix:/", "sqlite:/", "sqlite3:/", "smb:/", "nfs:/"), re(`(?i)\b(?:file|unix|sqlite3?|smb|nfs):/+(?:` + urlEnd + `)?`), nil, path},
	// A drive is plain enough to allow for blanks in the middle.
	{"windows path", on(append(colonSlash, `:\`)...), re(`\b[A-Za-z]:(?:\\+|/)(?:[^\\/:*?"<>|\s]*(?: [^\\/:*?"<>|\s]+){0,3}[\\/]+)*` + segment), driveOnly, path},
	{"unc path", on(`\\`), re(`\\\\+[A-Za-z0-9?][\w.-]+\\+[\w$.-]{2,}(?:\\+(?:[^\\/:*?"<>|\s]+))*`), nil, path},
	// The path of a home may hold the name of a user.
	{"home path", on("~"), re(`(?:^|[\s"'\x60(\[{=:,;|>])(~(?:[a-z_][\w-]*)?/` + segments + `)`), nil, path},
	// Well-known roots are hidden wherever they start, the most telling ones even alone.
	{"root path", roots, re(`(?:(?:^|[^\w./~%:-])/*|:)(?:(/(?:` + rootNames + `)/` + segments + `)|(/(?:etc|var|usr|tmp|proc|opt|mnt|srv))(?:$|[^\w/-]))`), nil, path},
	// Any other path has two segments, and is neither a URL's nor a route's.
	{"path", slashes, re(`\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\s+/[^\s"'\x60]*|(?i:\b[a-z][a-z0-9+.-]*://)[^\s"'\x60<>]+|(?:^|[\s"'\x60(\[{=:,;|])(/` + segmentChars + `+/` + segments + `)`), notRoute, path},
	// A URL of the inner network, with its path.
	{"inner url", on(append(innerNames, "://localhost", "://1", "://[")...),
		re(`(?i)\b(?:https?|wss?|grpcs?|tcp|udp|s?ftp|ssh|git)://(` + innerHost + `(?::\d+)?(?:[/?](?:` + urlEnd + `)?)?)(?:$|[^\w.-]|[.-](?:\W|$))`), nil, address},
	// What a program dials is its own business, also when it is public.
	{"dialled", on(" tcp", " udp", "lookup ", "ENOTFOUND", "EAI_AGAIN", "ECONN", "ETIMEDOUT", "EHOSTUNREACH"),
		re(`\b(?:dial|listen|read|write) (?:tcp|udp)[46]? ([^\s>]+?)(?:->(\S+?))?: |\blookup (\S+)(?: on (\S+?))?: (?:no such host|server misbehaving|i/o timeout|Temporary failure)` +
			`|\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH) ([\w-]+(?:\.[\w-]+)+(?::\d+)?)`), nil, address},
	// RFC 1918, link-local (the cloud's metadata) and carrier-grade NAT; a loopback with a port tells what runs there.
	{"inner address", on("10.", "127.", "192.168.", "172.", "169.254.", "100.", "localhost:", "0.0.0.0:"), re(`(?:^|[^\w.])((?:` + innerV4 + `)(?::\d+)?\b|(?i:localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0):\d+)`), nil, address},
	{"inner ipv6", on("::1", "fe80:", "fc", "fd"), re(`(?i)(?:^|[^\w:.])(` + innerV6 + `)`), nil, address},
	// Ends of names that no public host has.
	{"inner host", innerNames, re(`(?:^|[^\w./-]|//)(` + innerName + `(?::\d+)?)(?:$|[^\w.-]|[.-](?:\W|$))`), nil, address},
	// Pointers of Go and others; eight digits are an error code of Windows.
	{"pointer", on("0x"), re(`\b0x[0-9a-f]{9,16}\b`), nil, address},
}

// secretTriggers are the parts of names that SecretName goes by, as they stand in a text.
var secretTriggers = on("pass", "pwd", "pswd", "kennwort", "secret", "token", "cred", "auth", "bearer", "jwt", "cookie", "dsn",
	"key=", "key:", `key"`, "key'", `key\`, "key =", "key :", "key p", "key>", "key]", "key%", "-key ", "keys", "keyid", "key_", "key-",
	"pin=", "pin:", `pin"`, "pin'", "pin_", "pin ", "pinc", "pinn", "ssn", "cvv", "cvc", "otp", "card_n", "cardn", "social", "connectionstr", "connection_s", "connection-s",
	"conn_str", "connstr", "database_u", "databaseu", "db_u", "dburl", "postgres_u", "mysql_u", "redis_u", "mongo", "amqp_u", "broker_u", "jdbc_u",
	"?sig", "&sig", "signature=", "?code=", "&code=", "?sid=", "&sid=", "session=")

// innerNames begin the ends of innerName.
var innerNames = on(".internal", ".local", ".svc", ".corp", ".lan", ".intranet", ".home.arpa")

// slashes are how a path starts, at the start of a text or behind what may stand before one.
var slashes = append(colonSlash, "\n/", " /", "\t/", `"/`, "'/", "`/", "(/", "[/", "{/", "=/", ",/", ";/", "|/")

// roots begin what rootNames matches.
var roots = on("/etc", "/var", "/usr", "/tmp", "/proc", "/opt", "/mnt", "/srv", "/sys", "/dev", "/home", "/root", "/run", "/bin", "/sbin", "/lib", "/boot",
	"/media", "/nix", "/snap", "/app", "/users", "/volumes", "/private", "/workspace", "/build")

// colonSlash are the colons before a path that are not the ones of a URL.
var colonSlash = after(":/", "abcdefghijklmnopqrstuvwxyz0123456789._-")

// after is a prefix with each of the characters that may follow it.
func after(prefix, chars string) (all []string) {
	for _, c := range chars {
		all = append(all, prefix+string(c))
	}
	return slices.Clip(all)
}

func on(triggers ...string) []string { return triggers }

func re(expr string) *regexp.Regexp { return regexp.MustCompile(expr) }
