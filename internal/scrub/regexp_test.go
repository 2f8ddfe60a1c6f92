package scrub

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plainRules are what the rules would be if each were one expression of package regexp, which runs
// if a text has one of the rule's triggers. Such an expression cannot look ahead or back, nor ask
// whether a value is a word, a placeholder or the server's own: it hides too much. It is here for
// what it costs. Rules with another name in the place of an expression are part of that one's.
var plainRules = map[string]string{
	"private key":           `-----BEGIN[ A-Z0-9]+-----[A-Za-z0-9+/=\s\\:,-]*(?:-----END[ A-Z0-9]+-----)?`,
	"body of a private key": `(?:M[CHI]|b3)[A-Za-z0-9+/=]{30,}(?:\\?[rn]?\s*[A-Za-z0-9+/=]{40,})*`,
	"url":                   "\\w[\\w+.-]*://[^\\s\"<>`/@]+@",
	"jdbc":                  "(?i)jdbc:[^\\s\"<>`]+",
	"database":              "(?i)(?:postgres(?:ql)?|mysql|mongodb(?:\\+srv)?|rediss?|amqps?|sqlserver)://[^\\s\"<>`]*",
	"host of a database":    "database",
	"credentials of a host": `[^\s"'@:/]+:[^\s"'@]+@[\w.-]+`,
	"database of a host":    "credentials of a host",
	"driver's credentials":  `[^\s"'@:/]+:[^\s"'@]+@[\w.-]+\([^)]*\)`,
	"database in a list":    `(?i)(?:server|source|host|driver|endpoint|protocol|accountname)=[^;\n]*(?:;[\w ]+=[^;\n]*)+`,
	"database in words":     `(?i)\bhost=\S+(?:\s+\w+=\S+)+`,
	"webhook":               "https?://[\\w.-]*(?:hooks\\.|/webhook|/hook/|pagerduty\\.com/integration/|ifttt\\.com/trigger/)[^\\s\"<>`]*",
	"jwt":                   `(?:eyJ[\w-]{6,}\.[\w.-]{7,}|(?:LS0tLS1CRUdJTi|ZXlK)[\w+/=-]{20,})`,
	"bearer":                "(?i)\\bbearer[\\s:=]+[\"'`]?[\\w.~+/=$,-]+",
	"basic":                 `(?i)\bbasic [A-Za-z0-9+/]{8,}=*`,
	"key":                   `(?:` + strings.Join(quoted(prefixesOnly()), "|") + `)[\w.-]{12,}`,
	"key with a sign":       `[\w.~-]*(?:Q~|\.atlasv1\.)[\w.~-]{24,}`,
	"numbered key":          `\d{5,16}(?::A[\w-]{31,}|\|[\w-]{27,})`,
	"key with an end":       `\b[0-9a-z]{32}-us\d{1,2}\b`,
	"discord":               `\b[MNO][DTjz][\w-]{20,28}\.[\w-]{6}\.[\w-]{27,}`,
	"assignment":            "(?i)[\\w.-]*(?:" + strings.Join(quoted(strings.Fields(nameTriggers)), "|") + ")[\\w-]*[\"'`]?\\s*(?::=|[:=]|=>|->)\\s*(?:\"[^\"\\n]*\"|'[^'\\n]*'|[^\\s,;&)]+)",
	"spoken password":       `(?i)(?:password|passwort|identified)\s(?:with \S+\s)?(?:by )?(?:(?:is|was) ["']?[^\s"',;)]+|"[^\s"']+"|'[^\s"']+')`,
	"spoken elsewhere":      `(?i)(?:` + strings.Join(quoted(foreignTriggers), "|") + `)\s*[:=]?\s*\S+`,
	"user flag":             `(?i)(?: -u *|--user[ =]+|basic-auth[ =]+)["']?[^\s:"']*:[^\s"']+`,
	"flag":                  `(?i)\b(?:` + strings.Join(quoted(toolNames()), "|") + `)[^\n]*? -[a-zA-Z] ?\S+`,
	"command":               `(?:AUTH|PASS|LOGIN) +\S+`,
	"command of Redis":      `(?i)(?:"auth" (?:"[^"\n]*" )?"[^"\n]+"|setuser [^\n]*[<>#]\S+|auth default \S+)`,
	"row":                   `(?i)values ?\([^\n]*\)`,
	"piece of a URL":        `(?i)invalid (?:url escape|port) "[^"]*"`,
	"panic":                 `(?i)panic: [^\n]*(?:\n[^\n]*){0,5}\ngoroutine `,
	"go stack":              `(?i)goroutine \d[^\]\n]*\]:(?:\n[^\n]+)*`,
	"go frames":             `\n[^\n]+\([^\n]*\)\n\s+\S+\.(?:go|s):\d+[^\n]*`,
	"signal":                `(?i)\[signal [^\]\n]*\]`,
	"python stack":          `(?:Traceback \(most recent call last\):|File "[^\n]*)(?:\n[ \t]+[^\n]*)*`,
	"php stack":             `#0 .*\.php\(\d+\): .*(?:\n#\d+ .*)*`,
	"rust stack":            `stack backtrace:(?:\n +[^\n]*)*`,
	"stack":                 `\sat [\w.$<>]+\([^)\n]*\)(?:\s*at [\w.$<>]+\([^)\n]*\))*`,
	"sql":                   `(?i)\b(?:select\s[^;\n]*?\sfrom\s|insert into |replace into |merge into |update \S+ set |delete from |create (?:table|index|user|role) |alter |drop |truncate |with \w+ as )[^\n;]*`,
	"select":                `SELECT\s[^;\n]*?\sFROM\s[^\n;]*`,
	"drive":                 "[A-Za-z]:[\\\\/][^\\s\"'<>|:*?`]+",
	"file url":              "\\b(?:file|unix|sqlite3?|smb|nfs):[^\\s\"<>`]*",
	"unc path":              `\\{2,}[\w.-]{2,}\\+[\w$.-]{2,}(?:\\+[^\s\\"'<>|]+)*`,
	"home path":             "(?:^|[\\s\"'`(\\[{=:,;|>])~[\\w-]*/[^\\s\"'`<>|]*",
	"path":                  "(?:^|[\\s\"'`(\\[{=:,;|>])/[\\w.-]+(?:/[\\w.@+-]+)*/?",
	"dialled":               `(?:dial|listen|read|write) (?i:tcp|udp)[46]? \S+: `,
	"looked up":             `lookup \S+(?: on \S+)?: (?:no such host|server misbehaving|i/o timeout|Temporary failure)`,
	"not found":             `ENOTFOUND [\w-]+\.[\w-][\w.-]*(?::\d+)?`,
	"inner address":         `\b(?:10\.\d+|127\.\d+|192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254|100\.\d+)\.\d+\.\d+(?::\d+)?|localhost:\d+|0\.0\.0\.0:\d+|::1|\bfe80:[\da-f:]+|\bf[cd][\da-f]{2}:[\da-f:]+`,
	"inner host":            `\b[\w-]+(?:\.[\w-]+)*\.(?:internal|local|svc|corp|lan|intranet|home\.arpa)\b(?::\d+)?`,
	"pointer":               `\b0x[0-9a-f]{9,16}\b`,
}

func quoted(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = regexp.QuoteMeta(s)
	}
	return out
}

func prefixesOnly() (all []string) {
	for _, s := range shapes {
		all = append(all, s.prefix)
	}
	return all
}

// plainRule is one of plainRules, compiled.
type plainRule struct {
	exact, fold []string // one of which the text has, as it stands or in any case
	re          *regexp.Regexp
	hide        string
}

func plainly(b testing.TB) (all []plainRule) {
	b.Helper()
	for _, r := range rules {
		expr, ok := plainRules[r.name]
		require.True(b, ok, "%s: what would it be as one expression?", r.name)
		if plainRules[expr] != "" {
			continue
		}
		p := plainRule{re: regexp.MustCompile(expr), hide: r.hide}
		for _, s := range r.on {
			if s == strings.ToLower(s) {
				p.fold = append(p.fold, s)
			} else {
				p.exact = append(p.exact, s)
			}
		}
		all = append(all, p)
	}
	return all
}

// plainText is Text as package regexp would do it.
func plainText(all []plainRule, s string) string {
	for range maxPasses {
		low, next := strings.ToLower(s), s
		for _, r := range all {
			if slices.ContainsFunc(r.exact, func(on string) bool { return strings.Contains(s, on) }) ||
				slices.ContainsFunc(r.fold, func(on string) bool { return strings.Contains(low, on) }) {
				next = r.re.ReplaceAllLiteralString(next, r.hide)
			}
		}
		if next == s {
			break
		}
		s = next
	}
	return s
}

// TestPlainRules proves that the benchmark below compares what does about the same: the expressions
// hide most secrets of the corpus. And they show why they are not enough: they hide ordinary texts, too.
func TestPlainRules(t *testing.T) {
	all := plainly(t)
	secrets, hidden := 0, 0
	for _, c := range readSecrets(t) {
		out := plainText(all, c.text)
		for _, gone := range c.gone {
			if secrets++; !strings.Contains(out, gone) {
				hidden++
			}
		}
	}
	ordinary, changed := 0, 0
	for _, line := range readLines(t, "testdata/clean.txt") {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		if ordinary++; plainText(all, line) != line {
			changed++
		}
	}
	t.Logf("%d of %d secrets hidden, %d of %d ordinary texts changed", hidden, secrets, changed, ordinary)
	require.Greater(t, hidden, secrets*2/3)
	require.Greater(t, changed, ordinary/10)
}

// BenchmarkPlainRegexp holds what the matcher of this package is measured by: the same texts with an
// expression of package regexp for each rule, behind strings.Contains. See pattern.
func BenchmarkPlainRegexp(b *testing.B) {
	file, err := os.ReadFile("testdata/clean.txt")
	require.NoError(b, err)
	clean := string(file)
	for len(clean) < maxLen {
		clean += string(file)
	}
	var secrets strings.Builder
	for i, c := range readSecrets(b) {
		if i%8 == 0 {
			secrets.WriteString(c.text + "\n" + clean190 + "\n")
		}
	}
	all := plainly(b)
	for _, c := range []struct{ name, text string }{
		{"error", "open /etc/app/key.pem: permission denied; the tool could not start and nothing has been changed"},
		{"words", clean190},
		{"4KB near misses", clean[:4<<10]},
		{"4KB secrets", secrets.String()[:4<<10]},
		{"64KB text", strings.Repeat(clean190+"\n", maxLen/len(clean190))},
		{"64KB near misses", clean[:maxLen]},
		{"64KB secrets", strings.Repeat(secrets.String(), 1+maxLen/secrets.Len())[:maxLen]},
	} {
		b.Run(c.name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Text(c.text)
			}
		})
		b.Run(c.name+"/regexp", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				plainText(all, c.text)
			}
		})
	}
	b.Run("start/regexp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			plainly(b)
		}
	})
}
