package scrub

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var marks = strings.NewReplacer("⏎", "\n", "⇥", "\t", "{}", "")

// readClean returns the texts of a file of testdata by line.
func readClean(t testing.TB, name string) map[string]string {
	texts := make(map[string]string)
	for n, line := range readLines(t, "testdata/"+name) {
		if line != "" && !strings.HasPrefix(line, "# ") {
			texts[fmt.Sprintf("line %d", n+1)] = strings.NewReplacer("⏎", "\n", "⇥", "\t").Replace(line)
		}
	}
	return texts
}

type secretCase struct {
	line       int
	text       string
	gone, kept []string
}

// readSecrets returns the cases of testdata/secrets.txt.
func readSecrets(t testing.TB) (cases []secretCase) {
	for n, line := range readLines(t, "testdata/secrets.txt") {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		key, rest, ok := strings.Cut(marks.Replace(line), ": ")
		require.True(t, ok, "line %d", n+1)
		if key == "text" {
			cases = append(cases, secretCase{line: n + 1, text: rest})
			continue
		}
		last := &cases[len(cases)-1]
		switch key {
		case "gone":
			last.gone = append(last.gone, strings.Split(rest, " | ")...)
		case "kept":
			last.kept = append(last.kept, strings.Split(rest, " | ")...)
		default:
			t.Fatalf("line %d: unknown key %q", n+1, key)
		}
	}
	return cases
}

func readLines(t testing.TB, name string) []string {
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return strings.Split(string(data), "\n")
}

func TestTextHidesSecrets(t *testing.T) {
	cases := readSecrets(t)
	require.GreaterOrEqual(t, len(cases), 150)
	for _, tt := range cases {
		t.Run(fmt.Sprintf("line %d", tt.line), func(t *testing.T) {
			got := Text(tt.text)
			require.NotEmpty(t, tt.gone)
			for _, gone := range tt.gone {
				require.Contains(t, tt.text, gone, "the case itself")
				require.NotContains(t, got, gone)
			}
			for _, kept := range tt.kept {
				require.Contains(t, got, kept)
			}
			require.Equal(t, got, Text(got), "idempotent")
		})
	}
}

func TestTextOfAnySizeIsBounded(t *testing.T) {
	for name, unit := range map[string]string{
		"one letter": "a", "words": "some words and ", "grows": "~/a ", "broken": "\xff\x80", "wide": "日本", "brackets": "[[", "pem": "-----BEGIN PRIVATE " + "KEY-----\nabc",
		"secrets": "password=hunter2 /etc/x 10.0.0.1 SELECT a FROM b; ", "placeholders": "[redacted] [path] ",
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{maxLen, maxLen + 1, 10 << 20} {
				text := strings.Repeat(unit, size/len(unit)+1)[:size]
				got := Text(text)
				require.LessOrEqual(t, len(got), maxLen)
				require.LessOrEqual(t, passes(text), 3)
				require.Equal(t, 1, passes(got), "idempotent")
				if size > maxLen && unit[0] < 0x80 {
					require.Contains(t, got, cutMark)
				}
			}
		})
	}
}

// A secret that lies across one of the places where a long text is cut must not be left there in half.
func TestTextCutsNoSecretInHalf(t *testing.T) {
	for _, c := range canaries {
		for _, at := range []int{maxLen - margin, maxLen + margin} {
			before := at - strings.Index(c.text, c.secret) - len(c.secret)*2/3
			text := strings.Repeat("lorem ", at/6+1)[:before-1] + " " + c.text + strings.Repeat(" ipsum", 2*margin)
			require.NotContains(t, Text(text), c.secret[:len(c.secret)/2+1], "%q across %d", c.text, at)
		}
	}
}

// TestTextCutsNoPlaceholder puts a placeholder across the place where a long text is cut.
func TestTextCutsNoPlaceholder(t *testing.T) {
	for over := range len(redacted) + 1 {
		text := strings.Repeat("lorem ", maxLen)[:maxLen-margin-len("token=")-over-1] + " token=hunter2 " + strings.Repeat("ipsum ", margin)
		got := Text(text)
		if kept := strings.HasSuffix(got, " token="+redacted+" "+cutMark); over < len(redacted) {
			require.True(t, strings.HasSuffix(got, " token= "+cutMark), "%d: %s", over, got[len(got)-40:])
		} else {
			require.True(t, kept, "%d: %s", over, got[len(got)-40:])
		}
		require.Equal(t, got, Text(got))
	}
}

// TestSentAnswersSoManyQuestions: what comes after them stays hidden, as does what was sent beyond the bounds.
func TestSentAnswersSoManyQuestions(t *testing.T) {
	sent := Sent("/etc/a")
	for range maxAskedFor {
		require.True(t, sent("/etc/a"))
	}
	require.False(t, sent("/etc/a"))
	require.False(t, Sent(make([]string, maxSent)...)("/etc/a"))
	require.False(t, Sent(append(make([]string, maxSent), "/etc/a")...)("/etc/a"))
	require.True(t, Sent(append(make([]string, maxSent-1), "/etc/a")...)("/etc/a"))
	require.False(t, Sent(strings.Repeat("x", maxSentLen), "/etc/a")("/etc/a"))
	require.False(t, Sent("/etc/a", "/etc/b")("/etc/a/etc/b"))
}

func TestTextNeedsFewPasses(t *testing.T) {
	var all []string
	for _, c := range readSecrets(t) {
		all = append(all, c.text)
	}
	all = append(all, fragments...)
	for i, text := range all {
		require.LessOrEqual(t, passes(text), 3, text)
		for j := 1; j < len(all); j += 17 {
			both := text + " " + all[(i+j)%len(all)]
			require.LessOrEqual(t, passes(both), 4, both)
		}
	}
}

func TestTextAllocatesNothingForOrdinaryText(t *testing.T) {
	const ordinary = "Rate limited: the search service accepts no more calls now.\nRetry: yes, after 30 s (attempt 2 of 3).\n" +
		"Next: 1. Read the cached results with list_cached, or ask the user to wait for a minute."
	require.Zero(t, testing.AllocsPerRun(100, func() { Text(ordinary) }))
	near := "use --token to log in; the /users route; select a file from the list"
	require.Equal(t, near, Text(near))
	require.Zero(t, testing.AllocsPerRun(100, func() { Text(near) }))
}

func TestTextIsSafeForConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for _, c := range readSecrets(t) {
		wg.Go(func() {
			for _, gone := range c.gone {
				assert.NotContains(t, Text(c.text), gone)
			}
		})
	}
	wg.Wait()
}

func TestSecretName(t *testing.T) {
	for _, name := range strings.Fields(`
		password Password PASSWORD passwd pwd pass passphrase passcode db_password dbPassword dbpassword user.password user[password]
		PGPASSWORD MYSQL_ROOT_PASSWORD password2 password_confirmation new-password passwordHash oldPwd db_pass smtpPass
		secret clientSecret client_secret SECRET_KEY_BASE secret_id my-secrets topSecret
		token accessToken access_token refresh-token idToken GITHUB_TOKEN csrfToken authToken apitoken X-Auth-Token access_tokens tokens passwords secrets cookies jwts pins cvvs dsns auths
		apiKey APIKey api_key API-KEY apikey x-api-key OPENAI_API_KEY accessKey access_key_id AWS_SECRET_ACCESS_KEY secretAccessKey
		CURSOR_API_KEY next_token_secret privateKey private_key PRIVATE-KEY ssh_key signingKey encryption_key AccountKey SharedAccessKey masterKey licenseKey
		credential credentials aws.credentials creds auth Auth http.auth authorization Authorization Proxy-Authorization
		bearer jwt cookie Set-Cookie cookies pin pinCode user_pin ssn SSN social_security_number cvv cardNumber otp
		dsn DATABASE_URL databaseUrl db_uri redis_url connectionString connection_string items[0].token`) {
		require.True(t, SecretName(name), name)
		require.NotContains(t, Text(name+"=hunter2x"), "hunter2x", "no trigger for %s", name)
	}
	for _, name := range strings.Fields(`
		name id user username email city quantity key keys value code query url path
		token_count tokenCount max_tokens maxTokens total_tokens prompt_tokens token_limit token_type tokenType tokenizer
		page_token nextPageToken progressToken cancellationToken eos_token_id
		next_token NextToken continuationToken nextContinuationToken pagination_token cursor next_cursor cursorToken $skipToken
		author authors authority authored coauthor authentic auth_type authMethod auth_enabled oauth
		keyboard primary_key foreignKey sort_key public_key cache_key idempotency_key partitionKey keyword monkey key_count
		passenger passengers passage compass bypass boarding_pass_id passes passed password_length min_password_length passwordPolicy
		has_password isSecret use_auth require_token secretary secret_name password_required password_expires_at
		pinned pinterest spin pin_board pineapple opinion lessons session mission assn
		creditor credit incredible accreditation cookieless cvs`) {
		require.False(t, SecretName(name), name)
		require.Equal(t, name+"=hunter2x", Text(name+"=hunter2x"))
	}
	require.False(t, SecretName(""))
	require.False(t, SecretName("___"))
	require.False(t, SecretName("\xff密"))
	require.False(t, SecretName(strings.Repeat("a", 1<<20)))
}

func TestRulesHaveNamesAndTriggers(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range rules {
		require.False(t, seen[r.name], r.name)
		seen[r.name] = true
		require.NotEmpty(t, r.on, r.name)
		require.Contains(t, placeholders, r.hide, r.name)
	}
}

// TestEveryRuleIsNeeded takes each rule out: something must leave that is hidden with it.
func TestEveryRuleIsNeeded(t *testing.T) {
	for i, r := range rules {
		need := func(of uint64) bool {
			return slices.ContainsFunc(readSecrets(t), func(c secretCase) bool {
				before, got := fixed(c.text, of, nil), fixed(c.text, of&^(1<<i), nil)
				return slices.ContainsFunc(c.gone, func(gone string) bool { return strings.Contains(got, gone) && !strings.Contains(before, gone) })
			})
		}
		require.True(t, need(everything) || need(trusted), "no case in testdata/secrets.txt needs %q", r.name)
	}
}

// TestPlacesInOneLine: a long line that names many places in Go files is read, and not hidden whole.
func TestPlacesInOneLine(t *testing.T) {
	report := "The build of 3 packages failed:\n" + strings.Repeat(`{"at":"main.go:12","says":"undefined"},`, 300)
	require.Equal(t, report, Text(report))
}
