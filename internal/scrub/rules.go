package scrub

import "strings"

// rule is one row of the table: find runs where one of the triggers stands, and hides what it finds behind a placeholder.
// All rows look at the same text, so that one can be added without a thought for the others; where two find the same,
// the upper one names it.
type rule struct {
	name string
	on   []string
	find func(t *text, i int)
	hide string
}

var rules []rule

// credentials are the bits of the rules that hide a credential.
var credentials uint64

func init() { //nolint:gochecknoinits // the rules refer to the table through text.hide
	rules = []rule{
		{"private key", on("-----BEGIN", "-----END", "LS0tLS1CRUdJTi"), privateKey, redacted},
		// In the URL of a database everything is private; in another one the user and the password.
		{"url", on("://", "jdbc:"), credentialsURL, redacted},
		// user:password@host:6379 and user:password@tcp(host:3306)/name have no scheme.
		{"credentials", on("@"), hostCredentials, redacted},
		// Lists of key=value that lead to a database: of ADO, ODBC, Azure and libpq.
		{"connection string", on("server=", "source=", "host=", "driver=", "endpoint=", "protocol=", "accountname="), connectionString, redacted},
		// The path of a webhook is its password.
		{"webhook", on("hooks.", "webhook", "/hook/", "pagerduty.com/integration/", "ifttt.com/trigger/"), webhook, redacted},
		{"jwt", on("eyJ", "ZXlK"), jwt, redacted},
		{"scheme", on("bearer", "basic "), authScheme, redacted}, // of HTTP, without its header
		{"key", nil, vendorKey, redacted},
		{"assignment", nil, assignment, redacted},
		// A password that is quoted in a sentence or a statement, or has a letter and a digit, as no word of a sentence has.
		{"spoken password", on("password ", "passwort ", "identified "), spokenPassword, redacted},
		{"user flag", on(" -u ", "--user"), userFlag, redacted}, // of curl
		{"export", on("export "), exported, redacted},           // meant for one program's environment
		{"environment", on("="), environment, redacted},         // three assignments to upper-case names in a row

		// Code. What a panic was given is as private as where it happened.
		{"panic", on("panic: "), panicked, stack},
		{"go stack", on("goroutine ", ".go:", ".s:", "[signal "), goStack, stack},
		{"python stack", on("Traceback (most recent call last):", `File "`), pythonStack, stack},
		{"stack", on("at "), frames, stack}, // of Java, JavaScript and .NET
		{"sql", on("select ", "select\n", "insert ", "replace ", "merge ", "update ", "delete ", "create ", "alter ", "drop ", "truncate ", "with "), statement, sql},

		// Places.
		{"windows path", on(`:\`, ":/"), windowsPath, path}, // file:/ too
		{"unc path", on(`\\`), uncPath, path},
		{"home path", on("~"), homePath, path},
		{"path", on("/"), unixPath, path},
		{"inner url", on("://"), innerURL, address},
		{"dialled", on(" tcp", " udp", "lookup ", "ENOTFOUND "), dialled, address}, // also where it is public
		{"inner address", on("10.", "127.", "192.168.", "172.", "169.254.", "100.", "localhost:", "0.0.0.0:", "::1", "fe80:", "fc", "fd"), innerAddress, address},
		{"inner host", on(innerNames...), innerHost, address},
		{"pointer", on("0x"), pointer, address},
	}
	classes()
	for i := range rules {
		switch rules[i].name {
		case "key":
			rules[i].on = prefixes()
		case "assignment":
			rules[i].on = nameTriggers()
		}
		if rules[i].hide == redacted {
			credentials |= 1 << i
		}
		listen(i, rules[i].on)
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
