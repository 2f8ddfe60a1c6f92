package scrub

// rule is one row of the table.
type rule struct {
	name string
	// on are the triggers: find runs where one of them stands. One with a capital is looked for as it stands, one without
	// in upper and lower case. A text starts as if after a line break, so find may be given -1.
	on []string
	// find looks at t from a trigger at i on, and hides what it finds.
	find func(t *text, i int)
	// hide is what is put in its place.
	hide string
}

// rules is the table. All rows look at the same text, so that one can be added without a thought for the others; where
// two find the same, the upper one names it.
var rules []rule

// triggers are the ones of all rules.
var triggers = new(matcher)

// credentials are the bits of the rules that hide a credential.
var credentials uint64

func init() { //nolint:gochecknoinits // the rules refer to the table through text.hide
	rules = []rule{
		// Whole things that hold secrets.
		{"private key", on("-----BEGIN ", "-----END ", "LS0tLS1CRUdJTi"), privateKey, redacted},
		// Everything in the URL of a database or a queue is private, the host as well.
		{"connection url", on("://", "thin:"), connectionURL, redacted},
		// user:password@tcp(host:3306)/name, of go-sql-driver.
		{"mysql dsn", on("@tcp", "@unix", "@cloudsql"), mysqlDSN, redacted},
		// Server=...;Database=...;Password=... of ADO and ODBC, Endpoint=...;SharedAccessKey=... of Azure.
		{"connection string", on("server=", "data source=", "host=", "driver=", "provider=", "endpoint=", "endpointsprotocol=", "accountname="), connectionString, redacted},
		// host=... user=... password=... of libpq; without a database in it, it may be any log line.
		{"keyword dsn", on("host=", "hostaddr=", "port=", "user=", "password=", "dbname=", "database=", "sslmode="), keywordDSN, redacted},
		// https://user:password@host: the host of a public service stays.
		{"url credentials", on("://"), userInfo, redacted},
		// user:password@host:6379, the same without a scheme; the port tells it from cc:bob@example.com.
		{"credentials", on("@"), hostCredentials, redacted},
		// The path of a webhook is its password.
		{"webhook", webhooks, webhook, redacted},
		// Base64 of {" and a dot: a cursor may begin like that as well, but has no dot.
		{"jwt", on("eyJ", "ZXlK"), jwt, redacted},
		// The schemes of HTTP also stand alone in errors and logs.
		{"bearer", on("bearer"), bearer, redacted},
		{"basic", on("basic "), basicAuth, redacted},
		// Tokens, known by their beginnings.
		{"key", nil, prefixed, redacted},
		// name=..., in every notation.
		{"assignment", secretTriggers, assignment, redacted},
		// A password that is quoted in a sentence or a statement, or has a letter and a digit, as no word of a sentence has.
		{"spoken password", on("password ", "passwort ", "identified by ", "identified with "), spokenPassword, redacted},
		// curl -u user:password.
		{"user flag", on(" -u ", "--user"), userFlag, redacted},
		// What is exported is meant for one program's environment.
		{"export", on("export "), exported, redacted},
		// Three assignments to upper-case names in a row are a dump of an environment.
		{"environment", on("="), environment, redacted},

		// Code. What a panic was given is as private as where it happened.
		{"panic", on("panic: "), panicked, stack},
		{"go stack", on("goroutine ", ".go:", ".s:", "[signal "), goStack, stack},
		// The message of the exception follows the frames, and stays.
		{"python stack", on("Traceback (most recent call last):", `, line `), pythonStack, stack},
		{"stack", on("\nat ", " at ", "\tat "), frames, stack}, // Java, JavaScript and .NET
		// Statements tell tables, columns and values.
		{"sql", on("select", "insert", "replace", "merge", "update", "delete", "create", "alter", "drop", "truncate", "with"), statement, sql},

		// Places. URLs of files and shares.
		{"file url", on("file:/", "unix:/", "sqlite:/", "sqlite3:/", "smb:/", "nfs:/"), fileURL, path},
		{"windows path", on(`:\`, ":/"), windowsPath, path},
		{"unc path", on(`\\`), uncPath, path},
		// The path of a home may hold the name of a user.
		{"home path", on("~"), homePath, path},
		{"path", on("/"), unixPath, path},
		// A URL of the inner network, with its path.
		{"inner url", on("://"), innerURL, address},
		// What a program dials is its own business, also when it is public.
		{"dialled", on(" tcp", " udp", "lookup ", "ENOTFOUND ", "EAI_AGAIN ", "ECONNREFUSED ", "ECONNRESET ", "ETIMEDOUT ", "EHOSTUNREACH "), dialled, address},
		// RFC 1918, link-local (the cloud's metadata) and carrier-grade NAT; a loopback with a port tells what runs there.
		{"inner address", on("10.", "127.", "192.168.", "172.", "169.254.", "100.", "localhost:", "0.0.0.0:"), innerAddress, address},
		{"inner ipv6", on("::1", "fe80:", "fc", "fd"), innerIPv6, address},
		// Ends of names that no public host has.
		{"inner host", on(innerNames...), innerHost, address},
		// Pointers of Go and others; eight digits are an error code of Windows.
		{"pointer", on("0x"), pointer, address},
	}
	if len(rules) > maxRules {
		panic("scrub: too many rules")
	}
	for i := range rules {
		if rules[i].hide == redacted {
			credentials |= 1 << i
		}
		if rules[i].on == nil {
			rules[i].on = prefixes()
		}
		for _, on := range rules[i].on {
			triggers.add(i, on)
		}
	}
}

func on(triggers ...string) []string { return triggers }
