package scrub

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// printed is a text as a tool prints it, and the secrets in it. All of them are invented. § is deleted when the file is
// read: it keeps made-up keys from the push protection of code hosts.
type printed struct {
	Text    string   `json:"text"`
	Secrets []string `json:"secrets"`
	Rule    string   `json:"rule"` // in public.jsonl alone: the rule that is needed for it,
	From    string   `json:"from"` // and where such a text is public
}

func readPrinted(t testing.TB, name string) (all []printed) {
	for _, line := range readLines(t, "testdata/"+name) {
		if line == "" {
			continue
		}
		var p printed
		require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(line, "§", "")), &p), line)
		require.NotEmpty(t, p.Secrets, line)
		for _, s := range p.Secrets {
			require.Contains(t, p.Text, s)
		}
		all = append(all, p)
	}
	return all
}

// leaves reports whether a secret of p is left in its text by these rules.
func (p printed) leaves(of uint64) bool {
	clean := fixed(p.Text, of, nil)
	return slices.ContainsFunc(p.Secrets, func(secret string) bool { return left(clean, secret) })
}

// TestNoRuleWithoutAFind: a rule for credentials is there for a text that somebody made public, and which leaks
// without the rule, for every reader. The texts in public.jsonl have the shape of those, and other secrets.
func TestNoRuleWithoutAFind(t *testing.T) {
	finds := make(map[string]bool)
	for _, p := range readPrinted(t, "public.jsonl") {
		require.NotEmpty(t, p.From, p.Rule)
		i := slices.IndexFunc(rules, func(r rule) bool { return r.name == p.Rule })
		require.GreaterOrEqual(t, i, 0, "there is no rule %q", p.Rule)
		finds[p.Rule] = true
		for _, reader := range []uint64{credentials, operators, trusted} {
			require.False(t, p.leaves(reader), p.Text)
			require.True(t, p.leaves(reader&^(1<<i)), "%q is hidden without the rule %q", p.Text, p.Rule)
		}
	}
	for i, r := range rules {
		require.Equal(t, credentials>>i&1 == 1, finds[r.name], "public.jsonl and the rule %q", r.name)
	}
}

// left reports whether a secret is left, or ten characters of it.
func left(text, secret string) bool {
	const part = 10
	for i := 0; i+part <= len(secret); i++ {
		if strings.Contains(text, secret[i:i+part]) {
			return true
		}
	}
	return strings.Contains(text, secret)
}

// TestPrinted prints how many of the texts are hidden that tools print: dumps of Go, Rust, Python, JavaScript, Java, Ruby
// and PHP, command lines, settings, JSON, databases, headers, keys of vendors, prose in many languages. The rules were
// made with those in printed.jsonl; those in printed_unseen.jsonl were written at the same time, drawn by lot, and not
// looked at. libraries.jsonl has whole texts of libraries and tools, from curl and terraform to spew, most of them with
// passwords that look like words.
func TestPrinted(t *testing.T) {
	for name, least := range map[string]float64{"printed.jsonl": 0.98, "printed_unseen.jsonl": 0.9, "libraries.jsonl": 0.95} {
		texts := readPrinted(t, name)
		require.Greater(t, len(texts), 250, name)
		var missed []string
		for _, p := range texts {
			clean := Credentials(p.Text)
			for _, s := range p.Secrets {
				if left(clean, s) || left(Text(p.Text), s) || left(Whole(p.Text), s) || left(ForOperator(p.Text), s) || left(ForTrusted(p.Text, nil), s) {
					missed = append(missed, p.Text)
					break
				}
			}
			require.Equal(t, clean, Credentials(clean), "idempotent")
		}
		hidden := float64(len(texts)-len(missed)) / float64(len(texts))
		t.Logf("%s: %d of %d texts hidden (%.1f %%)", name, len(texts)-len(missed), len(texts), 100*hidden)
		if name == "printed.jsonl" {
			t.Logf("missed: %q", missed)
		}
		require.GreaterOrEqual(t, hidden, least, name)
	}
}

// TestInnocentTexts prints how many texts are changed that only sound like secrets.
func TestInnocentTexts(t *testing.T) {
	var changed []string
	texts := readClean(t, "innocent.txt")
	require.Greater(t, len(texts), 450)
	for _, text := range texts {
		if got := ForOperator(text); got != text {
			changed = append(changed, got)
		}
	}
	t.Logf("%d of %d texts changed (%.1f %%): %q", len(changed), len(texts), 100*float64(len(changed))/float64(len(texts)), changed)
	require.LessOrEqual(t, len(changed), len(texts)/50)
}

// TestSentencesOfErrors: what holds no secret is not changed, and loses no quotation mark when an address or a path in it
// is hidden.
func TestSentencesOfErrors(t *testing.T) {
	n := 0
	for _, text := range readLines(t, "testdata/sentences.txt") {
		if text == "" || strings.HasPrefix(text, "# ") {
			continue
		}
		n++
		require.Equal(t, text, Credentials(text))
		got := Text(text)
		require.NotContains(t, strings.ReplaceAll(got, "<secret contents redacted>", ""), "redacted", text)
		if !strings.Contains(got, sql) && !strings.Contains(got, stack) {
			for _, mark := range []string{`"`, "`", "(", ")", "<", ">", "{", "}"} {
				require.Equal(t, strings.Count(text, mark), strings.Count(got, mark), got)
			}
		}
	}
	require.Greater(t, n, 1500)
}

// TestURLsKeepWhatIsAroundThem: an address that is hidden takes neither a quotation mark nor its path with it, in every
// quotation and in the escapes of JSON.
func TestURLsKeepWhatIsAroundThem(t *testing.T) {
	hosts := []string{"10.0.0.5", "10.0.0.5:8080", "127.0.0.1:43381", "[::1]:8080", "[fd00::1]", "localhost:9200", "db.svc.cluster.local:80", "svc.local", "a.internal", "metrics.corp:9090", "api.example.com", "app:pw7x@10.0.0.5:80"}
	paths := []string{"", "/", "/v1/x", "/opt/x/y", "/etc/passwd", "/home/bob", "/api/v3/repos/o/r/git/refs/heads/main", "/query?alt=json", "?q=1", "#f", "/v1/x?token=abc12345&b=c", "/v1?key=zz11yy22"}
	for _, around := range []string{
		`Get "U": dial tcp H: connect: connection refused`, "Get `U`: EOF", "Get 'U': EOF", `{"error":"Get \"U\": EOF"}`, `{\"error\":\"Get \\\"U\\\": EOF\"}`, `cannot fetch token: Get "U": EOF`,
		`<a href="U">x</a>`, `url="U" n=1`, "(U), [x]", "see <U>", `Get "U": read tcp 203.0.113.9:33->H: read: connection reset by peer`, `oauth2: "U": x`, "U: 404 Not Found",
	} {
		for _, scheme := range []string{"http", "https", "ws", "postgres", "redis"} {
			for _, host := range hosts {
				for _, path := range paths {
					text := strings.NewReplacer("U", scheme+"://"+host+path, "H", host[strings.IndexByte(host, '@')+1:]).Replace(around)
					for _, got := range []string{Text(text), Credentials(text)} {
						for _, mark := range []string{`"`, "'", "`", `\`, "<", ">", "(", ")", "{", "}", "://"} {
							require.Equal(t, strings.Count(text, mark), strings.Count(got, mark), "%s became %s", text, got)
						}
						if kept, _, _ := strings.Cut(path, "="); strings.HasPrefix(scheme, "http") {
							require.Contains(t, got, kept, text)
						}
					}
				}
			}
		}
	}
}
